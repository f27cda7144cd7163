r"""Gibbs and Metropolis moves of latent records, given noisy counts of a table's marginals.

A record i has a class k_i of K and a level x_ij in each column. Their parameters are collapsed:

    k ~ Dirichlet-multinomial(a, ..., a),
    column j of the records of class k ~ Dirichlet-multinomial(b_j L_j base_j), all independent,
    base_j ~ Dirichlet(1, ..., 1), over its L_j levels,

restricted to records that no rule excludes, and every count of a marginal is seen with noise. With
`left` = seen - count, one more record in a cell changes the log likelihood by

    gaussian: rate (2 left - 1), rate = 1 / (2 sigma^2);   laplace: rate if left > 0, else -rate.

A sweep takes each level of each record, and each record's class, from its full conditional; where
one record matters little beside the noise, it proposes a level from the prior given all other
records instead, and the likelihoods' ratio accepts: of each marginal it needs two cells, not a
column's. Given the class shares, m records move a class's column little by little, and noise wide
compared to the counts would let it do so for ages; so batches of records are moved too
(`bayesdp.kernels.table.batches`). Where n isn't known, with a uniform prior on {0, ..., capacity},
a record is born from the collapsed predictive, or one chosen at random dies: prior and proposals
cancel, and the likelihoods' ratio is left.

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
from typing import Any

import numpy as np

from bayesdp.kernels.compiling import inlined, kernel
from bayesdp.kernels.table.batches import move_batches
from bayesdp.kernels.table.changes import gain, move_back, moved, weighed
from bayesdp.kernels.table.choices import weigh_record
from bayesdp.kernels.table.drawing import (
    WIDEST,
    chosen,
    draw_concentration_of_classes,
    draw_prior,
)
from bayesdp.kernels.table.predictive import weigh_drawn_record
from bayesdp.kernels.table.state import (
    CHUNK,
    count,
    is_excluded,
    join,
    place_of,
    rebase,
    settle,
    shift,
)

_LEAST = 1e-200
"""Sum of weights at which factors are computed anew."""


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
def _allowed(layout: Any, state: Any, i: int, j: int, new: Any, rng: Any) -> bool:
    """Accept another level of record i in column j, or reject it, by what `weighed` returns."""
    change = weighed(layout, state, i, j, new)
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
        shift(layout, state, i, j, new)
        settle(layout, state, i, j, old)
    return good


@inlined
def _level_of_class(layout: Any, state: Any, k: Any, j: int, own: Any, rng: Any) -> Any:
    """Draw a level of column j from the prior given all records of class k.

    One of them, of level `own`, is left out, if that isn't -1.
    """
    start, last = layout.starts[j], layout.levels[j] - 1
    others = state.sizes[k] - (1.0 if own >= 0 else 0.0)
    rest = rng.random() * (others + state.spread[j] * layout.levels[j])
    new: Any = 0
    while new < last:
        rest -= state.counts[k, start + new] - (1.0 if new == own else 0.0)
        rest -= state.prior[start + new]
        if rest < 0.0:
            break
        new += 1
    return new


@inlined
def _propose_level(layout: Any, state: Any, i: int, j: int, rng: Any) -> None:
    """Propose a level for column j of record i from the prior given all others; weigh these two."""
    old = np.int64(state.records[i, j])
    new = _level_of_class(layout, state, state.classes[i], j, old, rng)
    if new == old or is_excluded(layout, state.records[i], j, new):
        return
    change = moved(layout, state, None, i, j, new)
    if math.log(1.0 - rng.random()) < change:
        settle(layout, state, i, j, old)
    else:
        move_back(layout, state, None, i, j, old)


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
        shift(layout, state, i, j, new)
        settle(layout, state, i, j, old)


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
    to = np.int64(_level_of_class(layout, state, new, j, -1, rng))
    join(layout, state, row, old, 1.0)
    if to != level:
        if is_excluded(layout, row, j, to):
            return
        change = moved(layout, state, unseen, i, j, to)
        if not math.log(1.0 - rng.random()) < change:
            move_back(layout, state, unseen, i, j, level)
            return
        settle(layout, state, i, j, level)
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
        row[j] = _level_of_class(layout, state, k, j, -1, rng)
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
        change += gain(layout, state, r, place_of(layout, state, r, i), added)
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
            if layout.proposed[j]:
                _propose_level(layout, state, i, j, rng)
            else:
                _draw_level(layout, state, i, j, room, spare, bases, rng)
        _draw_class(layout, state, i, room, bases, rng)
    proposed = int(batches * state.n[0])
    accepted = move_batches(layout, state, None, proposed, most, rng)
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
    room = np.empty(max(layout.levels.max(), state.sizes.size))
    bases = np.empty(layout.levels.size, dtype=np.int64)
    for i in range(state.n[0]):
        for j in range(layout.levels.size):
            _switch(layout, state, unseen, i, j, room, bases, rng)
    mean = unseen.most / math.log(unseen.most + 1.0)  # fewer where they are larger
    move_batches(layout, state, unseen, int(batches * state.n[0] / mean), unseen.most, rng)


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
