"""The exchange algorithm against enumeration, and what the beta model reads and refuses."""

import math

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.core.censored_views import BetaCopiesView
from bayesdp.core.views import view_of
from bayesdp.engines import exchange
from bayesdp.kernels.censored import clipped_beta as kernels
from bayesdp.kernels.censored import populations

MANY = 5.0  # standard errors, of a false alarm of 6e-7


def points_of(view: BetaCopiesView) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All cells' centres, and the mechanism's log prior there."""
    across, up = (1 << bits for bits in view.grid)
    i, j = (v.ravel() for v in np.meshgrid(np.arange(across), np.arange(up), indexing="ij"))
    least, shape = view.prior_lambda
    phi, lam = (i + 0.5) / across, least * (view.largest / least) ** ((j + 0.5) / up)
    (p, q) = view.prior_phi
    return phi, lam, (p - 1) * np.log(phi) + (q - 1) * np.log1p(-phi) - shape * np.log(lam)


def terms(view: BetaCopiesView, phi, lam, t1, t2) -> np.ndarray:
    """Clipped log densities, shape (cells, records)."""
    a, b = (lam * phi)[:, None], (lam * (1 - phi))[:, None]
    return np.clip((a - 1) * t1 + (b - 1) * t2 - special.betaln(a, b), *view.interval)


def likelihoods(view: BetaCopiesView, copies, inner: int = 24) -> np.ndarray:
    """Mean density of each copy over points uniform in each cell, shape (copies, cells)."""
    phi, lam, _ = points_of(view)
    across, up = ((1 << bits) for bits in view.grid)
    inside = (np.arange(inner) + 0.5) / inner
    along = phi[:, None, None] + (inside[:, None] - 0.5) / across
    ratio = (view.largest / view.prior_lambda[0]) ** ((inside[None, :] - 0.5) / up)
    a, b = lam[:, None, None] * ratio * along, lam[:, None, None] * ratio * (1 - along)
    logs = [np.log(y).sum() * (a - 1) + np.log1p(-y).sum() * (b - 1) for y in copies]
    each = [log - y.size * special.betaln(a, b) for log, y in zip(logs, copies, strict=True)]
    return np.array([np.exp(log).mean(axis=(1, 2)) for log in each])


def beta_law(prior, g, h, z) -> tuple[np.ndarray, np.ndarray]:
    """Log prior of (logit phi, log lambda), and the density of a record's logit, at grids."""
    p, q, shape, rate = prior
    log_prior = p * special.log_expit(g) + q * special.log_expit(-g) + shape * h - rate * np.exp(h)
    a, b = (np.exp(h) * special.expit(s * g) for s in (1, -1))
    logs = np.outer(a, special.log_expit(z)) + np.outer(b, special.log_expit(-z))
    return log_prior, np.exp(logs - special.betaln(a, b)[:, None])


def logit_normal_law(prior, g, h, z) -> tuple[np.ndarray, np.ndarray]:
    """The same of (mu, log sigma), by SciPy's densities."""
    m, k, a, b = prior
    sigma = np.exp(h)
    log_prior = stats.invgamma.logpdf(sigma**2, a, scale=b) + 2 * h
    log_prior += stats.norm.logpdf(g, m, sigma / math.sqrt(k))
    return log_prior, stats.norm.pdf(z, g[:, None], sigma[:, None])


def enumerated(view: BetaCopiesView, copies, law_of, prior, *, normalized: bool = True) -> dict:
    """Posterior means given two records' copies, by sums over records, cells and parameters."""
    g, h = (v.ravel() for v in np.meshgrid(np.linspace(-9, 9, 61), np.linspace(-5, 5, 61)))
    z = np.linspace(-40, 40, 401)  # logit of a record
    t1, t2 = special.log_expit(z), special.log_expit(-z)
    log_prior, law = law_of(prior, g, h, z)
    phi, lam, weights = points_of(view)
    each = np.exp(terms(view, phi, lam, t1, t2))

    def summed(weight):
        return (each.T * weight) @ each

    given = np.ones((z.size, z.size))
    for one in likelihoods(view, copies):
        given *= summed(np.exp(weights) * one)
        if normalized:
            given /= summed(np.exp(weights))
    log = log_prior + np.log(np.einsum("ki,ij,kj->k", law, given, law, optimize=True))
    posterior = np.exp(log - log.max())
    posterior /= posterior.sum()
    return {name: float(f(g, h) @ posterior) for name, f in FUNCTIONS.items()}


FUNCTIONS = {
    "logit phi": lambda g, h: g,
    "log lambda": lambda g, h: h,
    "product": lambda g, h: np.tanh(g) * np.tanh(h - 1),
    "phi": lambda g, h: special.expit(g),
}


