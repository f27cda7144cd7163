r"""Gibbs and Metropolis moves of latent records, given noisy counts of a table's marginals.

A record i has a class k_i of K and a level x_ij in each column. Their parameters are collapsed:

    k ~ Dirichlet-multinomial(a, ..., a),
    column j of the records of class k ~ Dirichlet-multinomial(b_j L_j base_j), all independent,
    base_j ~ Dirichlet(1, ..., 1), over its L_j levels,

restricted to records that no rule excludes, and every count of a marginal is seen with noise. With
`left` = seen - count, one more record in a cell changes the log likelihood by

    gaussian: rate (2 left - 1), rate = 1 / (2 sigma^2);   laplace: rate if left > 0, else -rate.

A sweep takes each level of each record, and each record's class, from its full conditional. Given
the class shares, m records move a class's column little by little, and noise wide compared to
the counts would let it do so for ages; so batches are moved too: m records of class k, chosen at
random of those with level a in column j, get level b. m is as likely at every scale. It is accepted
with the ratio of the targets times

    C(N_a, m) / C(N_b + m, m), for N_a and N_b records with these levels in the class;

with b_j L_j base_j = 1 the prior cancels, so that a batch feels the noise alone. Where n isn't
known, with a uniform prior on {0, ..., capacity}, a record is born from the collapsed predictive,
or one chosen at random dies: prior and proposals cancel, and the likelihoods' ratio is left.

Levels of a column may be pooled, neighbours together: a marginal of that column alone counts its
levels, any other their pools. What the former says of a level is then the same for all records, and
is kept as a factor: a pool is drawn first, by the sum of its levels' factors times their priors.

A marginal's noisy counts may not have been released themselves, but records drawn by them: these
counts are latent too, and further moves carry them along (`bayesdp.kernels.table.unseen`): batches,
and single records that get another class and another level at once. Both are drawn from the prior
given all other records, the class by the other columns, so that the likelihoods' ratio accepts.
Where records of a class are nearly all alike, neither moves without the other.

Where marginals were chosen on confidential counts, or synthetic tables drawn by these themselves,
every move but of classes is accepted with the ratio of the choice's law, or of the tables', too
(`bayesdp.kernels.table.choices`, `bayesdp.kernels.table.predictive`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined, kernel
from bayesdp.kernels.table.choices import weigh_level, weigh_record
from bayesdp.kernels.table.drawing import (
    WIDEST,
    chosen,
    draw_concentration_of_classes,
    draw_prior,
)
from bayesdp.kernels.table.predictive import weigh_drawn_level, weigh_drawn_record
from bayesdp.kernels.table.state import (
    CHUNK,
    count,
    is_excluded,
    join,
    place_of,
    rebase,
    relevel,
)
from bayesdp.kernels.table.unseen import carry

Integers = NDArray[np.int64]

_LEAST = 1e-200
"""Sum of weights at which factors are computed anew."""


class Batch(NamedTuple):
    """Room for batches: records by class, and those that are moved.

    Attributes
    ----------
    order : shape (n,)
        Records sorted by class: class k's are order[ends[k]:ends[k + 1]].
    ends : shape (K + 1,)
    picked : shape (largest batch,)
    """

    order: Integers
    ends: Integers
    picked: Integers


@inlined
def _gains(
    layout: Any,
    state: Any,
    i: int,
    first: int,
    last: int,
    normal: int,
    old: Any,
    size: int,
    room: Any,
    bases: Any,
) -> None:
    """Sum what one more record in each of a column's cells does to some copies' log likelihood.

    The record i itself, in cell `old`, is taken out first.
    """
    copies = last - first
    for q in range(copies):
        bases[q] = place_of(layout, state, first + q, i) - old
    for c in range(0, size, CHUNK):
        s0 = s1 = s2 = s3 = 0.0  # sums over copies, side by side in one register
        for q in range(normal):
            place, rate = bases[q] + c, 2.0 * layout.rates[first + q]
            s0 += rate * state.left[place]
            s1 += rate * state.left[place + 1]
            s2 += rate * state.left[place + 2]
            s3 += rate * state.left[place + 3]
        for q in range(normal, copies):
            place, rate = bases[q] + c, layout.rates[first + q]
            s0 += rate if state.left[place] > 0.0 else -rate
            s1 += rate if state.left[place + 1] > 0.0 else -rate
            s2 += rate if state.left[place + 2] > 0.0 else -rate
            s3 += rate if state.left[place + 3] > 0.0 else -rate
        room[c], room[c + 1], room[c + 2], room[c + 3] = s0, s1, s2, s3
    for q in range(copies):
        if q < normal or state.left[bases[q] + old] == 0.0:
            room[old] += 2.0 * layout.rates[first + q]


@inlined
def _weighed(layout: Any, state: Any, i: int, j: int, new: Any) -> float:
    """Return what another level of record i does to the log law of choices and drawn tables."""
    pool = layout.pool[layout.starts[j] + new]
    change = weigh_level(state.offers, state.pooled, i, j, pool)
    return change + weigh_drawn_level(state.drawn, state.pooled, i, j, pool)


@inlined
def _allowed(layout: Any, state: Any, i: int, j: int, new: Any, rng: Any) -> bool:
    """Accept another level of record i in column j, or reject it, by what `_weighed` returns."""
    change = _weighed(layout, state, i, j, new)
    return change >= 0.0 or math.log(1.0 - rng.random()) < change


@inlined
def _draw_by_pool(
    layout: Any, state: Any, i: int, j: int, room: Any, spare: Any, bases: Any, rng: Any
) -> bool:
    """Draw the pool of record i in column j, and the level in it; False if all sums underflow."""
    k, start, prior = state.classes[i], layout.starts[j], state.prior
    old, pool = np.int64(state.records[i, j]), np.int64(state.pooled[i, j])
    levels, pools = layout.levels[j], layout.pools[j]
    first, alone = layout.owned[j], layout.alone[j]
    _gains(layout, state, i, first, alone, layout.normal[j], pool, pools, room, bases)
    place, before = start + old, state.factor[start + old]
    more = 0.0  # as the record itself is taken out
    for r in range(alone, layout.owned[j + 1]):
        if r - alone < layout.normal_alone[j] or state.left[layout.offsets[r] + old] == 0.0:
            more += 2.0 * layout.rates[r]
    state.factor[place] = before * math.exp(more)
    state.counts[k, place] -= 1.0
    top = room[pool]
    for p in range(pools):
        top = max(top, room[p])
    c, total = 0, 0.0
    for p in range(pools):
        inside = 0.0
        while c < levels and layout.pool[start + c] == p:
            inside += (state.counts[k, start + c] + prior[start + c]) * state.factor[start + c]
            c += 1
        room[p] = inside * math.exp(room[p] - top)
        total += room[p]
    good = _LEAST < total < math.inf
    new: Any = old
    if good:
        p = chosen(room, pools, total, rng)
        inside, size, at = 0.0, 0, 0
        for c in range(levels):
            if layout.pool[start + c] == p:
                if size == 0:
                    at = c
                cell = start + c
                spare[size] = (state.counts[k, cell] + prior[cell]) * state.factor[cell]
                inside += spare[size]
                size += 1
        new = at + chosen(spare, size, inside, rng)
    state.counts[k, place] += 1.0
    state.factor[place] = before
    if new != old and _allowed(layout, state, i, j, new, rng):
        relevel(layout, state, i, j, new)
    return good


@inlined
def _draw_level(
    layout: Any, state: Any, i: int, j: int, room: Any, spare: Any, bases: Any, rng: Any
) -> None:
    """Draw column j of record i from its full conditional."""
    if layout.pools[j] < layout.levels[j] and layout.rules.ruled[j] == layout.rules.ruled[j + 1]:
        if _draw_by_pool(layout, state, i, j, room, spare, bases, rng):
            return
        rebase(layout, state, j)
    row, k = state.records[i], state.classes[i]
    old, levels, start = np.int64(row[j]), layout.levels[j], layout.starts[j]
    first, alone, last = layout.owned[j], layout.alone[j], layout.owned[j + 1]
    pool, pools = np.int64(state.pooled[i, j]), layout.pools[j]
    _gains(layout, state, i, first, alone, layout.normal[j], pool, pools, room, bases)
    if pools < levels:
        for c in range(levels - 1, -1, -1):  # in place, as no level comes before its pool
            room[c] = room[layout.pool[start + c]]
    if alone < last:
        normal = layout.normal_alone[j]
        _gains(layout, state, i, alone, last, normal, old, levels, spare, bases)
        for c in range(levels):
            room[c] += spare[c]
    if layout.rules.ruled[j] < layout.rules.ruled[j + 1]:
        for c in range(levels):
            if is_excluded(layout, row, j, c):
                room[c] = -math.inf
    top = room[old]  # which no rule excludes
    for c in range(levels):
        top = max(top, room[c])
    total = 0.0
    for c in range(levels):
        rest = state.counts[k, start + c] - (1.0 if c == old else 0.0)
        room[c] = (rest + state.prior[start + c]) * math.exp(room[c] - top)
        total += room[c]
    new = chosen(room, levels, total, rng) if total > 0.0 else old
    if new != old and _allowed(layout, state, i, j, new, rng):
        relevel(layout, state, i, j, new)


@inlined
def _weigh_classes(layout: Any, state: Any, row: Any, room: Any, bases: Any) -> None:
    """Fill in how likely each class is for a record that is in none."""
    size = state.sizes.size
    for k in range(size):
        room[k] = state.sizes[k] + state.spread[layout.levels.size]
    d, even = layout.levels.size, size - size % CHUNK
    for j in range(d):
        bases[j] = layout.starts[j] + row[j]
    for first in range(0, d, WIDEST):
        last = min(first + WIDEST, d)
        for k in range(0, even, CHUNK):
            p0, p1, p2, p3 = room[k], room[k + 1], room[k + 2], room[k + 3]
            for j in range(first, last):
                place, b = bases[j], state.prior[bases[j]]
                p0 *= (state.turned[place, k] + b) * state.inverse[j, k]
                p1 *= (state.turned[place, k + 1] + b) * state.inverse[j, k + 1]
                p2 *= (state.turned[place, k + 2] + b) * state.inverse[j, k + 2]
                p3 *= (state.turned[place, k + 3] + b) * state.inverse[j, k + 3]
            room[k], room[k + 1], room[k + 2], room[k + 3] = p0, p1, p2, p3
        for k in range(even, size):
            for j in range(first, last):
                room[k] *= (state.turned[bases[j], k] + state.prior[bases[j]]) * state.inverse[j, k]
        if last < d:  # before a product of many probabilities is none at all
            top = 0.0
            for k in range(size):
                top = max(top, room[k])
            for k in range(size):
                room[k] /= top


@inlined
def _draw_class(layout: Any, state: Any, i: int, room: Any, bases: Any, rng: Any) -> None:
    """Draw the class of record i from its full conditional."""
    row, old, size = state.records[i], state.classes[i], state.sizes.size
    join(layout, state, row, old, -1.0)
    _weigh_classes(layout, state, row, room, bases)
    total = 0.0
    for k in range(size):
        total += room[k]
    new = chosen(room, size, total, rng)
    state.classes[i] = new
    join(layout, state, row, new, 1.0)


@inlined
def _gain(layout: Any, state: Any, r: int, i: int, added: bool) -> Any:
    """Return what one more record in i's cell, or one fewer, does to the log likelihood."""
    left, rate = state.left[place_of(layout, state, r, i)], layout.rates[r]
    if layout.gaussian[r]:
        return rate * (2.0 * left - 1.0) if added else -rate * (2.0 * left + 1.0)
    if added:
        return rate if left > 0.0 else -rate
    return -rate if left >= 0.0 else rate


