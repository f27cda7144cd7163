r"""Raking of latent tables, by which what was released speaks against a model's prior.

A latent class model shrinks associations towards none where noise is wide. In simulations of 3,000
records and four columns at epsilon 1, a quarter of a slope was gone and its 95% intervals covered
it in a third of the replicates. So each table T that a chain keeps is weighed anew. Let M w be the
marginals of T whose record i has weight w_i, v the noise's variances, and z* the released counts
with fresh noise of the mechanism's law added. The weights minimize

    sum over counts (M w - z*)^2 / (2 v) + rho sum_i (w_i log w_i - w_i + 1).

Without the second sum, M w would be the generalized least-squares estimate from z*: a draw from the
posterior of the table's marginals, for normal noise, under a flat prior on all that agree with one
another (randomize, then optimize: Bardsley, Solonen, Haario and Laine 2014), but for those that no
table of positive weights has. With rho = 1 it is the distance by which a survey is raked to known
totals (Deville and Sarndal 1992), and gives the latent records as much to say as real ones.

rho is 0.01 where that does no harm: enough for cells that noise drowns, too little to pull at what
was measured. Where most cells are nearly empty, as in wide tables, so small a rho would follow the
noise: it would multiply record i's weight by the exponential of about the sum over i's cells, of
count c, of noise / (rho v + c). So rho is the least, from 0.01 on, at which the root mean square of
that sum over the records is 1,

    sum over cells of c v / (rho v + c)^2 <= n.

A cell of c records is pulled to the model's by the share rho v / (rho v + c). The weights are
exp(-sum of the record's cells' multipliers / rho), so that dependence beyond the marginals stays as
the model has it. T is then drawn again by systematic sampling, each record as often as its weight
says, one more or one fewer.

Levels of a column of many are pooled for all this, neighbours together, in up to ten runs of about
as many records: a cell of two such columns would be far smaller than its noise, and all of them are
not. Within runs, the table is the model's.

Where marginals were chosen on confidential counts, a chain's latent table T was drawn with the law
L of the choice as a factor of the likelihood, and the raked table T* of it is weighed by
L(T*) / L(T), so that L stands at the table that is kept: of the chain's tables as many are drawn
again by these weights, whose effective number is checked (`bayesdp.engines.table_choices`).

The multipliers lambda = (M w - z*) / v minimize the convex dual (`bayesdp.engines.raking_dual`),

    sum v lambda^2 / 2 + lambda z* + rho sum_i exp(-sum of i's multipliers / rho).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayesdp.engines.latent_classes import Noisy
from bayesdp.engines.raking_dual import Dual, Metric, counted, minimize
from bayesdp.kernels.table.raking import LARGEST, Marginals

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAST_RHO = 0.01
"""Least weight of a latent record beside a real one."""
_NOISE = 1.0
"""Standard deviation of a log weight that noise alone may make."""
_RUNS = 10
"""Most runs of a column's levels."""
_OPEN = 0.1
"""Root mean square of what weights leave open, in standard deviations of noise; more is told."""


