"""Liu's experiments: the simulation's laws against the mechanism's own, and its rules by hand."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.mechanisms.randomness import reproducible
from bayesdp.papers.liu.cells import Cell, differs, intervals, numbers, standard_error
from bayesdp.papers.liu.posterior import compare
from bayesdp.papers.liu.study import (
    Design,
    Estimates,
    binary_copies,
    bounded_moments,
    normal_copies,
    simulate,
)

ALARM = 1e-7
BOUNDING = ("inflated", "truncated")


def mechanism(design: Design) -> bdp.mechanisms.ModipsSBSMechanism:
    if design.bounds is None:
        family = bdp.families.Bernoulli()
    else:
        sd = 1.0 if design.share is None else None
        family = bdp.families.Gaussian(bounds=design.bounds, sd=sd)
    n = design.n
    return bdp.mechanisms.ModipsSBSMechanism(
        family, n, design.scales, n=n, bounding=design.bounding
    )


@pytest.mark.parametrize("bounding", BOUNDING)
@pytest.mark.parametrize(("epsilon", "ones"), [(5.0, 1), (0.5, 3), (1.0, 10)])
def test_binary_copies_have_the_mechanisms_law(bounding, epsilon, ones):
    design = Design(10, 2, epsilon, bounding, p=0.1)
    z = binary_copies(design, np.full(100_000, ones), np.random.default_rng(1))
    law = np.exp(mechanism(design).logp(np.arange(11), bdp.Count(ones, 10)))
    counts = np.bincount(z.ravel(), minlength=11)
    pooled = counts.sum() * law >= 5
    found = [*counts[pooled], counts[~pooled].sum()]
    expected = [*law[pooled], law[~pooled].sum() + 1e-300]
    assert stats.chisquare(found, counts.sum() * np.array(expected)).pvalue > ALARM


@pytest.mark.parametrize("bounding", BOUNDING)
@pytest.mark.parametrize("share", [None, 0.3])
@pytest.mark.parametrize(
    ("n", "epsilon", "mean"), [(10, 20.0, 0.5), (10, 1.0, -3.0), (100, 5.0, 3.5), (100, 1.0, 0.0)]
)
def test_normal_copies_have_the_mechanisms_law(bounding, share, n, epsilon, mean):
    """Means and variances of copies, from records at n = 10 and from moments at n = 100."""
    design = Design(n, 1, epsilon, bounding, bounds=(-4.0, 5.0), share=share)
    many = 20_000 if n == 10 else 8000
    statistic = (mean,) if share is None else (mean, 1.5)
    with reproducible(2):
        records = mechanism(design).release(np.tile(statistic, (many, 1)))[0]
    drawn = normal_copies(design, np.full(many, mean), np.full(many, 1.5), np.random.default_rng(3))
    theirs = records.mean(axis=-1), records.var(axis=-1, ddof=1)
    for ours, real in zip(drawn, theirs, strict=True):
        # Where the variance hits 0, all records are alike, and what rounding makes of it differs.
        assert stats.ks_2samp(ours[0].round(9), real.round(9)).pvalue > ALARM


def test_the_published_scales():
    assert Design(100, 10, 2.0, p=0.1).scales == (5.0,)
    assert Design(100, 10, 1.0, bounds=(-4.0, 4.0)).scales == pytest.approx((0.8,))
    shared = Design(100, 10, 1.0, bounds=(-4.0, 5.0), share=0.25)
    assert shared.scales == pytest.approx((9 / 100 * 40, 81 / 100 * 10 / 0.75))
    for design in (Design(100, 10, 1.0, p=0.1), shared):
        assert mechanism(design).epsilon(copies=10) == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize(
    ("theta", "sigma"), [(0.0, 1.0), (3.9, 1.0), (5.3, 1.0), (-4.2, 0.5), (1.0, 4.0), (2.0, 0.01)]
)
def test_moments_of_a_bounded_record(theta, sigma, truncated):
    """By quadrature of the density, and what is at the ends."""
    low, high = bounds = (-4.0, 5.0)
    law = stats.norm(theta, sigma)
    at = [p for p in theta + sigma * np.array([-9, -4, -1, 1, 4, 9]) if low < p < high]

    def expected(f) -> float:
        inner = integrate.quad(lambda y: f(y) * law.pdf(y), low, high, points=at, limit=200)[0]
        if truncated:
            return inner / (law.cdf(high) - law.cdf(low))
        return inner + f(low) * law.cdf(low) + f(high) * law.sf(high)

    mean = expected(lambda y: y)
    want = [mean, *(expected(lambda y, k=k: (y - mean) ** k) for k in (2, 3, 4))]
    found = [float(v) for v in bounded_moments(theta, sigma, bounds, truncated)]
    assert found == pytest.approx(want, rel=1e-6, abs=1e-9)


def test_a_point_has_no_moments():
    mean, *rest = bounded_moments(np.array([1.0, 4.0]), np.zeros(2), (-4.0, 4.0), False)
    assert mean == pytest.approx([1.0, 4.0], abs=1e-9)
    assert np.max(np.abs(rest)) < 1e-12


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("theta", [0.0, 3.0, 3.9, 4.0, 4.3])
def test_mean_of_100_bounded_records(theta, truncated):
    """Its distribution function, by convolving the records' law 100 times, is off by < 0.002."""
    n, h, (low, high) = 100, 0.005, (-4.0, 4.0)
    y = low + h * np.arange(round((high - low) / h) + 1)
    edges = np.concatenate([[-np.inf], (y[1:] + y[:-1]) / 2, [np.inf]])
    law = np.diff(special.ndtr(edges - theta))
    if truncated:
        law = np.diff(special.ndtr(np.clip(edges, low, high) - theta))
        law /= law.sum()
    size = n * (y.size - 1) + 1
    of_sum = np.fft.irfft(np.fft.rfft(law, size) ** n, size)
    exact = np.cumsum(of_sum)
    at = n * low + h * (np.arange(size) + 0.5)
    mean, m2, m3, _ = bounded_moments(theta, 1.0, (low, high), truncated)
    z = np.linspace(-4, 4, 801)
    skewness = m3 / m2**1.5 / math.sqrt(n)
    q = mean + np.sqrt(m2 / n) * (z + skewness * (z * z - 1) / 6)
    assert np.all(np.diff(q) > 0)
    assert np.max(np.abs(np.interp(n * q, at, exact) - special.ndtr(z))) < 0.002


