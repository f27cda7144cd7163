"""A release inside a PyMC model: its law against sums and closed forms, its posteriors, errors."""

import itertools
import math

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import vectorize_graph
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.pymc import sampling as engine

pytestmark = [
    pytest.mark.filterwarnings("ignore:PyTensor could not link:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*Numba will use object mode:UserWarning"),
]

N = 30
COUNTED = {
    "beta-binomial": (
        bdp.mechanisms.BetaBinomialMechanism(n=N, size=20, prior=(4.0, 4.0)),
        [7, 12],
    ),
    "modips": (
        bdp.mechanisms.ModipsSBSMechanism(bdp.families.Bernoulli(), size=20, scales=(0.1,), n=N),
        [9, 4],
    ),
    "conjugate": (
        bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_one", N, (6.0, 6.0), size=15),
        [5, 8],
    ),
}
NOISY = {
    "discrete": (bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0), [11, 14]),
    "truncated": (
        bdp.mechanisms.DiscreteGaussianMechanism(3.0, 1.0, bounds=(0, N), bounding="truncated"),
        [0, 3],
    ),
    "inflated": (
        bdp.mechanisms.DiscreteLaplaceMechanism(4.0, 1.0, bounds=(0, N), bounding="inflated"),
        [N, 27],
    ),
    "real": (bdp.mechanisms.LaplaceMechanism(1.5, 1.0), [10.25, 8.5]),
}


def at(law, **values):
    """A potential at values of the model's variables."""
    model = pm.modelcontext(None)
    given = {model[name]: np.asarray(v) for name, v in values.items()}
    return float(law.eval(given, mode="FAST_COMPILE"))


@pytest.mark.parametrize("name", [*COUNTED, *NOISY])
def test_a_binomial_count_is_summed_out(name: str):
    mechanism, outputs = {**COUNTED, **NOISY}[name]
    release = bdp.Release.of(mechanism, outputs=outputs)
    x = np.arange(N + 1)
    statistic = bdp.Count(x, N) if name in COUNTED else x
    law = mechanism.logp(np.array(outputs)[:, None], statistic).sum(axis=0)
    with pm.Model():
        pm.Beta("p", 1, 1)
        made = bdp.observe(release, pm.Binomial.dist(n=N, p=pm.modelcontext(None)["p"]))
        for p in (0.03, 0.4, 0.99):
            right = special.logsumexp(law + stats.binom.logpmf(x, N, p))
            assert at(made, p=p) == pytest.approx(right, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("outputs", "bounding"), [([3, 28], None), ([0, 25], "inflated")])
def test_copies_further_apart_than_noise_reaches(outputs: list[int], bounding: str | None):
    """The integer is between them, as likely as both noises together say."""
    bounds = None if bounding is None else (0, N)
    mechanism = bdp.mechanisms.DiscreteGaussianMechanism(0.5, 1.0, bounds=bounds, bounding=bounding)
    release = bdp.Release.of(mechanism, outputs=outputs, delta=1e-6)
    x = np.arange(N + 1)
    law = mechanism.logp(np.array(outputs)[:, None], x).sum(axis=0)
    with pm.Model():
        p = pm.Beta("p", 1, 1)
        made = bdp.observe(release, pm.Binomial.dist(n=N, p=p))
        for q in (0.03, 0.4, 0.99):
            right = special.logsumexp(law + stats.binom.logpmf(x, N, q))
            assert at(made, p=q) == pytest.approx(right, abs=1e-9)


def test_the_sum_has_a_gradient():
    """As NUTS takes it, against differences; where most of the table is padding, too."""
    release = bdp.Release.of(
        bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, dimension=2), outputs=[(4, 9)]
    )
    with pm.Model():
        p = pm.Beta("p", 1, 1, shape=2)
        law = bdp.observe(release, pm.Binomial.dist(n=[10, 400], p=p))
        slope = pt.grad(law, p)
        where = np.array([0.3, 0.02])
        found = slope.eval({p: where}, mode="FAST_COMPILE")
        for i, step in enumerate(np.eye(2) * 1e-6):
            rise = at(law, p=where + step) - at(law, p=where - step)
            assert found[i] == pytest.approx(rise / 2e-6, rel=1e-5)