class Raking(NamedTuple):
    """Knowledge by which any latent table is raked.

    Attributes
    ----------
    noisy : sequence of Noisy
    n : int or None
        The number of records, where it is known.
    firsts : sequence of ndarray of int
        First level of each run of a column's levels.
    firsts_of_pools : sequence of ndarray of int
        First pool of each run, of the columns' pools, which marginals of several columns count.
    marginals : Marginals
        Of the runs' cells.
    variances : ndarray, shape (all cells,)
        Of their noise.
    """

    noisy: Sequence[Noisy]
    n: int | None
    firsts: Sequence[Integers]
    firsts_of_pools: Sequence[Integers]
    marginals: Marginals
    variances: Floats

    def pooled(self, one: Noisy, counts: Floats) -> Floats:
        """Add a marginal's counts up over runs of its columns' levels."""
        firsts = self.firsts if len(one.columns) == 1 else self.firsts_of_pools
        for axis, column in enumerate(one.columns):
            counts = np.add.reduceat(counts, firsts[column], axis=axis)
        return counts.ravel()

    def coded(self, records: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """Return the runs of the records' levels."""
        runs = [
            np.searchsorted(firsts, column, side="right") - 1
            for firsts, column in zip(self.firsts, records.T, strict=True)
        ]
        return np.stack(runs, axis=1).astype(np.uint16)


class Raked(NamedTuple):
    """A raked table.

    Attributes
    ----------
    records : ndarray of uint16, shape (n, d)
    off : float
        Root mean square of what the weights' equations leave open, in standard deviations of the
        noise: 0 at the optimum.
    rho : float
        Weight of a latent record beside a real one.
    """

    records: NDArray[np.uint16]
    off: float
    rho: float


Pool = Mapping[int, Integers]
"""The pool of each level of the columns whose levels are pooled."""


def firsts_of(pool: NDArray[Any]) -> Integers:
    """The first level of each pool, from the pool of each level, which rises with the level."""
    return np.unique(pool, return_index=True)[1].astype(np.int64)


def raking_of(
    levels: Sequence[int], noisy: Sequence[Noisy], n: int | None, pool: Pool | None = None
) -> Raking:
    """Lay out runs of levels, and the marginals' cells of them.

    Parameters
    ----------
    levels : sequence of int
        Numbers of levels of the columns.
    noisy : sequence of Noisy
    n : int or None
        The number of records, where it is known.
    pool : mapping of int to ndarray of int, optional
        The pool of each level, where marginals of several columns count pools; a run is of these.
    """
    pools = dict(pool or {})
    own = {j: firsts_of(one) for j, one in pools.items()}
    wide = [
        _firsts(j, own[j].size if j in own else size, _by_pool(noisy, own))
        for j, size in enumerate(levels)
    ]
    firsts = [own[j][each] if j in own else each for j, each in enumerate(wide)]
    shapes = [[firsts[column].size for column in one.columns] for one in noisy]
    widths = np.array([len(shape) for shape in shapes], dtype=np.int64)
    columns, strides = (np.zeros((len(noisy), widths.max()), dtype=np.int64) for _ in range(2))
    for m, (one, shape) in enumerate(zip(noisy, shapes, strict=True)):
        columns[m, : len(shape)] = one.columns
        strides[m, : len(shape)] = [math.prod(shape[t + 1 :]) for t in range(len(shape))]
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    marginals = Marginals(columns, strides, np.concatenate([[0], ends[:-1]]), widths)
    made = Raking(noisy, n, firsts, wide, marginals, np.empty(0))
    each = [made.pooled(one, np.full(one.counts.shape, one.variance)) for one in noisy]
    return made._replace(variances=np.concatenate(each))


def raked(
    records: NDArray[np.uint16], raking: Raking, rng: np.random.Generator, metric: Metric
) -> Raked:
    """Rake a latent table to the released counts with fresh noise added.

    Parameters
    ----------
    records : ndarray of uint16, shape (n, d)
        Levels of a latent table.
    raking : Raking
    rng : numpy Generator
    metric : Metric
        That of the chain's tables before this one.
    """
    if not len(records):
        return Raked(records, 0.0, LEAST_RHO)
    records = records[np.lexsort(records.T)]  # like ones side by side, for systematic sampling
    runs, variances = raking.coded(records), raking.variances
    aims = np.concatenate(
        [raking.pooled(one, one.counts + one.noise(rng, 1)[0]) for one in raking.noisy]
    )
    counts = counted(raking.marginals, runs, aims.size)
    dual = Dual(raking.marginals, variances, runs, aims, _rho(counts, variances, len(records)))
    minimize(dual, metric)
    off = math.inf if dual.weights.max() >= math.exp(LARGEST) else dual.off
    total = math.floor(dual.weights.sum() + rng.random()) if raking.n is None else raking.n
    return Raked(records[systematic(dual.weights, total, rng)], off, dual.rho)


def beside_noise(levels: Sequence[int], noisy: Sequence[Noisy], pool: Pool | None = None) -> float:
    """Mean of the number of records in a record's cells, in standard deviations of their noise."""
    raking = raking_of(levels, noisy, None, pool)
    seen = np.concatenate([raking.pooled(one, one.counts) for one in noisy])
    counts = np.maximum(seen, 1e-9)
    return float(np.average(counts / np.sqrt(raking.variances), weights=counts))


def unfinished(off: Floats) -> bool:
    """Return True if some table's weights aren't those at the optimum."""
    return bool(np.any(off > _OPEN))


def _by_pool(noisy: Sequence[Noisy], own: Mapping[int, Integers]) -> list[Noisy]:
    """Marginals whose counts of one column's levels are added up to those of its pools."""
    return [
        one._replace(counts=np.add.reduceat(one.counts, own[one.columns[0]]))
        if len(one.columns) == 1 and one.columns[0] in own
        else one
        for one in noisy
    ]


def _firsts(column: int, levels: int, noisy: Sequence[Noisy]) -> Integers:
    """First level of each run of a column's levels, each of about as many records."""
    if levels <= _RUNS:
        return np.arange(levels)
    seen = np.full(levels, 1e-9)  # all alike where nothing is seen
    for one in noisy:
        if column in one.columns:
            seen += np.maximum(one.margin(column), 0) / one.variance
    middles = (np.cumsum(seen) - seen / 2) / seen.sum()
    return firsts_of(np.floor(middles * _RUNS))


def _rho(counts: Floats, variances: Floats, n: int) -> float:
    """Find the least weight of latent records at which weights don't follow the noise."""

    def excess(log: float) -> float:
        rho = math.exp(log)
        moved = np.sum(counts * variances / (rho * variances + counts) ** 2)
        return float(moved / n - _NOISE**2)

    low = math.log(LEAST_RHO)
    if excess(low) <= 0:
        return LEAST_RHO
    high = low + 1.0
    while excess(high) > 0:
        high += 1.0
    return math.exp(optimize.brentq(excess, low, high, xtol=1e-3))


def systematic(weights: Floats, total: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw `total` places, each as often as its weight says, but for less than one.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        In an order in which neighbours are alike.
    total : int
    rng : numpy Generator
    """
    ends = np.floor(np.cumsum(weights) * (total / weights.sum()) + rng.random()).astype(np.int64)
    ends[-1] = total
    return np.repeat(np.arange(weights.size), np.diff(np.minimum(ends, total), prepend=0))
