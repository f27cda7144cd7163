r"""Cauchy noise rounded to an integer, exactly: Pr[k] = F((k + 1/2) / c) - F((k - 1/2) / c).

F(x) = 1/2 + atan(x) / pi. With atan y - atan x = atan2(y - x, 1 + x y) for x < y,

    Pr[k] = atan2(c, c^2 + k^2 - 1/4) / pi,      Pr[noise >= k] = atan2(c, k - 1/2) / pi,

where nothing cancels that counts: the only difference, c^2 + k^2 - 1/4, loses digits where the
angle is a right one and doesn't feel them.

The draw. The direction of a point uniform in a quarter of the disc is uniform, and the tangent of
such an angle has the law of |Cauchy|: so c y / x, rounded, with a sign. The point's coordinates
are known to as many random bits as are needed, which put them between fractions; more are drawn
until it is certain whether the point lies in the disc and which integer is nearest. Integers only,
so the law is the stated one exactly.
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
    """log Pr[noise = k] of integers k; scale is positive."""
    k, c = np.asarray(k, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    return np.asarray(np.log(np.arctan2(c, c * c + (k - 0.5) * (k + 0.5)) / math.pi))


def cauchy_log_upper(k: ArrayLike, scale: ArrayLike) -> NDArray[np.float64]:
    """log Pr[noise >= k] of integers k; scale is positive."""
    k, c = np.asarray(k, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    return np.asarray(np.log(np.arctan2(c, k - 0.5) / math.pi))


def cauchy_draw(scale: Fraction) -> int:
    """One draw; those beyond `ENOUGH` are cut off there.

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
    """scale * y / x, rounded, of a uniform point of the square; None if it is outside the disc."""
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
