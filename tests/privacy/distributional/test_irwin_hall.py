"""Sums of uniform numbers against exact sums, 40-digit quadrature and identities."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.privacy.distributional import irwin_hall as ih


def exact_logs(y: float, n: int) -> tuple[float, float]:
    """Log density and log distribution by the alternating sum in integers, 60 digits."""
    place = Fraction(y)
    p, q = place.numerator, place.denominator
    density = total = 0
    for k in range(math.floor(place) + 1):
        term = (-1) ** k * math.comb(n, k) * (p - k * q) ** (n - 1)
        density, total = density + term, total + term * (p - k * q)
    with mpmath.workdps(60):
        scale = mpmath.mpf(math.factorial(n - 1)) * mpmath.mpf(q) ** (n - 1)
        return (
            float(mpmath.log(mpmath.mpf(density) / scale)),
            float(mpmath.log(mpmath.mpf(total) / (scale * n * q))),
        )


@pytest.mark.parametrize("n", [1, 2, 10, 40, 41, 60, 100, 300, 1000])
def test_against_sums_of_60_digits(n):
    for fraction in (1e-3, 0.01, 0.1, 0.3, 0.42, 0.49, 0.4999, 0.5):
        y = n * fraction
        found = float(ih.log_density(y, n)), float(ih.log_distribution(y, n))
        for ours, true in zip(found, exact_logs(y, n), strict=True):
            # Relative error of the number itself where it has any digits as a double.
            assert abs(ours - true) <= max(1e-11, 4e-16 * abs(true))
            assert abs(ours - true) <= ih.error(n) + 4e-16 * abs(true)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 10**5, 10**7])
@pytest.mark.parametrize("deviations", [0.0, 0.7, 5.0, 20.0, 37.0])
def test_against_quadrature_of_40_digits(n, deviations):
    """The contour integral itself, along a line of its own, by mpmath's quadrature."""
    x = round(deviations * math.sqrt(n / 12), 3)
    y = n / 2 - x
    with mpmath.workdps(40):
        sd = mpmath.sqrt(mpmath.mpf(n) / 12)
        saddle = mpmath.mpf(0)
        if x:
            saddle = mpmath.findroot(
                lambda a: mpmath.coth(a) - 1 / a - 2 * (n / 2 - y) / n, 6 * x / n
            )
        a = max(saddle, mpmath.mpf(3) / 4 / sd)

        def exponent(w):
            return n * mpmath.log(mpmath.sinh(w) / w) - 2 * w * (mpmath.mpf(n) / 2 - y)

        def law(v, tail):
            w = mpmath.mpc(a, v)
            term = mpmath.exp(exponent(w) - exponent(a))
            return (term / w if tail else 2 * term).real

        ends = [k * 8 / sd / 5 for k in range(6)]
        for tail, function in ((False, ih.log_density), (True, ih.log_distribution)):
            value = mpmath.quad(lambda v, t=tail: law(v, t), ends) / mpmath.pi
            true = float(mpmath.log(value) + exponent(a))
            assert abs(float(function(y, n)) - true) < ih.error(n) + 4e-16 * abs(true)


@pytest.mark.parametrize("n", [41, 1000, 10**5, 10**7, 10**9])
def test_recurrences_between_n_and_one_less(n):
    """n F_n(y) = y F_{n-1}(y) + (n - y) F_{n-1}(y - 1), positive terms; likewise the density."""
    sd = math.sqrt(n / 12)
    for deviations in (0.0, 1.0, 8.0, 30.0, 37.0):
        y = n / 2 - min(deviations * sd, 0.49 * n)
        y = math.floor(y * 8) / 8
        for function, weight in ((ih.distribution, n), (ih.density, n - 1)):
            before = function([y, y - 1], n - 1)
            after = (y * before[0] + (n - y) * before[1]) / weight
            assert float(function(y, n)) == pytest.approx(after, rel=2 * ih.error(n))


def test_reference_figures():
    for n, a, epsilon, delta in (
        (100, 40, 0.633894, 6.828446e-4),
        (100, 37, 0.834718, 8.178630e-6),
        (1000, 460, 0.242543, 1.309993e-5),
        (1000, 450, 0.303468, 4.819527e-8),
    ):
        assert ih.log_ratio(a - 0.5, 0.5, n - 1) == pytest.approx(epsilon, abs=1e-6)
        both = ih.distribution([a - 0.5, a], n - 1)
        assert both.sum() == pytest.approx(delta, rel=1e-6)


def test_symmetry_ends_and_shapes():
    y = np.array([[0.25, 30.0], [69.75, 99.75]])
    assert ih.density(y, 100) == pytest.approx(ih.density(100 - y, 100), rel=1e-11)
    assert ih.distribution(y, 100) + ih.distribution(100 - y, 100) == pytest.approx(1.0, rel=1e-11)
    assert ih.density([-1.0, 0.0, 3.0, 4.0], 3) == pytest.approx([0, 0, 0, 0])
    assert ih.distribution([-1.0, 0.0, 3.0, 4.0], 3) == pytest.approx([0, 0, 1, 1])
    assert ih.density([0.0, 0.5, 1.0], 1) == pytest.approx([1, 1, 1])
    # Next to the end the law is a power.
    assert float(ih.log_distribution(1e-3, 500)) == pytest.approx(
        500 * math.log(1e-3) - math.lgamma(501), rel=1e-13
    )


def test_ratio_decreases_as_the_law_is_log_concave():
    for n in (3, 39, 99, 10**4):
        sd = math.sqrt(n / 12)
        places = np.linspace(max(0.9, n / 2 - 12 * sd), min(n - 0.1, n / 2 + 12 * sd), 60)
        ratios = [ih.log_ratio(float(y), 0.5, n) for y in places]
        assert np.all(np.diff(ratios) < 1e-12)
    assert ih.log_ratio(0.3, 0.5, 10) == math.inf
    assert ih.log_ratio(10.3, 0.5, 10) == -math.inf
    assert math.isnan(ih.log_ratio(-1.0, 0.5, 10))


@pytest.mark.parametrize("n", [0, -3, 2.5, True, "ten", 10**10])
def test_numbers_of_summands_that_are_refused(n):
    with pytest.raises(bdp.errors.InvalidInput, match="n is"):
        ih.density(0.5, n)


def test_nan_is_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="NaN"):
        ih.distribution([0.5, math.nan], 3)
