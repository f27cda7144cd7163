"""Samplers and laws of conjugate releases, each against the other and against other formulas."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

import bayesdp as bdp
from bayesdp.mechanisms.conjugate import categorical_outputs as categories
from bayesdp.mechanisms.conjugate import gaussian_outputs as normal
from bayesdp.mechanisms.conjugate.truncated_normal import (
    log_common_mean,
    log_mass,
    truncated_normal,
)
from bayesdp.mechanisms.draws import categories as category_draws
from bayesdp.mechanisms.draws import polya
from bayesdp.mechanisms.draws.categories import multinomial_draws

SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")
LEAST = 1e-7  # p-value below which a fixed seed fails


def stand_in(method: str, n: int, prior, size: int | None = None, **more):
    """A release's parameters alone, so that laws are tested whatever profiles there are."""
    size = size if method in SYNTHETIC else None
    fields = {"method": method, "n": n, "prior": prior, "size": size, "synthetic_size": size or 0}
    return SimpleNamespace(**fields, **more)


def real(method: str, size: int = 3, *, bounded: bool = False, R: float = 1.5, prior=(0.4, 1.2)):
    return stand_in(method, 4, prior, size, R=R, sigma=0.8, bounded=bounded)


def posterior(made, total: float) -> tuple[float, float]:
    """Mean and standard deviation of theta, by Bayes' rule."""
    mean, sd = made.prior
    variance = 1 / (sd**-2 + made.n / made.sigma**2)
    return variance * (mean / sd**2 + total / made.sigma**2), math.sqrt(variance)


# Counts


@pytest.mark.parametrize("wide", [False, True], ids=["64-bit", "any width"])
@pytest.mark.parametrize("at_once", [True, False], ids=["one block", "a block a record"])
@pytest.mark.parametrize(
    ("counts", "prior"),
    [((0, 2, 1), ("1/2", "1/4", "1")), ((0, 1, 3), ("-1/2", "0", "-1/4")), ((2, 0), ("1", "-1"))],
)
def test_independent_records_have_exactly_their_probabilities(
    monkeypatch: pytest.MonkeyPatch, counts, prior, at_once: bool, wide: bool
):
    """Every sequence of integers that can be picked, all equally likely; negative weights are 0."""
    size, weights = 2, [max(Fraction(p) + c, Fraction(0)) for p, c in zip(prior, counts)]  # noqa: B905
    scale = max(Fraction(p).denominator for p in prior)
    total = int(scale * sum(weights))
    picks = list(product(range(total), repeat=size))
    coming = iter(np.array(picks).ravel().tolist())

    def next_picks(bounds: np.ndarray) -> np.ndarray:
        assert set(map(int, bounds)) == {total}
        return np.array([next(coming) for _ in bounds], dtype=bounds.dtype)

    if wide:
        monkeypatch.setattr(polya, "_WORD_BITS", 0)
    monkeypatch.setattr(category_draws, "uniform_below", next_picks)
    monkeypatch.setattr(category_draws, "_BLOCK", size if at_once else 1)
    rows = np.tile(np.array(counts), (len(picks), 1))
    drawn = multinomial_draws(rows, [Fraction(p) for p in prior], size)
    seen = Counter(map(tuple, drawn.tolist()))
    share = [w / sum(weights) for w in weights]
    for z in product(range(size + 1), repeat=len(share)):
        if sum(z) == size:
            ways = math.factorial(size) // math.prod(map(math.factorial, z))
            law = ways * math.prod(p**k for p, k in zip(share, z, strict=True))
            assert Fraction(seen.pop(z, 0), len(picks)) == law
    assert not seen


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize(
    ("prior", "counts"),
    [((1.5, 2.25, 4.0), (0, 2, 3)), ((0.5, 1.0, 0.01), (0, 4, 1)), ((1e-200, 2.0, 3.0), (1, 0, 4))],
)
def test_counts_follow_their_law(method, prior, counts):
    """Chi-square over all outputs, 20,000 draws; what has no probability is never drawn."""
    made = stand_in(method, 5, prior, 3)
    outputs = categories.space(made).every()
    drawn = categories.draw(made, np.array(counts), 20_000)
    seen = Counter(map(tuple, drawn.tolist()))
    law = np.exp(categories.logp(made, outputs, np.array(counts)))
    assert law.sum() == pytest.approx(1, abs=1e-13)
    times = np.array([seen.pop(tuple(z), 0) for z in outputs.tolist()])
    assert not seen
    assert not times[law == 0].any()
    likely = law * 20_000 >= 5
    expected = np.append(law[likely], max(law[~likely].sum(), 1e-9)) * 20_000
    observed = np.append(times[likely], times[~likely].sum())
    distance = np.sum((observed - expected) ** 2 / np.maximum(expected, 1.0))
    assert stats.chi2.sf(distance, likely.sum()) > LEAST