def scores(kept, exact) -> list[float]:
    """Distances of the chains' means from exact ones, in their standard errors."""
    made = []
    for name, f in FUNCTIONS.items():
        values = f(kept[..., 0], kept[..., 1])
        error = values.std() / math.sqrt(float(az.ess(values)))
        made.append(abs(float(values.mean()) - exact[name]) / error)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("population", "law_of", "prior"),
    [
        ("beta", beta_law, (3.0, 2.0, 4.0, 1.0)),
        ("logit_normal", logit_normal_law, (0.5, 0.5, 3.0, 3.0)),
    ],
)
def test_two_records_are_as_enumerated(population, law_of, prior):
    """A coarse grid, where cells, jitter and clipping all show; and the check convicts.

    Without Z, which the auxiliary draws cancel, the means lie elsewhere.
    """
    mechanism = bdp.mechanisms.CensoredBetaMechanism(
        (-2.5, 3.5), 12, prior_phi=(1.5, 1.0), prior_lambda=(0.5, 0.8), largest=40.0, grid=(2, 3)
    )
    view = view_of(mechanism, BetaCopiesView)
    rng = np.random.default_rng(1)
    copies = [rng.beta(8, 2, 12), rng.beta(3, 2, 12)]
    target = exchange.CopiesPosterior(view, copies, prior, [(2, 1.0)], population)
    kept = exchange.sample_exchange(target, draws=8000, chains=2, warmup=500, seed=3)
    exact = enumerated(view, copies, law_of, prior)
    assert max(scores(kept, exact)) < MANY
    without = enumerated(view, copies, law_of, prior, normalized=False)
    assert max(scores(kept, without)) > 2 * MANY


@pytest.mark.slow
@pytest.mark.parametrize("bits", [(3, 3), (2, 5)])
def test_the_auxiliary_draws_are_the_mechanisms(bits):
    """Cells of a coarse grid, by their exact probabilities: chi-square, false alarm 1e-6."""
    mechanism = bdp.mechanisms.CensoredBetaMechanism(
        (-1.0, 1.5), 1, prior_phi=(0.5, 2.0), prior_lambda=(0.2, 0.5), largest=90.0, grid=bits
    )
    view = view_of(mechanism, BetaCopiesView)
    rng = np.random.Generator(np.random.SFC64(5))
    x = rng.beta(0.6, 2.0, 30)
    phi, lam, weights = points_of(view)
    t1, t2 = np.log(x), np.log1p(-x)
    log = weights + terms(view, phi, lam, t1, t2).sum(axis=1)
    law = exchange.CopiesPosterior(view, [x], (1.0, 1.0, 2.0, 0.1), [(30, 1.0)]).law()
    work, drawn = np.zeros((kernels.MOST, 7)), np.empty((20_000, 2))
    work[0, :4] = 0.0, 1.0, 0.0, 1.0
    assert kernels.draw_points(t1, t2, 30, law, work, 1, rng, drawn) > 0
    i, j = (drawn * [law.across, law.up]).astype(int).T
    found = np.bincount(i * int(law.up) + j, minlength=log.size)
    expected = special.softmax(log) * len(drawn)
    common = expected >= 5
    rare = found[~common].sum(), expected[~common].sum()
    pairs = np.array([*zip(found[common], expected[common], strict=True), rare]).T
    assert stats.chisquare(*pairs).pvalue > 1e-6
    inside = np.modf(drawn * [law.across, law.up])[0]
    assert all(stats.kstest(each, "uniform").pvalue > 1e-6 for each in inside.T)


def test_a_bound_holds_in_its_block():
    """At random records, some next to an end, and random blocks of a fine grid."""
    rng = np.random.default_rng(7)
    mechanism = bdp.mechanisms.CensoredBetaMechanism((-2.0, 1.0), 1, prior_phi=(3.0, 0.5))
    view = view_of(mechanism, BetaCopiesView)
    law = exchange.CopiesPosterior(view, [np.array([0.5])], (1.0,) * 4, [(1, 1.0)]).law()
    corners = np.empty((4, 4))
    for _ in range(40):
        a, b = np.exp(rng.uniform(-4, 3, 2))
        t1, t2 = np.empty(20), np.empty(20)
        eta = np.array([math.log(a / b), math.log(a + b)])
        populations.draw_records(
            populations.BETA, t1, t2, 0, 20, eta, np.random.Generator(np.random.SFC64(1))
        )
        wide, high = 2.0 ** -rng.integers(0, 8, 2)
        u, v = rng.integers(0, 1 / wide) * wide, rng.integers(0, 1 / high) * high
        block, size = np.array([u, wide, v, high]), np.abs(t1).sum() + np.abs(t2).sum()
        bound = kernels.block_bound(t1, t2, 20, size, block, corners, law)
        for place in rng.random((50, 2)):
            phi = u + place[0] * wide
            lam = math.exp(law.least + law.span * (v + place[1] * high))
            weight = kernels.clipped_total(t1, t2, 20, phi, lam, law)
            assert weight + kernels.log_prior(phi, lam, law) <= bound