def test_poisson_cells_are_summed_out_each():
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 2.0, dimension=3)
    release = bdp.Release.of(mechanism, outputs=[(4, -2, 17), (5, 1, 12)])
    rates, x = np.array([3.0, 0.5, 11.0]), np.arange(400)
    cell = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0)
    with pm.Model():
        pm.Gamma("rates", 1, 1, shape=3)
        made = bdp.observe(release, pm.Poisson.dist(pm.modelcontext(None)["rates"]))
        right = 0.0
        for i, rate in enumerate(rates):
            law = cell.logp(np.array([[z[i]] for z in release.outputs]), x).sum(axis=0)
            right += special.logsumexp(law + stats.poisson.logpmf(x, rate))
        assert at(made, rates=rates) == pytest.approx(right, abs=1e-10)


def test_events_by_area_are_summed_out_each():
    """Given an area's events its copies are negative binomial; nobody lives in the second."""
    expected, prior, rates = np.array([40.0, 0.0, 3.0]), (2.0, 0.0, 7.0), np.array([1.2, 1.0, 0.3])
    mechanism = bdp.mechanisms.PoissonGammaMechanism(None, tuple(expected), prior, None)
    release = bdp.Release.of(mechanism, [(51, 0, 2), (0, 0, 0), (33, 0, 5)])
    x = np.arange(4000)
    with pm.Model():
        rate = pm.Gamma("rates", 1, 1, shape=3)
        made = bdp.observe(release, pm.Poisson.dist(rate * expected))
        right = 0.0
        for i in (0, 2):
            chance = expected[i] / (prior[i] + 2 * expected[i])
            law = stats.poisson.logpmf(x, expected[i] * rates[i])
            for z in release.outputs:
                law += stats.nbinom.logpmf(z[i], prior[i] + x, 1 - chance)
            right += special.logsumexp(law)
        assert at(made, rates=rates) == pytest.approx(right, abs=1e-9)


def test_events_by_area_with_a_fixed_total_are_refused():
    mechanism = bdp.mechanisms.PoissonGammaMechanism(5, (3.0, 3.0), 1.0, 7)
    release = bdp.Release.of(mechanism, [(5, 2)])
    with (
        pm.Model(),
        pytest.raises(bdp.errors.InvalidInput, match=r"fixed total, 7, .* bdp.models.PoissonModel"),
    ):
        bdp.observe(release, pm.Poisson.dist(np.ones(2)))


def test_groups_are_elements_in_their_order(grouped_release: bdp.Release):
    sizes = [part.mechanism.n for part in grouped_release.parts]
    ps = np.array([0.3, 0.8, 0.1])
    with pm.Model(coords={"group": grouped_release.groups}):
        pm.Beta("p", 1, 1, dims="group")
        law = pm.Binomial.dist(n=sizes, p=pm.modelcontext(None)["p"])
        made = at(bdp.observe(grouped_release, law), p=ps)
    right = 0.0
    for part, n, p in zip(grouped_release.parts, sizes, ps, strict=True):
        x = np.arange(n + 1)
        law = part.mechanism.logp(np.array(part.outputs)[:, None], bdp.Count(x, n)).sum(axis=0)
        right += special.logsumexp(law + stats.binom.logpmf(x, n, p))
    assert made == pytest.approx(right, abs=1e-9)


def test_randomized_response_of_one_law_or_of_each_records_own():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.kary(1.2, 3, n=5)
    release = bdp.Release.of(mechanism, outputs=[(0, 2, 2, 1, 0), (0, 2, 1, 1, 0)])
    theta = np.array([0.2, 0.5, 0.3])
    answers = np.array(release.outputs)
    each = [sum(theta[x] * np.prod(mechanism.matrix[x, z]) for x in range(3)) for z in answers.T]
    with pm.Model():
        pm.Dirichlet("theta", np.ones(3))
        pm.Dirichlet("own", np.ones((5, 3)))
        model = pm.modelcontext(None)
        alike = bdp.observe(release, pm.Categorical.dist(p=model["theta"]))
        apart = bdp.observe(release, pm.Categorical.dist(p=model["own"]))
        assert {"release", "release_2"} <= set(model.named_vars)
        assert at(alike, theta=theta) == pytest.approx(np.log(each).sum(), abs=1e-10)
        own = np.tile(theta, (5, 1))
        assert at(apart, own=own) == pytest.approx(np.log(each).sum(), abs=1e-10)
        own[0] = [0.9, 0.05, 0.05]
        first = own[0] @ mechanism.matrix[:, answers[:, 0]].prod(axis=1)
        assert at(apart, own=own) == pytest.approx(np.log([first, *each[1:]]).sum(), abs=1e-10)


