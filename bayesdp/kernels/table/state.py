"""Latent records of a table, their counts in all marginals, and how these change with a record.

`left`, what was seen less what is counted, is kept for every marginal once for each of its columns,
so that a column's levels, or pools, are side by side in memory.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined
from bayesdp.kernels.table.choices import Offers, shift_level, shift_record
from bayesdp.kernels.table.predictive import Predictive, shift_drawn_level, shift_drawn_record

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

CHUNK = 4
"""Levels or classes that are taken at once."""
_FAR = 200.0
"""Logarithm of a factor at which factors are computed anew."""


class Rules(NamedTuple):
    """Rules that exclude records; d columns.

    Attributes
    ----------
    ruled : shape (d + 1,)
        Rules that have column j are ruling[ruled[j]:ruled[j + 1]].
    ruling : shape (places,)
    named : shape (rules, most columns)
        Columns of each rule; -1 where it has fewer.
    barred : shape (rules, all columns' levels)
        Whether a rule names a level; a record with all of a rule's columns named is excluded.
    """

    ruled: Integers
    ruling: Integers
    named: Integers
    barred: NDArray[np.bool_]


class Layout(NamedTuple):
    """Where the counts of marginals are, and what excludes a record; d columns.

    Each marginal has a copy for each of its columns, in which that column moves fastest, its levels
    padded to a multiple of `CHUNK`.

    Attributes
    ----------
    levels, pools : shape (d,)
        Numbers of levels, and of pools, as many where none are pooled.
    pool : shape (all columns' levels,)
        The pool of each level; it rises with the level.
    starts : shape (d + 1,)
        Each column's first place among all columns' levels.
    owned : shape (d + 1,)
        The copies of column j are owned[j] to owned[j + 1].
    normal : shape (d,)
        The first so many of a column's copies by pool have Gaussian noise, and no others.
    alone, normal_alone : shape (d,)
        From alone[j] on, a column's copies are by level, where its levels are pooled; the first so
        many of these have Gaussian noise.
    offsets, widths : shape (copies,)
        A copy's first count, and its number of columns.
    columns, strides : shape (copies, most columns)
    rates, gaussian : shape (copies,)
        The noise of a copy's counts.
    touched : shape (d + 1,)
        Copies that have column j, and that another column owns, are
        touching[touched[j]:touched[j + 1]].
    touching, leaps : shape (places,)
        These copies, and the column's stride in each.
    wholes : shape (marginals,)
        The copy of each marginal whose columns are in the marginal's own order.
    proposed : shape (d,)
        Whether levels of a column are proposed, where they would be drawn among all.
    rules : Rules
    """

    levels: Integers
    pools: Integers
    pool: Integers
    starts: Integers
    owned: Integers
    normal: Integers
    alone: Integers
    normal_alone: Integers
    offsets: Integers
    widths: Integers
    columns: Integers
    strides: Integers
    rates: Floats
    gaussian: NDArray[np.bool_]
    touched: Integers
    touching: Integers
    leaps: Integers
    wholes: Integers
    proposed: NDArray[np.bool_]
    rules: Rules


class State(NamedTuple):
    """Latent records and their counts, all overwritten.

    Attributes
    ----------
    records : shape (capacity, d)
        Levels, of which the first n records are there.
    pooled : shape (capacity, d)
        The pools of these levels; may be `records` itself where none are pooled.
    classes : shape (capacity,)
    n : shape (1,)
    left : shape (all copies' counts,)
        Seen minus counted, for every copy.
    sizes : shape (K,)
        Records of each class.
    counts : shape (K, all columns' levels)
    turned : shape (all columns' levels, K)
        `counts`, transposed.
    inverse : shape (d, K)
        1 / (size of the class + b_j levels of the column).
    spread : shape (d + 1,)
        b of the columns, and a last.
    prior : shape (all columns' levels,)
        b_j times the column's number of levels, times the base of each.
    factor : shape (all columns' levels,)
        Of a pooled column, exp(g - `base`), g what one more record at a level does to the log
        likelihood of the column's marginals by level.
    base : shape (d,)
    offers : Offers
        Candidates of choices of marginals, none where there was no choice.
    drawn : Predictive
        Synthetic tables drawn by the records' own counts, none where there were none.
    """

    records: NDArray[np.uint16]
    pooled: NDArray[np.uint16]
    classes: NDArray[np.int32]
    n: Integers
    left: Floats
    sizes: Floats
    counts: Floats
    turned: Floats
    inverse: Floats
    spread: Floats
    prior: Floats
    factor: Floats
    base: Floats
    offers: Offers
    drawn: Predictive


@inlined
def place_of(layout: Any, state: Any, r: int, i: int) -> Any:
    """Find record i's count in a copy."""
    place = layout.offsets[r]
    if layout.widths[r] == 1:
        return place + state.records[i, layout.columns[r, 0]]
    for t in range(layout.widths[r]):
        place += layout.strides[r, t] * state.pooled[i, layout.columns[r, t]]
    return place


@inlined
def further(layout: Any, state: Any, r: int, i: int, j: int, new: Any) -> Any:
    """Find how far from record i's count another level's is, in a copy that column j owns."""
    if layout.widths[r] == 1:
        return new - np.int64(state.records[i, j])
    return layout.pool[layout.starts[j] + new] - np.int64(state.pooled[i, j])


@inlined
def is_excluded(layout: Any, row: Any, j: int, level: Any) -> bool:
    """Return True if a rule excludes the record with this level in column j."""
    rules = layout.rules
    for q in range(rules.ruled[j], rules.ruled[j + 1]):
        rule, every = rules.ruling[q], True
        for t in range(rules.named.shape[1]):
            column = rules.named[rule, t]
            if column < 0:
                break
            one = level if column == j else row[column]
            if not rules.barred[rule, layout.starts[column] + one]:
                every = False
                break
        if every:
            return True
    return False


@inlined
def _gain_alone(layout: Any, state: Any, j: int, c: Any) -> float:
    """Sum what one more record at a level does to the marginals by level, as `_gains` counts it."""
    gain, first = 0.0, layout.alone[j]
    for r in range(first, layout.owned[j + 1]):
        left, rate = state.left[layout.offsets[r] + c], layout.rates[r]
        if r - first < layout.normal_alone[j]:
            gain += 2.0 * rate * left
        else:
            gain += rate if left > 0.0 else -rate
    return gain


@inlined
def rebase(layout: Any, state: Any, j: int) -> None:
    """Compute the factors of a column's levels anew, the largest of which is 1."""
    start, base = layout.starts[j], -math.inf
    for c in range(layout.levels[j]):
        base = max(base, _gain_alone(layout, state, j, c))
    state.base[j] = base
    for c in range(layout.levels[j]):
        state.factor[start + c] = math.exp(_gain_alone(layout, state, j, c) - base)


@inlined
def _refresh(layout: Any, state: Any, j: int, c: Any) -> None:
    """Compute a level's factor after its count has changed, if its column is pooled."""
    if layout.pools[j] < layout.levels[j]:
        log = _gain_alone(layout, state, j, c) - state.base[j]
        if log > _FAR:
            rebase(layout, state, j)
        else:
            state.factor[layout.starts[j] + c] = math.exp(log)


@inlined
def shift(layout: Any, state: Any, i: int, j: int, new: Any) -> None:
    """Give record i another level in column j, and count it in the copies that the column owns.

    `settle` has to follow, or the way back.
    """
    pool = layout.pool[layout.starts[j] + new]
    shift_level(state.offers, state.pooled, i, j, pool)
    shift_drawn_level(state.drawn, state.pooled, i, j, pool)
    for r in range(layout.owned[j], layout.owned[j + 1]):
        place = place_of(layout, state, r, i)
        state.left[place] += 1.0
        state.left[place + further(layout, state, r, i, j, new)] -= 1.0
    state.records[i, j] = new
    state.pooled[i, j] = pool


@inlined
def settle(layout: Any, state: Any, i: int, j: int, old: Any) -> None:
    """Count record i, which had an old level in column j before `shift`, in all else."""
    k, start, new = state.classes[i], layout.starts[j], np.int64(state.records[i, j])
    moved = layout.pool[start + new] - layout.pool[start + old]
    for q in range(layout.touched[j], layout.touched[j + 1]):
        place = place_of(layout, state, layout.touching[q], i)
        state.left[place - layout.leaps[q] * moved] += 1.0
        state.left[place] -= 1.0
    state.counts[k, start + old] -= 1.0
    state.counts[k, start + new] += 1.0
    state.turned[start + old, k] -= 1.0
    state.turned[start + new, k] += 1.0
    _refresh(layout, state, j, old)
    _refresh(layout, state, j, new)


@inlined
def join(layout: Any, state: Any, row: Any, k: int, sign: float) -> None:
    """Count a record into class k, or out of it."""
    state.sizes[k] += sign
    for j in range(layout.levels.size):
        place = layout.starts[j] + row[j]
        state.counts[k, place] += sign
        state.turned[place, k] += sign
        state.inverse[j, k] = 1.0 / (state.sizes[k] + state.spread[j] * layout.levels[j])


@inlined
def count(layout: Any, state: Any, i: int, sign: float) -> None:
    """Count record i into all marginals, or out of them."""
    for r in range(layout.offsets.size):
        state.left[place_of(layout, state, r, i)] -= sign
    shift_record(state.offers, state.pooled, i, sign)
    shift_drawn_record(state.drawn, state.pooled, i, sign)
    for j in range(layout.levels.size):
        _refresh(layout, state, j, np.int64(state.records[i, j]))
