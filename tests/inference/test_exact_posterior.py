"""The exact posterior against brute force in 50 digits, and against the reference figure."""

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.engines import enumeration
from bayesdp.engines.enumeration import enumerate_cells, window
from bayesdp.engines.mixture import BetaMixture
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.release import Part


class BruteForce:
    """Every x in 0..n for every n, nothing left out, in 50 digits."""

    def __init__(self, mechanism, outputs, prior, sizes):
        a, b = map(mp.mpf, mechanism.prior)
        g1, g2 = map(mp.mpf, prior)
        m = mechanism.size
        self.parts = []
        for n, probability in sizes:
            for x in range(n + 1):
                w = mp.mpf(probability) * mp.binomial(n, x) * mp.beta(g1 + x, g2 + n - x)
                for z in outputs:
                    w *= mp.binomial(m, z) * mp.beta(a + x + z, b + n - x + m - z)
                    w /= mp.beta(a + x, b + n - x)
                self.parts.append((w, g1 + x, g2 + n - x))
        self.evidence = mp.fsum(w for w, _, _ in self.parts) / mp.beta(g1, g2)
        total = mp.fsum(w for w, _, _ in self.parts)
        self.parts = [(w / total, u, v) for w, u, v in self.parts]

    def mean(self):
        return mp.fsum(w * u / (u + v) for w, u, v in self.parts)

    def sd(self):
        second = mp.fsum(w * u * (u + 1) / ((u + v) * (u + v + 1)) for w, u, v in self.parts)
        return mp.sqrt(second - self.mean() ** 2)

    def pdf(self, p):
        p = mp.mpf(p)
        return mp.fsum(
            w * p ** (u - 1) * (1 - p) ** (v - 1) / mp.beta(u, v) for w, u, v in self.parts
        )

    def cdf(self, p):
        return mp.fsum(w * mp.betainc(u, v, 0, p, regularized=True) for w, u, v in self.parts)


def check_against_brute_force(posterior, mechanism, outputs, prior, sizes):
    with mp.workdps(50):
        truth = BruteForce(mechanism, outputs, prior, sizes)
        assert posterior.mean() == pytest.approx(float(truth.mean()), rel=1e-12)
        assert posterior.sd() == pytest.approx(float(truth.sd()), rel=1e-12)
        points = [0.003, 0.2, 0.5, 0.77, 0.999]
        for p in points:
            assert posterior.pdf(p) == pytest.approx(float(truth.pdf(p)), rel=1e-12, abs=1e-13)
            assert posterior.cdf(p) == pytest.approx(float(truth.cdf(p)), rel=1e-12, abs=1e-13)
        for q in (0.025, 0.5, 0.9):
            p = posterior.quantile(q)
            half_digit = float(truth.pdf(p)) * np.spacing(p)  # p itself is a rounded number
            assert float(truth.cdf(mp.mpf(p))) == pytest.approx(q, abs=1e-12 + half_digit)
    return truth


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 10.0, 50.0])
@pytest.mark.parametrize(
    ("n", "size", "copies", "prior"),
    [
        (1, 1, 1, (1.0, 1.0)),
        (7, 20, 3, (0.5, 0.5)),
        (23, 5, 2, (3.0, 0.2)),
        (60, 60, 5, (1.0, 1.0)),
        (60, 30, 1, (20.0, 60.0)),
    ],
)
def test_equals_brute_force(n, size, copies, prior, epsilon):
    mechanism = bdp.mechanisms.BetaBinomialMechanism.calibrate(
        n=n, size=size, epsilon=epsilon, copies=copies
    )
    for edge in ("zero", "all", "mixed"):
        outputs = {"zero": [0] * copies, "all": [size] * copies}.get(
            edge, [(3 * i + 1) % (size + 1) for i in range(copies)]
        )
        release = bdp.Release.of(mechanism, outputs)
        model = bdp.BinomialModel(prior=prior)
        truth = check_against_brute_force(
            model.posterior(release), mechanism, outputs, prior, [(n, 1)]
        )
        with mp.workdps(50):
            expected = float(mp.log(truth.evidence))
        assert model.log_evidence(release) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n", [range(5, 16), [0.1, 0.0, 0.4, 0.5]])