@inlined
def _moved(layout: Any, state: Any, unseen: Any, i: int, j: int, new: Any) -> float:
    """Give record i another level in column j; return what that does to the log likelihood.

    It carries noisy counts along, if some `unseen` are given and not None.
    """
    change = _weighed(layout, state, i, j, new)
    for r in range(layout.owned[j], layout.owned[j + 1]):
        if unseen is None or unseen.released[r]:
            change += _gain(layout, state, r, i, False)
    if unseen is not None:
        change += carry(state, unseen, i, j, new)
    relevel(layout, state, i, j, new)
    for r in range(layout.owned[j], layout.owned[j + 1]):
        if unseen is not None and not unseen.released[r]:
            continue
        place = place_of(layout, state, r, i)
        state.left[place] += 1.0
        change += _gain(layout, state, r, i, True)
        state.left[place] -= 1.0
    return change


@inlined
def _move_back(layout: Any, state: Any, unseen: Any, i: int, j: int, old: Any) -> None:
    """Undo `_moved`."""
    if unseen is not None:
        carry(state, unseen, i, j, old)
    relevel(layout, state, i, j, old)


@inlined
def _batch(layout: Any, state: Any, unseen: Any, batch: Any, rng: Any) -> bool:
    """Move some records of a class from one level of a column to another, or reject the move.

    They carry noisy counts along, if some `unseen` are given and not None.
    """
    k, j = int(rng.random() * state.sizes.size), int(rng.random() * layout.levels.size)
    levels, start = layout.levels[j], layout.starts[j]
    if levels < 2:
        return False
    a, b = int(rng.random() * levels), int(rng.random() * (levels - 1))
    b += b >= a
    have, there = state.counts[k, start + a], state.counts[k, start + b]
    lost, gained = state.prior[start + a], state.prior[start + b]
    m = int(math.exp(rng.random() * math.log(batch.picked.size + 1.0)))
    if m > have:
        return False
    change = 0.0
    for t in range(m):
        change += math.log((there + t + gained) / (have - 1.0 - t + lost))
        change += math.log((have - t) / (there + t + 1.0))
    first, size = batch.ends[k], batch.ends[k + 1] - batch.ends[k]
    moved, good = 0, True
    while good and moved < m:
        i = batch.order[first + int(rng.random() * size)]
        row = state.records[i]
        if row[j] != a:  # nor one that was moved before
            continue
        if is_excluded(layout, row, j, b):
            good = False
            continue
        batch.picked[moved] = i
        moved += 1
        change += _moved(layout, state, unseen, i, j, b)
    if good and math.log(1.0 - rng.random()) < change:
        return True
    for t in range(moved):
        _move_back(layout, state, unseen, batch.picked[t], j, a)
    return False


