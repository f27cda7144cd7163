"""Exact arithmetic of matrices of rational numbers, for promises that no rounding may touch.

Floats are rational numbers, so sums, products and inverses of matrices of floats are matrices of
rational numbers: of whole numbers over one common denominator. Inverses are by elimination without
fractions (Bareiss 1968), whose pivots are the leading minors: a symmetric matrix is positive
definite if and only if all of them are positive.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BITS = 128  # of a root, before it is rounded up to a float's 53


@dataclass(frozen=True, eq=False)
class Exact:
    """A matrix of rational numbers.

    Attributes
    ----------
    over : ndarray of object, shape (d, d)
        Whole numbers of any size, the numerators.
    under : int
        Their common denominator, positive.
    """

    over: NDArray[Any]
    under: int

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> Exact:
        """Take floats as the rational numbers that they are."""
        each = [[Fraction(value) for value in row] for row in rows]
        under = math.lcm(*(value.denominator for row in each for value in row))
        return cls(np.array([[int(value * under) for value in row] for row in each], object), under)

    def __matmul__(self, other: Exact) -> Exact:
        return Exact(self.over @ other.over, self.under * other.under)._lowest()

    def __add__(self, other: Exact) -> Exact:
        over = self.over * other.under + other.over * self.under
        return Exact(over, self.under * other.under)._lowest()

    def times(self, number: int) -> Exact:
        """Multiply by a whole number."""
        return Exact(self.over * number, self.under)

    def inverse(self) -> Exact | None:
        """Invert a symmetric matrix; None where it isn't positive definite."""
        size, before = len(self.over), 1
        work = np.concatenate([self.over, np.eye(size, dtype=int).astype(object)], axis=1)
        for k in range(size):
            pivot = work[k, k]
            if pivot <= 0:
                return None
            row = work[k].copy()
            work = (work * pivot - work[:, k : k + 1] * row) // before
            work[k] = row
            before = pivot
        return Exact(work[:, size:] * self.under, before)._lowest()

    def floats(self) -> NDArray[np.float64]:
        """Round every number to the nearest float."""
        return np.array([[value / self.under for value in row] for row in self.over])

    def _lowest(self) -> Exact:
        common = math.gcd(self.under, *self.over.ravel())
        return Exact(self.over // common, self.under // common)


def corners(ends: Sequence[float]) -> tuple[NDArray[Any], int]:
    """Corners of the box of vectors in [-ends, ends], one of each pair of opposite ones.

    Returns
    -------
    ndarray of object, shape (2^(d - 1), d), and int
        Whole numbers, and what they are over.
    """
    each = Exact.of([ends])
    signs = [(1, *rest) for rest in itertools.product((1, -1), repeat=len(ends) - 1)]
    return np.array(signs, dtype=object) * each.over[0], each.under


def farthest(form: Exact, ends: Sequence[float]) -> tuple[Fraction, NDArray[np.float64]]:
    """Largest value of v' form v over |v_j| <= ends[j], and the corner where it is, exactly.

    Parameters
    ----------
    form : Exact
        Positive semidefinite, so that v' form v is convex, and largest at a corner.
    ends : sequence of float
    """
    each, under = corners(ends)
    values = ((each @ form.over) * each).sum(axis=1)
    best = int(np.argmax(values))
    return Fraction(int(values[best]), form.under * under**2), np.sign(each[best]).astype(float)


def root_above(square: Fraction) -> float:
    """Square root of a positive rational number, rounded up to a float."""
    shift = (_BITS - square.numerator.bit_length() + square.denominator.bit_length()) // 2
    scaled = square * Fraction(4) ** shift
    root = math.isqrt(math.ceil(scaled)) + 1
    return math.nextafter(float(Fraction(root) / Fraction(2) ** shift), math.inf)
