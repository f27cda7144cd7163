"""Wald and likelihood-ratio tests: formulas as published, exact sizes, and simulated ones.

Where B is proportional to V, tr(B V^-1) is a multiple of chi^2 on t = p (M - 1) degrees and
independent of q, so that the size of a test is one integral: see `exact_size`.
"""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import bayesdp as bdp
from bayesdp.evaluation.combining_rules import weights
from bayesdp.evaluation.combining_tests import _denominator_df

# Two-sided false alarm of 1e-6.
Z = 4.892
# Variance between copies over the variance within, as the rule takes it to arise: posterior draws
# and sampling (2), or imputation of as much as was observed (1).
BETWEEN = {"liu": 2.0, "rubin": 1.0, "reiter": 2.0, "reiter_positive": 2.0, "raab": 2.0}


def exact_size(rule, between, size, copies, level=0.05):
    """Probability that a test at `level` rejects a true null, B proportional to V."""
    w = weights(rule, copies, 1.0)
    t = size * (copies - 1)

    def rejected(x):
        rho = w.between * between * x / t
        scale = w.within + rho
        if scale <= 0:
            if w.fallback is None:
                return 0.0
            scale = w.fallback
        df = _denominator_df(rho, size, w)
        if df < 0.01:
            return 0.0
        limit = stats.f.isf(level, size, min(df, 1e15))
        true = w.within + w.between * between
        return stats.chi2.sf(size * limit * scale / true, size)

    low, high = stats.chi2.ppf([1e-12, 1 - 1e-12], t)
    mass = integrate.quad(
        lambda x: rejected(x) * stats.chi2.pdf(x, t), low, high, limit=400, epsabs=1e-7
    )
    return mass[0]


def simulated_copies(generator, rule, between, size, copies, repetitions):
    """Estimates with mean 0 whose total variance is what the rule says, V = L L'."""
    w = weights(rule, copies, 1.0)
    common = w.within + (w.between - 1 / copies) * between
    root = np.tril(generator.normal(size=(size, size))) + 2 * np.eye(size)
    shared = math.sqrt(common) * generator.normal(size=(repetitions, 1, size))
    own = math.sqrt(between) * generator.normal(size=(repetitions, copies, size))
    return (shared + own) @ root.T, root @ root.T


