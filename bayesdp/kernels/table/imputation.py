r"""Gibbs moves of the classes and missing values of a table's records, where answers are ignorable.

Complete records are a latent class model's, with parameters collapsed:

    k ~ Dirichlet-multinomial(a, ..., a),
    column j of the records of class k ~ Dirichlet-multinomial(b_j L_j base_j), all independent,
    base_j ~ Dirichlet(1, ..., 1), over its L_j values,

restricted to records that no rule excludes (Vermunt, Van Ginkel, Van der Ark and Sijtsma 2008; Si
and Reiter 2013). That a value is missing says nothing of the record's class: the law of what is
missing, given what is there, cancels (Rubin 1976). If it said something, as where missing is one
more level, the values in classes of missing ones alone would be the prior's. So a record's class,
given all others, has the weight

    (size_k + a) prod over observed columns j of (count_jk(x_j) + w_j(x_j)) / (total_jk + L_j b_j),

with w_j = b_j L_j base_j, and its missing values, given the class, have those of the factors, each
for itself. Both are drawn together, until no rule excludes the record; after `TRIES` the record
stays as it was, which leaves the law as it is, as how likely that is depends on the others alone. A
missing value stays missing where rules exclude all others beside the record's other values: it
doesn't apply, and has no factor. Values that were drawn count in later weights, as parameters are
collapsed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined, kernel
from bayesdp.kernels.table.drawing import (
    WIDEST,
    chosen,
    draw_concentration_of_classes,
    draw_prior,
)
from bayesdp.kernels.table.state import Rules, is_excluded

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

TRIES = 200


class Known(NamedTuple):
    """Columns and rules; d columns.

    Attributes
    ----------
    levels : shape (d,)
        Numbers of values that a complete record may have; the code after them is a missing one's,
        where the column is imputed.
    starts : shape (d + 1,)
        Each column's first place among all columns' codes.
    rules : Rules
    """

    levels: Integers
    starts: Integers
    rules: Rules


class Complete(NamedTuple):
    """Records, their classes and counts of these, all overwritten but for `missing`.

    Attributes
    ----------
    records : shape (n, d)
        Codes; a missing value's counts in no class.
    missing : shape (n, d)
        Whether a value is to be drawn.
    classes : shape (n,)
    sizes : shape (K,)
        Records of each class.
    counts : shape (all columns' codes, K)
    totals, inverse : shape (d, K)
        Sums of a column's counts, and 1 / (total + L_j b_j).
    spread : shape (d + 1,)
        b of the columns, and a last.
    prior : shape (all columns' codes,)
        b_j times the column's number of values, times the base of each.
    """

    records: NDArray[np.uint16]
    missing: NDArray[np.bool_]
    classes: NDArray[np.int32]
    sizes: Floats
    counts: Floats
    totals: Floats
    inverse: Floats
    spread: Floats
    prior: Floats


@inlined
def _join(known: Any, state: Any, i: int, sign: float) -> None:
    """Count record i into its class, or out of it."""
    k = state.classes[i]
    state.sizes[k] += sign
    for j in range(known.levels.size):
        level = np.int64(state.records[i, j])
        if level < known.levels[j]:
            state.counts[known.starts[j] + level, k] += sign
            state.totals[j, k] += sign
            total = state.totals[j, k] + known.levels[j] * state.spread[j]
            state.inverse[j, k] = 1.0 / total


@inlined
def _weigh(known: Any, state: Any, i: int, room: Any) -> float:
    """Weigh the classes of a record that isn't counted; their sum."""
    classes, d = state.sizes.size, known.levels.size
    for k in range(classes):
        room[k] = state.sizes[k] + state.spread[d]
    taken = 0
    for j in range(d):
        if state.missing[i, j]:
            continue
        place = known.starts[j] + np.int64(state.records[i, j])
        b = state.prior[place]
        for k in range(classes):
            room[k] *= (state.counts[place, k] + b) * state.inverse[j, k]
        taken += 1
        if taken % WIDEST == 0:
            top = 0.0
            for k in range(classes):
                top = max(top, room[k])
            for k in range(classes):
                room[k] /= top
    total = 0.0
    for k in range(classes):
        total += room[k]
    return total


@inlined
def _fill(known: Any, state: Any, i: int, k: int, row: Any, spare: Any, rng: Any) -> None:
    """Draw a record's missing values, given its class, into a row."""
    for j in range(known.levels.size):
        row[j] = np.int64(state.records[i, j])
        if state.missing[i, j]:
            total = 0.0
            for c in range(known.levels[j]):
                place = known.starts[j] + c
                spare[c] = state.counts[place, k] + state.prior[place]
                total += spare[c]
            row[j] = chosen(spare, known.levels[j], total, rng)


@inlined
def _is_possible(known: Any, state: Any, i: int, row: Any) -> bool:
    """Leave missing what doesn't apply, and return True unless a rule excludes the row."""
    for j in range(known.levels.size):
        if state.missing[i, j] and known.rules.ruled[j] < known.rules.ruled[j + 1]:
            applies = False
            for c in range(known.levels[j]):
                applies = applies or not is_excluded(known, row, j, c)
            if not applies:
                row[j] = known.levels[j]
    good = True
    for j in range(known.levels.size):
        good = good and not is_excluded(known, row, j, row[j])
    return good


@kernel
def sweep_complete(known: Any, state: Any, rng: Any) -> None:
    """Draw each record's class and missing values, given all others, from their law.

    Parameters
    ----------
    known : Known
    state : Complete
        Overwritten.
    rng : numpy Generator
    """
    d, classes = known.levels.size, state.sizes.size
    room, spare = np.empty(classes), np.empty(known.levels.max())
    row = np.empty(d, dtype=np.int64)
    for i in range(len(state.records)):
        _join(known, state, i, -1.0)
        total = _weigh(known, state, i, room)
        for _ in range(TRIES):
            k = chosen(room, classes, total, rng)
            _fill(known, state, i, k, row, spare, rng)
            if _is_possible(known, state, i, row):
                state.classes[i] = k
                for j in range(d):
                    state.records[i, j] = row[j]
                break
        _join(known, state, i, 1.0)


@kernel
def take_table(known: Any, state: Any, rng: Any) -> None:
    """Begin with other records: draw their classes by the counts so far, and count them anew.

    Parameters
    ----------
    known : Known
    state : Complete
        Of the new records, whose missing values have a missing one's code, and of the old counts.
    rng : numpy Generator
    """
    classes, d = state.sizes.size, known.levels.size
    room = np.empty(classes)
    for i in range(len(state.records)):
        total = _weigh(known, state, i, room)
        state.classes[i] = chosen(room, classes, total, rng)
    state.sizes[:] = 0.0
    state.counts[:] = 0.0
    state.totals[:] = 0.0
    for j in range(d):
        state.inverse[j] = 1.0 / (known.levels[j] * state.spread[j])
    for i in range(len(state.records)):
        _join(known, state, i, 1.0)


@kernel
def draw_spread_complete(known: Any, state: Any, grid: Any, rng: Any) -> None:
    """Draw each column's base and b_j, and a; these two are of a grid of equally likely values."""
    d, classes = known.levels.size, state.sizes.size
    for j in range(d):
        counts = state.counts[known.starts[j] : known.starts[j] + known.levels[j]].T
        prior = state.prior[known.starts[j] : known.starts[j] + known.levels[j]]
        state.spread[j] = draw_prior(counts, state.totals[j], prior, grid, rng)
        for k in range(classes):
            total = state.totals[j, k] + known.levels[j] * state.spread[j]
            state.inverse[j, k] = 1.0 / total
    state.spread[d] = draw_concentration_of_classes(state.sizes, grid, rng)