@inlined
def _switch(
    layout: Any, state: Any, unseen: Any, i: int, j: int, room: Any, bases: Any, rng: Any
) -> None:
    """Move record i to another class and to another level of column j, or reject the move.

    Both are proposed from the prior given all other records.
    """
    row, old, size = state.records[i], state.classes[i], state.sizes.size
    level, start = np.int64(row[j]), layout.starts[j]
    b = state.prior[start + level]
    join(layout, state, row, old, -1.0)
    _weigh_classes(layout, state, row, room, bases)
    total = 0.0
    for k in range(size):
        room[k] /= (state.turned[start + level, k] + b) * state.inverse[j, k]
        total += room[k]
    new = chosen(room, size, total, rng)
    total = 0.0
    for c in range(layout.levels[j]):
        room[c] = state.counts[new, start + c] + state.prior[start + c]
        total += room[c]
    to = np.int64(chosen(room, layout.levels[j], total, rng))
    join(layout, state, row, old, 1.0)
    if to != level:
        if is_excluded(layout, row, j, to):
            return
        change = _moved(layout, state, unseen, i, j, to)
        if not math.log(1.0 - rng.random()) < change:
            _move_back(layout, state, unseen, i, j, level)
            return
    join(layout, state, row, old, -1.0)
    state.classes[i] = new
    join(layout, state, row, new, 1.0)