@pytest.mark.parametrize("name", [*COUNTED, *NOISY])
def test_integers_that_are_variables_have_the_law_itself(name: str):
    mechanism, outputs = {**COUNTED, **NOISY}[name]
    release = bdp.Release.of(mechanism, outputs=outputs)
    with pm.Model():
        pm.Binomial("statistic", N, 0.4)
        made = bdp.observe(release)
        for x in (1, 9, N - 1):
            statistic = bdp.Count(x, N) if name in COUNTED else x
            right = mechanism.logp(np.array(outputs), statistic).sum()
            assert at(made, statistic=x) == pytest.approx(right, abs=1e-10)
        if name in COUNTED:
            assert at(made, statistic=N + 1) == -math.inf


def test_several_releases_share_the_statistic():
    one, two = (bdp.Release.of(*NOISY[name]) for name in ("discrete", "truncated"))
    x = np.arange(N + 1)
    law = sum(
        mechanism.logp(np.array(outputs)[:, None], x).sum(axis=0)
        for mechanism, outputs in (NOISY["discrete"], NOISY["truncated"])
    )
    with pm.Model():
        pm.Beta("p", 1, 1)
        made = bdp.observe([one, two], pm.Binomial.dist(n=N, p=pm.modelcontext(None)["p"]))
        right = special.logsumexp(law + stats.binom.logpmf(x, N, 0.3))
        assert at(made, p=0.3) == pytest.approx(right, abs=1e-10)


def test_several_releases_of_the_same_records_answers():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.of((0.75, 0.9), n=8)
    answers = [0, 1, 1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 1, 0, 1, 0]
    releases = [bdp.Release.of(mechanism, outputs=[each]) for each in answers]
    each = np.array([0.7, 0.3])[:, None] * np.prod(
        [mechanism.matrix[:, z] for z in answers], axis=0
    )
    right = np.log(each.sum(axis=0)).sum()
    with pm.Model():
        theta = pm.Beta("theta", 1, 1)
        made = bdp.observe(releases, pm.Bernoulli.dist(p=theta))
        assert at(made, theta=0.3) == pytest.approx(right, abs=1e-10)
        own = bdp.observe(releases, pm.Bernoulli.dist(p=pt.stack([theta] * 8)))
        assert at(own, theta=0.3) == pytest.approx(right, abs=1e-10)
        counted = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1.0), outputs=[3])
        with pytest.raises(bdp.errors.InvalidInput, match="another hasn't"):
            bdp.observe([releases[0], counted], pm.Bernoulli.dist(p=theta))


@pytest.mark.parametrize(
    "noise", [bdp.mechanisms.LaplaceMechanism, bdp.mechanisms.GaussianMechanism]
)
@pytest.mark.parametrize("bounding", [None, "inflated", "truncated"])
def test_a_real_statistic_has_the_noises_density(noise, bounding):
    bounds = None if bounding is None else (-1.0, 1.0)
    mechanism = noise(0.5, 1.0, bounds=bounds, bounding=bounding)
    outputs = [0.25, -0.75] if bounding != "inflated" else [0.25, 1.0]
    release = bdp.Release.of(mechanism, outputs=outputs)
    with pm.Model():
        pm.Normal("statistic")
        made = bdp.observe(release)
        right = mechanism.logp(np.array(outputs), np.array([[-0.5], [0.875]])).sum(axis=1)
        found = [at(made, statistic=s) for s in (-0.5, 0.875)]
        assert np.diff(found) == pytest.approx(np.diff(right), abs=1e-5)  # on a fine lattice
        if bounding == "truncated":
            assert at(made, statistic=1.5) == -math.inf