@pytest.mark.parametrize("method", SYNTHETIC)
def test_many_statistics_at_once(method):
    made = stand_in(method, 5, (1.5, 2.25, 4.0), 3)
    counts = np.array([[0, 2, 3], [5, 0, 0]])
    drawn = categories.draw(made, counts, 2000)
    assert drawn.shape == (2000, 2, 3)
    assert np.all(drawn.sum(axis=-1) == 3)
    outputs = categories.space(made).every()
    table = categories.logp(made, outputs[:, None, :], counts)
    assert table.shape == (len(outputs), 2)
    for i, one in enumerate(counts):
        assert np.array_equal(table[:, i], categories.logp(made, outputs, one))
        mean = np.exp(table[:, i]) @ outputs
        error = drawn[:, i].std(axis=0) / math.sqrt(2000) + 1e-12
        assert np.all(np.abs(drawn[:, i].mean(axis=0) - mean) < 6 * error)


@pytest.mark.parametrize("method", ["synthetic_map", "synthetic_many"])
def test_two_categories_are_the_bernoulli_family(method):
    made = bdp.mechanisms.ConjugateMechanism("bernoulli", method, 5, (0.5, 3.0), size=4)
    two = stand_in(method, 5, (0.5, 3.0), 4)
    for x in range(6):
        z = np.arange(5)
        less = method == "synthetic_map"
        weights = max(0.5 + x - less, 0), max(3.0 + 5 - x - less, 0)
        truth = stats.binom.logpmf(z, 4, weights[0] / sum(weights))
        assert made.logp(z, bdp.Count(x, 5)) == pytest.approx(truth, rel=1e-12)
        pairs = np.stack([z, 4 - z], axis=-1)
        assert categories.logp(two, pairs, np.array([x, 5 - x])) == pytest.approx(truth, rel=1e-12)
    assert made.logp([-1, 5], bdp.Count(3, 5)).tolist() == [-math.inf, -math.inf]


# Probabilities


def test_a_draw_of_a_probability_follows_its_law():
    made = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 9, (0.3, 2.0))
    for x in (0, 4, 9):
        with bdp.reproducible(x):
            drawn = made.release(bdp.Count(x, 9), copies=20_000)
        law = stats.beta(0.3 + x, 2.0 + 9 - x)
        assert stats.kstest(drawn, law.cdf).pvalue > LEAST
        assert made.logp(drawn[:9], bdp.Count(x, 9)) == pytest.approx(law.logpdf(drawn[:9]))
        assert made.release(bdp.Count(np.array([x, 1]), 9), copies=3).shape == (3, 2)


def test_a_draw_of_probabilities_follows_its_law():
    made = bdp.mechanisms.ConjugateMechanism("categorical", "parameter_draw", 6, (0.3, 2.0, 1.5))
    counts = np.array([0, 4, 2])
    alpha = counts + np.array(made.prior)
    with bdp.reproducible(1):
        drawn = made.release(counts, copies=20_000)
    # Aggregates of a Dirichlet vector are beta, and their ratios independent of them.
    for part, (a, b) in (
        (drawn[:, 0], (alpha[0], alpha[1] + alpha[2])),
        (drawn[:, 0] + drawn[:, 2], (alpha[0] + alpha[2], alpha[1])),
        (drawn[:, 1] / (drawn[:, 1] + drawn[:, 2]), (alpha[1], alpha[2])),
    ):
        assert stats.kstest(part, stats.beta(a, b).cdf).pvalue > LEAST
    rank = stats.spearmanr(drawn[:, 0], drawn[:, 1] / (drawn[:, 1] + drawn[:, 2]))
    assert rank.pvalue > LEAST
    truth = [stats.dirichlet.logpdf(theta / theta.sum(), alpha) for theta in drawn[:50]]
    assert made.logp(drawn[:50], counts) == pytest.approx(np.array(truth), rel=1e-9)


