"""Laws and exact draws of integer noise, against mpmath and term-by-term sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.draws import integer_noise as exact_noise
from bayesdp.mechanisms.noise.laws import GaussianNoise, LaplaceNoise

KINDS = {"laplace": LaplaceNoise, "gaussian": GaussianNoise}
SCALES = [Fraction(1, 4), Fraction(1), Fraction(5, 2), Fraction(31), Fraction(65, 2), Fraction(300)]
kinds = pytest.mark.parametrize("kind", KINDS)


def weight(kind: str, k: int, scale: Fraction) -> mpf:
    t = mpf(scale.numerator) / scale.denominator
    return mp.exp(-abs(k) / t) if kind == "laplace" else mp.exp(-(mpf(k) ** 2) / (2 * t * t))


def all_weights(kind: str, scale: Fraction) -> list[mpf]:
    """Of 0, 1, 2, ...: all but 1e-25 of a tail from 30 scales on."""
    reach = 90 * scale if kind == "laplace" else 33 * scale
    return [weight(kind, k, scale) for k in range(max(math.ceil(reach), 100))]


@pytest.mark.slow
@kinds
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_laws_agree_with_sums_in_high_precision(kind, scale):
    noise = KINDS[kind](scale)
    with mp.workdps(60):
        w = all_weights(kind, scale)
        total = 2 * mp.fsum(w) - 1
        for m in {0, 1, 2, int(scale), int(3 * scale), int(8 * scale), int(30 * scale)}:
            assert float(noise.log_pmf(m)) == pytest.approx(
                float(mp.log(weight(kind, m, scale) / total)), rel=1e-15, abs=1e-13
            )
            tail = mp.fsum(w[m:]) / total
            for at, true in ((m, tail), (1 - m, 1 - tail)):
                if at == m or tail < 1:
                    assert float(noise.log_upper(at)) == pytest.approx(
                        float(mp.log(true)), rel=1e-15, abs=2e-13
                    )
            below = mp.fsum(w[: m + 1])
            for above in (0, 1, int(2 * scale), math.inf):
                part = mp.fsum(w[1:] if above == math.inf else w[1 : above + 1])
                assert float(noise.log_mass(m, above)) == pytest.approx(
                    float(mp.log((below + part) / total)), abs=1e-13
                )


@pytest.mark.parametrize("scale", [2**20, 2**31 + 1, 2**49])
def test_large_gaussians_agree_with_the_continuous_one(scale):
    """At this scale the sum over m..inf is the integral from m - 1/2 within h^2 / 24."""
    noise = GaussianNoise(Fraction(scale))
    u = np.array([0.001, 0.1, 1.0, 5.0, 20.0, 37.0])
    m = np.floor(u * scale)
    expected = stats.norm.logsf((m - 0.5) / scale)
    assert noise.log_upper(m) == pytest.approx(expected, rel=1e-12)
    inside = np.log(stats.norm.cdf((m + 0.5) / scale) - stats.norm.cdf(-0.5 / scale))
    assert noise.log_mass(0, m[2:]) == pytest.approx(inside[2:], rel=1e-9, abs=1e-12)
    assert noise.log_mass(math.inf, math.inf) == pytest.approx(0, abs=1e-14)


@kinds
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(37, 5)])
@pytest.mark.parametrize("slack", [None, 0.05])
def test_draws_follow_their_law(kind, scale, slack, monkeypatch):
    """Chi-square, false alarm 1e-7; once with many draws settled by decimals, not by floats."""
    from bayesdp.mechanisms.draws import bernoulli

    count = 400_000
    if slack is not None:
        monkeypatch.setattr(bernoulli, "_SLACK", slack)
        count = 3_000
    noise = KINDS[kind](scale)
    with bdp.reproducible(7):
        drawn = noise.draw(count)
    reach = np.arange(-60, 61)
    expected = np.exp(noise.log_pmf(reach)) * count
    likely = expected > 8
    seen = np.array([np.count_nonzero(drawn == k) for k in reach])[likely]
    seen = np.append(seen, count - seen.sum())
    rest = np.append(expected[likely], max(count - expected[likely].sum(), 1.0))
    assert stats.chi2.sf(np.sum((seen - rest) ** 2 / rest), likely.sum()) > 1e-7


@kinds
@pytest.mark.parametrize("scale", [2**20, 2**33 + 12345, exact_noise.LARGEST_SCALE])
def test_wide_draws_follow_the_continuous_law(kind, scale):
    """Kolmogorov and Smirnov, and the low bits are uniform."""
    with bdp.reproducible(11):
        drawn = KINDS[kind](Fraction(scale)).draw(100_000)
    law = stats.laplace if kind == "laplace" else stats.norm
    assert stats.kstest(drawn / scale, law.cdf).pvalue > 1e-7
    low = np.bincount(drawn & 63, minlength=64)
    assert stats.chisquare(low).pvalue > 1e-7


@kinds
@pytest.mark.parametrize(("below", "above"), [(0, 0), (0, 3), (2, 0), (1, 12), (40, 40)])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(9), Fraction(50)])
def test_draws_within_an_interval_follow_their_law(kind, below, above, scale):
    noise, count = KINDS[kind](scale), 60_000
    with bdp.reproducible(3):
        drawn = noise.draw_within(np.full(count, below), np.full(count, above))
    inside = np.arange(-below, above + 1)
    expected = np.exp(noise.log_pmf(inside) - noise.log_mass(below, above)) * count
    assert expected.sum() == pytest.approx(count, rel=1e-12)
    seen = np.array([np.count_nonzero(drawn == k) for k in inside])
    assert seen.sum() == count
    likely = expected > 8
    seen = np.append(seen[likely], count - seen[likely].sum())
    rest = np.append(expected[likely], max(count - expected[likely].sum(), 1.0))
    assert stats.chi2.sf(np.sum((seen - rest) ** 2 / rest), max(likely.sum() - 1, 1)) > 1e-7


def test_few_proposals_are_refused():
    """The docstrings promise that 1 in 4 is kept: the worst is a statistic at the bound."""
    for scale in (Fraction(1, 2), Fraction(3), Fraction(1000)):
        for width in (0, 1, int(scale) + 1, int(2 * scale) + 1, int(5 * scale) + 1):
            for noise, flat in ((LaplaceNoise(scale), scale), (GaussianNoise(scale), 2 * scale)):
                mass = float(noise.log_mass(0, width))
                uniform = mass - float(noise.log_pmf(0)) - math.log(width + 1)
                assert math.exp(uniform if width <= flat else mass) > 0.25
