"""The gamma model: its posterior by brute force and by NUTS, its warnings, and what it refuses."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.gamma_mixture import GammaMixture
from bayesdp.inference.readers import models_of

REPLACE = bdp.Neighbours.REPLACE_ONE
Gamma, SBS, GammaModel = (
    bdp.families.Gamma,
    bdp.mechanisms.ModipsSBSMechanism,
    bdp.models.GammaModel,
)
Noise = bdp.mechanisms.LaplaceMechanism
RATES = np.geomspace(1e-2, 20.0, 301)


def of_grid(log_weights: np.ndarray) -> tuple[float, float, float]:
    """Mean, sd and log evidence of a law of the rate on a grid that is even in its logarithm."""
    steps = math.log(RATES[1] / RATES[0])
    log_weights = log_weights + np.log(RATES)
    weights = special.softmax(log_weights)
    mean = weights @ RATES
    evidence = special.logsumexp(log_weights) + math.log(steps)
    return mean, math.sqrt(weights @ (RATES - mean) ** 2), float(evidence)


def check_against(model: Any, release: Any, log_law: Any, totals: np.ndarray, n: int) -> None:
    """The posterior by sums over rates and sums of records, by the mechanism's law of each."""
    a, b = model.prior
    free = stats.gamma(n * model.shape, scale=1 / RATES[:, None]).logpdf(totals)
    like = special.logsumexp(free + log_law(totals), axis=1) + math.log(totals[1] - totals[0])
    mean, sd, evidence = of_grid(like + stats.gamma(a, scale=1 / b).logpdf(RATES))
    found = model.posterior(release)
    assert found.mean() == pytest.approx(mean, rel=1e-6)
    assert found.sd() == pytest.approx(sd, rel=1e-5)
    assert model.log_evidence(release) == pytest.approx(evidence, abs=1e-5)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_copies_by_brute_force(noise):
    made = SBS(Gamma((0, 30), 2.5, (2.0, 1.5)), 15, (6.0,), 12, noise)
    with bdp.reproducible(1):
        outputs = made.release((40.0,), 2)
    release = bdp.Release.of(made, outputs, delta=1e-3)
    totals = np.linspace(0.0, 200.0, 4001)[1:]

    def log_law(at: np.ndarray) -> Any:
        return sum(made.logp(z, at[:, None]) for z in outputs)

    check_against(GammaModel((2.0, 3.0), shape=2.5), release, log_law, totals, 12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "outputs", "statistic"),
    [
        (Noise(4.0, 2.0, REPLACE, n=20), [18.0, 25.0], "sum"),
        (Noise(4.0, 2.0, REPLACE, n=20), [-6.0, -1.0], "sum"),
        (Noise(0.2, 0.1, REPLACE, n=20), [1.25], "mean"),
        (Noise(4.0, 2.0, REPLACE, n=20, bounds=(0, 60), bounding="inflated"), [0.0, 3.0], "sum"),
        (Noise(4.0, 2.0, REPLACE, n=20, bounds=(0, 30), bounding="truncated"), [29.0], "sum"),
        (bdp.mechanisms.GaussianMechanism(5.0, 2.0, REPLACE, n=20), [22.0], "sum"),
        (bdp.mechanisms.DiscreteLaplaceMechanism(3.0, 2.0, REPLACE, n=20), [25, 31], "sum"),
    ],
)
def test_noisy_sums_by_brute_force(mechanism, outputs, statistic):
    """Negative ones too, at the end of a range, and of whole numbers: the same model reads them."""
    release = bdp.Release.of(mechanism, outputs, delta=1e-3)
    most = 30.0 if mechanism.bounding == "truncated" else 300.0
    totals = (np.arange(60_000) + 0.5) * most / 60_000

    def log_law(at: np.ndarray) -> Any:
        given = at / 20 if statistic == "mean" else at
        given = np.floor(given + 0.5).astype(np.int64) if mechanism.whole else given
        return sum(np.asarray(mechanism.logp(z, given)) for z in outputs)

    check_against(GammaModel((2.0, 3.0), statistic=statistic), release, log_law, totals, 20)