@pytest.mark.slow
@pytest.mark.parametrize("sd", [1.0, None])
def test_modips_copies_of_normal_records_bring_their_latents(sd):
    """NUTS against the exact engine, at 5 Monte Carlo standard errors."""
    x = np.random.default_rng(4).normal(0.3, 1.0, size=200)
    family = bdp.families.Gaussian(bounds=(-5, 5), sd=sd)
    with bdp.reproducible(8):
        release = bdp.ModipsSynthesizer(family=family, epsilon=4.0, copies=3).release(x)
    n = 200
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        if sd is None:
            variance = pm.InverseGamma("variance", 3, 2)
            s = mu + (variance / n) ** 0.5 * pm.Normal("around")
            scatter = variance * pm.Gamma("scatter", (n - 1) / 2, (n - 1) / 2)
            s = pm.math.stack([s, scatter])
        else:
            s = pm.Normal("statistic", mu, 1 / math.sqrt(n))
        bdp.observe(release, s)
    drawn = engine.sample(model, variables=["mu"], draws=1000, seed=5).posterior["mu"]
    error = float(engine.import_arviz().mcse({"mu": drawn})["mu"])
    if sd is not None:
        exact = bdp.GaussianModel(prior=(0, 1), sd=sd).posterior(release).mean()
        assert abs(drawn.mean() - exact) < 5 * error
        return
    # Under mu ~ N(0, 1) apart from the variance: the conjugate fit, reweighted.
    fitted = bdp.GaussianModel(prior=(0, 0.05, 3, 2)).fit(release, draws=20_000, seed=6)
    mus, sigmas = (fitted.posterior[v].to_numpy().ravel() for v in ("mu", "sigma"))
    log_w = stats.norm.logpdf(mus) - stats.norm.logpdf(mus, 0, sigmas / math.sqrt(0.05))
    weights = special.softmax(log_w)
    mean = float(weights @ mus)
    own = math.sqrt(float(weights**2 @ (mus - mean) ** 2))
    assert abs(drawn.mean() - mean) < 5 * math.hypot(error, own)


POSITIVE = {
    "at an end": ({"noise": "laplace", "bounding": "inflated"}, (0.0, 20.0), 40.0),
    "truncated": ({"noise": "gaussian", "bounding": "truncated"}, (0.0, 9.0), 20.0),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", ["at an end", pytest.param("truncated", marks=pytest.mark.calibrate)]
)
def test_modips_copies_of_gamma_records_bring_their_latents(case):
    """NUTS against the exact engine, of free sums: mean and sd at 5.2 standard errors."""
    n, shape, (kinds, bounds, total) = 40, 1.5, POSITIVE[case]
    made = bdp.mechanisms.ModipsSBSMechanism(
        bdp.families.Gamma(bounds, shape, (2.0, 3.0)), 25, (30.0,), n, **kinds
    )
    with bdp.reproducible(8):
        outputs = made.release((total,), 2)
    release = bdp.Release.of_groups({g: (made, [z]) for g, z in zip("ab", outputs, strict=True)})
    with pm.Model() as model:
        rate = pm.Gamma("rate", 3, 2, shape=2)
        scaled = pm.Gamma("scaled", n * shape, n * shape, shape=2)
        bdp.observe(release, n * shape * scaled / rate)
    sizes = {"draws": 2000, "warmup": 1500, "target_accept": 0.95}
    drawn = engine.sample(model, variables=["rate"], seed=5, **sizes)
    assert not drawn.sample_stats["diverging"].any()
    for g, group in enumerate("ab"):
        exact = bdp.models.GammaModel((3.0, 2.0), shape).posterior(release[group])
        rates = drawn.posterior["rate"][..., g]
        squares = (rates - exact.mean()) ** 2
        for found, right in ((rates, exact.mean()), (squares, exact.sd() ** 2)):
            error = float(engine.import_arviz().mcse({"x": found})["x"])
            assert abs(found.mean() - right) < 5.2 * error


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_latents_of_copies_of_gamma_records_integrate_to_their_law(noise, bounding):
    """By the rectangle rule over the noise, or the noisy sum; up to a constant, as sums vary."""
    n, high, scale = 5, 4.0, 2.0
    kinds = {"noise": noise, "bounding": bounding}
    made = bdp.mechanisms.ModipsSBSMechanism(
        bdp.families.Gamma((0, high), 1.5, (2.0, 3.0)), 4, (scale,), n, **kinds
    )
    y, sums = np.array([0.4, 1.0, 1.5, 3.0]), np.array([0.5, 6.0, 12.0, 19.0])
    with pm.Model() as model:
        total = pm.Gamma("statistic", n, 1)
        bdp.observe(bdp.Release.of(made, [y]))
        (latent,) = set(model.basic_RVs) - {total}
        given = pt.vector("given")
        law = sum(vectorize_graph(each, {latent: given[:, None]}) for each in model.potentials)
        compiled = pytensor.function([total, given], law, mode="FAST_COMPILE")
    if bounding == "truncated":
        at = (np.arange(40_000) + 0.5) * n * high / 40_000
        logs = np.zeros(at.size)
    else:
        at = np.linspace(-40, 40, 40_001)
        logs = stats.laplace.logpdf(at) if noise == "laplace" else stats.norm.logpdf(at)
    found = [special.logsumexp(logs + compiled(s, at)) for s in sums]
    right = made.logp(y, sums[:, None])
    assert np.ptp(right) > 0.5
    assert np.diff(found) == pytest.approx(np.diff(right), abs=1e-4)