class TestAsPublished:
    """Statistic and degrees of freedom, written out from the papers."""

    Q = np.array([[1.0, 0.2], [1.6, -0.4], [0.7, 0.5], [1.1, 0.1], [1.5, 0.0]])
    V = np.array([[[0.5, 0.1], [0.1, 0.4]]] * 5)

    @pytest.mark.parametrize(
        ("rule", "sign", "factor"),
        [
            ("rubin", 1, 1.2),  # Li, Raghunathan and Rubin (1991), equations (1.17) to (1.20)
            ("liu", 1, 0.2),  # Reiter (2005), partially synthetic
            ("reiter", -1, 1.2),  # Reiter (2005), fully synthetic
        ],
    )
    @pytest.mark.parametrize("copies", [3, 5])  # t = 4 and 8
    def test_wald(self, rule, sign, factor, copies):
        q = (6 if sign < 0 else 1) * self.Q[:copies]
        v, t = self.V[0], 2 * (copies - 1)
        factor = factor * 5 / copies if rule == "liu" else factor
        factor = 1 + 1 / copies if factor == 1.2 else factor
        relative = factor * np.trace(np.cov(q.T) @ np.linalg.inv(v)) / 2
        away = q.mean(axis=0) - [0.5, 0]
        statistic = away @ np.linalg.inv(v) @ away / (2 * (sign + relative))
        if t > 4:
            df = 4 + (t - 4) * (1 + sign * (1 - 2 / t) / relative) ** 2
        else:
            df = t * (1 + 1 / 2) * (1 + sign / relative) ** 2 / 2
        test = bdp.combine(q, self.V[:copies], rule).wald_test([0.5, 0])
        assert test.statistic == pytest.approx(statistic, rel=1e-12)
        assert test.df == pytest.approx((2, df), rel=1e-12)
        assert test.p_value == pytest.approx(stats.f.sf(statistic, 2, df), rel=1e-9)

    def test_wald_by_raab(self):
        combined = bdp.combine(self.Q, self.V, "raab")
        away = combined.estimate
        chi2 = away @ np.linalg.inv(1.4 * self.V[0]) @ away
        for proportional in (True, False):
            test = combined.wald_test(proportional=proportional)
            assert test.statistic == pytest.approx(chi2 / 2)
            assert test.df == (2, math.inf)
            assert test.p_value == pytest.approx(stats.chi2.sf(chi2, 2))

    def test_reiter_kept_positive(self):
        near = 0.1 * self.Q
        test = bdp.combine(near, self.V, "reiter_positive", size_ratio=3).wald_test()
        away = near.mean(axis=0)
        assert test.statistic == pytest.approx(away @ np.linalg.inv(3 * self.V[0]) @ away / 2)
        far = (bdp.combine(9 * self.Q, self.V, rule) for rule in ("reiter", "reiter_positive"))
        first, second = (combined.wald_test() for combined in far)
        assert first == second

    def test_no_variance_between_is_chi_squared(self):
        combined = bdp.combine([[1.0, 2.0]] * 3, self.V[:3])
        for proportional in (True, False):
            test = combined.wald_test(proportional=proportional)
            assert test.df == (2, math.inf)
            assert test.p_value == pytest.approx(stats.chi2.sf(2 * test.statistic, 2))

    @pytest.mark.parametrize("rule", ["liu", "rubin", "reiter"])
    @pytest.mark.parametrize("t", [6, 20])
    def test_degrees_of_freedom_match_two_moments(self, rule, t):
        """w / chi^2_w has the coefficient of variation of w_v + rho t / chi^2_t."""
        w = weights(rule, t // 2 + 1, 1.0)
        inverse = [
            integrate.quad(lambda x, k=k: (t / x) ** k * stats.chi2.pdf(x, t), 0, np.inf)[0]
            for k in (1, 2)
        ]
        rho = 3.0
        mean = w.within + rho * inverse[0]
        squared = rho**2 * (inverse[1] - inverse[0] ** 2) / mean**2
        df = optimize.brentq(lambda d: 2 / (d - 4) - squared, 4 + 1e-9, 1e6)
        assert _denominator_df(rho, 2, w) == pytest.approx(df, rel=1e-6)


class TestHotelling:
    def test_formula(self):
        q, v = TestAsPublished.Q, TestAsPublished.V
        combined = bdp.combine(q, v)
        share = np.linalg.inv(combined.covariance) @ np.cov(q.T) / 5
        nu = 4 * 6 / (np.trace(share @ share) + np.trace(share) ** 2)
        distance = combined.estimate @ np.linalg.inv(combined.covariance) @ combined.estimate
        test = combined.wald_test(proportional=False)
        assert test.df == pytest.approx((2, nu - 1))
        assert test.statistic == pytest.approx(distance * (nu - 1) / (2 * nu))

    def test_is_exactly_hotellings_without_variance_within(self):
        """T = B / M is then the covariance of a mean of M, and its test Hotelling's T^2."""
        q = np.random.default_rng(3).normal(size=(7, 2))
        test = bdp.combine(q, np.zeros((7, 2, 2))).wald_test(proportional=False)
        mean = q.mean(axis=0)
        squared = 7 * mean @ np.linalg.inv(np.cov(q.T)) @ mean
        assert test.df == pytest.approx((2, 5))
        assert test.statistic == pytest.approx(squared * 5 / (2 * 6))


class TestSize:
    @pytest.mark.parametrize(
        ("size", "copies", "percent", "percent_of_much_noise"),
        [
            (1, 5, 5.04, 5.62),
            (2, 3, 5.05, 5.60),
            (2, 5, 4.47, 4.26),
            (3, 3, 3.41, 3.65),
            (3, 5, 4.75, 4.65),
            (3, 10, 4.98, 4.93),
            (8, 5, 4.95, 4.95),
        ],
    )
    def test_of_lius_rule(self, size, copies, percent, percent_of_much_noise):
        for between, size_in_percent in ((2.0, percent), (10.0, percent_of_much_noise)):
            found = 100 * exact_size("liu", between, size, copies)
            assert found == pytest.approx(size_in_percent, abs=0.01)

    @pytest.mark.parametrize(
        ("rule", "percents"), [("rubin", (4.63, 4.93, 4.99)), ("reiter", (7.19, 5.87, 4.98))]
    )
    def test_of_the_others(self, rule, percents):
        for copies, percent in zip((5, 10, 30), percents, strict=True):
            found = 100 * exact_size(rule, BETWEEN[rule], 3, copies)
            assert found == pytest.approx(percent, abs=0.01)

    @pytest.mark.slow
    @pytest.mark.parametrize("rule", BETWEEN)
    @pytest.mark.parametrize(("size", "copies"), [(3, 5), (2, 12)])
    def test_simulated_is_exact(self, rule, size, copies):
        repetitions = 2000
        generator = np.random.default_rng([size, copies])
        q, v = simulated_copies(generator, rule, BETWEEN[rule], size, copies, repetitions)
        v = np.stack([v] * copies)
        rejected = 0
        for estimates in q:
            try:
                rejected += bdp.combine(estimates, v, rule).wald_test().p_value < 0.05
            except bdp.errors.InvalidInput:
                assert rule == "reiter"  # counted as not rejected, as in exact_size
        expected = exact_size(rule, BETWEEN[rule], size, copies)
        error = math.sqrt(expected * (1 - expected) / repetitions)
        assert abs(rejected / repetitions - expected) < Z * error

    @pytest.mark.slow
    def test_with_noise_that_differs_between_components(self):
        """The row 2, 50 at M = 5 of the table in `CombinedVector.wald_test`: 8.0% and 6.1%."""
        repetitions, generator = 4000, np.random.default_rng(17)
        q = generator.normal(size=(repetitions, 1, 2)) + generator.normal(
            size=(repetitions, 5, 2)
        ) * np.sqrt([2, 50])
        combined = [bdp.combine(estimates, np.stack([np.eye(2)] * 5)) for estimates in q]
        sizes = {
            proportional: np.mean(
                [c.wald_test(proportional=proportional).p_value < 0.05 for c in combined]
            )
            for proportional in (True, False)
        }
        assert abs(sizes[True] - 0.080) < Z * math.sqrt(0.08 * 0.92 / repetitions)
        assert abs(sizes[False] - 0.061) < Z * math.sqrt(0.061 * 0.939 / repetitions)
        assert sizes[False] < sizes[True]


def quadratic(estimate, precision):
    def log_likelihood(theta):
        away = theta - estimate
        return 7.0 - away @ precision @ away / 2

    return log_likelihood


class TestLikelihoodRatio:
    @pytest.mark.parametrize("rule", BETWEEN)
    def test_is_the_wald_test_of_quadratic_likelihoods(self, rule):
        """Where every copy's log-likelihood is quadratic with the same V, exactly."""
        generator = np.random.default_rng(5)
        root = generator.normal(size=(3, 4))
        v = root @ root.T
        q = generator.multivariate_normal([0.5, 0, 0.3], 6 * v, size=6)
        null = q.copy()  # the first two components fixed at 0.2 and 0, the third is free
        null[:, :2] = [0.2, 0]
        null[:, 2] += v[2, :2] @ np.linalg.solve(v[:2, :2], (null - q)[:, :2].T)
        test = bdp.evaluate.likelihood_ratio_test(
            [quadratic(estimate, np.linalg.inv(v)) for estimate in q], q, null, 2, rule
        )
        wald = bdp.combine(q[:, :2], np.stack([v[:2, :2]] * 6), rule).wald_test([0.2, 0])
        assert test.statistic == pytest.approx(wald.statistic, rel=1e-9)
        assert test.df == pytest.approx(wald.df, rel=1e-9)
        assert test.p_value == pytest.approx(wald.p_value, rel=1e-8)

    def test_one_constraint_is_the_scalar_test(self):
        q, v = np.array([0.30, 0.36, 0.33]), 0.0022
        functions = [quadratic(np.array([x]), np.array([[1 / v]])) for x in q]
        test = bdp.evaluate.likelihood_ratio_test(functions, q[:, None], np.full((3, 1), 0.2), 1)
        scalar = bdp.combine(q, [v] * 3).wald_test(0.2)
        assert test.statistic == pytest.approx(scalar.statistic)
        assert test.df == pytest.approx(scalar.df)

    @staticmethod
    def areas(counts):
        """Test that areas have one rate, from copies of their counts, shape (copies, areas)."""
        full = np.log(counts)
        null = np.broadcast_to(np.log(counts.mean(axis=1, keepdims=True)), counts.shape)
        functions = [lambda eta, y=y: float(y @ eta - np.exp(eta).sum()) for y in counts]
        return bdp.evaluate.likelihood_ratio_test(functions, full, null, counts.shape[1] - 1)

    def test_size_after_sanitising_counts(self):
        """Poisson counts, Laplace noise, a gamma posterior draw and a copy, five times over."""
        repetitions, copies, rate = 3000, 5, 900.0
        generator = np.random.default_rng(11)
        counts = generator.poisson(rate, size=(repetitions, 1, 4))
        # Variance 450 of noise, 900 of the posterior, 900 of sampling: B = 2.5 V.
        noisy = counts + generator.laplace(scale=15, size=(repetitions, copies, 4))
        released = generator.poisson(generator.gamma(noisy + 0.5))
        rejected = np.mean([self.areas(y).p_value < 0.05 for y in released])
        expected = exact_size("liu", 2.5, 3, copies)
        error = math.sqrt(expected * (1 - expected) / repetitions)
        assert abs(rejected - expected) < Z * error

    def test_finds_areas_that_differ(self):
        generator = np.random.default_rng(12)
        released = generator.poisson([900, 900, 900, 1400], size=(5, 4))
        assert self.areas(released).p_value < 1e-6

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"full": [[1.0], [2.0]]}, "one row of each"),
            ({"log_likelihoods": [quadratic(np.zeros(2), np.eye(2))]}, "one function"),
            ({"full": [1.0, 2.0]}, "full must be"),
            ({"null": [[0.0, math.nan], [0.0, 2.0]]}, "null must be"),
            ({"constraints": 3}, "2 at most"),
            ({"constraints": 0}, "constraints is 0"),
            ({"constraints": 1.5}, "constraints is 1.5"),
            ({"rule": "fisher"}, "rule is 'fisher'"),
            ({"rule": "reiter"}, "use rule='reiter_positive'"),
            ({"size_ratio": 0}, "size_ratio is 0"),
            ({"full": [[1.0, 2.0], [3.0, 9.0]]}, r"copy 1's log-likelihood"),
            ({"log_likelihoods": [lambda theta: math.nan] * 2}, r"log_likelihoods\[0\] returned"),
            ({"log_likelihoods": [lambda theta: theta] * 2}, "one finite number"),
        ],
    )
    def test_bad_input_is_named(self, changes, message):
        full = np.array([[1.0, 2.0], [1.1, 2.1]])
        arguments = {
            "log_likelihoods": [quadratic(x, np.eye(2)) for x in full],
            "full": full,
            "null": full * [0, 1],
            "constraints": 1,
        }
        bdp.evaluate.likelihood_ratio_test(**arguments)
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            bdp.evaluate.likelihood_ratio_test(**(arguments | changes))

    def test_one_copy_takes_raab(self):
        arguments = ([quadratic(np.ones(2), np.eye(2))], [[1.0, 1.0]], [[0.0, 0.0]], 2)
        with pytest.raises(bdp.errors.InvalidInput, match="needs at least 2"):
            bdp.evaluate.likelihood_ratio_test(*arguments)
        test = bdp.evaluate.likelihood_ratio_test(*arguments, "raab")
        assert (test.statistic, test.df) == (pytest.approx(2 / (2 * 3)), (2, math.inf))
