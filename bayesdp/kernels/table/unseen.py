r"""Noisy counts that weren't released, but synthetic records that were drawn by them.

A marginal's noisy counts z are sums of latent records in its cells and integer noise. In each row,
the cells of some given columns' levels, a copy's records have the levels of the others with
probabilities theta ~ Dirichlet(alpha + B(z)), where B sets a number to the nearest end of its
range. So given z the y_c records of the copy, Y of a row, have the law

    prod over rows  Gamma(S) / Gamma(S + Y)  prod over cells  Gamma(a_c + y_c) / Gamma(a_c),

a_c = alpha + B(z_c), and S their sum: Dirichlet-multinomial. z is drawn with the latent records:
`draw_unseen` moves it given the records, by Metropolis steps, and sweeps move records given it, as
where it was released.

Where noise is narrow beside what a copy leaves open, neither gets far without the other. So batches
of records also carry z along (`carry`): noise stays as it is, and the copy's law alone changes.
That is the same target in other coordinates, records and noise, whose map to records and z is one
to one and keeps integers integers, so that both kinds of move keep it (as interweaving does: Yu and
Meng 2011). A cell's z moves by 1 with each record, by which the law changes by

    (a + y) / a   S / (S + Y)

where a = alpha + B(z) grows by 1, by the inverse of that where it falls, and by 1 beyond an end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined, kernel
from bayesdp.kernels.table.cells import Laid, cell_of

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Unseen(NamedTuple):
    """Unseen noisy counts of U marginals, with what was drawn by them.

    Attributes
    ----------
    laid : Laid
        Layout of the marginals' cells.
    released : shape (all copies of counts,)
        Whether a copy in `Layout` is of a marginal whose noisy counts were released.
    most : int
        Largest batch that carries unseen counts along.
    places : shape (cells, most columns)
        Places of a cell in `State.left`; -1 where its marginal has fewer columns.
    rows : shape (cells,)
    counts : shape (cells,)
        Records of the synthetic copy.
    totals : shape (rows,)
        Their sums.
    prior, low, high : shape (cells,)
        alpha, and the ends of the range.
    rates, gaussian : shape (cells,)
        The noise.
    noisy : shape (cells,)
        z; as the sums, they are overwritten.
    sums : shape (rows,)
        S.
    """

    laid: Laid
    released: NDArray[np.bool_]
    most: int
    places: Integers
    rows: Integers
    counts: Floats
    totals: Floats
    prior: Floats
    low: Floats
    high: Floats
    rates: Floats
    gaussian: NDArray[np.bool_]
    noisy: Floats
    sums: Floats


@inlined
def _weight(unseen: Any, c: Any, noisy: Any) -> Any:
    """Return the Dirichlet parameter of a cell at a noisy count."""
    return unseen.prior[c] + min(max(noisy, unseen.low[c]), unseen.high[c])


@inlined
def _step(unseen: Any, c: Any, by: float) -> float:
    """Move a cell's noisy count by 1 or -1; return what that does to the copy's log law."""
    row, y = unseen.rows[c], unseen.counts[c]
    before = _weight(unseen, c, unseen.noisy[c])
    unseen.noisy[c] += by
    after = _weight(unseen, c, unseen.noisy[c])
    if after == before:
        return 0.0
    total, whole = unseen.totals[row], unseen.sums[row]
    unseen.sums[row] += by
    if by > 0.0:
        return math.log((before + y) / before * (whole / (whole + total)))
    whole += by
    return -math.log((after + y) / after * (whole / (whole + total)))


@inlined
def carry(state: Any, unseen: Any, i: int, j: int, new: Any) -> float:
    """Carry unseen noisy counts along, before record i gets another level in column j.

    Noise is then as it was. Returns what that does to the log law of the copies.
    """
    laid, change, moved = unseen.laid, 0.0, new - np.int64(state.records[i, j])
    for q in range(laid.met[j], laid.met[j + 1]):
        c = cell_of(laid, state.pooled, laid.meeting[q], i)
        to = c + laid.leaps[q] * moved
        change += _step(unseen, c, -1.0) + _step(unseen, to, 1.0)
        for t in range(laid.widths[laid.meeting[q]]):
            state.left[unseen.places[c, t]] -= 1.0
            state.left[unseen.places[to, t]] += 1.0
    return change


@kernel
def draw_unseen(state: Any, unseen: Any, tries: int, most: float, rng: Any) -> None:
    """Move each unseen noisy count, given all latent records, by Metropolis steps.

    Parameters
    ----------
    state : State
        Its counts are overwritten.
    unseen : Unseen
        Overwritten.
    tries : int
        Steps of each count.
    most : float
        Longest step; every scale up to it is as likely as any other.
    rng : numpy Generator
    """
    unseen.sums[:] = 0.0  # afresh, so that rounding errors don't add up
    for c in range(unseen.noisy.size):
        unseen.sums[unseen.rows[c]] += _weight(unseen, c, unseen.noisy[c])
    for c in range(unseen.noisy.size):
        row, y = unseen.rows[c], unseen.counts[c]
        total, first = unseen.totals[row], unseen.places[c, 0]
        for _ in range(tries):
            by = math.floor(math.exp(rng.random() * math.log(most + 1.0)))
            by = by if rng.random() < 0.5 else -by
            left = state.left[first]
            if unseen.gaussian[c]:
                change = -unseen.rates[c] * by * (2.0 * left + by)
            else:
                change = -unseen.rates[c] * (abs(left + by) - abs(left))
            before = _weight(unseen, c, unseen.noisy[c])
            after = _weight(unseen, c, unseen.noisy[c] + by)
            whole, next_whole = unseen.sums[row], unseen.sums[row] + after - before
            if after != before:
                change += math.lgamma(after + y) - math.lgamma(after)
                change -= math.lgamma(before + y) - math.lgamma(before)
                change += math.lgamma(next_whole) - math.lgamma(next_whole + total)
                change -= math.lgamma(whole) - math.lgamma(whole + total)
            if math.log(1.0 - rng.random()) < change:
                unseen.noisy[c] += by
                unseen.sums[row] = next_whole
                for t in range(unseen.places.shape[1]):
                    if unseen.places[c, t] >= 0:
                        state.left[unseen.places[c, t]] += by