@pytest.mark.slow
def test_moved_records_by_simulation():
    """Tight bounds: rates whose simulated releases come near the real one."""
    n, high, rng = 12, 1.0, np.random.default_rng(4)
    noise = Noise(1.0, 1.0, REPLACE, n=n)
    release = bdp.Release.of(noise, [8.0])
    rates = rng.gamma(4.0, 1 / 4.0, 2_000_000)
    totals = np.zeros(rates.size)
    for _ in range(n):
        totals += np.minimum(rng.standard_exponential(rates.size) / rates, high)
    weights = np.exp(-np.abs(8.0 - totals))
    mean = weights @ rates / weights.sum()
    sd = math.sqrt(weights @ (rates - mean) ** 2 / weights.sum())
    error = sd / math.sqrt(weights.sum() ** 2 / (weights @ weights))
    found = GammaModel((4.0, 4.0), bounds=(0, high)).posterior(release)
    assert abs(found.mean() - mean) < 5 * error
    assert found.sd() == pytest.approx(sd, rel=5e-3)
    # As of free records, which hardly any are, it would be far off.
    assert abs(GammaModel((4.0, 4.0)).posterior(release).mean() - mean) > 100 * error


@pytest.mark.slow
def test_refused_records_by_simulation():
    n, high, rng = 6, 2.0, np.random.default_rng(4)
    made = SBS(Gamma((0, high)), 5, (1.0,), n)
    with bdp.reproducible(2):
        release = bdp.Release.of(made, made.release((4.0,)))
    rates = rng.gamma(4.0, 1 / 4.0, 400_000)
    x = rng.standard_exponential((n, rates.size)) / rates
    inside = np.all(x <= high, axis=0)
    rates, totals = rates[inside], x.sum(axis=0)[inside]
    weights = np.exp(made.logp(release.outputs[0], totals[:, None]))
    mean = weights @ rates / weights.sum()
    sd = math.sqrt(weights @ (rates - mean) ** 2 / weights.sum())
    error = sd / math.sqrt(weights.sum() ** 2 / (weights @ weights))
    assert abs(GammaModel((4.0, 4.0)).posterior(release).mean() - mean) < 5 * error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_nuts_draws_from_the_same_posterior():
    """All latent variables, by PyMC: sum, noise, and the copies' rates; from copies' totals."""
    import pymc as pm
    import pytensor.tensor as pt

    n, size, scale, shape, high = 30, 40, 8.0, 1.5, 12.0
    made = SBS(Gamma((0, high), shape, (2.0, 3.0)), size, (scale,), n)
    with bdp.reproducible(3):
        outputs = made.release((50.0,), 2)
    model = GammaModel((3.0, 2.0), shape)
    exact = model.posterior(bdp.Release.of(made, outputs))
    with pm.Model():
        rate = pm.Gamma("rate", alpha=3.0, beta=2.0)
        total = pm.Gamma("total", alpha=n * shape, beta=rate)
        noise = pm.Laplace("noise", 0.0, scale, shape=2)
        seen = pt.clip(total + noise, 0.0, n * high)
        of_copy = pm.Gamma("of_copy", alpha=2.0 + n * shape, beta=3.0 + seen, shape=2)
        pm.Gamma("copies", alpha=size * shape, beta=of_copy, observed=outputs.sum(axis=1))
        drawn = pm.sample(2500, tune=1000, chains=2, cores=1, random_seed=1, target_accept=0.95,
                          progressbar=False)  # fmt: skip
    import arviz as az

    rates = drawn.posterior["rate"].to_numpy()
    effective = float(az.ess(rates))
    assert effective > 400
    assert abs(rates.mean() - exact.mean()) < 5 * exact.sd() / math.sqrt(effective)
    assert rates.std() == pytest.approx(exact.sd(), rel=5 / math.sqrt(effective))
    for q in (0.025, 0.975):
        at = float(exact.quantile(q))
        error = math.sqrt(q * (1 - q) / effective)
        assert abs((rates < at).mean() - q) < 5 * error


@pytest.mark.slow
def test_a_fit_has_the_mixture_s_law():
    release = bdp.Release.of(Noise(4.0, 2.0, REPLACE, n=20), [18.0, 25.0])
    model = GammaModel((2.0, 3.0), 1.5)
    idata = model.fit(release, seed=1)
    exact = model.posterior(release)
    rates = idata.posterior["rate"].to_numpy().ravel()
    assert stats.kstest(rates, exact.cdf).pvalue > 1e-6
    assert np.allclose(idata.posterior["mean"].to_numpy().ravel(), 1.5 / rates)
    low, high = exact.interval(0.9)
    assert exact.cdf(high) - exact.cdf(low) == pytest.approx(0.9, abs=1e-12)
    grid = np.linspace(1e-6, 8.0, 100_001)
    assert np.trapezoid(exact.pdf(grid), grid) == pytest.approx(1, abs=1e-6)
    assert np.exp(exact.log_density(grid[::1000])) == pytest.approx(exact.pdf(grid[::1000]))
    assert exact.pdf(-1.0) == exact.cdf(-1.0) == 0


