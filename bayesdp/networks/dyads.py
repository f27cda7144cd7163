"""Numbers of dyads in row order, like sorted ties; in integers, however many there are.

In an undirected graph dyad (i, j) has i < j; in a directed one, both orders are dyads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def dyad_numbers(pairs: NDArray[np.integer], n: int, directed: bool) -> Integers:
    """Number dyads in the order of all dyads, from pairs of node numbers, shape (k, 2)."""
    i, j = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    if directed:
        return i * (n - 1) + j - (j > i)
    return _row_start(i, n) + j - i - 1


def dyads_numbered(numbers: Integers, n: int, directed: bool) -> Integers:
    """Find the dyads with these numbers, shape (k, 2)."""
    if directed:
        i, j = np.divmod(numbers, n - 1)
        return np.column_stack([i, j + (j >= i)])
    start = _row_start(np.arange(n, dtype=np.int64), n)
    i = np.searchsorted(start, numbers, side="right") - 1
    return np.column_stack([i, numbers - start[i] + i + 1])


def gaps_numbered(gaps: Integers, ties: Integers) -> Integers:
    """Find the numbers of gaps among all dyads, from their numbers among the gaps.

    Tie k, which is dyad number t[k], has t[k] - k gaps before it; so gap g has before it the ties
    with t[k] - k <= g.

    Parameters
    ----------
    gaps : ndarray of int64
        Numbers among the gaps, from 0.
    ties : ndarray of int64
        Numbers of the ties among all dyads, ascending.
    """
    return gaps + np.searchsorted(ties - np.arange(ties.size), gaps, side="right")


def _row_start(i: Integers, n: int) -> Integers:
    """Number of dyads (a, b), a < b, with a < i."""
    return i * n - i * (i + 1) // 2