def test_records_at_an_end_count_as_being_near_it():
    """Pr[y < t] of Beta(a, b), to first order in t, beside the density of the others."""
    copies = exchange.copies_of([np.array([5e-324, 0.3, 1 - 2.0**-53])], (0.0, 1.0))
    assert [float(copies.at_low[0]), float(copies.within[0]), float(copies.at_high[0])] == [1, 1, 1]
    phi, lam = 0.3, 0.01
    a, b = lam * phi, lam * (1 - phi)
    c = special.betaln(a, b)
    first = a * math.log(2.0**-1022) - math.log(a) - c
    last = b * math.log(1.5 * 2.0**-53) - math.log(b) - c
    middle = (a - 1) * math.log(0.3) + (b - 1) * math.log(0.7) - c
    assert kernels.log_of_copy(copies, 0, phi, lam) == pytest.approx(first + middle + last)
    assert first == pytest.approx(math.log(special.betainc(a, b, 2.0**-1022)), rel=1e-9)


def released(**fields) -> bdp.Release:
    with bdp.reproducible(1):
        made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, size=30, **fields)
        return made.release(np.linspace(2.5, 7.5, 30) if "bounds" in fields else [0.2, 0.3, 0.6])


def test_copies_that_another_program_drew_are_read():
    release, model = released(), bdp.models.BetaModel(n=3)
    shuffled = np.random.default_rng(1).permutation(np.array(release.outputs[0]))
    again = model.read(bdp.Release.of(release.mechanism, [shuffled]))
    assert np.array_equal(again.outputs, model.read(release).outputs)
    assert again.law() == model.read(release).law()


@pytest.mark.parametrize(
    ("model", "release", "message"),
    [
        ({}, {}, "n isn't in this release"),
        ({"n": 3}, {"weights": lambda y: 0.5}, "weighted"),
    ],
)
def test_what_it_cannot_read_is_refused(model, release, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.models.BetaModel(**model).fit(released(**release))


def test_other_mechanisms_are_refused():
    release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(bdp.Count(3, 9))
    with pytest.raises(bdp.errors.InvalidInput, match="BinomialModel"):
        bdp.models.BetaModel(n=9).fit(release)


@pytest.mark.parametrize("name", ["Beta", "LogitNormal"])
def test_groups_have_a_model_of_their_own(name):
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=1.0, size=5, groups=["a", "b"])
    release = made.release(np.array([0.3, 0.6]), by=["a", "b"])
    with pytest.raises(bdp.errors.InvalidInput, match=f"fit bdp.models.{name}RegressionModel"):
        getattr(bdp.models, f"{name}Model")(n=1).fit(release)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prior": (1, 1, 2)}, "prior is"),
        ({"prior": (1, 1, 2, 0)}, "prior is"),
        ({"quantiles": (0.5, 1.5)}, "quantiles is"),
        ({"quantiles": ()}, "quantiles is"),
        ({"n": range(5, 2)}, "n is"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.models.BetaModel(**fields)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit")  # so few draws tell nothing
def test_variables_are_in_the_records_unit():
    release = released(bounds=(0.0, 10.0))
    model = bdp.models.BetaModel(n=range(25, 36), quantiles=(0.5,))
    idata = model.fit(release, draws=100, warmup=100, chains=2, seed=1)
    mean, sd, lam = (idata.posterior[v].to_numpy() for v in ("mean", "sd", "precision"))
    phi = mean / 10
    assert sd == pytest.approx(10 * np.sqrt(phi * (1 - phi) / (lam + 1)))
    median = 10 * special.betaincinv(lam * phi, lam * (1 - phi), 0.5)
    assert idata.posterior["quantile"].to_numpy()[..., 0] == pytest.approx(median)
    n = idata.posterior["n"].to_numpy()
    assert set(np.unique(n)) <= set(range(25, 36))
    assert len(np.unique(n)) > 3
    checked = bdp.posterior_predictive(model, idata, release, draws=2, seed=1)
    outputs = checked.posterior_predictive["outputs"].to_numpy()
    assert outputs.shape[-1] == 30
    assert np.all((outputs > 0) & (outputs < 10))