@pytest.mark.parametrize("outputs", [[12.0, 12.0], [0.0, 0.0], [0.0, 12.0]])
@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
@pytest.mark.parametrize("scale", [0.01, 4.0, 400.0])
def test_outputs_at_an_end_have_a_posterior(outputs, bounds, scale):
    """Where the sum of moved records may be there, and where it has no density."""
    ends: dict[str, Any] = {"bounds": (0, 12), "bounding": "inflated"}
    release = bdp.Release.of(Noise(scale, 1.0, REPLACE, n=12, **ends), outputs)
    found = GammaModel((4.0, 4.0), bounds=bounds).posterior(release)
    low, high = found.interval()
    assert 0 < low < found.mean() < high
    if scale == 400.0:  # which says next to nothing
        assert found.mean() == pytest.approx(1.0, abs=0.1)


def test_several_releases_are_one_observation():
    noise, z = Noise(4.0, 2.0, REPLACE, n=20), [18.0, 25.0]
    model = GammaModel((2.0, 3.0))
    one = bdp.Release.of(noise, z)
    two = [bdp.Release.of(noise, [each]) for each in z]
    # The lattice's steps, 2^-20 of the scale, are integrated over as they come.
    assert model.posterior(two).mean() == pytest.approx(model.posterior(one).mean(), rel=1e-7)
    assert model.log_evidence(two) == pytest.approx(model.log_evidence(one), abs=1e-7)


def exactly(total: float, n: int) -> bdp.Release:
    kinds = bdp.distributional
    promise = kinds.DistributionalGuarantee(0.5, 1e-6, "any", kinds.LawClass.of("any"))
    return bdp.Release.of(kinds.ExactStatisticMechanism(promise, n), [total])


@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
@pytest.mark.parametrize("total", [7.25, 12.0])
def test_an_exact_sum_is_one_with_next_to_no_noise(bounds, total):
    """Where all are moved to their bound too; its evidence is a density of the sum."""
    model = GammaModel((4.0, 4.0), bounds=bounds)
    known = model.posterior(exactly(total, 12))
    noisy = bdp.Release.of(Noise(1e-4, 1.0, REPLACE, n=12), [total])
    near = model.posterior(noisy)
    assert known.mean() == pytest.approx(near.mean(), rel=2e-4)
    assert known.sd() == pytest.approx(near.sd(), rel=2e-4)
    if total == 7.25:
        step = noisy.mechanism.step  # a lattice point has a probability, the exact sum a density
        law = model.log_evidence(noisy) - math.log(step)
        assert model.log_evidence(exactly(total, 12)) == pytest.approx(law, abs=1e-3)
        mean = GammaModel((4.0, 4.0), statistic="mean", bounds=bounds)
        of_mean = mean.log_evidence(exactly(total / 12, 12))
        assert of_mean == pytest.approx(law + math.log(12), abs=1e-3)  # a density of the mean
    both = model.posterior([exactly(total, 12), noisy])
    assert both.mean() == pytest.approx(known.mean(), rel=1e-12)


def test_exact_sums_that_cannot_be_are_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="within the bounds"):
        GammaModel((4.0, 4.0), bounds=(0, 1)).posterior(exactly(12.5, 12))
    with pytest.raises(bdp.errors.InvalidInput, match="isn't positive"):
        GammaModel((4.0, 4.0)).posterior(exactly(-1.0, 12))
    with pytest.raises(bdp.errors.InvalidInput, match="exact releases differ"):
        GammaModel((4.0, 4.0)).posterior([exactly(5.0, 12), exactly(6.0, 12)])


def test_a_mixture_of_one_is_a_gamma_law():
    one, law = GammaMixture(np.ones(1), np.array([3.0]), np.array([2.0])), stats.gamma(3, scale=0.5)
    assert (one.mean(), one.sd()) == pytest.approx((law.mean(), law.std()))
    assert one.quantile([0.01, 0.5]) == pytest.approx(law.ppf([0.01, 0.5]))
    assert stats.kstest(one.sample(5000, 1), law.cdf).pvalue > 1e-6


# Bounds of which the model isn't certain.