def test_equals_brute_force_where_n_is_unknown(n):
    mechanism = bdp.mechanisms.BetaBinomialMechanism(n=None, size=8, prior=(2.5, 1.25))
    outputs = [3, 7]
    model = bdp.BinomialModel(prior=(1, 2), n=n)
    sizes = [(k, 1) for k in n] if isinstance(n, range) else list(enumerate(n))
    posterior = model.posterior(bdp.Release.of(mechanism, outputs))
    check_against_brute_force(posterior, mechanism, outputs, (1, 2), sizes)


@pytest.mark.parametrize("most", [0, 200_000_000])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.3, 4.0)])
def test_counts_among_the_largest_number_stand_for_all_pairs(prior, most, monkeypatch):
    """Whether or not the counts that matter are looked for first."""
    monkeypatch.setattr(enumeration, "_MOST_SUMMED", most)
    monkeypatch.setattr(enumeration, "_DENSE", 100)
    mechanism = bdp.mechanisms.BetaBinomialMechanism(None, 200, (20.0, 20.0))
    release = bdp.Release.of(mechanism, [60, 71])
    model = bdp.BinomialModel(prior, n=range(300, 501))
    (pairs,), posterior = model.cells(release), model.posterior(release)
    all_pairs = BetaMixture(pairs.weights, prior[0] + pairs.successes, prior[1] + pairs.failures)
    assert posterior.weights.size <= 501 < pairs.weights.size
    assert model.log_evidence(release) == pytest.approx(pairs.log_evidence, abs=1e-11)
    for q in (0.001, 0.3, 0.999):
        p = float(all_pairs.quantile(q))
        assert float(posterior.cdf(p)) == pytest.approx(q, rel=1e-9)
    p = np.array([0.2, 0.3, 0.6])
    law = model.pointwise(release.parts, {"p": p})
    np.testing.assert_allclose(law, pairs.log_likelihood(p), atol=1e-9)


def test_reference_figure(charest_release):
    """n = m = 100, one copy, z = 38, a = 15.65, uniform prior: mean 0.350865, sd 0.093478."""
    posterior = bdp.BinomialModel().posterior(charest_release)
    assert posterior.mean() == pytest.approx(0.350865, abs=5e-7)
    assert posterior.sd() == pytest.approx(0.093478, abs=5e-7)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 0.5), (0.3, 4.0), (5.0, 0.2)])
@pytest.mark.parametrize("share", [0.0, 0.004, 0.46, 1.0])
def test_the_window_loses_less_than_it_says(prior, share):
    """Against all 20,001 counts: at most 1e-15 of the mass, nothing else changed."""
    n = 20_000
    mechanism = bdp.mechanisms.BetaBinomialMechanism.calibrate(n=n, size=n, epsilon=4.0, copies=3)
    outputs = (int(share * n),) * 3
    cells = enumerate_cells([Part(None, mechanism, outputs)], prior, [(n, 1.0)])
    x = np.arange(n + 1)
    every = beta_binomial_logpmf(x, n, *prior) + sum(
        mechanism.logp(z, bdp.Count(x, n)) for z in outputs
    )
    weights = np.exp(every - every.max())
    kept = weights[cells.successes.astype(int)]
    assert cells.successes.size < 5_000
    assert (weights.sum() - kept.sum()) / weights.sum() < 1e-15
    assert cells.weights == pytest.approx(kept / kept.sum(), rel=1e-11)


@pytest.mark.parametrize("mode", [0, 3, 5_000, 99_999, 100_000])
def test_the_window_finds_narrow_peaks_anywhere(mode):
    n = 100_000
    low, high = window(lambda x: -0.5 * ((x - mode) / 2.0) ** 2, n)
    assert max(0, mode - 25) <= low <= max(0, mode - 16)
    assert min(n, mode + 16) <= high <= min(n, mode + 25)


