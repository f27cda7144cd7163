"""Noisy counts that weren't released, but copies drawn by them: their layout, moves and law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.cell_layout import laid_out
from bayesdp.engines.latent_classes import Noisy
from bayesdp.kernels.table.records import carry_batches
from bayesdp.kernels.table.unseen import Unseen, draw_unseen

Integers = NDArray[np.int64]

_TRIES = 8
"""Steps of each unseen count in a sweep."""
_LONGEST = 4.0
"""Longest step of one, in standard deviations of the widest noise."""
_BATCH = 3.0
"""Largest batch that carries counts along, in standard deviations of the widest count that a copy
tells of."""
_CARRIED = 8.0
"""Records that such batches move, if none were rejected, for each record."""


def unseen_of(
    noisy: Sequence[Noisy], columns: int, n: int, placed: Sequence[tuple[int, Integers]]
) -> Unseen:
    """Lay out the marginals whose noisy counts weren't released, at counts to start from.

    Parameters
    ----------
    noisy : sequence of Noisy
    columns : int
        Number of the table's columns.
    n : int
        Number of records.
    placed : sequence of (int, ndarray of int)
        Of each copy of counts in a chain's layout, the marginal that it is of, and the places of
        the marginal's cells.
    """
    own = {m: one.copied for m, one in enumerate(noisy) if one.copied is not None}
    each = [noisy[m] for m in own]
    width = max((one.counts.ndim for one in each), default=1)
    cells = np.array([one.counts.size for one in each], dtype=np.int64)
    places = [_side_by_side([p for m, p in placed if m == k], width) for k in own]
    counts = _joined([one.counts.ravel() for one in own.values()])
    rows = _rows(own.values())
    ends = np.array([one.ends for one in own.values()]).reshape(-1, 2)
    shown = min((float(one.counts.sum()) for one in own.values()), default=1.0)
    spread = math.sqrt(n * max(1.0, n / max(shown, 1.0))) / 2

    def by_cell(values: Any) -> NDArray[Any]:
        return np.repeat(np.asarray(values, dtype=np.float64), cells)

    return Unseen(
        laid=laid_out([one.columns for one in each], [one.counts.shape for one in each], columns),
        released=np.array([m not in own for m, _ in placed], dtype=bool),
        most=max(2, min(int(_BATCH * spread), n)) if own else 0,
        places=np.concatenate([np.empty((0, width), dtype=np.int64), *places]),
        rows=rows,
        counts=counts,
        totals=np.bincount(rows, counts).astype(np.float64),
        prior=by_cell([one.prior for one in own.values()]),
        low=by_cell(ends[:, 0]),
        high=by_cell(ends[:, 1]),
        rates=by_cell([one.rate for one in each]),
        gaussian=by_cell([one.gaussian for one in each]).astype(bool),
        noisy=_joined([one.counts.ravel() for one in each]),
        sums=np.zeros(int(rows.max(initial=-1)) + 1),  # which a move computes first
    )


def move_unseen(
    noisy: Sequence[Noisy], layout: Any, state: Any, unseen: Unseen, rng: np.random.Generator
) -> None:
    """Move unseen noisy counts, if there are any, given a chain's records, and along with them."""
    if unseen.noisy.size:
        widest = max(one.variance for one in noisy if one.copied is not None)
        draw_unseen(state, unseen, _TRIES, max(1.0, _LONGEST * math.sqrt(widest)), rng)
        carry_batches(layout, state, unseen, _CARRIED, rng)


def log_copies(unseen: Unseen) -> float:
    """Log probability of synthetic copies given the noisy counts that they were drawn by."""
    weights = unseen.prior + np.clip(unseen.noisy, unseen.low, unseen.high)
    sums = np.bincount(unseen.rows, weights, unseen.totals.size)
    cells = special.gammaln(weights + unseen.counts) - special.gammaln(weights)
    rows = special.gammaln(sums) - special.gammaln(sums + unseen.totals)
    return float(cells.sum() + rows.sum())


def seen_now(noisy: Sequence[Noisy], unseen: Unseen) -> NDArray[np.float64]:
    """Noisy counts of all marginals, one after another: those released, and the unseen ones."""
    counts = _joined([one.counts.ravel() for one in noisy])
    hidden = [np.full(one.counts.size, one.copied is not None) for one in noisy]
    counts[np.concatenate([np.empty(0, dtype=bool), *hidden])] = unseen.noisy
    return counts


def _rows(copies: Any) -> Integers:
    """The row of each cell: the cells of the columns that were given have one each."""
    made, start = [np.empty(0, dtype=np.int64)], 0
    for one in copies:
        rows = math.prod(one.counts.shape[: one.given])
        made.append(start + np.repeat(np.arange(rows), one.counts.size // rows))
        start += rows
    return np.concatenate(made)


def _side_by_side(places: Sequence[Integers], width: int) -> Integers:
    """Places of a marginal's cells in its copies of counts, -1 where it has fewer."""
    made = np.full((places[0].size, width), -1, dtype=np.int64)
    made[:, : len(places)] = np.stack(places, axis=1)
    return made


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    return np.concatenate([np.empty(0), *parts])
