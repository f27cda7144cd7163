r"""Least squares from exact sums: the sums' promise, and the coefficients they give.

Through the origin, h = slope g + error, the slope is (sum gh) / (sum g^2): two sums of records of
two numbers, so that (g^2, gh) may have a density and `sums.profile` applies, in two coordinates.
With a constant term four sums are needed and no density is left on four coordinates; Groce (2014,
section 6.4) takes (g, h) from one part of the records and (g^2, gh) from another.

With d predictors the slopes are (sum g g')^-1 sum gh. Section 6.4 prints (sum |g|^2)^-1 instead,
which isn't least squares. The d (d + 3) / 2 sums that are needed outnumber the d + 1 numbers of a
record, so that one record's have no density. But those with g_i in them are d + 1,

    T_i = (g_i^2, g_i g_j for all j other than i, g_i h),

and these have a density where (g, h) does (`UniformProducts`). So the records are split into d
parts, of which the i-th releases its sum of T_i, and a further one that of (g, h) where there is a
constant term. Each moment is estimated by the parts that have it.

`split_samples` has the proof that the parts together promise the largest epsilon and the largest
delta (Theorem 6.8): each at the number of records that may be known in all, as these may lie in one
part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import (
    as_float,
    as_plain,
    check_at_least_one,
    check_each_at_least_one,
    is_number,
    keep,
    plain,
)
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import LawClass
from bayesdp.privacy.distributional.uniform_part import UniformPart


@dataclass(frozen=True, slots=True)
class UniformProducts:
    """Law of (g^2, g h_1, ..., g h_m), all or a share of whose g and h are independent and uniform.

    g is uniform on [-a, a] and h_k on [-b_k, b_k] for at least that share of the records; the
    others are any within these bounds.

    Parameters
    ----------
    g_bound : float
        a, positive.
    h_bound : float or sequence of float
        b_1, ..., b_m, positive.
    share : float
        The share, in (0, 1].

    Raises
    ------
    InvalidInput
        If a number is out of its range.

    Notes
    -----
    Two (g, h) give (j, k_1, ..., k_m), those with g = +/- sqrt(j) and h = k / g, where the map has
    a Jacobian of 2 |g| |g|^m. So the density is at least

        share / (2 a) / (2 b_1) / ... / (2 b_m) j^(-(m + 1) / 2),  |k_l| <= b_l sqrt(j), j <= a^2.
    """

    g_bound: float = 1.0
    h_bound: Any = 1.0
    share: float = 1.0

    def __post_init__(self) -> None:
        plain(self)
        if np.ndim(self.h_bound):
            keep(self, h_bound=as_plain(tuple(self.h_bound)))
        if not _is_positive(self.g_bound):
            raise InvalidInput(
                f"g_bound is {quoted(self.g_bound)}; it must be a positive finite number"
            )
        if not self._bounds or not all(map(_is_positive, self._bounds)):
            what = "something else" if np.ndim(self.h_bound) else quoted(self.h_bound)
            raise InvalidInput(
                f"h_bound has {what}; it must be a positive finite number, or a list of such"
            )
        if not is_number(self.share) or not 0 < self.share <= 1:
            raise InvalidInput(f"share is {quoted(self.share)}; it must be in (0, 1]")

    @property
    def _bounds(self) -> tuple[float, ...]:
        return self.h_bound if isinstance(self.h_bound, tuple) else (self.h_bound,)

    @property
    def support(self) -> tuple[tuple[float, float], ...]:
        """Bounds of the coordinates, [0, a^2] and [-a b, a b] for each b."""
        products = [self.g_bound * b for b in self._bounds]
        return ((0.0, self.g_bound**2), *((-each, each) for each in products))

    @property
    def words(self) -> str:
        """The law in words."""
        several = len(self._bounds) > 1
        names = [f"h_{k}" if several else "h" for k in range(1, len(self._bounds) + 1)]
        vector = ", ".join(["g^2", *(f"g {name}" if several else f"g{name}" for name in names)])
        bounds = [f"{name} on [-{b:g}, {b:g}]" for name, b in zip(names, self._bounds, strict=True)]
        *first, last = [f"g uniform on [-{self.g_bound:g}, {self.g_bound:g}]", *bounds]
        least = "" if self.share == 1 else f", of at least {self.share:.3g} of them, the others any"
        return (
            f"independent {'vectors' if several else 'pairs'} ({vector}), {', '.join(first)} and "
            f"{last}{least}"
        )

    def parts(self) -> Sequence[UniformPart]:
        """Boxes that reach j = a^2, where the density is least, and lie within |k| <= b sqrt(j)."""
        a, support = self.g_bound, self.support
        height = self.share * (1 - 1e-12) / (2 * a ** (2 + len(self._bounds)))
        height /= math.prod(2 * b for b in self._bounds)
        return [
            UniformPart(
                (((a * c) ** 2, a * a), *((c * low, c * high) for low, high in support[1:])),
                height,
                support,
            )
            for c in np.linspace(0.3, 0.9, 25).tolist()
        ]

    def steps(self, cells: int) -> None:
        """Return None: there are several coordinates."""
        return

    def as_class(self, cells: int | None = None) -> LawClass:
        """The law as data: its bounds, and the share of uniform records."""
        return LawClass.of(
            "uniform_products", g_bound=self.g_bound, h_bound=self.h_bound, share=self.share
        )


def _is_positive(bound: Any) -> bool:
    return is_number(bound) and 0 < bound < math.inf


def slope(sums: Sequence[float]) -> float:
    """The slope through the origin from (sum g^2, sum gh).

    Parameters
    ----------
    sums : sequence of two floats
        An output of `exact_slope`.

    Raises
    ------
    InvalidInput
        If the numbers aren't two, or sum g^2 isn't positive.
    """
    return float(coefficients(_numbers(sums, 2), [1])[0])


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
    sizes = check_at_least_one("first", first), check_at_least_one("second", second)
    intercept, gradient = coefficients(_numbers(sums, 4), sizes).tolist()
    return intercept, gradient


def coefficients(sums: Sequence[float], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Coefficients of least squares with several predictors, from moments of disjoint parts.

    Parameters
    ----------
    sums : sequence of float
        An output of `exact_regression`, shape (k (d + 1),) for k parts and d predictors.
    sizes : sequence of int
        Numbers of records of the parts, shape (k,): d without a constant term, or d + 1.

    Returns
    -------
    ndarray, shape (d,) or (d + 1,)
        Slopes, after the intercept where there is one. They aren't those of any one set of records,
        as the moments are of several, but estimate the same coefficients.

    Raises
    ------
    InvalidInput
        If the numbers don't belong together, or the parts' moments of the predictors are those of
        no records (a matrix that isn't positive definite).
    """
    counts = np.array(check_each_at_least_one("sizes", sizes), dtype=np.float64)
    k = len(counts)
    moments = np.array(_numbers(sums, np.size(sums)))
    d = len(moments) // max(k, 1) - 1
    if d < 1 or len(moments) != k * (d + 1) or k - d not in (0, 1):
        raise InvalidInput(
            f"sums has {len(moments)} numbers and sizes {k}; with d predictors, d parts have "
            "d (d + 1) sums, and d + 1 parts, with a constant term, (d + 1)^2"
        )
    rows, constant = moments.reshape(k, d + 1), k > d
    mean = rows[0] / counts[0] if constant else np.zeros(d + 1)
    rows, counts = rows[k - d :], counts[k - d :]
    square = np.empty((d, d))
    for i, row in enumerate(rows):  # g_i^2 is first, and the others keep their order
        square[i] = np.insert(row[1:d], i, row[0])
    square = (square + square.T) / (counts[:, None] + counts) - np.outer(mean[:d], mean[:d])
    if np.linalg.eigvalsh(square)[0] <= 0:
        raise InvalidInput(
            "sums give the predictors a covariance that isn't positive definite: they hardly vary, "
            "depend on each other, or the parts are small; there are no slopes"
        )
    slopes = np.linalg.solve(square, rows[:, d] / counts - mean[:d] * mean[d])
    found: NDArray[np.float64] = np.append(mean[d] - mean[:d] @ slopes, slopes)[1 - constant :]
    return found


def _numbers(sums: Sequence[float], count: int) -> list[float]:
    values = [as_float(v) for v in sums] if np.ndim(sums) == 1 else []
    if len(values) != count or not all(math.isfinite(v) for v in values):
        raise InvalidInput(f"sums is {quoted(sums)}; it must be {count} finite numbers")
    return values