def test_simulated_moments():
    """Of a design whose estimate has known moments: no noise to speak of, and no bounds met."""
    replicates = 20_000
    made = simulate(Design(100, 10, 1e6, p=0.5), replicates, np.random.default_rng(4))
    v = 0.25 / 100
    shrunk = 100 / 102
    variance = shrunk**2 * v + 2 * v / 10
    assert abs(made.mean.mean() - 0.5) < 6 * math.sqrt(variance / replicates)
    assert made.mean.var(ddof=1) == pytest.approx(variance, rel=0.06)
    assert made.original.var(ddof=1) == pytest.approx(v, rel=0.06)
    assert made.within.mean() == pytest.approx(v, rel=0.05)
    assert made.between.mean() == pytest.approx(2 * v, rel=0.06)


@pytest.mark.parametrize("rule", ["liu", "rubin"])
def test_intervals_are_those_of_combine(rule):
    q, v = np.array([0.1, 0.3, 0.25, 0.2]), np.array([0.01, 0.012, 0.008, 0.011])
    one = np.ones(1)
    made = Estimates(one, one, q.mean() * one, v.mean() * one, q.var(ddof=1) * one)
    variance, half = intervals(rule, 4, made)
    combined = bdp.combine(q, v, rule)
    low, high = combined.interval(0.95)
    assert variance[0] == pytest.approx(combined.variance, rel=1e-12)
    assert 2 * half[0] == pytest.approx(high - low, rel=1e-9)