# Reals


@pytest.mark.parametrize("method", ["parameter_draw", *SYNTHETIC])
def test_normal_densities_by_another_formula(method):
    made, total = real(method), 2.75
    mean, tau = posterior(made, total)
    size = made.size or 1
    own, shared = np.eye(size), np.ones((size, size))
    covariance = {
        "parameter_draw": tau**2 * own,
        "synthetic_map": 0.64 * own,
        "synthetic_one": 0.64 * own + tau**2 * shared,
        "synthetic_many": (0.64 + tau**2) * own,
    }[method]
    y = np.random.default_rng(3).normal(0, 2, (20, size))
    truth = stats.multivariate_normal([mean] * size, covariance).logpdf(y)
    found = normal.logp(made, y if made.size else y[:, 0], np.array(total))
    assert found == pytest.approx(truth, rel=1e-12)
    sums = np.linspace(-6, 6, 5)
    table = normal.logp(made, y[:, None] if made.size else y, sums)
    assert table.shape == (20, 5)
    one = normal.logp(made, y[3] if made.size else y[3, 0], np.array(sums[2]))
    assert table[3, 2] == pytest.approx(float(one), rel=1e-14)


@pytest.mark.parametrize("method", ["parameter_draw", *SYNTHETIC])
@pytest.mark.parametrize("total", [0.5, 6.0])
def test_normal_draws_follow_their_law(method, total):
    """Mean and sum of squares of the records are independent, normal and chi-square."""
    made = real(method, size=4)
    mean, tau = posterior(made, total)
    with bdp.reproducible(2):
        drawn = normal.draw(made, np.array(total), 20_000)
    if method == "parameter_draw":
        assert stats.kstest(drawn, stats.norm(mean, tau).cdf).pvalue > LEAST
        return
    assert drawn.shape == (20_000, 4)
    within = 0.64 + (tau**2 if method == "synthetic_many" else 0)
    common = tau**2 if method == "synthetic_one" else 0
    centre = drawn.mean(axis=1)
    squares = np.sum((drawn - centre[:, None]) ** 2, axis=1) / within
    law = stats.norm(mean, math.sqrt(common + within / 4))
    assert stats.kstest(centre, law.cdf).pvalue > LEAST
    assert stats.kstest(squares, stats.chi2(3).cdf).pvalue > LEAST
    for i in (0, 3):
        law = stats.norm(mean, math.sqrt(common + within))
        assert stats.kstest(drawn[:, i], law.cdf).pvalue > LEAST


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("method", ["parameter_draw", *SYNTHETIC])
@pytest.mark.parametrize("total", [0.5, 6.0])
def test_densities_of_one_number_integrate_to_one(method, total, bounded):
    made = real(method, size=1, bounded=bounded)
    end = made.R if bounded else 12.0

    def density(y: float) -> float:
        return math.exp(float(normal.logp(made, [y] if made.size else y, np.array(total))))

    mass, _ = integrate.quad(density, -end, end, epsabs=1e-12)
    assert mass == pytest.approx(1, abs=1e-10)
    assert density(made.R * 1.01) == 0 or not bounded


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize(("total", "prior"), [(0.5, (0.4, 1.2)), (6.0, (0.4, 1.2)), (0.0, (-9, 2))])
def test_bounded_densities_of_two_records_integrate_to_one(method, total, prior):
    made = real(method, size=2, bounded=True, prior=prior)
    y, weight = np.polynomial.legendre.leggauss(40)
    y, weight = made.R * y, made.R * weight
    grid = np.stack(np.meshgrid(y, y), axis=-1)
    mass = weight @ np.exp(normal.logp(made, grid, np.array(total))) @ weight
    assert mass == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("method", ["parameter_draw", *SYNTHETIC])