def test_a_sharper_release_gives_the_real_data_posterior():
    """As epsilon grows without bound and copies are many, z pins down x."""
    n, x = 40, 11
    mechanism = bdp.mechanisms.BetaBinomialMechanism(n=n, size=200_000, prior=(1e-9, 1e-9))
    outputs = [round(200_000 * x / n)]
    posterior = bdp.BinomialModel().posterior(bdp.Release.of(mechanism, outputs * 400))
    assert posterior.mean() == pytest.approx((x + 1) / (n + 2), abs=2e-3)


def test_quantiles_invert_the_cdf_at_large_n():
    mechanism = bdp.mechanisms.BetaBinomialMechanism.calibrate(
        n=10**6, size=10**6, epsilon=2.0, copies=5
    )
    release = bdp.Release.of(mechanism, [460_000, 461_000, 459_900, 460_100, 460_000])
    posterior = bdp.BinomialModel().posterior(release)
    q = np.array([1e-6, 0.025, 0.5, 0.975])
    assert posterior.cdf(posterior.quantile(q)) == pytest.approx(q, rel=1e-9)
    low, high = posterior.interval(0.95)
    assert (low, high) == pytest.approx(posterior.quantile([0.025, 0.975]))
    assert posterior.quantile([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_density_integrates_to_one_and_matches_draws(charest_release):
    posterior = bdp.BinomialModel().posterior(charest_release)
    grid = np.linspace(0, 1, 20_001)
    assert np.trapezoid(posterior.pdf(grid), grid) == pytest.approx(1, abs=1e-7)
    draws = posterior.sample(100_000, seed=3)
    assert abs(draws.mean() - posterior.mean()) < 5 * posterior.sd() / math.sqrt(draws.size)
    below = np.mean(draws < posterior.quantile(0.3))
    assert abs(below - 0.3) < 5 * math.sqrt(0.21 / draws.size)
    assert np.array_equal(draws, posterior.sample(100_000, seed=3))


def test_naive_posterior_pools_the_copies():
    mechanism = bdp.mechanisms.BetaBinomialMechanism(n=20, size=30, prior=(4.0, 4.0))
    naive = bdp.BinomialModel(prior=(2, 3)).naive_posterior(bdp.Release.of(mechanism, [10, 20]))
    assert naive.mean() == pytest.approx((2 + 30) / (5 + 60))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"prior": (0, 1)}, "prior is"),
        ({"prior": (1, math.nan)}, "prior is"),
        ({"n": range(0)}, "n is range"),
        ({"n": range(-3, 4)}, "n is range"),
        ({"n": [0.5, 0.6]}, "n must be"),
        ({"n": [-0.5, 1.5]}, "n must be"),
        ({"n": "100"}, "n must be"),
        ({"n": [math.nan, 1.0]}, "n must be"),
    ],
)
def test_bad_models_are_refused(model, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.BinomialModel(**model)


def test_a_prior_on_n_goes_with_a_confidential_n_only(charest_release):
    with pytest.raises(bdp.errors.InvalidInput, match="leave n out"):
        bdp.BinomialModel(n=range(50, 150)).posterior(charest_release)
    hidden = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(None, 10, (1.0, 1.0)), [3])
    with pytest.raises(bdp.errors.InvalidInput, match="prior on it"):
        bdp.BinomialModel().posterior(hidden)


def test_too_many_sizes_are_refused():
    hidden = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(None, 10, (0.5, 0.5)), [3])
    with pytest.raises(bdp.errors.InvalidInput, match="narrow it"):
        bdp.BinomialModel(n=range(5_000_000, 5_000_100)).posterior(hidden)


def test_too_many_records_for_copies_are_refused_by_their_number():
    release = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(10**9, 1000, (1.0, 1.0)), [300])
    with pytest.raises(bdp.errors.InvalidInput, match=r"at n = 1,000,000,000.*DiscreteLaplace"):
        bdp.BinomialModel().posterior(release)


