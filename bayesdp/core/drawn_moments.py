"""View of synthetic tables whose numbers were drawn by regressions, from noisy sums unseen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import Cell, Ends, View


@dataclass(frozen=True, eq=False)
class RegressionPrior:
    """Prior of the regression by which a column was drawn, given those before it.

    Given the column's variance s, its coefficients are N(v, s L^-1) a priori; s is
    InverseGamma(shape, rate + r / 2).

    Attributes
    ----------
    products : ndarray, shape (c + 2, c + 2)
        Added to sums of products of (1, the c columns before, the column): L, Lv, and in the corner
        v'Lv + r.
    shape, rate : float
    """

    products: NDArray[np.float64]
    shape: float
    rate: float


@dataclass(frozen=True)
class DrawnNumbers:
    """Columns of a synthetic table that were drawn one by one, each given those before it.

    z are noisy sums of these columns, of their squares and of their products, in the order of
    `bayesdp.mechanisms.families.moments`, which weren't released. Each column is drawn by a
    regression on those before it, its parameters a draw from their posterior given the projected z
    (`bayesdp.mechanisms.families.linear_regression_draws`), and set to the nearest bound.

    Attributes
    ----------
    columns : tuple of int
        Places among the view's columns.
    given : int
        Number of columns at the start that an earlier step drew.
    priors : tuple of RegressionPrior
        The prior of each other column's regression, for columns rescaled to [-1, 1].
    cells : tuple of Cell
        Noise on each sum, which is set to the nearest end of its bounds.
    """

    columns: tuple[int, ...]
    given: int
    priors: tuple[RegressionPrior, ...]
    cells: tuple[Cell, ...]


def places_of_sums(columns: Sequence[int], d: int) -> list[int]:
    """Places of some columns' sums, squares and products among those of all d columns."""
    places = {frozenset(pair): t for t, pair in enumerate(combinations(range(d), 2), 2 * d)}
    products = [places[frozenset(pair)] for pair in combinations(columns, 2)]
    return [*columns, *(d + c for c in columns), *products]


@dataclass(frozen=True)
class DrawnMomentsView(View):
    """Outputs that are synthetic tables, the numbers of each drawn by noisy sums of its own.

    Attributes
    ----------
    bounds : mapping of str to (low, high)
        The numeric columns, but for those left out, by which they are rescaled to [-1, 1].
    n : int
        Number of confidential records.
    drawn : tuple of DrawnNumbers
        The steps, independent given the confidential records and the columns before.
    numbers : callable
        Function of an output: the rescaled columns, shape (size, columns), -1 or 1 where a number
        was set to a bound.
    left_out : tuple of str
        All other columns of the table, on which none of these was drawn.
    """

    bounds: Mapping[str, Ends]
    n: int
    drawn: tuple[DrawnNumbers, ...]
    numbers: Callable[[Any], NDArray[np.float64]]
    left_out: tuple[str, ...]
