r"""Law of a choice of marginals given latent records, to which every move of a record adds a term.

Candidate c has the score u_c, the sum over its cells of |count - expected|, but for a constant. The
choice of c_1, ..., c_K, one after another, has the law prod_k exp(r u_{c_k}) / S_k, S_k the sum of
exp(r u_c) over what was left. As 1 / S = integral of exp(-t S) over t > 0, it is that of

    prod_k exp(r u_{c_k} - t_k S_k),

t_1, ..., t_K summed out. Given the scores, t_k is exponential of rate S_k. Given the t, the log law
is a sum over candidates, m_c r u_c - M_c exp(r (u_c - v_c)), where v are the scores at which the t
were drawn, m_c is 1 for the chosen and 0 for others, and M_c = exp(r v_c) times the sum of t_k over
the steps at which c was left. So a move of a record changes a term of each candidate that has one
of its columns, and nothing else. A move that is reversible under the law without the choice stays
so if it is accepted with the ratio of the choice's (Metropolis and Hastings).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined, leaf
from bayesdp.kernels.table.cells import Laid, cell_of

Floats = NDArray[np.float64]


class Offers(NamedTuple):
    """Candidates of choices, C of them, and how their scores move.

    Attributes
    ----------
    laid : Laid
        Layout of their cells.
    rates, slopes : shape (C,)
        r, and m r.
    gaps : shape (all cells,)
        Counted minus expected.
    gone, powers, masses : shape (C,)
        u - v, exp(r (u - v)) and M; as the gaps, they are overwritten.
    """

    laid: Laid
    rates: Floats
    slopes: Floats
    gaps: Floats
    gone: Floats
    powers: Floats
    masses: Floats


@inlined
def _term(offers: Any, c: Any, change: float) -> Any:
    """Return what a change of a candidate's score does to the log law."""
    power = math.exp(offers.rates[c] * (offers.gone[c] + change))
    return offers.slopes[c] * change - offers.masses[c] * (power - offers.powers[c])


@inlined
def _score(offers: Any, c: Any, change: float) -> None:
    """Change a candidate's score."""
    offers.gone[c] += change
    offers.powers[c] = math.exp(offers.rates[c] * offers.gone[c])


@inlined
def _step(offers: Any, place: Any, sign: float) -> Any:
    """Return what one more record in a cell, or one fewer, does to its candidate's score."""
    return abs(offers.gaps[place] + sign) - abs(offers.gaps[place])


@leaf
def weigh_level(offers: Any, pooled: Any, i: int, j: int, pool: Any) -> float:
    """Return what another pool of record i in column j does to the choices' log law."""
    change, moved = 0.0, pool - np.int64(pooled[i, j])
    if moved == 0:
        return change
    for q in range(offers.laid.met[j], offers.laid.met[j + 1]):
        c = offers.laid.meeting[q]
        place = cell_of(offers.laid, pooled, c, i)
        other = place + offers.laid.leaps[q] * moved
        change += _term(offers, c, _step(offers, place, -1.0) + _step(offers, other, 1.0))
    return change


@leaf
def shift_level(offers: Any, pooled: Any, i: int, j: int, pool: Any) -> None:
    """Count record i, which gets another pool in column j, in its new cells."""
    moved = pool - np.int64(pooled[i, j])
    if moved == 0:
        return
    for q in range(offers.laid.met[j], offers.laid.met[j + 1]):
        c = offers.laid.meeting[q]
        place = cell_of(offers.laid, pooled, c, i)
        other = place + offers.laid.leaps[q] * moved
        _score(offers, c, _step(offers, place, -1.0) + _step(offers, other, 1.0))
        offers.gaps[place] -= 1.0
        offers.gaps[other] += 1.0


@leaf
def weigh_record(offers: Any, pooled: Any, i: int, sign: float) -> float:
    """Return what one more record like i does to the choices' log law, or i fewer."""
    change = 0.0
    for c in range(offers.laid.offsets.size):
        change += _term(offers, c, _step(offers, cell_of(offers.laid, pooled, c, i), sign))
    return change


@leaf
def shift_record(offers: Any, pooled: Any, i: int, sign: float) -> None:
    """Count record i into all candidates, or out of them."""
    for c in range(offers.laid.offsets.size):
        place = cell_of(offers.laid, pooled, c, i)
        _score(offers, c, _step(offers, place, sign))
        offers.gaps[place] += sign
