"""Layout of tables of some columns' cells, for kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.table.cells import Laid

Integers = NDArray[np.int64]


def laid_out(columns: Sequence[Sequence[int]], shapes: Sequence[Sequence[int]], count: int) -> Laid:
    """Lay out tables, whose last column moves fastest.

    Parameters
    ----------
    columns, shapes : sequence of sequence of int
        Of each table, the places of its columns and their numbers of cells.
    count : int
        Number of columns that there are.
    """
    width = max(map(len, columns), default=1)
    strides = [[math.prod(shape[t + 1 :]) for t in range(len(shape))] for shape in shapes]
    meeting = [
        [(k, strides[k][list(own).index(j)]) for k, own in enumerate(columns) if j in own]
        for j in range(count)
    ]
    return Laid(
        offsets=ends_of([math.prod(shape) for shape in shapes])[:-1],
        widths=_whole([len(own) for own in columns]),
        columns=_rows(columns, width),
        strides=_rows(strides, width),
        met=ends_of([len(own) for own in meeting]),
        meeting=_whole([k for own in meeting for k, _ in own]),
        leaps=_whole([stride for own in meeting for _, stride in own]),
    )


def ends_of(sizes: Any) -> Integers:
    """Where parts of these sizes begin, and the last ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _rows(rows: Sequence[Sequence[int]], width: int) -> Integers:
    made = np.zeros((len(rows), width), dtype=np.int64)
    for place, row in enumerate(rows):
        made[place, : len(row)] = row
    return made


def _whole(numbers: Sequence[int]) -> Integers:
    return np.array(numbers, dtype=np.int64)
