"""Rates of events by area: against sums over all counts, in every way that counts are tied."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.kernels.fixed_total import expansion, log_norm, tilted
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.counts.negative_binomial_sums import log_coefficient

pytestmark = pytest.mark.slow

PRIOR = (2.0, 1.5)
EXPECTED = (4.0, 0.0, 1.0, 7.0)


def enumerated(release, totals, most, prior=PRIOR, expected=EXPECTED):
    """Mean and variance of each rate: a sum over all tables of at most `most` events an area."""
    a, b = prior
    around = np.array(expected)
    tables = [
        x
        for x in itertools.product(*(range(most + 1 if e else 1) for e in expected))
        if totals is None or sum(x) == totals
    ]
    x = np.array(tables)
    log_p = stats.nbinom.logpmf(x, a, b / (b + around)).sum(axis=1)
    for part in release.parts:
        for z in part.outputs:
            log_p += part.mechanism.logp(np.array(z), x)
    p = np.exp(log_p - special.logsumexp(log_p))
    means = (a + x) / (b + around)
    mean = p @ means
    return mean, p @ (means**2 + means / (b + around)) - mean**2


def check(idata, mean, variance):
    """Means and second moments within 5 standard errors."""
    import arviz as az

    rate = idata.posterior["rate"]
    for i in range(rate.sizes["area"]):
        draws = rate.to_numpy()[..., i]
        for values, right in ((draws, mean[i]), ((draws - mean[i]) ** 2, variance[i])):
            error = float(np.squeeze(az.mcse(values)))
            assert abs(values.mean() - right) < 5 * error


@pytest.mark.parametrize(
    ("n", "total", "public"),
    [(None, None, None), (None, 9, None), (11, 11, 11), (8, 14, 8), (8, None, 8)],
)
def test_poisson_gamma_copies_by_enumeration(n, total, public):
    areas = 3 if (n, total) == (None, 9) else 4  # each of whose tables takes a convolution
    expected, weights = EXPECTED[:areas], (1.0, 0.0, 2.5, 3.0)[:areas]
    mechanism = bdp.mechanisms.PoissonGammaMechanism(n, expected, weights, total)
    with bdp.reproducible(3):
        z = mechanism.release((3, 0, 2, n - 5 if n else 6)[:areas], copies=2)
    release = bdp.Release.of(mechanism, z.tolist())
    idata = bdp.models.PoissonModel(PRIOR).fit(release, draws=4000, seed=4)
    tied = (n, total) != (None, None)
    assert idata.attrs["engine"] == ("gibbs" if tied else "exact")
    most = 50 if public is None else public
    check(idata, *enumerated(release, public, most, expected=expected))


@pytest.mark.parametrize("n", [None, 14])
def test_noisy_cells_by_enumeration(n):
    relation = bdp.Neighbours.ADD_REMOVE if n is None else bdp.Neighbours.REPLACE_ONE
    axes = (Axis("area", categories=("a", "b", "c")),)
    mechanism = bdp.mechanisms.PerturbedHistogramMechanism(1.5, 3, relation, n, axes)
    release = bdp.Release.of(mechanism, [(4, 0, 9), (6, 2, 7)])
    expected = (4.0, 1.0, 7.0)
    idata = bdp.models.PoissonModel(PRIOR, expected).fit(release, draws=4000, seed=4)
    assert idata.posterior["area"].to_numpy().tolist() == ["a", "b", "c"]
    check(idata, *enumerated(release, n, 45 if n is None else n, expected=expected))


def test_several_releases_of_the_same_events():
    copies = bdp.mechanisms.PoissonGammaMechanism(None, (4.0, 7.0), 2.0, 9)
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, dimension=2)
    releases = [bdp.Release.of(copies, [(3, 6)]), bdp.Release.of(noise, [(8, 4)])]
    model = bdp.models.PoissonModel(PRIOR)
    idata = model.fit(releases, draws=4000, seed=4)
    x = np.array(list(itertools.product(range(70), repeat=2)))
    log_p = stats.nbinom.logpmf(x, 2.0, 1.5 / (1.5 + np.array([4.0, 7.0]))).sum(axis=1)
    log_p += copies.logp(np.array((3, 6)), x) + noise.logp(np.array((8, 4)), x)
    p = np.exp(log_p - special.logsumexp(log_p))
    means, rates = (2.0 + x) / (1.5 + np.array([4.0, 7.0])), 1.5 + np.array([4.0, 7.0])
    mean = p @ means
    check(idata, mean, p @ (means**2 + means / rates) - mean**2)


def test_a_strong_prior_of_copies_of_few_events():
    """A public n bounds each count, however little the copies say of it."""
    expected = (1.0, 0.0, 3.0, 0.2)
    mechanism = bdp.mechanisms.PoissonGammaMechanism(2, expected, (200.0, 0.0, 200.0, 200.0), 2)
    release = bdp.Release.of(mechanism, [(0, 0, 1, 1)])
    idata = bdp.models.PoissonModel(PRIOR).fit(release, draws=4000, seed=4)
    check(idata, *enumerated(release, 2, 2, expected=expected))


def test_copies_further_apart_than_noise_is_likely_to_reach():
    """Between two outputs their law is level, and the prior decides."""
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(1 / 30, 1.0, dimension=2)
    release = bdp.Release.of(noise, [(9, 12), (1, 3)])
    with pytest.warns(UserWarning, match="noise hardly explains what was released"):
        idata = bdp.models.PoissonModel(PRIOR, (4.0, 7.0)).fit(release, draws=4000, seed=4)
    check(idata, *enumerated(release, None, 30, expected=(4.0, 7.0)))


@pytest.mark.parametrize(
    "law", [bdp.mechanisms.DiscreteLaplaceMechanism, bdp.mechanisms.DiscreteGaussianMechanism]
)
@pytest.mark.parametrize("bounding", [None, "inflated", "truncated"])
def test_evidence_by_enumeration(law, bounding):
    mechanism = law(2.0, 1.0, dimension=2, bounding=bounding, bounds=(0, 9) if bounding else None)
    release = bdp.Release.of(mechanism, [(9, 0), (4, 1)], delta=1e-6)
    x = np.arange(10 if bounding == "truncated" else 400)
    expected = 0.0
    for i, e in enumerate((4.0, 7.0)):
        each = stats.nbinom.logpmf(x, PRIOR[0], PRIOR[1] / (PRIOR[1] + e))
        cell = law(2.0, 1.0, bounding=bounding, bounds=(0, 9) if bounding else None)
        for z in release.outputs:
            each = each + cell.logp(z[i], x)
        expected += special.logsumexp(each)
    model = bdp.models.PoissonModel(PRIOR, (4.0, 7.0))
    assert model.log_evidence(release) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("total", [0, 1, 40, 3000])
def test_the_coefficient_by_fourier(total):
    rng = np.random.default_rng(total)
    weights, chances = 1 + rng.gamma(0.5, 40.0, 12), rng.uniform(0.01, 0.49, 12)
    at = tilted(weights, chances, float(total), 0.0)
    logs, turns = expansion(weights, chances, float(total), at)

    def right(w):
        return log_coefficient(w, chances, total) + float(w @ np.log1p(-chances))

    assert log_norm(logs) == pytest.approx(right(weights), abs=1e-10)
    moved = weights + rng.integers(0, 6, 12)
    assert log_norm(logs + turns @ (moved - weights)) == pytest.approx(right(moved), abs=1e-9)


def test_groups_and_names():
    made = bdp.synthesizers.PoissonGammaSynthesizer(
        epsilon=6.0, expected={"f": {"A": 3.0, "B": 9.0}, "m": {"A": 4.0, "B": 8.0}}, copies=2
    )
    with bdp.reproducible(1):
        release = made.release({"f": {"A": 2, "B": 11}, "m": {"A": 6, "B": 5}})
    idata = bdp.models.PoissonModel().fit(release, draws=400, seed=1)
    assert idata.posterior["rate"].dims == ("chain", "draw", "group", "area")
    assert idata.posterior["area"].to_numpy().tolist() == ["A", "B"]
    assert idata.posterior["group"].to_numpy().tolist() == ["f", "m"]


@pytest.mark.filterwarnings("ignore:the chains of this fit")  # few draws
def test_calibration_by_simulation():
    """Ranks of true rates among their draws are uniform, with a fixed total and n public."""
    rng, ranks = np.random.default_rng(11), []
    expected = np.array([12.0, 3.0, 30.0, 7.0])
    for k in range(80):
        rate = rng.gamma(2.0, 1 / 2.0, 4)
        x = rng.poisson(rate * expected)
        if x.sum() == 0:
            continue
        mechanism = bdp.mechanisms.PoissonGammaMechanism(int(x.sum()), tuple(expected), 3.0, 40)
        with bdp.reproducible(k):
            release = bdp.Release.of(mechanism, mechanism.release(x, copies=2).tolist())
        fit = bdp.models.PoissonModel((2.0, 2.0)).fit(
            release, draws=200, chains=2, warmup=50, seed=k
        )
        draws = fit.posterior["rate"].to_numpy()[:, ::5].reshape(-1, 4)
        ranks.append((draws < rate).mean(axis=0))
    for column in np.array(ranks).T:
        assert stats.kstest(column, "uniform").pvalue > 1e-6


UNLIKELY = pytest.mark.filterwarnings("ignore:noise hardly explains:UserWarning")


@UNLIKELY
@pytest.mark.parametrize(
    ("scale", "outputs", "prior"),
    [(0.5, (-300, 0, 5), (1.0, 1.0)), (1.0, (150,), (5.0, 50.0)), (0.5, (0, 0), (900.0, 1.0))],
)
def test_outputs_far_from_what_may_be_or_was_expected(scale, outputs, prior):
    """Against sums over 4,000 counts."""
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(scale, 1.0, dimension=len(outputs))
    release, model = bdp.Release.of(mechanism, [outputs]), bdp.models.PoissonModel(prior)
    x, (a, b) = np.arange(4000), prior
    before = stats.nbinom.logpmf(x, a, b / (b + 1))
    one = bdp.mechanisms.DiscreteLaplaceMechanism(scale, 1.0)
    each = [before + one.logp(z, x) for z in outputs]
    right = sum(special.logsumexp(law) for law in each)
    assert model.log_evidence(release) == pytest.approx(right, rel=1e-10)
    rates = model.fit(release, draws=4000, seed=1).posterior["rate"].to_numpy()
    for i, law in enumerate(each):
        mean = special.softmax(law) @ (a + x) / (b + 1)
        error = rates[..., i].std() / np.sqrt(rates[..., i].size)
        assert abs(rates[..., i].mean() - mean) < 5 * error


@UNLIKELY
def test_a_known_sum_far_from_the_outputs():
    """Noise is as likely whatever shares the sum has, so that those of the prior are left."""
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(0.5, 1.0, dimension=2)
    release = bdp.Release.of(mechanism, [(3, 4)])
    with pytest.warns(UserWarning, match=r"noise hardly explains what was released.*2 numbers"):
        found = bdp.models.PoissonModel(n=600).fit(release, draws=2000, warmup=50, seed=1)
    assert "noise hardly explains" in found.attrs["verdict"]
    x = np.arange(601)  # of the first area
    one = bdp.mechanisms.DiscreteLaplaceMechanism(0.5, 1.0)
    shares = special.softmax(one.logp(3, x) + one.logp(4, 600 - x))
    mean, sd = shares @ x, np.sqrt(shares @ (x - shares @ x) ** 2)
    draws = found.posterior["rate"].to_numpy()[..., 0]
    assert abs(draws.mean() - (1 + mean) / 2) < 5 * sd / np.sqrt(draws.size)


class TestRefusals:
    def refused(self, release, message, **model):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            bdp.models.PoissonModel(**model).fit(release, draws=10)

    def test_another_statistic(self):
        release = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(9, 9, (2.0, 2.0)), [3])
        self.refused(release, "'beta_binomial' doesn't randomise counts of events")

    def test_sizes_that_differ(self):
        copies = bdp.mechanisms.PoissonGammaMechanism(5, (3.0, 3.0), 1.0, 7)
        release = bdp.Release.of(copies, [(5, 2)])
        self.refused(release, "the model has n = 4, but the release says n = 5", n=4)
        self.refused(release, "expected has 3 numbers", expected=(1.0, 2.0, 3.0))
        other = bdp.Release.of(
            bdp.mechanisms.PoissonGammaMechanism(5, (3.0, 4.0), 1.0, 7), [(5, 2)]
        )
        self.refused([release, other], "differ in what was expected")

    def test_no_independent_draws_of_tied_counts(self):
        release = bdp.Release.of(
            bdp.mechanisms.PoissonGammaMechanism(5, (3.0, 3.0), 1.0, 7), [(5, 2)]
        )
        with pytest.raises(bdp.errors.InvalidInput, match="use engine='gibbs'"):
            bdp.models.PoissonModel().fit(release, engine="exact")
        with pytest.raises(bdp.errors.InvalidInput, match="engine is 'stan'"):
            bdp.models.PoissonModel().fit(release, engine="stan")

    def test_parameters(self):
        for model, message in (
            ({"prior": (0.0, 1.0)}, "of a gamma distribution"),
            ({"expected": (-1.0,)}, "expected is"),
            ({"expected": ()}, "expected is"),
            ({"n": 0}, "n is 0"),
        ):
            with pytest.raises(bdp.errors.InvalidInput, match=message):
                bdp.models.PoissonModel(**model)

    def test_noise_that_leaves_nothing_naive(self):
        release = bdp.Release.of(
            bdp.mechanisms.DiscreteLaplaceMechanism(5.0, 1.0, dimension=2), [(-30, 4)]
        )
        with pytest.raises(bdp.errors.InvalidInput, match="no naive posterior"):
            bdp.models.PoissonModel().fit_naive(release)