@inlined
def _invent(layout: Any, state: Any, i: int, room: Any, rng: Any) -> bool:
    """Draw record i, which isn't counted, from the collapsed predictive; False if excluded."""
    d, row = layout.levels.size, state.records[i]
    total = 0.0
    for k in range(state.sizes.size):
        room[k] = state.sizes[k] + state.spread[d]
        total += room[k]
    k = chosen(room, state.sizes.size, total, rng)
    state.classes[i] = k
    for j in range(d):
        total = 0.0
        for c in range(layout.levels[j]):
            place = layout.starts[j] + c
            room[c] = state.counts[k, place] + state.prior[place]
            total += room[c]
        row[j] = chosen(room, layout.levels[j], total, rng)
        state.pooled[i, j] = layout.pool[layout.starts[j] + row[j]]
    good = True
    for j in range(d):
        good = good and not is_excluded(layout, row, j, np.int64(row[j]))
    return good


@inlined
def _change(layout: Any, state: Any, i: int, added: bool) -> float:
    """Return what one more record like i does to the log likelihood, or i fewer."""
    sign = 1.0 if added else -1.0
    change = weigh_record(state.offers, state.pooled, i, sign)
    change += weigh_drawn_record(state.drawn, state.pooled, i, sign)
    for r in layout.wholes:
        change += _gain(layout, state, r, i, added)
    return change


@inlined
def _birth(layout: Any, state: Any, room: Any, rng: Any) -> bool:
    """Propose a new record from the collapsed predictive."""
    n = state.n[0]
    if n == state.classes.size or not _invent(layout, state, n, room, rng):
        return False
    if not math.log(1.0 - rng.random()) < _change(layout, state, n, True):
        return False
    count(layout, state, n, 1.0)
    join(layout, state, state.records[n], state.classes[n], 1.0)
    state.n[0] = n + 1
    return True


@inlined
def _death(layout: Any, state: Any, rng: Any) -> bool:
    """Propose that one record, chosen at random, goes."""
    n = state.n[0]
    if n == 0:
        return False
    i = int(rng.random() * n)
    if not math.log(1.0 - rng.random()) < _change(layout, state, i, False):
        return False
    count(layout, state, i, -1.0)
    join(layout, state, state.records[i], state.classes[i], -1.0)
    for j in range(layout.levels.size):
        state.records[i, j] = state.records[n - 1, j]
        state.pooled[i, j] = state.pooled[n - 1, j]
    state.classes[i] = state.classes[n - 1]
    state.n[0] = n - 1
    return True