def test_normal_intervals_and_a_negative_variance():
    within, between = np.array([0.01, 0.01]), np.array([0.02, 0.001])
    made = Estimates(within, within, np.zeros(2), within, between)
    variance, half = intervals("reiter", 10, made)
    assert variance == pytest.approx([0.012, -0.0089])
    assert half[0] == pytest.approx(stats.norm.ppf(0.975) * math.sqrt(0.012))
    assert np.isnan(half[1])
    _, half = intervals("raab", 10, made)
    assert half == pytest.approx(stats.norm.ppf(0.975) * math.sqrt(0.012))


def test_standard_errors():
    assert standard_error(0.5, 100) == pytest.approx(0.05)
    assert standard_error(1.0, 100) == pytest.approx(math.sqrt(0.005 * 0.995 / 100))
    assert differs(0.9, 0.9, 5000) == 0
    one = math.sqrt(0.89 * 0.11 / 5000)
    assert differs(0.9, 0.88, 5000) == pytest.approx(-0.02 / (one * math.sqrt(2)))


@pytest.mark.slow
def test_posterior_cells_use_the_same_copies_as_the_study():
    """The mechanism's own releases give Theorem 7 the lengths that the study gives it."""
    design = Design(100, 10, 1.0, p=0.1)
    found = compare(design, 300, np.random.default_rng(5), 0.95)
    made = simulate(design, 20_000, np.random.default_rng(6))
    _, half = intervals("liu", 10, made)
    error = 2 * half.std() / math.sqrt(300)
    assert abs(found["liu_length"] - 2 * half.mean()) < 6 * error
    covered = np.mean(np.abs(made.mean - 0.1) <= half)
    assert abs(found["liu_coverage"] - covered) < 6 * standard_error(float(covered), 300)
    assert abs(found["posterior_coverage"] - 0.95) < 6 * standard_error(0.95, 300)
    assert found["ratio"] == found["posterior_length"] / found["liu_length"]
    assert found["posterior_length"] < found["liu_length"]


def test_posterior_cells_of_normal_records():
    """The same of normal records; with hardly any noise the posterior is known in closed form."""
    design = Design(10, 10, 10.0, bounds=(-4.0, 4.0), mean=0.5)
    found = compare(design, 100, np.random.default_rng(5), 0.95)
    made = simulate(design, 20_000, np.random.default_rng(6))
    _, half = intervals("liu", 10, made)
    assert abs(found["liu_length"] - 2 * half.mean()) < 6 * 2 * half.std() / 10
    covered = np.mean(np.abs(made.mean - 0.5) <= half)
    assert abs(found["liu_coverage"] - covered) < 6 * standard_error(float(covered), 100)
    assert abs(found["posterior_coverage"] - 0.95) < 6 * standard_error(0.95, 100)
    sharp = Design(10, 10, 1e5, bounds=(-4.0, 4.0))
    found = compare(sharp, 20, np.random.default_rng(7), 0.95)
    # A mean of 10 copies of 10 records around theta around the mean of 10 records around mu.
    sd = math.sqrt(0.1 + (0.1 + 0.1) / 10)
    assert found["posterior_length"] == pytest.approx(2 * 1.959964 * sd, rel=1e-3)


@pytest.mark.slow
@pytest.mark.calibrate
def test_posterior_cells_of_records_of_unknown_sd():
    """Coverage of the mean in a cell of Figure 8, and intervals shorter than Theorem 7's."""
    design = Design(1000, 10, 1.0, bounds=(-4.0, 4.0), share=0.9)
    found = compare(design, 25, np.random.default_rng(5), 0.95)
    assert stats.binom.cdf(round(25 * found["posterior_coverage"]), 25, 0.95) > 1e-6
    assert found["ratio"] < 1 - 5 * found["ratio_error"]
    made = simulate(design, 20_000, np.random.default_rng(6))
    _, half = intervals("liu", 10, made)
    assert abs(found["liu_length"] - 2 * half.mean()) < 6 * 2 * half.std() / 5


def test_a_cell_and_a_generator_give_the_same_numbers():
    cell = Cell("figure8", Design(100, 10, 1.0, "truncated", bounds=(-4.0, 5.0), share=0.5))
    first, second = (numbers(7, (1, cell, 50)) for _ in range(2))
    assert first == second
    assert first["original_half"] == pytest.approx(0.2, rel=0.05)
