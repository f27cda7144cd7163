r"""Law of synthetic tables drawn by a table's own counts, to which every move of a record adds.

A step has the cells of some columns' levels, in rows: those of the columns that it is given. With
alpha the prior of a step's cells, A_s its sum over row s, and x_c and N_s the latent records in a
cell and in a row, a copy with y_c records in each cell, Y_s in a row, has the law

    prod over rows  Gamma(A_s + N_s) / Gamma(A_s + N_s + Y_s)
                    prod over cells  Gamma(alpha + x_c + y_c) / Gamma(alpha + x_c),

a product over steps and copies: each is a table here. The probabilities by which it was drawn are
summed out, and nothing else was unseen. One more record in cell c multiplies it by

    (u + y_c) / u   A / (A + Y_s),    u = alpha + x_c,  A = A_s + N_s.

A move that is reversible under the law without copies stays so if it is accepted with the ratio of
theirs (Metropolis and Hastings); which is what the mechanism's epsilon bounds, so that moves of
single records aren't rejected for long.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined, leaf
from bayesdp.kernels.table.cells import Laid, cell_of

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Predictive(NamedTuple):
    """Tables that were drawn by latent records' counts: T of them, one for each copy and step.

    Attributes
    ----------
    laid : Laid
        Layout of their cells.
    rows : shape (cells,)
    seen : shape (cells,)
        Records of the copy.
    totals : shape (rows,)
        Their sums.
    prior, whole : shape (cells,), shape (rows,)
        alpha, and its sums.
    counts, sums : shape (cells,), shape (rows,)
        Latent records, and their sums; both are overwritten.
    """

    laid: Laid
    rows: Integers
    seen: Floats
    totals: Floats
    prior: Floats
    whole: Floats
    counts: Floats
    sums: Floats


@inlined
def _ratio(drawn: Any, c: Any, without: float) -> Any:
    """Return by what one more record in a cell multiplies a copy's law.

    `without` is subtracted from the latent records of the cell and its row first.
    """
    row = drawn.rows[c]
    u = drawn.prior[c] + drawn.counts[c] - without
    whole = drawn.whole[row] + drawn.sums[row] - without
    return (u + drawn.seen[c]) / u * (whole / (whole + drawn.totals[row]))


@inlined
def _put(drawn: Any, c: Any, sign: float) -> None:
    """Count one more record in a cell, or one fewer."""
    drawn.counts[c] += sign
    drawn.sums[drawn.rows[c]] += sign


@leaf
def weigh_drawn_level(drawn: Any, pooled: Any, i: int, j: int, pool: Any) -> float:
    """Return what another level of record i in column j does to the copies' log law."""
    change, moved = 0.0, pool - np.int64(pooled[i, j])
    if moved == 0:
        return change
    for q in range(drawn.laid.met[j], drawn.laid.met[j + 1]):
        c = cell_of(drawn.laid, pooled, drawn.laid.meeting[q], i)
        before = _ratio(drawn, c, 1.0)
        _put(drawn, c, -1.0)
        change += math.log(_ratio(drawn, c + drawn.laid.leaps[q] * moved, 0.0) / before)
        _put(drawn, c, 1.0)
    return change


@leaf
def shift_drawn_level(drawn: Any, pooled: Any, i: int, j: int, pool: Any) -> None:
    """Count record i, which gets another level in column j, in its new cells."""
    moved = pool - np.int64(pooled[i, j])
    if moved == 0:
        return
    for q in range(drawn.laid.met[j], drawn.laid.met[j + 1]):
        c = cell_of(drawn.laid, pooled, drawn.laid.meeting[q], i)
        _put(drawn, c, -1.0)
        _put(drawn, c + drawn.laid.leaps[q] * moved, 1.0)


@leaf
def weigh_drawn_record(drawn: Any, pooled: Any, i: int, sign: float) -> float:
    """Return what one more record like i does to the copies' log law, or i fewer."""
    change = 0.0
    for t in range(drawn.laid.offsets.size):
        c = cell_of(drawn.laid, pooled, t, i)
        change += sign * math.log(_ratio(drawn, c, 0.0 if sign > 0.0 else 1.0))
    return change


@leaf
def shift_drawn_record(drawn: Any, pooled: Any, i: int, sign: float) -> None:
    """Count record i into all tables, or out of them."""
    for t in range(drawn.laid.offsets.size):
        _put(drawn, cell_of(drawn.laid, pooled, t, i), sign)
