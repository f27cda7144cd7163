"""The beta-model: against quadrature and sums over all graphs, engines against each other."""

import itertools
import json
from dataclasses import dataclass
from typing import ClassVar

import arviz as az
import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.core.views import DyadsView
from bayesdp.mechanisms.graphs.network_columns import encode_networks
from bayesdp.networks import Network
from bayesdp.networks.evidence import Evidence, SeenDegrees
from bayesdp.privacy.guarantee import Guarantee, Strength
from bayesdp.privacy.neighbours import Neighbours
from tests.conftest import require_pystan
from tests.networks.oracles import all_graphs
from tests.networks.test_dyad_table import flipped

# Short fits may not have mixed: that a fit says so is the test of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning"),
]


@dataclass(frozen=True)
class Flip:
    """What a model needs of a mechanism that flips every dyad with odds exp(-epsilon)."""

    epsilon: float
    law: str = "dyads"

    name: ClassVar[str] = "flip"
    n: ClassVar[None] = None

    @property
    def views(self) -> tuple[DyadsView]:
        return (DyadsView(self.evidence),)

    def evidence(self, output: Network) -> Evidence:
        if self.law == "degrees":
            seen = SeenDegrees(np.zeros(output.n), 1.0)
            return Evidence.of_degrees(output.with_edges(()), seen)
        return flipped(output, self.epsilon)

    def check_output(self, output: Network) -> Network:
        return output

    def guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        return Guarantee(
            self.epsilon * copies, delta, Neighbours.EDGE, Strength.CONDITIONAL, ("a test",), "none"
        )

    def encode(self, outputs: list[Network]) -> dict:
        return encode_networks(outputs)


LABELS = ["a", "b", "c"]
PATH = Network(LABELS, [[0, 1], [0, 2]])
PAIR = Network(LABELS, [[1, 2]])
ONE_WAY = Network(["a", "b"], [[0, 1]], directed=True)


def release_of(*graphs: Network, epsilon: float = 1.5) -> bdp.Release:
    return bdp.Release.of(Flip(epsilon), list(graphs))


