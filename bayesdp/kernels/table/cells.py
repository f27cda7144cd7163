"""Cells of tables of some columns, one table after another, as kernels find a record's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined

Integers = NDArray[np.int64]


class Laid(NamedTuple):
    """Layout of T tables' cells, of which each table's last column moves fastest.

    Attributes
    ----------
    offsets, widths : shape (T,)
        A table's first cell, and its number of columns.
    columns, strides : shape (T, most columns)
    met : shape (d + 1,)
        Tables that have column j are meeting[met[j]:met[j + 1]].
    meeting, leaps : shape (places,)
        These tables, and the column's stride in each.
    """

    offsets: Integers
    widths: Integers
    columns: Integers
    strides: Integers
    met: Integers
    meeting: Integers
    leaps: Integers


@inlined
def cell_of(laid: Any, pooled: Any, c: Any, i: int) -> Any:
    """Find record i's cell of table c."""
    place = laid.offsets[c]
    for t in range(laid.widths[c]):
        place += laid.strides[c, t] * pooled[i, laid.columns[c, t]]
    return place