@pytest.mark.parametrize(("high", "fires"), [(3.0, True), (30.0, False)])
def test_bounds_that_matter_are_a_doubt(high, fires):
    """Gamma records of shape 2, whose sums within bounds have no exact law here."""
    x = np.random.default_rng(1).gamma(2.0, 1.0, 2000)
    made = bdp.ModipsSynthesizer(Gamma((0, high), 2.0), epsilon=4.0, copies=1, clip=True)
    with bdp.reproducible(1):
        release = made.release(x)
    model = GammaModel((1.0, 1.0), 2.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        attrs = model.fit(release, draws=500, seed=1).attrs
    assert any("beyond the public bounds" in str(each.message) for each in caught) == fires
    assert (float(attrs["bias_of_bounds_in_sds"]) > 0.2) == fires
    low, top = model.posterior(release).interval(0.999)
    assert (low < 1.0 < top) != fires  # the true rate


@pytest.mark.slow
def test_bounds_of_exponential_records_are_no_doubt():
    x = np.random.default_rng(1).exponential(1.0, 2000)
    made = bdp.ModipsSynthesizer(Gamma((0, 0.5)), epsilon=4.0, copies=1, clip=True)
    with bdp.reproducible(1):
        release = made.release(x)
    idata = GammaModel((1.0, 1.0)).fit(release, draws=500, seed=1)
    assert "bias_of_bounds_in_sds" not in idata.attrs
    low, high = GammaModel((1.0, 1.0)).posterior(release).interval(0.999)
    assert low < 1.0 < high


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prior": (1.0,)}, "two positive finite"),
        ({"prior": (1.0, 0.0)}, "two positive finite"),
        ({"shape": -1.0}, "shape is -1.0"),
        ({"statistic": "median"}, "statistic is 'median'"),
        ({"bounds": (-1.0, 2.0)}, "at least 0"),
        ({"n": 0}, "n is 0"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        GammaModel(**{"prior": (1.0, 1.0), **arguments})


def test_releases_that_do_not_fit_are_refused():
    model = GammaModel((1.0, 1.0))
    copies = SBS(Gamma((0, 4)), 3, (1.0,), 9)
    release = bdp.Release.of(copies, [[0.5, 1.0, 2.0]])
    assert models_of(copies) == ("GammaModel",)
    with pytest.raises(bdp.errors.InvalidInput, match=r"shape 1.0, but the model has shape = 2"):
        GammaModel((1.0, 1.0), 2.0).fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match="n = 10, but the release says n = 9"):
        GammaModel((1.0, 1.0), n=10).fit(release)
    hidden = bdp.Release.of(SBS(Gamma((0, 4)), 3, (1.5, 3.0)), [[0.5, 1.0, 2.0]])
    assert models_of(hidden.mechanism) == ("GammaModel",)
    with pytest.raises(bdp.errors.InvalidInput, match="n isn't in this release"):
        model.fit(hidden)
    unknown = bdp.Release.of(Noise(1.0, 1.0), [20.0])
    with pytest.raises(bdp.errors.InvalidInput, match="n isn't in this release"):
        model.fit(unknown)
    assert GammaModel((1.0, 1.0), n=30).posterior(unknown).mean() > 0
    vector = bdp.Release.of(Noise(1.0, 1.0, dimension=2), [(20.0, 3.0)])
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't randomise what a GammaModel"):
        model.fit(vector)
    other = bdp.Release.of(SBS(Gamma((0, 5)), 3, (1.0,), 9), [[0.5, 1.0, 2.0]])
    with pytest.raises(bdp.errors.InvalidInput, match="within different bounds"):
        model.fit([release, other])
    negative = bdp.Release.of(Noise(1.0, 1.0, REPLACE, n=9), [-3.0])
    with pytest.raises(bdp.errors.InvalidInput, match="their sum is negative"):
        model.fit_naive(negative)
    top = Noise(1.0, 1.0, REPLACE, n=9, bounds=(0, 9), bounding="inflated")
    with pytest.raises(bdp.errors.InvalidInput, match="at an upper bound"):
        GammaModel((1e-3, 1.0)).fit(bdp.Release.of(top, [9.0]))


def test_noise_that_explains_nothing_is_a_conflict():
    far = bdp.Release.of(Noise(1.0, 1.0, REPLACE, n=9), [-60.0])
    with pytest.warns(UserWarning, match="noise hardly explains"):
        GammaModel((1.0, 1.0)).fit(far, draws=50, seed=1)