def test_copies_of_gamma_records_have_a_sum_each():
    made = bdp.mechanisms.ModipsSBSMechanism(bdp.families.Gamma((0, 4)), 3, (1.0,), 9)
    release = bdp.Release.of(made, [[0.5, 1.0, 2.0]])
    hidden = bdp.mechanisms.ModipsSBSMechanism(bdp.families.Gamma((0, 4)), 3, (1.0, 2.0))
    with pm.Model():
        pm.Gamma("statistic", 9, 1, shape=2)
        with pytest.raises(bdp.errors.InvalidInput, match="statistic"):
            bdp.observe(release)
    with pm.Model():
        pm.Gamma("statistic", 9, 1)
        with pytest.raises(bdp.errors.InvalidInput, match="the release says n = 9"):
            bdp.observe(release, n=8)
        with pytest.raises(bdp.errors.InvalidInput, match="whose number is confidential"):
            bdp.observe(bdp.Release.of(hidden, [[0.5, 1.0, 2.0]]))
        bdp.observe(release, n=9)


_GRAPHS = [
    bdp.networks.Network(4, [(0, 1), (1, 3)]),
    bdp.networks.Network(4, [(0, 1), (2, 3), (0, 2)]),
]
_DIRECTED = [bdp.networks.Network(3, [(0, 1), (2, 0)], directed=True)]
_TIE = np.linspace(0.5, 0.9, 16).reshape(4, 4)
FLIPPED = {
    "undirected": (bdp.mechanisms.EdgeFlipMechanism(4, 0.8, 0.1), _GRAPHS),
    "each its own": (bdp.mechanisms.EdgeFlipMechanism(4, (_TIE + _TIE.T) / 2, 0.2), _GRAPHS[:1]),
    "directed": (bdp.mechanisms.EdgeFlipMechanism(3, 0.7, 0.25, directed=True), _DIRECTED),
}


@pytest.mark.parametrize("kind", FLIPPED)
def test_dyads_of_a_graph_have_laws_of_their_own(kind):
    """Against the mechanism's law, summed over all graphs."""
    made, outputs = FLIPPED[kind]
    release, nodes, directed = bdp.Release.of(made, outputs), made.nodes, made.directed
    i, j = np.nonzero(~np.eye(nodes, dtype=bool)) if directed else np.triu_indices(nodes, 1)
    a = np.random.default_rng(1).normal(size=nodes)
    with pm.Model():
        place = pm.Normal("place", shape=nodes)
        found = bdp.observe(release, pm.Bernoulli.dist(logit_p=2 * place[i] - place[j] - 0.5))
        mine = [at(found, place=places) for places in (a, -a)]
    right = []
    for places in (a, -a):
        p, whole = special.expit(2 * places[i] - places[j] - 0.5), []
        for ties in itertools.product((0, 1), repeat=i.size):
            there = np.array(ties, dtype=bool)
            edges = np.column_stack([i, j])[there]
            graph = bdp.networks.Network(nodes, edges, directed=directed)
            law = made.logp(outputs, [graph] * len(outputs)).sum()
            whole.append(law + np.log(np.where(there, p, 1 - p)).sum())
        right.append(special.logsumexp(whole))
    assert abs(np.diff(right)) > 0.1
    assert np.diff(mine) == pytest.approx(np.diff(right), abs=1e-9)


