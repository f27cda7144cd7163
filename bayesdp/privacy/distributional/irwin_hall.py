"""The law of a sum of n independent uniform numbers, to the last digits however far out.

The alternating sum that defines the Irwin-Hall density loses all its digits from n of about 30.
Here the density and the tail are integrals along a vertical line of the complex plane. With S the
sum less n/2, x >= 0, k(w) = log(sinh(w) / w) and any a > 0,

    density(x)   = exp(E) 2/pi integral from 0 to inf of Re exp(n (k(a + iv) - k(a)) - 2ivx) dv,
    Pr[S >= x]   = exp(E) 1/pi integral of Re exp(the same) / (a + iv) dv,   E = n k(a) - 2ax,

and the trapezoidal rule finds them to machine precision if a is the saddle point,
coth(a) - 1/a = 2x/n, or near the middle a little to the right of it, off the tail's pole at 0.

Three errors, relative to the result:

- **Step.** By Poisson's formula the rule with step pi/L adds the values at x + jL, j != 0, of the
  law tilted by exp(2ax). It is log-concave, so beyond t standard deviations of its mean lies less
  than exp(1 - t) of it, and its density at the mean is at least 1/8 over the standard deviation
  (Lovasz and Vempala 2007, Lemmas 5.5 and 5.17). L is 36 of them: less than 1e-12, also at
  the two from the mean that the middle may be.
- **End.** |sinh(w) / w| decreases along the line while v < pi/2, as v cos v <= sin v and
  sinh(a) >= a, and from there on is at most cosh(a) / |w|, which decreases too and meets it at
  pi/2. The line ends where the n-th power of that envelope is below exp(-48) of its start.
- **Rounding.** E is computed with 40 digits. Where |w| < 1.2, k comes from its power series, whose
  rounding is relative to n |w|^2, the square of a number of standard deviations; elsewhere phases
  are of size n v, so that errors are below about 2e-16 sqrt(n) times 40.

Up to EXACT_TO the sum is evaluated in integer arithmetic instead. `error` bounds all of it; the
tests compare with exact sums up to n = 1000 and with quadrature in 40 digits beyond.

The law is log-concave, as a convolution of log-concave laws is (Prekopa 1973). Assumption 6.1 of
Groce (2014), that density(y) / density(y - c) decreases, is therefore a theorem.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted

EXACT_TO = 40
LARGEST = 10**9
_WINDOW = 36.0
_END = -48.0
_NEAR = 1.2
_MP = mpmath.mp.clone()
_MP.dps = 40
_SERIES = np.array(
    [float(4**j * _MP.bernoulli(2 * j) / (2 * j * _MP.factorial(2 * j))) for j in range(1, 26)]
)
"""Coefficients of w^2, w^4, ... in log(sinh(w) / w)."""


def log_density(y: ArrayLike, n: int) -> NDArray[np.float64]:
    """Log density of the sum of n uniform numbers.

    Parameters
    ----------
    y : array_like
        Values of the sum, of any shape.
    n : int
        Number of summands, from 1 to 10^9.

    Returns
    -------
    ndarray
        Of the shape of y; -inf outside (0, n), and at 0 and n for n > 1.

    Raises
    ------
    InvalidInput
        If n isn't a whole number in that range, or y has a NaN.
    """
    return _each(y, n, lambda value: _log_density(value, n))


def density(y: ArrayLike, n: int) -> NDArray[np.float64]:
    """Density of the sum of n uniform numbers; see `log_density`."""
    return np.asarray(np.exp(log_density(y, n)))


def log_distribution(y: ArrayLike, n: int) -> NDArray[np.float64]:
    """Log of the probability that the sum of n uniform numbers is at most y; see `log_density`."""
    return _each(y, n, lambda value: _log_distribution(value, n))


def distribution(y: ArrayLike, n: int) -> NDArray[np.float64]:
    """Probability that the sum of n uniform numbers is at most y; see `log_density`."""
    return np.asarray(np.exp(log_distribution(y, n)))


def log_ratio(y: float, shift: float, n: int) -> float:
    """Log of density(y) / density(y - shift), which decreases in y where shift > 0.

    The large parts of the two logs are subtracted with 40 digits.

    Returns
    -------
    float
        inf where only the second density is 0, NaN where both are.
    """
    x, n = n / 2 - float(y), check_n(n)
    return centred_log_ratio(x, x + float(shift), n)


def error(n: int) -> float:
    """A bound on the relative error of densities and probabilities (absolute, of their logs)."""
    return 1e-15 if n <= EXACT_TO else 2e-12 + 1e-14 * math.sqrt(n)


# Below, positions are x = n/2 - y, from the middle downwards: doubles are densest where it matters.


def further(x: float, shift: float) -> float:
    """Round x + shift up: a shift that is a little larger hides less well."""
    return math.nextafter(x + shift, math.inf)


def centred_log_ratio(x: float, other: float, n: int) -> float:
    """Log of density(n/2 - x) / density(n/2 - other)."""
    near, far = abs(x), abs(other)
    if 2 * near >= n or 2 * far >= n:
        if 2 * near >= n and 2 * far >= n:
            return math.nan
        return math.inf if 2 * far >= n else -math.inf
    first, second = _parts(near, n), _parts(far, n)
    return float(first[0] - second[0]) + math.log(first[1] / second[1])


def centred_distribution(x: float, n: int) -> float:
    """Probability that the sum of n uniform numbers is at most n/2 - x."""
    if 2 * abs(x) >= n:
        return 0.0 if x > 0 else 1.0
    tail = math.exp(float(_tail(abs(x), n)))
    return tail if x >= 0 else 1 - tail


def check_n(n: Any) -> int:
    """Return n as an int if it is a number of summands, else raise InvalidInput."""
    if isinstance(n, bool) or not isinstance(n, Integral) or not 1 <= int(n) <= LARGEST:
        raise InvalidInput(f"n is {quoted(n)}; it must be a whole number from 1 to {LARGEST:,}")
    return int(n)


def _each(y: ArrayLike, n: int, function: Any) -> NDArray[np.float64]:
    n = check_n(n)
    places = np.asarray(y, dtype=float)
    if np.isnan(places).any():
        raise InvalidInput("y has values that are NaN; give numbers")
    return np.array([function(float(v)) for v in places.ravel()]).reshape(places.shape)


def _log_density(y: float, n: int) -> float:
    if not 0 <= y <= n or (y in (0, n) and n > 1):
        return -math.inf
    if n == 1:
        return 0.0
    exponent, inner, _ = _parts_at(y, n)
    return float(exponent + _MP.log(inner))


def _log_distribution(y: float, n: int) -> float:
    if y <= 0:
        return -math.inf
    if y >= n:
        return 0.0
    upper = 2 * y > n
    below = n - y if upper else y  # exact: y is at least half of n
    exponent, _, inner = _parts_at(below, n)
    tail = float(exponent + _MP.log(inner))
    return math.log1p(-math.exp(tail)) if upper else tail


def _tail(x: float, n: int) -> Any:
    exponent, _, inner = _parts(x, n)
    return exponent + _MP.log(inner)


def _parts_at(y: float, n: int) -> tuple[Any, Any, Any]:
    low = min(y, n - y)
    return _contour(n / 2 - low, low, n) if n > EXACT_TO else _integers(Fraction(low), n)


@lru_cache(maxsize=4096)
def _parts(x: float, n: int) -> tuple[Any, Any, Any]:
    """A log (40 digits) at the place n/2 - x, x >= 0, and the factors that both results lack."""
    if n <= EXACT_TO:
        return _integers(Fraction(n, 2) - Fraction(x), n)
    return _contour(x, n / 2 - x, n)


def _integers(y: Fraction, n: int) -> tuple[Any, Any, Any]:
    """Alternating sums of the density and the distribution at a place, exact."""
    place, unit = y.numerator, y.denominator
    first = second = 0
    for k in range(math.floor(y) + 1):
        above = place - k * unit
        term = (-1) ** k * math.comb(n, k) * above ** (n - 1)
        first, second = first + term, second + term * above
    scale = math.factorial(n - 1) * unit ** (n - 1)
    return _MP.mpf(0), _MP.mpf(first) / scale, _MP.mpf(second) / (scale * n * unit)


def _contour(x: float, y: float, n: int) -> tuple[Any, float, float]:
    """Contour integrals for x >= 0 and y = n/2 - x > 0, both as exact as they are known."""
    a = _saddle(x, y, n)
    width = math.sqrt(n * _curvature(a)) / 2  # standard deviation of the tilted law
    if a < 1 / width:  # a tail's integrand has a pole at 0
        a, width = 1 / width, math.sqrt(n * _curvature(1 / width)) / 2
    step = math.pi / (_WINDOW * width)
    end = 5.0 / width
    while n * _log_envelope(a, end) > _END:
        end *= 1.1
    w = a + 1j * step * np.arange(math.ceil(end / step) + 1).astype(np.complex128)
    terms: NDArray[np.complex128] = np.exp(_log_terms(w, a, x, y, n))
    terms[0] /= 2
    sine = 1 - _MP.exp(-2 * _MP.mpf(a)) if a >= 1 else 2 * _MP.sinh(a)
    place = _MP.mpf(y) if a >= 1 else -_MP.mpf(x)
    exponent = n * _MP.log(sine / (2 * _MP.mpf(a))) + 2 * _MP.mpf(a) * place
    return (
        exponent,
        2 * step / math.pi * float(terms.real.sum()),
        step / math.pi * float((terms / w).real.sum()),
    )


def _log_terms(
    w: NDArray[np.complex128], a: float, x: float, y: float, n: int
) -> NDArray[np.complex128]:
    """Log integrand n (k(w) - k(a)) - 2ivx along the line of integration."""
    v = w.imag
    if a >= 1:  # k is a + iv plus what is small, and n a - 2 a x = 2 a y
        e = math.exp(-2 * a)
        rotated = np.log1p(e * (1 - np.exp(-2j * v)) / (1 - e))
        return np.asarray(n * (rotated - np.log1p(1j * v / a)) + 2j * v * y)
    near = np.abs(w) < _NEAR
    gap = np.empty_like(w)
    squares, start = w[near] ** 2, a * a
    # w^2j - a^2j without cancellation: (w^2 - a^2) times a sum.
    total, power = np.zeros_like(squares), np.ones_like(squares)
    base = 1.0
    for c in _SERIES:
        total += c * power
        base *= start
        power = power * squares + base
    gap[near] = (2j * a * v[near] - v[near] ** 2) * total
    far = ~near
    gap[far] = np.log(np.sinh(w[far]) / w[far]) - math.log(math.sinh(a) / a)
    return np.asarray(n * gap - 2j * v * x)


def _saddle(x: float, y: float, n: int) -> float:
    """Saddle point a, where coth(a) - 1/a = 2x/n, nearly: any a will do, this is the best."""
    z, rest = 2 * x / n, 2 * y / n  # rest = 1 - z
    a = z * (3 - z * z) / (rest * (1 + z))
    for _ in range(3):
        if a < 1e-2:
            return a
        if a < 1:
            value = 1 / math.tanh(a) - 1 / a - z
        else:
            value = (2 / math.expm1(2 * a) if a < 300 else 0.0) - 1 / a + rest
        a -= value / _curvature(a)
    return a


def _curvature(a: float) -> float:
    """Second derivative of log(sinh(a) / a)."""
    if a < 1e-2:
        return 1 / 3 - a * a / 15
    return 1 / a**2 - (1 / math.sinh(a) ** 2 if a < 300 else 0.0)


def _log_envelope(a: float, v: float) -> float:
    """Log of a decreasing bound on |sinh(w) a / (w sinh(a))| along the line."""
    sine = math.sin(v) if v < math.pi / 2 else 1.0
    around = (sine / math.sinh(a)) ** 2 if a < 300 else 0.0
    return 0.5 * (math.log1p(around) - math.log1p((v / a) ** 2))


def check_position(name: str, value: Any) -> float:
    """Return a place as a float, else raise InvalidInput."""
    if not is_number(value) or not math.isfinite(value):
        raise InvalidInput(f"{name} is {quoted(value)}; it must be a finite number")
    return float(value)
