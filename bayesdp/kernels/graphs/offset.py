"""Kernel of a fixed number added to each dyad's log-odds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined


class Offset(NamedTuple):
    """Log-odds added to dyads; `NO_OFFSET`, or made by `offset_from`.

    Attributes
    ----------
    matrix : ndarray of float, shape (n, n) or (0, 0)
        One number for each dyad, if given as a matrix.
    constant : float
        Otherwise, the number of a dyad that isn't listed.
    start : ndarray of int64, shape (n + 1,) or (0,)
        Where node i's list begins in `node` and `value`, sorted by node.
    """

    matrix: NDArray[np.float64]
    constant: float
    start: NDArray[np.int64]
    node: NDArray[np.int64]
    value: NDArray[np.float64]


@inlined
def dyad_offset(offset: Any, i: Any, j: Any) -> Any:
    """Log-odds added to the dyad from i to j; i < j if undirected."""
    if len(offset.matrix):
        return offset.matrix[i, j]
    if len(offset.start) == 0:
        return offset.constant
    low, high = offset.start[i], offset.start[i + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if offset.node[middle] < j:
            low = middle + 1
        else:
            high = middle
    if low < end and offset.node[low] == j:
        return offset.value[low]
    return offset.constant
