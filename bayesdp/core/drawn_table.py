"""View of synthetic tables whose columns were drawn step after step, by counts unseen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import Cell, View


@dataclass(frozen=True)
class DrawnColumns:
    """Columns of a synthetic table that were drawn together, given columns before them.

    z are counts of the cells of all these columns, with noise or without, which weren't released.
    In each cell of the given columns, records have the other columns' labels with probabilities
    theta ~ Dirichlet(prior + z).

    Attributes
    ----------
    columns : tuple of int
        Places in the schema: of the given columns, then of the others; the last moves fastest.
    shape : tuple of int
        Numbers of their cells.
    given : int
        Number of the given columns.
    prior : float
    cell : Cell or None
        Noise on each count, which is set to the nearest end of its bounds; None where the counts
        are the confidential ones.
    cost : float
        Pure epsilon of the step in a copy, where the counts are the confidential ones.
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    given: int
    prior: float
    cell: Cell | None
    cost: float = 0.0


@dataclass(frozen=True)
class DrawnTableView(View):
    """Outputs that are synthetic tables, each drawn by counts, with noise of its own if any.

    Attributes
    ----------
    schema : `bayesdp.Schema`
        Declaration of the table's columns, but for those left out.
    drawn : tuple of DrawnColumns
        The steps, independent given the confidential table and the columns before.
    codes : callable
        Function of an output: the records' codes, shape (size, columns of the schema).
    left_out : tuple of str
        Columns whose law this view has not, and on which no other column was drawn.
    share : callable
        Function without arguments: the share of the privacy budget that all other columns had.
    """

    schema: Any
    drawn: tuple[DrawnColumns, ...]
    codes: Callable[[Any], NDArray[np.int64]]
    left_out: tuple[str, ...]
    share: Callable[[], float]