@kernel
def _by_class(state: Any, order: Any, ends: Any) -> None:
    """Sort the records' places by class: class k's are order[ends[k]:ends[k + 1]]."""
    ends[0] = 0
    for k in range(state.sizes.size):
        ends[k + 1] = ends[k] + int(state.sizes[k])
    free = ends[:-1].copy()
    for i in range(state.n[0]):
        k = state.classes[i]
        order[free[k]] = i
        free[k] += 1


@kernel
def sweep(
    layout: Any, state: Any, batches: float, most: int, moves: int, rng: Any
) -> tuple[int, int]:
    """Run one sweep over all records, batches of them, and births and deaths.

    Parameters
    ----------
    layout : Layout
    state : State
        Overwritten.
    batches : float
        Batches for each record.
    most : int
        Largest batch.
    moves : int
        Births and deaths proposed; 0 where n is known.
    rng : numpy Generator

    Returns
    -------
    numbers of batches proposed and accepted
    """
    d = layout.levels.size
    room = np.empty(max(layout.levels.max() + CHUNK, state.sizes.size))
    spare = np.empty(layout.levels.max() + CHUNK)
    for j in range(d):
        if layout.pools[j] < layout.levels[j]:
            rebase(layout, state, j)
    bases = np.empty(max(d, layout.offsets.size), dtype=np.int64)
    for i in range(state.n[0]):
        for j in range(d):
            _draw_level(layout, state, i, j, room, spare, bases, rng)
        _draw_class(layout, state, i, room, bases, rng)
    order, ends = np.empty(state.n[0], dtype=np.int64), np.empty(state.sizes.size + 1, np.int64)
    _by_class(state, order, ends)
    batch = Batch(order, ends, np.empty(most, dtype=np.int64))
    proposed, accepted = int(batches * state.n[0]), 0
    for _ in range(proposed):
        accepted += _batch(layout, state, None, batch, rng)
    for _ in range(moves):
        if rng.random() < 0.5:
            _birth(layout, state, room, rng)
        else:
            _death(layout, state, rng)
    return proposed, accepted


@kernel
def switch_records(layout: Any, state: Any, rng: Any) -> None:
    """Move each record to another class and another level, column by column, or reject the moves.

    Parameters
    ----------
    layout : Layout
    state : State
        Overwritten.
    rng : numpy Generator
    """
    room = np.empty(max(layout.levels.max(), state.sizes.size))
    bases = np.empty(layout.levels.size, dtype=np.int64)
    for i in range(state.n[0]):
        for j in range(layout.levels.size):
            _switch(layout, state, None, i, j, room, bases, rng)


@kernel
def carry_batches(layout: Any, state: Any, unseen: Any, batches: float, rng: Any) -> None:
    """Move batches of records, and records with their classes, that carry unseen counts along.

    Parameters
    ----------
    layout : Layout
    state : State
        Overwritten.
    unseen : Unseen
        Overwritten.
    batches : float
        Records that move, if none were rejected, for each record.
    rng : numpy Generator
    """
    order, ends = np.empty(state.n[0], dtype=np.int64), np.empty(state.sizes.size + 1, np.int64)
    room = np.empty(max(layout.levels.max(), state.sizes.size))
    bases = np.empty(layout.levels.size, dtype=np.int64)
    for i in range(state.n[0]):
        for j in range(layout.levels.size):
            _switch(layout, state, unseen, i, j, room, bases, rng)
    _by_class(state, order, ends)
    batch = Batch(order, ends, np.empty(unseen.most, dtype=np.int64))
    mean = unseen.most / math.log(unseen.most + 1.0)  # fewer where they are larger
    for _ in range(int(batches * state.n[0] / mean)):
        _batch(layout, state, unseen, batch, rng)


@kernel
def draw_spread(layout: Any, state: Any, grid: Any, rng: Any) -> None:
    """Draw each column's base and b_j, and a; these two are of a grid of equally likely values."""
    d, classes = layout.levels.size, state.sizes.size
    for j in range(d):
        start, end = layout.starts[j], layout.starts[j + 1]
        counts, prior = state.counts[:, start:end], state.prior[start:end]
        state.spread[j] = draw_prior(counts, state.sizes, prior, grid, rng)
        for k in range(classes):
            state.inverse[j, k] = 1.0 / (state.sizes[k] + state.spread[j] * layout.levels[j])
    state.spread[d] = draw_concentration_of_classes(state.sizes, grid, rng)
