r"""Batches: several records of a class that get another level of a column at once.

m records of class k, chosen at random of those with level a in column j, get level b. m is as
likely at every scale. It is accepted with the ratio of the targets times

    C(N_a, m) / C(N_b + m, m), for N_a and N_b records with these levels in the class;

with b_j L_j base_j = 1 the prior cancels, so that a batch feels the noise alone. What the prior and
these numbers say decides first, and the noise of those that pass decides next, by a ratio of its
own (Christen and Fox 2005), so that those that fail at first move no record.

A column at a time, records are sorted by class and level, and stay so as batches move: those of a
batch are then found at once, however rare their level is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined, kernel
from bayesdp.kernels.table.changes import move_back, moved
from bayesdp.kernels.table.state import is_excluded, settle

Integers = NDArray[np.int64]


class Sorted(NamedTuple):
    """Records by class and by level of one column.

    Attributes
    ----------
    order : shape (n,)
        Records' places. Those of class k with level c are
        order[starts[k L + c]:starts[k L + c + 1]], for L levels.
    starts : shape (K L + 1,)
    """

    order: Integers
    starts: Integers


@inlined
def _sort(layout: Any, state: Any, j: int, by: Any) -> None:
    """Sort all records by class and by level of column j."""
    levels, first, end = layout.levels[j], layout.starts[j], 0
    for k in range(state.sizes.size):
        for c in range(levels):
            end += int(state.counts[k, first + c])
            by.starts[k * levels + c] = end  # which falls to the start as the cell is filled
    by.starts[state.sizes.size * levels] = end
    for i in range(state.n[0] - 1, -1, -1):
        cell = state.classes[i] * levels + state.records[i, j]
        by.starts[cell] -= 1
        by.order[by.starts[cell]] = i


@inlined
def _exchange(order: Any, p: Any, q: Any) -> None:
    order[p], order[q] = order[q], order[p]


@inlined
def _resort(by: Any, a: Any, b: Any) -> None:
    """Put the last record of cell a into a later cell b, or its first into an earlier one."""
    order, starts = by
    if a < b:
        p = starts[a + 1] - 1
        for cell in range(a + 1, b + 1):
            starts[cell] -= 1
            if cell < b:
                _exchange(order, p, starts[cell + 1] - 1)
                p = starts[cell + 1] - 1
        return
    p = starts[a]
    for cell in range(a, b, -1):
        starts[cell] += 1
        if cell - 1 > b:
            _exchange(order, p, starts[cell - 1])
            p = starts[cell - 1]


@inlined
def _log_odds(have: float, there: float, lost: float, gained: float, m: int) -> float:
    """Return the log ratio of priors and of choices of m records, as they get another level."""
    change = 0.0
    for t in range(m):
        change += math.log((there + t + gained) / (have - 1.0 - t + lost))
        change += math.log((have - t) / (there + t + 1.0))
    return change


@inlined
def _batch(layout: Any, state: Any, unseen: Any, j: int, most: int, by: Any, rng: Any) -> bool:
    """Move some records of a class from one level of column j to another, or reject the move.

    They carry noisy counts along, if some `unseen` are given and not None.
    """
    levels, start = layout.levels[j], layout.starts[j]
    k = int(rng.random() * state.sizes.size)
    a, b = int(rng.random() * levels), int(rng.random() * (levels - 1))
    b += b >= a
    have, there = state.counts[k, start + a], state.counts[k, start + b]
    lost, gained = state.prior[start + a], state.prior[start + b]
    m = int(math.exp(rng.random() * math.log(most + 1.0)))
    if m > have:
        return False
    if not math.log(1.0 - rng.random()) < _log_odds(have, there, lost, gained, m):
        return False
    old, new = k * levels + a, k * levels + b
    nearest, step = by.starts[old], 1  # the end of the cell that is nearer to the new one
    if a < b:
        nearest, step = by.starts[old + 1] - 1, -1
    change, done, good = 0.0, 0, True
    while good and done < m:
        p = nearest + step * done
        _exchange(by.order, p, p + step * int(rng.random() * (have - done)))
        good = not is_excluded(layout, state.records[by.order[p]], j, b)
        if good:
            change += moved(layout, state, unseen, by.order[p], j, b)
            done += 1
    if good and math.log(1.0 - rng.random()) < change:
        for t in range(m):
            settle(layout, state, by.order[nearest + step * t], j, a)
        for _ in range(m):
            _resort(by, old, new)
        return True
    for t in range(done):
        move_back(layout, state, unseen, by.order[nearest + step * t], j, a)
    return False


@kernel
def move_batches(layout: Any, state: Any, unseen: Any, batches: int, most: int, rng: Any) -> int:
    """Propose batches, as many for each column.

    Parameters
    ----------
    layout : Layout
    state : State
        Overwritten.
    unseen : Unseen or None
        Noisy counts that are carried along, if any; overwritten.
    batches : int
    most : int
        Largest batch.
    rng : numpy Generator

    Returns
    -------
    number of batches accepted
    """
    d = layout.levels.size
    order = np.empty(state.n[0], dtype=np.int64)
    starts = np.empty(state.sizes.size * layout.levels.max() + 1, dtype=np.int64)
    by, accepted = Sorted(order, starts), 0
    end = rng.random()
    for j in range(d):
        begin, end = end, end + batches / d
        own = int(end) - int(begin)
        if layout.levels[j] < 2 or own == 0:
            continue
        _sort(layout, state, j, by)
        for _ in range(own):
            accepted += _batch(layout, state, unseen, j, most, by, rng)
    return accepted