@pytest.mark.parametrize("name", ["quantile", "cdf", "pdf"])
def test_what_is_no_number_is_refused(charest_release, name):
    posterior = bdp.BinomialModel().posterior(charest_release)
    with pytest.raises(bdp.errors.InvalidInput, match="it must hold only numbers"):
        getattr(posterior, name)("half")


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_quantile_refuses_what_is_no_probability(charest_release, bad):
    with pytest.raises(bdp.errors.InvalidInput, match="q is"):
        bdp.BinomialModel().posterior(charest_release).quantile(bad)


@pytest.mark.parametrize("level", [0, 1, 95, math.nan])
def test_interval_refuses_what_is_no_level(charest_release, level):
    with pytest.raises(bdp.errors.InvalidInput, match="level is"):
        bdp.BinomialModel().posterior(charest_release).interval(level)


def test_all_pairs_of_group_and_prior_are_independent(grouped_release):
    """The posterior of a group is that of its release alone."""
    model = bdp.BinomialModel()
    idata = model.fit(grouped_release, draws=20_000, seed=2)
    for label, chain in product(grouped_release.groups, range(4)):
        alone = model.posterior(grouped_release[label])
        draws = idata.posterior["p"].sel(group=label, chain=chain).to_numpy()
        assert abs(draws.mean() - alone.mean()) < 5 * alone.sd() / math.sqrt(draws.size)


@pytest.mark.parametrize("n", [None, range(30, 50)])
def test_a_release_of_anything_else_has_no_binomial_law(n):
    release = bdp.Release.of(bdp.mechanisms.PerturbedHistogramMechanism(1.0, 2), [(38, 3)])
    with pytest.raises(
        bdp.errors.InvalidInput, match="'perturbed_histogram' doesn't randomise a count"
    ):
        bdp.BinomialModel(n=n).posterior(release)


def test_a_conjugate_draw_of_a_proportion_has_one():
    """The posterior of p given one draw from another's posterior: every count has its density."""
    mechanism = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 6, (2.0, 3.0))
    release = bdp.Release.of(mechanism, [0.3], delta=1e-3)
    x = np.arange(7)
    law = np.exp([mechanism.logp(0.3, bdp.Count(int(k), 6)) for k in x])
    weights = stats.betabinom.pmf(x, 6, 1, 1) * law
    mean = np.sum(weights / weights.sum() * (1 + x) / 8)
    assert bdp.BinomialModel().posterior(release).mean() == pytest.approx(mean, rel=1e-10)


def test_quantiles_below_the_smallest_float():
    """Half of the posterior is Beta(0.001, 14.001), whose 5% quantile is .05^1000 of a number."""
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(100.0, 1.0, neighbours="replace_one", n=14)
    release = bdp.Release.of(mechanism, [7])
    posterior = bdp.BinomialModel((1e-3, 1e-3)).posterior(release)
    assert posterior.interval(0.95) == (0.0, 1.0)
    for q in (0.477, 0.48, 0.49, 0.5):  # down to 1e-300
        x = float(posterior.quantile(q))
        assert 0 < x < 1
        with mp.workdps(30):
            right = mp.fsum(
                w * mp.betainc(a, b, 0, x, regularized=True)
                for w, a, b in zip(posterior.weights, posterior.a, posterior.b, strict=True)
            )
        assert float(right) == pytest.approx(q, rel=1e-9)


def test_a_prior_of_n_that_is_too_wide_is_refused_before_the_work(monkeypatch):
    tried = []
    window_of = enumeration._window_of
    monkeypatch.setattr(
        enumeration, "_window_of", lambda *each: tried.append(each) or window_of(*each)
    )
    hidden = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(None, 1000, (200.0, 200.0)), [300])
    with pytest.raises(bdp.errors.InvalidInput, match="narrow it"):
        bdp.BinomialModel(n=range(1, 20_001)).posterior(hidden)
    assert len(tried) <= 60
