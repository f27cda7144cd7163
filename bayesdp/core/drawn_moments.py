"""View of synthetic tables whose numbers were drawn by regressions, from noisy sums unseen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import Cell, Ends, View


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
    prior : tuple (m0, k, a, b)
        The prior of every regression, for columns rescaled to [-1, 1].
    cells : tuple of Cell
        Noise on each sum, which is set to the nearest end of its bounds.
    """

    columns: tuple[int, ...]
    given: int
    prior: tuple[float, float, float, float]
    cells: tuple[Cell, ...]


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
