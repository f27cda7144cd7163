r"""Least squares from exact sums: the sums' promise, and the coefficients they give.

Through the origin, h = slope g + error, the slope is (sum gh) / (sum g^2): two sums of records of
two numbers, so that (g^2, gh) may have a density and `sums.profile` applies, in two coordinates.
With a constant term four sums are needed and no density is left on four coordinates; Groce (2014,
section 6.4) takes (g, h) from one part of the records and (g^2, gh) from another.

`split_samples` has the proof that the two together promise the larger epsilon and the larger delta
(Theorem 6.8): each at the number of records that may be known in all, as these may lie in one part.

With several predictors the slopes are (sum g g')^-1 sum gh. Section 6.4 prints (sum |g|^2)^-1
instead, which isn't least squares; the d (d + 3)/2 sums that are needed outnumber the d + 1
numbers of a record, so that they can't be released exactly in this way unless the records are
split further.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesdp.checks import as_float, check_at_least_one, is_number, plain
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import LawClass
from bayesdp.privacy.distributional.uniform_part import UniformPart


@dataclass(frozen=True, slots=True)
class UniformProducts:
    """Law of (g^2, gh) where g and h are independent, uniform on [-a, a] and [-b, b].

    Its density is 1 / (4 a b j) at (j, k), |k| <= b sqrt(j), j <= a^2.

    Parameters
    ----------
    g_bound, h_bound : float
        a and b, positive.

    Raises
    ------
    InvalidInput
        If one isn't a positive finite number.
    """

    g_bound: float = 1.0
    h_bound: float = 1.0

    def __post_init__(self) -> None:
        plain(self)
        for name in ("g_bound", "h_bound"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value < math.inf:
                raise InvalidInput(
                    f"{name} is {quoted(value)}; it must be a positive finite number"
                )

    @property
    def support(self) -> tuple[tuple[float, float], ...]:
        """Bounds of the two coordinates, [0, a^2] and [-a b, a b]."""
        product = self.g_bound * self.h_bound
        return ((0.0, self.g_bound**2), (-product, product))

    @property
    def words(self) -> str:
        """The law in words."""
        return (
            f"independent pairs (g^2, gh), g uniform on [-{self.g_bound:g}, {self.g_bound:g}] and "
            f"h on [-{self.h_bound:g}, {self.h_bound:g}]"
        )

    def parts(self) -> Sequence[UniformPart]:
        """Boxes that reach j = a^2, where the density is least, and lie within |k| <= b sqrt(j)."""
        a, b = self.g_bound, self.h_bound
        height = (1 - 1e-12) / (4 * a**3 * b)
        return [
            UniformPart((((a * c) ** 2, a * a), (-a * b * c, a * b * c)), height, self.support)
            for c in np.linspace(0.3, 0.9, 25).tolist()
        ]

    def steps(self, cells: int) -> None:
        """Return None: there are two coordinates."""
        return

    def as_class(self, cells: int | None = None) -> LawClass:
        """The law as data: its two bounds."""
        return LawClass.of("uniform_products", g_bound=self.g_bound, h_bound=self.h_bound)


def slope(sums: Sequence[float]) -> float:
    """The slope through the origin from (sum g^2, sum gh).

    Parameters
    ----------
    sums : sequence of two floats
        An output of `exact_slope`.

    Raises
    ------
    InvalidInput
        If sum g^2 isn't positive.
    """
    squares, products = _numbers(sums, 2)
    if squares <= 0:
        raise InvalidInput(
            f"sum g^2 is {squares}; it must be positive: a predictor that is 0 throughout has no "
            "slope"
        )
    return products / squares


def line(sums: Sequence[float], first: int, second: int) -> tuple[float, float]:
    """Intercept and slope from (sum g, sum h) of one part and (sum g^2, sum gh) of another.

    Parameters
    ----------
    sums : sequence of float
        These four sums, shape (4,), as `exact_line` releases them.
    first, second : int
        Number of records in either part.

    Returns
    -------
    tuple of float
        Intercept and slope. They aren't the least-squares line of any one set of records, as the
        moments are of two, but estimate the same line.

    Raises
    ------
    InvalidInput
        If the variance of g that the moments give isn't positive.
    """
    first, second = check_at_least_one("first", first), check_at_least_one("second", second)
    g, h, squares, products = _numbers(sums, 4)
    mean, outcome = g / first, h / first
    variance = squares / second - mean**2
    if variance <= 0:
        raise InvalidInput(
            f"the two parts' moments give g a variance of {variance:.6g}; it must be positive. "
            "Either g hardly varies or the parts are small: there is no slope"
        )
    gradient = (products / second - mean * outcome) / variance
    return outcome - gradient * mean, gradient


def _numbers(sums: Sequence[float], count: int) -> list[float]:
    values = [as_float(v) for v in sums] if np.ndim(sums) == 1 else []
    if len(values) != count or not all(math.isfinite(v) for v in values):
        raise InvalidInput(f"sums is {quoted(sums)}; it must be {count} finite numbers")
    return values
