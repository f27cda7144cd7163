"""The law of sums of exponential records within bounds, against exact sums and whole integrals."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats

from bayesdp.inference.gamma import sums as gamma_sums
from bayesdp.inference.gamma.irwin_hall import log_irwin_hall, rough_log_irwin_hall
from bayesdp.inference.gamma.sums import BoundedSums, FreeSums

PRIOR = (2.5, 3.0)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


def irwin_hall(j: int, s: float) -> float:
    """The alternating sum with as many digits as it loses."""
    mp.mp.dps, exact = 100 + 6 * j, Fraction(s)
    terms = (
        (-1) ** i
        * math.comb(j, i)
        * (mp.mpf((exact - i).numerator) / (exact - i).denominator) ** (j - 1)
        for i in range(math.floor(exact) + 1)
    )
    return float(mp.log(sum(terms) / mp.factorial(j - 1)))


@pytest.mark.parametrize("j", [1, 2, 3, 10, 14, 15, 20, 40, 100, 300])
def test_the_density_of_a_sum_of_uniform_variables(j):
    """On both sides of where the formula changes, and to the ends of the range."""
    shares = [1e-9, 1e-4, 0.01, 0.1, 0.3, 0.45, 0.5, 0.6, 0.8, 0.99, 1 - 1e-6]
    s = np.array(shares) * j
    found = log_irwin_hall(np.array(j), s)
    assert found == pytest.approx([irwin_hall(j, x) for x in s], abs=2e-12)
    assert np.max(np.abs(rough_log_irwin_hall(np.array(j), s) - found)) < 0.5
    assert np.all(log_irwin_hall(np.array(j), np.array([-1.0, 0.0, j, j + 1])) == -np.inf)


def test_the_density_of_a_sum_of_a_million_uniform_variables():
    """In the far tail, where it is s^(j - 1) / (j - 1)!, and in the middle, where it is normal."""
    found = log_irwin_hall(np.array(10**6), np.array([1.0, 5e5]))
    assert found[0] == pytest.approx(-special.gammaln(1e6), rel=1e-13)
    assert found[1] == pytest.approx(stats.norm(0, math.sqrt(1e6 / 12)).logpdf(0), abs=1e-5)


def over_sums(law: BoundedSums, function=lambda total: 1.0) -> float:
    """Integral of a function over all sums, the single one with a probability included."""
    top, low = law.ends[1], law.ends[0]
    start = math.log(low) if low > 0 else math.log(top) - 40 / law.n - 8
    kinks = law.kinks()
    kinks = np.log(kinks[(kinks > math.exp(start)) & (kinks < top)])
    edges = np.unique([*np.linspace(start, math.log(top), 300), *kinks])
    x = (edges[:-1, None] + np.diff(edges)[:, None] * (1 + NODES) / 2).ravel()
    density = np.exp(special.logsumexp(law.terms(x)[0], axis=1)) * function(np.exp(x))
    whole = float(density @ (np.diff(edges)[:, None] * WEIGHTS / 2).ravel())
    atom = law.atom()
    return whole if atom is None else whole + math.exp(atom[0]) * function(atom[1])


@pytest.mark.parametrize("high", [0.5, 2.0, 8.0])
@pytest.mark.parametrize(
    "n", [3, 15, *(pytest.param(n, marks=pytest.mark.slow) for n in (60, 1000))]
)
def test_moved_records_have_probability_one_and_their_mean(n, high):
    """From all of them moved to hardly any: the sum over c, the sums and the single sum n u."""
    law, (a, b) = BoundedSums(n, (0.0, high), True, PRIOR), PRIOR
    assert over_sums(law) == pytest.approx(1, abs=1e-11)
    mean = n * integrate.quad(lambda x: (b / (b + x)) ** a, 0, high, epsabs=1e-13)[0]
    assert over_sums(law, lambda total: total) == pytest.approx(mean, rel=1e-11)


@pytest.mark.parametrize("bounds", [(0.0, 2.0), (0.0, 8.0), (0.25, 8.0)])
@pytest.mark.parametrize("n", [3, 15, 60])
def test_refused_records_have_the_probability_of_none(n, bounds):
    a, b = PRIOR

    def all_inside(rate: float) -> float:
        inside = math.exp(-bounds[0] * rate) - math.exp(-bounds[1] * rate)
        return float(stats.gamma.pdf(rate, a, scale=1 / b)) * inside**n

    expected = integrate.quad(all_inside, 0, 40, epsabs=1e-16, limit=200)[0]
    assert over_sums(BoundedSums(n, bounds, False, PRIOR)) == pytest.approx(expected, rel=1e-9)


def test_far_bounds_are_none():
    x = np.log(np.linspace(20, 60, 9))
    far, free = BoundedSums(40, (0.0, 400.0), True, PRIOR), FreeSums(40, 1.0, PRIOR)
    for law in (far, BoundedSums(40, (0.0, 400.0), False, PRIOR)):
        logs, shapes = law.terms(x)
        assert special.logsumexp(logs, axis=1) == pytest.approx(free.terms(x)[0][:, 0], abs=1e-11)
        assert np.all(shapes[:, 0] == 42.5)


def test_very_many_moved_records_are_summed_by_steps(monkeypatch):
    """Of 200,000 records half are moved: every c, and one in many, give one sum."""
    law = BoundedSums(200_000, (0.0, 0.8), True, (200.0, 230.0))
    x = np.log(np.array([9.0e4, 9.2e4]))
    by_steps, shapes = law.terms(x)
    assert shapes.shape[1] <= 128
    monkeypatch.setattr(gamma_sums, "_MOST", 10**6)
    each, _ = law.terms(x)
    assert each.shape[1] > 2000
    together = [special.logsumexp(logs, axis=1) for logs in (by_steps, each)]
    assert together[0] == pytest.approx(together[1], abs=1e-10)
