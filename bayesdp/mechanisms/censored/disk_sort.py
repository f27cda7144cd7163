"""Sorting of records that don't fit in memory, in runs that do, which are merged on disk."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.censored.disk_column import DiskColumn

Floats = NDArray[np.float64]
_RUN = 1 << 22  # records that are sorted in memory at once: 32 MB


def sort(pieces: Iterable[Floats]) -> Floats | DiskColumn:
    """Sort the records of all pieces into ascending order.

    Memory holds a piece and a few runs of 2^22 records. The disk holds each record twice, in 16
    bytes, while the runs are merged, and then once.

    Parameters
    ----------
    pieces : iterable of ndarray
        Floats, none of them NaN. Shape (any,).

    Returns
    -------
    ndarray or DiskColumn
        An array if there are fewer records than a run; nothing was written to disk then.

    Raises
    ------
    InvalidInput
        If the disk has no room. Nothing is left there then, as after any exception.
    """
    runs = _runs(pieces)
    first = next(runs)
    if first.size < _RUN:
        return first.copy()
    with closing(DiskColumn.of(itertools.chain([first], runs))) as stored:
        return DiskColumn.of(_merged(stored))


def _runs(pieces: Iterable[Floats]) -> Iterator[Floats]:
    """Yield sorted runs of `_RUN` records, and a shorter one, all in the same memory."""
    waiting, held = np.empty(_RUN), 0
    for piece in pieces:
        left = piece
        while left.size:
            taken = left[: _RUN - held]
            waiting[held : held + taken.size] = taken
            left, held = left[taken.size :], held + taken.size
            if held == _RUN:
                waiting.sort()
                yield waiting
                held = 0
    waiting[:held].sort()
    yield waiting[:held]


def _merged(stored: DiskColumn) -> Iterator[Floats]:
    """Yield all records in order, from the stretch of each run that is in memory.

    A record that isn't yet in memory is at least the last of its run's stretch. So all records up
    to the least of these last ones are in memory, and come next.
    """
    at = np.arange(0, stored.size, _RUN)
    ends = np.minimum(at + _RUN, stored.size)
    share = max(_RUN // at.size, 1)
    stretches = [np.empty(0)] * at.size
    first, last = np.full((2, at.size), -np.inf)
    bound = -np.inf
    while bound < np.inf:
        parts = []
        for k in np.flatnonzero(first <= bound):
            cut = np.searchsorted(stretches[k], bound, side="right")
            parts.append(stretches[k][:cut])
            stretches[k] = stretches[k][cut:]
            if not stretches[k].size:
                stop = min(at[k] + share, ends[k])
                stretches[k], at[k] = stored[at[k] : stop], stop
            some = stretches[k].size > 0
            first[k], last[k] = (stretches[k][0], stretches[k][-1]) if some else (np.inf, np.inf)
        merged = np.concatenate(parts)
        merged.sort()
        yield merged
        bound = last.min()