def test_a_graph_in_ones_own_model_is_as_in_the_beta_model():
    release = bdp.Release.of(*FLIPPED["undirected"])
    own, i, j = bdp.models.NetworkBetaModel().pymc_model(release), *np.triu_indices(4, 1)
    with pm.Model() as mine:
        beta = pm.Normal("beta", 0.0, 2.0, shape=4)
        bdp.observe(release, pm.Bernoulli.dist(logit_p=beta[i] + beta[j]))
    logps = [model.compile_logp(mode="FAST_COMPILE") for model in (own, mine)]
    points = [{"beta": beta} for beta in np.random.default_rng(2).normal(size=(5, 4))]
    gaps = [float(logps[0](point)) - float(logps[1](point)) for point in points]
    assert np.ptp(gaps) < 1e-9


def test_a_distribution_without_ends_goes_as_far_as_noise_reaches():
    release = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1.0), outputs=[5])
    with pm.Model():
        pm.Normal("centre")
        centre = pm.modelcontext(None)["centre"]
        law = pm.DiscreteUniform.dist(centre.astype("int64"), centre.astype("int64") + 3)
        made = bdp.observe(release, law)
        x = np.arange(-20, -16)
        right = special.logsumexp(release.mechanism.logp(5, x)) - math.log(4)
        assert at(made, centre=-20.0) == pytest.approx(right, abs=1e-10)


