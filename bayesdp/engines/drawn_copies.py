"""Synthetic tables that were drawn by a table's own counts: their layout, law and start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.cell_layout import laid_out
from bayesdp.engines.latent_classes import Noisy
from bayesdp.kernels.table.predictive import Predictive

Floats = NDArray[np.float64]


class Drawn(NamedTuple):
    """One step of a synthetic copy, drawn by the confidential table's counts of its cells.

    Attributes
    ----------
    columns : tuple of int
        Places of its columns: of the given ones, then of the others.
    seen : ndarray of float, a dimension for each column
        Records of the copy.
    given : int
        Number of the given columns.
    prior : float
        alpha of the Dirichlet prior of the others' probabilities in each cell of the given ones.
    cost : float
        Pure epsilon of the step in a copy.
    """

    columns: tuple[int, ...]
    seen: Floats
    given: int
    prior: float
    cost: float = 0.0

    @property
    def rows(self) -> int:
        """Number of cells of the given columns."""
        return math.prod(self.seen.shape[: self.given])

    def margin(self, column: int) -> Floats:
        """The copy's records by one of the columns."""
        rest = tuple(t for t, k in enumerate(self.columns) if k != column)
        return np.asarray(self.seen.sum(axis=rest))

    def start(self, n: float) -> Noisy:
        """Guess the confidential counts of n records, by what the copy's are in the mean.

        As the copy's cells have the share (alpha + x) / (sum of alpha + n), were the model true of
        all cells together. The noise says how far a chain may begin from there.
        """
        whole = n + self.prior * self.seen.size
        counts = np.maximum(self.seen * (whole / self.seen.sum()) - self.prior, 0.0)
        counts = np.rint(counts * (n / max(float(counts.sum()), 1.0)))
        scale = max(1.0, math.sqrt(n / self.seen.size))
        return Noisy(self.columns, counts, scale, gaussian=True)


def predictive_of(drawn: Sequence[Drawn], columns: int, records: NDArray[np.uint16]) -> Predictive:
    """Lay out steps of copies, and count some records in their cells.

    Parameters
    ----------
    drawn : sequence of Drawn
    columns : int
        Number of the table's columns.
    records : ndarray of uint16, shape (n, columns)
    """
    counts, rows, priors, start = [np.empty(0)], [np.empty(0, dtype=np.int64)], [np.empty(0)], 0
    for one in drawn:
        codes = tuple(records[:, k].astype(np.int64) for k in one.columns)
        place = np.ravel_multi_index(codes, one.seen.shape)
        counts.append(np.bincount(place, minlength=one.seen.size).astype(np.float64))
        rows.append(start + np.repeat(np.arange(one.rows), one.seen.size // one.rows))
        priors.append(np.full(one.seen.size, one.prior))
        start += one.rows
    row, count, prior = np.concatenate(rows), np.concatenate(counts), np.concatenate(priors)
    seen = np.concatenate([np.empty(0), *(one.seen.ravel() for one in drawn)])

    def summed(values: Floats) -> Floats:
        return np.bincount(row, values, start).astype(np.float64)

    return Predictive(
        laid=laid_out([one.columns for one in drawn], [one.seen.shape for one in drawn], columns),
        rows=row,
        seen=seen,
        totals=summed(seen),
        prior=prior,
        whole=summed(prior),
        counts=count,
        sums=summed(count),
    )


def log_predictive(drawn: Predictive) -> float:
    """Log probability of copies, in an order, given the latent records."""
    u, whole = drawn.prior + drawn.counts, drawn.whole + drawn.sums
    cells = special.gammaln(u + drawn.seen) - special.gammaln(u)
    rows = special.gammaln(whole) - special.gammaln(whole + drawn.totals)
    return float(cells.sum() + rows.sum())
