r"""Cauchy noise rounded to an integer, exactly: Pr[k] = F((k + 1/2) / c) - F((k - 1/2) / c).

F(x) = 1/2 + atan(x) / pi. With atan y - atan x = atan2(y - x, 1 + x y) for x < y,

    Pr[k] = atan2(c, c^2 + k^2 - 1/4) / pi,      Pr[noise >= k] = atan2(c, k - 1/2) / pi,

where no cancellation matters: the only difference, c^2 + k^2 - 1/4, loses digits only where the
angle is nearly a right one and insensitive to them.

The draw. The direction of a point uniform in a quarter of the disc is uniform, and the tangent of
such an angle has the law of |Cauchy|: so c y / x, rounded, with a sign. The point's coordinates
are known to as many random bits as are needed, which put them between fractions; more are drawn
until it is certain whether the point lies in the disc and which integer is nearest. Integers only,
so the law is the stated one exactly.

How far two scales and places are apart
---------------------------------------
The density at x of T + c Cauchy is (c / pi) / (c^2 + (x - T)^2). Of two, with T, c and T', c', the
log ratio runs from -d to d, where

    cosh(d) = [c^2 + c'^2 + (T - T')^2] / (2 c c') = cosh(u) + (T - T')^2 / (2 c c'),

u = log(c' / c): lambda is an extreme ratio where the quadratic polynomial
c (c'^2 + (x - T')^2) - lambda c' (c^2 + (x - T)^2) has a double root, and its discriminant is 0
where lambda + 1 / lambda = 2 cosh(d). (So d is the distance of T + i c and T' + i c' in the
hyperbolic half-plane.)

Noise of scale c = S / alpha, with |T - T'| <= min(S, S') and |u| <= beta, as under smooth
sensitivity (Nissim, Raskhodnikova and Smith 2007), has (T - T')^2 <= alpha^2 min(c, c')^2, and so

    cosh(d) <= cosh(u) + alpha^2 exp(-|u|) / 2,

convex in |u| and so largest at 0 or beta. Neither end exceeds cosh(epsilon) for

    alpha = min(2 sinh(epsilon / 2), 2 sqrt(exp(beta) sinh((epsilon + beta) / 2)
                                            sinh((epsilon - beta) / 2))).

Sliding and dilating one after another costs alpha + beta at most, as the log density has a slope
of at most 1 / c and a change of scale costs |u|: alpha = epsilon - beta would do, and is smaller.
(The paper's own bound for this density asks for c = 6 S / epsilon.) Up to
beta = log(2 cosh(epsilon) - 1) the first end decides and a larger beta costs nothing; for a small
epsilon, alpha^2 + beta^2 is about epsilon^2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.mechanisms.randomness import random_words

ENOUGH = 2**60
"""Draws beyond it are this; what uses them cuts them off nearer to 0."""


def cauchy_log_pmf(k: ArrayLike, scale: ArrayLike) -> NDArray[np.float64]:
    """Log Pr[noise = k] of integers k; scale is positive."""
    k, c = np.asarray(k, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    return np.asarray(np.log(np.arctan2(c, c * c + (k - 0.5) * (k + 0.5)) / math.pi))


def cauchy_log_upper(k: ArrayLike, scale: ArrayLike) -> NDArray[np.float64]:
    """Log Pr[noise >= k] of integers k; scale is positive."""
    k, c = np.asarray(k, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    return np.asarray(np.log(np.arctan2(c, k - 0.5) / math.pi))


def largest_alpha(epsilon: float, beta: float) -> float:
    """Largest ratio of smooth sensitivity to scale that keeps epsilon, for beta < epsilon."""
    both = math.exp(beta) * math.sinh((epsilon + beta) / 2) * math.sinh((epsilon - beta) / 2)
    return 2 * min(math.sinh(epsilon / 2), math.sqrt(both))


def suitable_beta(epsilon: float) -> float:
    """Return the larger of log(2 cosh(epsilon) - 1), which is free, and epsilon / sqrt(2)."""
    return max(epsilon / math.sqrt(2), math.log1p((2 * math.sinh(epsilon / 2)) ** 2))


def cauchy_draw(scale: Fraction) -> int:
    """Draw one noise value, cut off at `ENOUGH` in absolute value.

    Parameters
    ----------
    scale : Fraction
        Positive.
    """
    while True:
        size = _one_point(scale)
        if size is not None:
            return -size if int(random_words(1)[0]) & 1 else size


def _one_point(scale: Fraction) -> int | None:
    """Round scale * y / x of a uniform point of the square; None if it is outside the disc."""
    p, q = scale.as_integer_ratio()
    x = y = bits = 0
    while True:
        first, second = random_words(2)
        x, y, bits = x << 64 | int(first), y << 64 | int(second), bits + 64
        square = 1 << 2 * bits
        if x * x + y * y >= square:
            return None
        if x == 0 or (x + 1) ** 2 + (y + 1) ** 2 > square:
            continue
        low = (2 * p * y + q * (x + 1)) // (2 * q * (x + 1))
        high = (2 * p * (y + 1) + q * x) // (2 * q * x)
        if low == high or low >= ENOUGH:
            return min(low, ENOUGH)