class TestBadInput:
    noisy = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(1.0, 1.0), outputs=[0.5])

    def test_without_a_model(self):
        with pytest.raises(bdp.errors.InvalidInput, match=r"with pm\.Model\(\)"):
            bdp.observe(self.noisy)

    def test_without_a_statistic(self):
        with (
            pm.Model(),
            pytest.raises(bdp.errors.InvalidInput, match="no variable called 'statistic'"),
        ):
            bdp.observe(self.noisy)

    def test_what_is_no_release(self):
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="release is a float"):
            bdp.observe(0.5, pm.Poisson.dist(3.0))

    def test_a_continuous_distribution_without_a_name(self):
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="name it"):
            bdp.observe(self.noisy, pm.Normal.dist())

    def test_a_statistic_of_another_shape(self):
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="1 dimensions"):
            bdp.observe(self.noisy, pm.Normal("s", shape=2))
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="1 dimensions"):
            bdp.observe(self.noisy, pm.Poisson.dist([1.0, 2.0]))

    def test_groups_of_another_number(self, grouped_release: bdp.Release):
        groups = len(grouped_release.groups) + 1
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="what was randomised has"):
            bdp.observe(grouped_release, pm.Binomial.dist(9, 0.5, shape=groups))

    def test_what_is_no_variable(self):
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="statistic is None; it must"):
            bdp.observe(self.noisy, None)

    @pytest.mark.parametrize("name", ["s", 5, ""])
    def test_a_name_that_is_taken_or_none(self, name):
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match=r"name is .* must be a text"):
            bdp.observe(self.noisy, pm.Normal("s"), name=name)

    def test_a_joint_distribution(self):
        release = bdp.Release.of(
            bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 2.0, dimension=2), outputs=[(3, 4)]
        )
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="joint distribution"):
            bdp.observe(release, pm.Multinomial.dist(7, [0.5, 0.5]))

    def test_a_real_number_for_a_count(self):
        release = bdp.Release.of(*COUNTED["beta-binomial"])
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="no law here"):
            bdp.observe(release, pm.Normal("s"))

    def test_integers_in_a_range_need_integers(self):
        release = bdp.Release.of(*NOISY["inflated"])
        with (
            pm.Model(),
            pytest.raises(bdp.errors.InvalidInput, match="give the integers' distribution"),
        ):
            bdp.observe(release, pm.Normal("s"))
        at_end = bdp.Release.of(release.mechanism, outputs=[N])
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="smallest and a largest"):
            bdp.observe(at_end, pm.Poisson.dist(3.0))

    def test_a_release_of_a_network(self):
        network = bdp.networks.Network(nodes=4, edges=[(0, 1)])
        made = bdp.synthesizers.DPERGMSynthesizer(
            "edges", epsilon=1.0, centre=(-1.0,), scale=(1.0,)
        )
        with bdp.reproducible(1):
            release = made.release(network)
        expected = r"no law here .* for .*bdp\.models\.ERGMModel\. bdp\.observe takes"
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match=expected):
            bdp.observe(release, pm.Poisson.dist(3.0))

    def test_a_law_of_the_number_of_ties_of_a_graph(self):
        release = bdp.Release.of(*FLIPPED["undirected"])
        for wrong in (pm.Poisson.dist(3.0), pm.Binomial.dist(6, 0.5)):
            with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="a dyad is a tie"):
                bdp.observe(release, wrong)
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match=r"has shape \(6,\)"):
            bdp.observe(release, pm.Bernoulli.dist(0.5, shape=5))

    def test_an_n_that_is_missing_or_another(self):
        confidential = bdp.mechanisms.BetaBinomialMechanism(n=None, size=20, prior=(4.0, 4.0))
        release = bdp.Release.of(confidential, outputs=[7])
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="n is None"):
            bdp.observe(release, pm.Binomial.dist(30, 0.4))
        public = bdp.Release.of(*COUNTED["beta-binomial"])
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="n is 31"):
            bdp.observe(public, pm.Binomial.dist(30, 0.4), n=31)
        for wrong in (-1, math.nan, "30", True):
            with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="whole number"):
                bdp.observe(release, pm.Binomial.dist(30, 0.4), n=wrong)

    @pytest.mark.parametrize("most", [31, 1000])
    def test_more_ones_than_there_are_records(self, most):
        for n, mechanism in ((None, 30), (30, None)):
            made = bdp.mechanisms.BetaBinomialMechanism(n=mechanism, size=20, prior=(4.0, 4.0))
            release = bdp.Release.of(made, outputs=[7])
            with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match=f"up to {most}, but"):
                bdp.observe(release, pm.Binomial.dist(most, 0.4), n=n)

    def test_noise_that_reaches_too_far(self):
        release = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(1e6, 1.0), outputs=[3])
        with pm.Model(), pytest.raises(bdp.errors.InvalidInput, match="noise reaches"):
            bdp.observe(release, pm.Poisson.dist(3.0))


@pytest.mark.parametrize("named", [False, True])
def test_censored_integers_need_whole_bounds(named):
    release = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1), [5])
    with pm.Model():
        mu = pm.HalfNormal("mu", 5)
        counts = pm.Poisson.dist(mu)
        if named:
            counts = pm.Censored("x", counts, lower=None, upper=9)
        else:
            counts = pm.Censored.dist(counts, lower=None, upper=9)
        with pytest.raises(bdp.errors.InvalidInput, match="give integers as both bounds"):
            bdp.observe(release, counts)


def test_censored_integers_are_summed_out():
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1)
    release = bdp.Release.of(mechanism, [9])
    law = {}
    for mu in (4.0, 8.0):
        with pm.Model():
            censored = pm.Censored.dist(pm.Poisson.dist(mu), lower=0, upper=9)
            law[mu] = float(bdp.observe(release, censored).eval())
    x = np.arange(10)
    wanted = {}
    for mu in (4.0, 8.0):
        p = stats.poisson(mu).pmf(x)
        p[-1] = stats.poisson(mu).sf(8)
        wanted[mu] = math.log(p @ np.exp(mechanism.logp(9, x)))
    # PyMC's tail of a Poisson law has eight digits.
    assert law[8.0] - law[4.0] == pytest.approx(wanted[8.0] - wanted[4.0], rel=1e-7)
