"""Weights of a latent table's records, tilted towards counts of its marginals, and their sums."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.table.cells import cell_of

LARGEST = 20.0
"""Largest log weight, so that a step too long on the way to the optimum overflows nothing."""


class Marginals(NamedTuple):
    """Places of all marginals' cells, one marginal after another.

    Attributes
    ----------
    columns, strides : shape (marginals, most columns of any)
        A marginal's columns, and how far apart its cells with successive levels are; 0 where it has
        fewer columns.
    offsets, widths : shape (marginals,)
        Place of its first cell, and its number of columns.
    """

    columns: NDArray[np.int64]
    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]
    widths: NDArray[np.int64]


@kernel
def tilt(
    marginals: Any, records: Any, multipliers: Any, rate: float, weights: Any, counts: Any
) -> None:
    """Weigh each record by exp(-rate times the sum of its cells' multipliers), and count it so.

    Parameters
    ----------
    marginals : Marginals
    records : shape (n, d)
        Levels.
    multipliers : shape (all cells,)
    rate : float
    weights : shape (n,)
        Overwritten.
    counts : shape (all cells,)
        Sum of the weights in each cell, overwritten.
    """
    cells = np.empty(marginals.offsets.size, dtype=np.int64)
    counts[:] = 0.0
    for i in range(len(records)):
        total = 0.0
        for m in range(cells.size):
            cells[m] = cell_of(marginals, records, m, i)
            total += multipliers[cells[m]]
        weights[i] = math.exp(min(-rate * total, LARGEST))
        for m in range(cells.size):
            counts[cells[m]] += weights[i]


@kernel
def cross(marginals: Any, records: Any, weights: Any, crossed: Any) -> None:
    """Sum the weights of the records in both of two cells, for all pairs of cells.

    Parameters
    ----------
    marginals : Marginals
    records : shape (n, d)
        Levels.
    weights : shape (n,)
    crossed : shape (all cells, all cells)
        Overwritten, on and below its diagonal; 0 above.
    """
    cells = np.empty(marginals.offsets.size, dtype=np.int64)
    crossed[:] = 0.0
    for i in range(len(records)):
        for m in range(cells.size):
            cells[m] = cell_of(marginals, records, m, i)
            for other in range(m + 1):
                crossed[cells[m], cells[other]] += weights[i]