@pytest.fixture(params=["pymc", pytest.param("stan", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "stan":
        require_pystan()
    return request.param


def log_odds(beta: np.ndarray, directed: bool) -> np.ndarray:
    n = beta.shape[-1] // (2 if directed else 1)
    return beta[..., :n, None] + beta[..., None, -n:]


def log_release(beta: np.ndarray, graphs: tuple[Network, ...], epsilon: float | None) -> np.ndarray:
    """log Pr[released graphs | beta], summed over all hidden graphs; or of graphs taken as real."""
    n, directed = graphs[0].n, graphs[0].directed
    dyads = ~np.eye(n, dtype=bool) if directed else np.triu(np.ones((n, n), bool), 1)
    eta = log_odds(beta, directed)[..., dyads]
    known = -np.logaddexp(0, eta).sum(axis=-1)
    released = [graph.to_adjacency()[dyads] for graph in graphs]
    if epsilon is None:
        return sum(known + eta @ y for y in released)
    hidden = []
    for a in all_graphs(n, directed):
        x = a[dyads]
        wrong = sum((x != y).sum() for y in released)
        hidden.append(known + eta @ x - epsilon * wrong)
    return special.logsumexp(hidden, axis=0)


CASES = {
    "one copy": (PATH,),
    "two copies": (PATH, PAIR),
    "empty": (Network(LABELS),),
    "complete": (Network(LABELS, [[0, 1], [0, 2], [1, 2]]),),
    "directed": (ONE_WAY,),
}


def quadrature(graphs: tuple[Network, ...], epsilon: float | None, sd: float) -> tuple:
    """Posterior means and variances of all coefficients, by Gauss and Hermite under the prior."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    k = graphs[0].n * (2 if graphs[0].directed else 1)
    z = np.array(list(itertools.product(sd * nodes, repeat=k))).reshape(-1, k)
    log_w = np.log(weights[np.indices((40,) * k).reshape(k, -1)]).sum(axis=0)
    log_p = log_w + np.concatenate(
        [log_release(part, graphs, epsilon) for part in np.array_split(z, 20)]
    )
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = p @ z
    return mean, p @ (z - mean) ** 2


def together(idata) -> np.ndarray:
    names = [name for name in ("beta", "sender", "receiver") if name in idata.posterior]
    return np.concatenate([idata.posterior[name].to_numpy() for name in names], axis=-1)


FITS = [*((case, "fit") for case in CASES), ("two copies", "fit_naive"), ("directed", "fit_naive")]
# PyMC compiles each model anew: all have the density below, and two are sampled in every run.
SAMPLED = [("two copies", "fit"), ("directed", "fit_naive")]


@pytest.mark.parametrize(
    ("case", "method", "engine"),
    [
        *((*fit, "pymc") for fit in SAMPLED),
        *(
            pytest.param(*fit, "pymc", marks=pytest.mark.calibrate)
            for fit in FITS
            if fit not in SAMPLED
        ),
        *(pytest.param(*fit, "stan", marks=pytest.mark.slow) for fit in FITS),
    ],
)
def test_engines_sample_the_posterior(case, method, engine):
    if engine == "stan":
        require_pystan()
    graphs = CASES[case]
    model = bdp.models.NetworkBetaModel(prior=bdp.networks.NormalPrior(0, 1.2))
    idata = getattr(model, method)(
        release_of(*graphs), engine=engine, draws=2500, chains=4, warmup=1000, seed=2
    )
    assert not idata.sample_stats["diverging"].any()
    mean, variance = quadrature(graphs, 1.5 if method == "fit" else None, 1.2)
    draws = together(idata)
    assert draws.shape == (4, 2500, len(mean))
    for k in range(len(mean)):
        x = draws[..., k]
        assert float(az.rhat(x)) < 1.01
        assert abs(x.mean() - mean[k]) < 4 * az.mcse(x)
        square = (x - mean[k]) ** 2
        assert abs(square.mean() - variance[k]) < 4 * az.mcse(square)


def hierarchical_quadrature(graphs: tuple[Network, ...], epsilon: float, spread: float) -> tuple:
    """As `quadrature`, of coefficients, their mean, of prior N(0, 1.2), and their spreads."""
    sides, n = (2 if graphs[0].directed else 1), graphs[0].n
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    wide, more = np.polynomial.legendre.leggauss(16)
    scales, half = 3 * (wide + 1) * spread, more * np.exp(-((3 * (wide + 1)) ** 2) / 2)
    axes = [1.2 * nodes, *[scales] * sides, *[nodes] * (sides * n)]
    each = [weights, *[half] * sides, *[weights] * (sides * n)]
    z = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=-1)
    log_w = np.zeros([len(part) for part in each])
    for k, part in enumerate(each):
        log_w += np.log(part).reshape([-1 if k == j else 1 for j in range(len(each))])
    z[:, 1 + sides :] *= np.repeat(z[:, 1 : 1 + sides], n, axis=1)
    z[:, 1 + sides :] += z[:, :1]
    log_p = log_w.ravel() + np.concatenate(
        [log_release(part[:, 1 + sides :], graphs, epsilon) for part in np.array_split(z, 20)]
    )
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = p @ z
    return mean, p @ (z - mean) ** 2


@pytest.mark.parametrize("case", ["two copies", "directed"])
def test_coefficients_of_one_population(case, engine):
    graphs = CASES[case]
    model = bdp.models.NetworkBetaModel(bdp.networks.NormalPrior(0, 1.2), spread=0.7)
    idata = model.fit(release_of(*graphs), engine=engine, draws=3000, warmup=1500, seed=2)
    mean, variance = hierarchical_quadrature(graphs, 1.5, 0.7)
    spread = idata.posterior["spread"].to_numpy().reshape(4, 3000, -1)
    draws = np.concatenate(
        [idata.posterior["mean"].to_numpy()[..., None], spread, together(idata)], axis=-1
    )
    assert draws.shape == (4, 3000, len(mean))
    for k in range(len(mean)):
        x = draws[..., k]
        assert abs(x.mean() - mean[k]) < 5 * az.mcse(x)
        square = (x - mean[k]) ** 2
        assert abs(square.mean() - variance[k]) < 5 * az.mcse(square)


def test_many_sure_copies_are_the_graph(engine):
    """The odds of what they say are beyond a float's range."""
    released = release_of(*[PATH] * 40, epsilon=30.0)
    model = bdp.models.NetworkBetaModel(prior=bdp.networks.NormalPrior(0, 1.2))
    assert np.isfinite(model.stan_data(released)["odds"]).all()
    idata = model.fit(released, engine=engine, draws=2500, warmup=1000, seed=2)
    mean, variance = quadrature((PATH,), None, 1.2)
    for k in range(len(mean)):
        x = together(idata)[..., k]
        assert abs(x.mean() - mean[k]) < 5 * az.mcse(x)
        square = (x - mean[k]) ** 2
        assert abs(square.mean() - variance[k]) < 5 * az.mcse(square)


def random_graphs(n: int, directed: bool) -> tuple[Network, ...]:
    rng = np.random.default_rng(4)
    a = (rng.random((n, n)) < 0.5) & ~np.eye(n, dtype=bool)
    parts = (a, a.T) if directed else (np.triu(a), np.triu(a.T))
    return tuple(Network(n, np.argwhere(part), directed) for part in parts)


@pytest.mark.parametrize(
    "graphs", [random_graphs(4, False), random_graphs(3, True), *CASES.values()]
)
def test_the_pymc_model_has_this_density(graphs):
    rng, epsilon, n = np.random.default_rng(4), 2.0, graphs[0].n
    model = bdp.models.NetworkBetaModel(bdp.networks.NormalPrior(-1, 2))
    logp = model.pymc_model(release_of(*graphs, epsilon=epsilon)).compile_logp()
    gaps = []
    for beta in rng.normal(0, 3, size=(5, 2 * n if graphs[0].directed else n)):
        ours = log_release(beta, graphs, epsilon) - ((beta + 1) ** 2).sum() / 8
        gaps.append(float(logp({"beta": beta})) - ours)
    assert np.ptp(gaps) < 1e-10


def test_the_shape_of_a_fit():
    release = release_of(PATH, PAIR)
    idata = bdp.models.NetworkBetaModel().fit(release, draws=20, chains=2, warmup=50, seed=1)
    beta = idata.posterior["beta"]
    assert beta.dims == ("chain", "draw", "node")
    assert beta["node"].to_numpy().tolist() == LABELS
    assert idata.observed_data["output_copy"].to_numpy().tolist() == [0] * 5 + [1] * 4
    assert idata.constant_data["mechanism_epsilon"].item() == 1.5
    assert idata.attrs["family"] == "beta_model"
    assert json.loads(idata.attrs["prior"]) == [0.0, 2.0]
    assert idata.attrs["engine"] == "pymc"
    assert "closed" in idata.attrs["engine_reason"]
    assert idata.attrs["release"] == release.fingerprint
    again = bdp.models.NetworkBetaModel().fit(release, draws=20, chains=2, warmup=50, seed=1)
    assert np.array_equal(beta, again.posterior["beta"])
    naive = bdp.models.NetworkBetaModel().fit_naive(release, draws=20, chains=2, warmup=50, seed=1)
    assert "naive" in naive.attrs["engine_reason"]
    assert naive.posterior["beta"].dims == beta.dims


def test_a_release_by_edge_flips():
    """As an analyst has it: through a mechanism of the package, two copies, public labels."""
    with bdp.reproducible(5):
        release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=4.0).release(PATH, copies=2)
    data = bdp.models.NetworkBetaModel().stan_data(release)
    first, second = (z.to_adjacency()[np.triu_indices(3, 1)] for z in release.outputs)
    shift = data["sign"] * np.log1p(data["odds"])
    assert shift == pytest.approx(2.0 * (2 * first - 1) + 2.0 * (2 * second - 1), abs=1e-12)
    idata = bdp.models.NetworkBetaModel().fit(release, draws=20, chains=2, warmup=50, seed=1)
    assert idata.posterior["node"].to_numpy().tolist() == LABELS


def test_senders_and_receivers_are_apart():
    idata = bdp.models.NetworkBetaModel().fit(
        release_of(ONE_WAY), draws=20, chains=2, warmup=50, seed=1
    )
    for name in ("sender", "receiver"):
        assert idata.posterior[name].dims == ("chain", "draw", "node")
    assert "beta" not in idata.posterior


@pytest.mark.parametrize("graphs", [(PATH,), (ONE_WAY,)])
def test_a_population_of_nodes_is_told_beside_them(graphs):
    model = bdp.models.NetworkBetaModel(spread=0.5)
    idata = model.fit(release_of(*graphs), draws=20, chains=2, warmup=50, seed=1)
    sides = ["sender", "receiver"] if graphs[0].directed else []
    assert set(idata.posterior) == {"mean", "spread", *(sides or ["beta"])}
    assert idata.posterior["mean"].dims == ("chain", "draw")
    assert idata.posterior["spread"].dims == ("chain", "draw", *["side"] * bool(sides))
    if sides:
        assert idata.posterior["side"].to_numpy().tolist() == sides
    assert json.loads(idata.attrs["spread"]) == 0.5


@pytest.mark.parametrize("spread", [0, -1.0, np.inf, "1", True])
def test_the_spread_is_above_zero(spread):
    with pytest.raises(bdp.errors.InvalidInput, match="spread is"):
        bdp.models.NetworkBetaModel(spread=spread)


@pytest.mark.parametrize("epsilon", [0.0, 40.0, 700.0])
def test_densities_stay_finite_for_any_noise(epsilon):
    """And far from the data, where log-odds are large."""
    logp = (
        bdp.models.NetworkBetaModel().pymc_model(release_of(PATH, epsilon=epsilon)).compile_dlogp()
    )
    for beta in (np.zeros(3), np.full(3, 60.0), np.full(3, -60.0), np.array([-300.0, 300, 0])):
        assert np.isfinite(logp({"beta": beta})).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws is 0"),
        ({"chains": 0}, "chains is 0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"engine": "exact"}, "engine is 'exact'"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "fit_naive"])
def test_bad_arguments_are_named(arguments, message, method):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        getattr(bdp.models.NetworkBetaModel(), method)(release_of(PATH), **arguments)


@pytest.mark.parametrize(
    "prior", [1.0, None, bdp.networks.NormalPrior([0, 0], 1), bdp.networks.NormalPrior(0, [1, 1])]
)
def test_the_prior_is_the_same_for_all_nodes(prior):
    with pytest.raises(bdp.errors.InvalidInput, match="prior is"):
        bdp.models.NetworkBetaModel(prior=prior)


def test_releases_it_has_no_law_for(charest_release):
    model = bdp.models.NetworkBetaModel()
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't randomise a graph"):
        model.fit(charest_release)
    with pytest.raises(bdp.errors.InvalidInput, match="released no graphs"):
        model.fit_naive(charest_release)
    with pytest.raises(bdp.errors.InvalidInput, match="noisy statistics or degrees"):
        model.fit(bdp.Release.of(Flip(1.0, "degrees"), [PATH]))
    many = Network(2_100, [[0, 1]])
    with pytest.raises(bdp.errors.InvalidInput, match="take fewer nodes"):
        model.fit(release_of(many))


def test_chains_that_did_not_mix_are_never_silent():
    release = bdp.Release.of(Flip(2.0), [PATH])
    with pytest.warns(UserWarning, match=r"bulk ESS is under 400 in 3 of 3 nodes"):
        idata = bdp.models.NetworkBetaModel().fit(release, draws=20, chains=2, warmup=20, seed=1)
    assert "bulk ESS" in idata.attrs["verdict"]