@pytest.mark.parametrize(("total", "prior"), [(0.5, (0.4, 1.2)), (6.0, (0.4, 1.2)), (0.0, (-9, 2))])
def test_bounded_draws_follow_their_law(method, total, prior):
    """A record, and the mean of two, against distribution functions made of the density."""
    made = real(method, size=2, bounded=True, prior=prior)
    with bdp.reproducible(6):
        drawn = normal.draw(made, np.array(total), 20_000)
    assert np.abs(drawn).max() <= made.R
    single = real(method, size=1, bounded=True, prior=prior)
    edges = np.linspace(-made.R, made.R, 201)
    points = edges if method == "parameter_draw" else edges[:, None]
    cdf = integrate.cumulative_simpson(
        np.exp(normal.logp(single, points, np.array(total))), x=edges, initial=0
    )
    assert cdf[-1] == pytest.approx(1, abs=1e-6)
    for column in drawn.reshape(20_000, -1).T:
        law = stats.kstest(column, lambda v: np.interp(v, edges, cdf))
        assert law.pvalue > LEAST
    if method != "parameter_draw":
        # The two are dependent as the density says: the mean square of their sum.
        nodes, weight = np.polynomial.legendre.leggauss(40)
        y, weight = made.R * nodes, made.R * weight
        grid = np.stack(np.meshgrid(y, y), axis=-1)
        mass = np.exp(normal.logp(made, grid, np.array(total))) * np.outer(weight, weight)
        square = float(np.sum(mass * (grid.sum(axis=-1)) ** 2))
        found = drawn.sum(axis=1) ** 2
        assert abs(found.mean() - square) < 6 * found.std() / math.sqrt(20_000)


@pytest.mark.parametrize(
    ("mean", "sd", "R"),
    [
        (0, 1, 1),
        (3, 1, 1e-4),
        (2, 0.7, 0.2),
        (-30, 0.5, 2),
        (40, 1, 1),
        (1, 0.01, 1),
        (0.3, 1e3, 1),
    ],
)
def test_the_mass_and_the_quantiles_of_a_conditioned_normal(mean, sd, R):
    with mp.workdps(900):
        m, s, r = map(mp.mpf, (mean, sd, R))
        low, high = mp.ncdf((-r - m) / s), mp.ncdf((r - m) / s)
        truth = float(mp.log(high - low))
        assert float(log_mass(mean, sd, R)) == pytest.approx(truth, rel=1e-12, abs=1e-13)
        u = np.array([0.0, 1e-12, 0.1, 0.5, 0.9, 1 - 1e-9])
        y = truncated_normal(np.full(6, mean), sd, R, u)
        back = [float((mp.ncdf((mp.mpf(v) - m) / s) - low) / (high - low)) for v in y]
    assert back == pytest.approx(u, abs=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mu", "centre", "size", "tau", "sigma", "R"),
    [
        *((0, 0.5, 1, 0.3, 1, 1), (0.9, 0.9, 50, 0.1, 1, 1), (5, -1, 10, 0.3, 1, 1)),
        *((1, 1, 400, 0.05, 1, 2), (-2, -1.9, 1000, 0.01, 0.1, 2), (0, 0, 3, 0.02, 1, 2)),
        (20, 1, 2, 0.5, 1, 1),
    ],
)
def test_the_integral_over_the_common_mean(mu, centre, size, tau, sigma, R):
    with mp.workdps(25):
        m, y, t, s = map(mp.mpf, (mu, centre, tau, sigma))

        def f(theta):
            mass = mp.ncdf((R - theta) / s) - mp.ncdf((-R - theta) / s)
            square = ((theta - m) / t) ** 2 + size * ((y - theta) / s) ** 2
            return mp.exp(-square / 2) / mass**size

        peak = max(np.linspace(-R, R, 801).tolist(), key=f)
        ends = mp.linspace(max(-R, peak - 12 * tau), min(R, peak + 12 * tau), 120)
        truth = float(mp.log(mp.quad(f, ends, maxdegree=3)))
    found = log_common_mean(mu, centre, size, tau, sigma, R)
    assert float(found) == pytest.approx(truth, rel=1e-12, abs=1e-12)
