r"""Regressions by moments of the measured marginals.

Least squares needs nothing of a table but sums over records of products of two of the design's
columns, Z'Z, outcome included. Where each is a function of some columns of the table, such a sum is
linear in the counts of the columns of both: of a pair, where terms are of one column each, of a
triple for an interaction and the outcome. So released counts of a marginal that has these columns,
less fresh noise of their own law, have the sum's posterior under a flat prior. Counts of different
marginals are made one first, by least squares: what a set of columns has that no smaller set has
is averaged over the marginals that have it, from the number of records to each triple. A draw is
kept if Z'Z is positive definite, as that of real records is. Then

    beta = (X'X)^-1 X'y,    s^2 = (y'y - y'X beta) / chi^2(n - p),    N(beta, s^2 (X'X)^-1)

are the confidential table's coefficients, and, with s^2 drawn, a draw of the population's, whose
errors have one variance (Gelman et al. 2013, section 14.2). `generalized` has other families.

Counts of cells that a schema's rules exclude are noise alone, which is taken for records as that of
others. Where no records but these determine a coefficient, tables are left to say that it is open
(`Regression.is_determined`).

Nothing is shrunk or cut off at 0, which is what draws slopes to 0, or widens columns, where noise
drowns cells. The price is width: on 1,000 records of two predictors, each in five cells, Laplace
noise, 200 releases at each epsilon, 95% intervals cover 97, 96, 94 and 96% at epsilon .25, .5, 1
and 2, and are .65, .34, .18 and .10 long, as are those by `NoisyMomentsMechanism`, for which all
privacy is spent on the moments; those by latent tables cover 75, 79 and 88% at the last three.

A number's interaction with a boolean, beside a category of three labels: 40 surveys of five
columns, 1,500 records, at epsilon 1, with the pairs and triples that a linear and a logistic
formula need. 95% intervals of the interaction cover 95% in both, and those of all six coefficients
94 and 92%. By latent tables, which had the triples too, the linear one's interaction is drawn to 0
by a fifth, and covered in 85%; its intervals are 1.4 long by moments, .8 by tables. At epsilon .5,
25 surveys, moments cover it in 96% of both, tables in 60 and 96%, drawn to 0 by a half. Where pairs
alone were released, at epsilon 1, tables draw it to 0 by three quarters, and cover it in none of 25
surveys (the logistic one's in 8). Noise in X'X makes intervals slightly too short where it is
large: in 500 surveys of 1,000 records, noise of standard deviation 12 in cells of 20 (triples) or
80 (pairs), those of coefficients cover 91 to 96%, with and without an interaction.

Records that have a missing value in a column of the formula are left out, as by tables. A pair's
counts say which records have both its columns, all that a regression of two columns needs, and a
triple's of three. Of more, each sum is over the records that have its columns and those that are
missing most, as far as a marginal has all of these; less that sum over a latent table's records
that miss another column. Columns are centred before, so that noise in how many records a pair has
isn't noise in slopes. In simulated surveys of four columns, each missing in some 20% of records,
95% intervals cover in linear and logistic regression 99 and 98% at epsilon .5 (1,000 records, 27
surveys), 97 and 98% at 1 (1,000 and 2,000; 35 and 24), and are 1.4 to 3.4 times as long as those by
tables, which cover 96 to 97%.

A column whose cells were pooled by private cut points was counted in these pools with others, and
alone in its grid. Its function is then the mean over the pool's records, by a draw of the grid's
counts, and y'y is by the grid. Within a pool, a predictor's error of this kind biases no slope, as
the mean of the outcome there is linear in it (Berkson 1950), and in its product with another
column; an outcome is taken to be unrelated to others, and a column to the others of its term. A
log-normal income in eight pools of a grid of 100 equal cells to 25 times its median,
regressed on two columns and as a predictor, 3,000 records, 200 releases at epsilon .5, 1 and 3: 94
to 98% are covered. Where the last pool has many empty cells its mean is hardly known but for its
ends, and slopes come out 1.4, 1.2 and 1.0 times the truth on average, within intervals that are
2.5, 1.4 and .7 times the slope.

Missing values of a pooled column are a pool of their own, and records that lack another column are
taken off as counts, so that those left have the drawn pools' means: what is missing is taken to be
unrelated to where in its pool a number is. A log-normal income and a category that are both missing
in 6 to 20% of records, eight pools of such a grid, 3,000 records, 60 surveys at epsilon .5, 1 and
3, tables resampled from the records: 95% intervals of all slopes cover 99, 96 and 97% where income
is the outcome, 95, 94 and 92% where it is a predictor, whose own slope's cover 93, 90 and 93% and
are 3.8, 2.3 and 1.1 times as long as it is; without missing values 93, 98 and 97%, 92, 92 and 96%,
and 92, 92 and 98%, 3.1, 1.8 and .95 times. Where they are as long as twice the slope or more, its
median is .5 to .8 times the truth.

Beside latent tables of the same releases, 1,500 records, 25 to 30 surveys: these have .11, .15 and
.24 times such a slope, and cover it in none, none and 4%, moments in 100, 97 and 92%, with
intervals 25, 11 and 5 times as long (all slopes: tables 67, 63 and 61%, moments 99, 98 and 88%). Of
slopes of income as the outcome, tables cover 97 to 99%, and moments 95 to 97%, with intervals .9,
.6 and .6 times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.engines.latent_classes import Noisy
from bayesdp.inference.table.design import (
    DEPENDENT,
    Columns,
    Design,
    design_of,
    gram_of,
    scaled,
)
from bayesdp.inference.table.estimates import Estimates
from bayesdp.inference.table.generalized import LINKS, Predictors
from bayesdp.inference.table.pool_means import (
    means_by_pools,
    means_of_pools,
    pooled_table,
    smoothed,
)
from bayesdp.inference.table.released import read
from bayesdp.schema.column import Column

Floats = NDArray[np.float64]
_NUMBERS = 10**7
"""Numbers that are held at once: noise, and products of counts with columns of Z."""
_TRIES, _FEWEST, _WORK = 200, 5, 10**8
"""Draws that are tried for each that is asked for, before noise is said to drown the moments: at
most, and the fewest, as many as take so many numbers."""
_HELD = 5 * 10**7
"""Counts of latent tables' records that aren't complete: 200 MB."""
_EACH = 100
"""Times that a family with a link takes each number of its predictors."""
Tables = Callable[[], Iterable[NDArray[np.integer]]]


class Moments(NamedTuple):
    """Draws of what is computed from counts.

    Attributes
    ----------
    gram : ndarray, shape (draws, columns, columns)
        Z'Z.
    n : ndarray, shape (draws,)
        Number of records.
    grids : dict of int to ndarray, shape (draws, cells)
        Counts of the cells of columns that were counted in pools with others.
    """

    gram: Floats
    n: Floats
    grids: dict[int, Floats]


Grams = Callable[[int, np.random.Generator], Moments]


def estimates_by_moments(
    formula: str,
    family: str,
    columns: Mapping[str, Column],
    released: Any,
    pools: Mapping[str, Sequence[int]],
    tables: Tables,
    target: str,
    draws: int,
    rng: np.random.Generator,
) -> Estimates | None:
    """Estimate a regression by the released counts; None where they won't do.

    Parameters
    ----------
    formula : str
    family : str
    columns : mapping of str to Column
        The formula's columns.
    released : xarray.Dataset or None
        The posterior's group of released counts, if it has one that its tables follow.
    pools : mapping of str to sequence of int
        First cells of the pools in which columns were counted with others.
    tables : callable
        Returns an iterable of these columns of the latent tables, ndarrays of int, shape (records,
        columns), which a family with a link takes, and missing values of several columns.
    target : {"population", "data"}
    draws : int
    rng : numpy Generator

    Returns
    -------
    Estimates or None
        Without naive draws.
    """
    import pandas as pd

    if released is None:
        return None
    noisy, n = read(released, list(columns))
    pooled = {k: np.asarray(pools[name]) for k, name in enumerate(columns) if name in pools}
    design = design_of(formula, columns, family)
    if design is None or not _can_be_pooled(design, family, pooled.keys()):
        return None
    noisy = [one for one in noisy if set(one.columns) & set(design.used)]
    if (layout := _Layout.of(design, pooled, noisy)) is None:
        return None
    if family != "linear":
        own = list(columns.values())
        layout = replace(layout, scales={k: (own[k].middles, own[k].widths) for k in pooled})
    if (solver := _solver(family, layout, tables, sampled=target == "population")) is None:
        return None
    grams: Grams = partial(_drawn_gram, layout, noisy, n)
    if design.missing:
        grams = _complete_grams(layout, noisy, n, tables)
    each = check_at_least_one("draws", draws)
    drawn = _drawn(grams, noisy, design.size, each, rng, *solver)
    if drawn is None:
        return None
    return Estimates(drawn, drawn[:0], pd.Index(design.names), target, "moments")


def _can_be_pooled(design: Design, family: str, pooled: Set[int]) -> bool:
    """Say if a regression's moments can do with columns that were counted in pools.

    Not in an outcome of several columns, nor in one of a family with a link, whose mean within a
    pool isn't linear in the predictors'; nor, there, two of them in a term; nor alone.
    """
    outcome = pooled & set(design.outcome[0])
    if not pooled or family == "linear":
        return not pooled or (len(design.used) > 1 and (not outcome or len(design.outcome[0]) == 1))
    return not outcome and all(len(pooled & {*one.columns}) < 2 for one in design.blocks)


Solved = Callable[[Moments, np.random.Generator], Floats]
"""Makes coefficients, shape (kept, coefficients), of moments and a Generator."""


def _solver(
    family: str, layout: _Layout, tables: Tables, *, sampled: bool
) -> tuple[Solved, int] | None:
    """Return what makes a family's coefficients of Z'Z, and its numbers at work for each."""
    design = layout.design
    if family == "linear":
        return lambda m, rng: least_squares(m.gram, m.n, rng, sampled=sampled), 0
    link = LINKS.get(family)
    outcome, place = design.outcome
    if link is None or not link.outcomes(np.unique(design.values[outcome][..., place])):
        return None
    complete = (table[_is_complete(design, table)] for table in tables())
    if (found := Predictors.of(design, complete, layout.pooled)) is None:
        return None
    return lambda m, rng: found.coefficients(link, *m, rng, sampled=sampled), _EACH * found.size


def _drawn(
    grams: Grams,
    noisy: Sequence[Noisy],
    width: int,
    draws: int,
    rng: np.random.Generator,
    solved: Solved,
    work: int,
) -> Floats | None:
    """Draw coefficients; None where noise leaves hardly any Z'Z that has some.

    Parameters
    ----------
    grams : callable
        Draws so many Z'Z and numbers of records.
    noisy : sequence of Noisy
        Released marginals that have one of the design's columns.
    width : int
        Columns of Z.
    draws : int
    rng : numpy Generator
    solved : callable
        Makes coefficients of positive definite Z'Z, or leaves some of them out.
    work : int
        Numbers that this takes for each.

    Returns
    -------
    ndarray, shape (draws, coefficients), or None
    """
    cells = sum(one.counts.size for one in noisy)
    most = draws * int(np.clip(_WORK // ((cells + work) * draws), _FEWEST, _TRIES))
    products = width * max(one.counts.size for one in noisy)
    size = max(1, min(draws, _NUMBERS // (cells + products)))
    made: list[Floats] = []
    tried = kept = 0
    while kept < draws and tried < most:
        made.append(solved(_definite(grams(size, rng)), rng))
        tried, kept = tried + size, kept + len(made[-1])
    if kept < draws:
        return None
    return np.concatenate(made)[:draws]


@dataclass(frozen=True)
class _Layout:
    """Cells in which a design's columns were counted: with others, and, if pooled, alone.

    Attributes
    ----------
    design : Design
    pooled : mapping of int to ndarray of int
        First cells of the pools in which columns were counted with others.
    records : mapping of tuple of int to tuple of int
        Columns of each of the design's sums, and those whose missing values its records don't have.
    scales : mapping of int to pair of ndarray
        Middles and widths of cells of those pooled columns whose counts are smoothed within pools.
    """

    design: Design
    pooled: Mapping[int, NDArray[np.integer]]
    records: Mapping[Columns, Columns]
    scales: Mapping[int, tuple[Any, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, design: Design, pooled: Mapping[int, NDArray[np.integer]], noisy: Sequence[Noisy]
    ) -> _Layout | None:
        """Make one; None unless all that Z'Z is made of was counted, in these cells alone."""

        def counted(columns: Columns) -> bool:
            return any(set(columns) <= set(one.columns) for one in noisy)

        made = cls(design, pooled, {})
        grids = [(k, design.cells[k]) for k in pooled]
        for one in noisy:
            for k, size in zip(one.columns, one.counts.shape, strict=True):
                alone = len(one.columns) == 1 and (k, size) in grids
                if k in design.used and not alone and (size,) != made.shape(k):
                    return None
        alone = all(
            any(one.columns == (k,) and one.counts.size == size for one in noisy)
            for k, size in grids
        )
        if not alone or not all(map(counted, design.sums)):
            return None
        missing = _by_missing(design, noisy)
        records = {each: _with(each, missing, counted) for each in design.sums}
        return replace(made, records=records)

    def shape(self, *columns: int) -> tuple[int, ...]:
        """Numbers of the cells in which columns were counted together."""
        return tuple(
            len(self.pooled[k]) if k in self.pooled else self.design.cells[k] for k in columns
        )

    def there(self, columns: Columns) -> tuple[slice, ...]:
        """Cells in which none of some columns is missing."""
        return tuple(
            slice(size - (k in self.design.missing))
            for k, size in zip(columns, self.shape(*columns), strict=True)
        )

    def grids(self, parts: _Parts) -> dict[int, Floats]:
        """Counts of the cells of columns that were counted in pools with others."""
        made = {k: parts.alone(k, self.design.cells[k]) for k in self.pooled}
        for k, scale in self.scales.items():
            made[k] = smoothed(made[k], *scale, self.pooled[k])
        return made

    def complete(self, counts: Mapping[Columns, Floats]) -> dict[Columns, Floats]:
        """Counts for each of the design's sums, of the records that it is over.

        Parameters
        ----------
        counts : mapping of tuple of int to ndarray, shape (draws, *cells)
            Of the columns of `records`.
        """
        found = {}
        for columns, more in self.records.items():
            extra = [axis for axis, k in enumerate(more, 1) if k not in columns]
            there = tuple(slice(-1 if axis in extra else None) for axis in range(len(more) + 1))
            found[columns] = counts[more][there].sum(axis=tuple(extra))
        return found


def _by_missing(design: Design, noisy: Sequence[Noisy]) -> list[int]:
    """Columns that have missing values, those with most first, by their mean released counts."""
    size = {k: design.cells[k] for k in design.missing}
    counts = [one.counts[None] for one in noisy]
    return sorted(design.missing, key=lambda k: -_averaged(noisy, counts, (k,), (size[k],))[0, -1])


def _with(columns: Columns, missing: Sequence[int], counted: Callable[[Columns], bool]) -> Columns:
    """Add those columns that are missing most, as far as they were counted with the others."""
    for k in missing:
        more = tuple(sorted({*columns, k}))
        columns = more if counted(more) else columns
    return columns


def _drawn_gram(
    layout: _Layout,
    noisy: Sequence[Noisy],
    n: int | None,
    size: int,
    rng: np.random.Generator,
    rest: Mapping[Columns, NDArray[np.integer]] | None = None,
) -> Moments:
    """Draw Z'Z, and the number of records.

    Parameters
    ----------
    layout : _Layout
    noisy : sequence of Noisy
        Columns are numbered as the design's blocks are; any other number is of a column that the
        formula doesn't have.
    n : int or None
        Number of records, if it is public.
    size : int
    rng : numpy Generator
    rest : mapping of tuple of int to ndarray, shape (tables, *cells), optional
        Counts that are to be taken off those of each sum: one table's for each draw.
    """
    drawn = [one.counts - one.noise(rng, size) for one in noisy]
    parts = _Parts(noisy, drawn, layout, n)
    counts = layout.complete({each: parts.whole(each) for each in set(layout.records.values())})
    if rest is not None:
        chosen = rng.integers(0, len(rest[()]), size)
        counts = {each: found - rest[each][chosen] for each, found in counts.items()}
    design, grids = layout.design, layout.grids(parts)
    values = means_by_pools(design.values, layout.pooled, grids)
    gram = gram_of(design, values, counts)
    outcome, place = design.outcome
    for k, firsts in layout.pooled.items():
        if outcome == (k,):
            squares = design.values[outcome][..., place, None] ** 2
            means = means_of_pools(grids[k], squares, firsts)[..., 0]
            gram[:, -1, -1] = np.sum(counts[outcome] * means, axis=1)
    return Moments(gram, counts[()], grids)


class _Parts:
    """Counts as sums of parts: what a set of columns has that no smaller set of them has.

    That is their counts less the mean over each column's cells. Parts of different columns are
    orthogonal, so that noise of one variance in a marginal's cells is unrelated between its parts,
    and each part's least squares estimate is a mean over the marginals that have its columns, by
    variance. Counts are the sum of their columns' parts, spread evenly over their cells.

    Parameters
    ----------
    noisy : sequence of Noisy
    counts : sequence of ndarray, shape (draws, *cells)
        Those of `noisy`, or draws of what they were without noise.
    layout : _Layout
    n : int or None
        Number of records, if it is public.
    """

    def __init__(
        self, noisy: Sequence[Noisy], counts: Sequence[Floats], layout: _Layout, n: int | None
    ) -> None:
        self._given, self._layout = (noisy, counts), layout
        self._found: dict[Columns, Floats] = {}
        if n is not None:
            self._found[()] = np.full(len(counts[0]), float(n))

    def _part(self, columns: Columns) -> Floats:
        if columns not in self._found:
            made = _averaged(*self._given, columns, self._layout.shape(*columns))
            for axis in range(1, made.ndim):
                made = made - made.mean(axis=axis, keepdims=True)
            self._found[columns] = made
        return self._found[columns]

    def whole(self, columns: Columns) -> Floats:
        """Counts in all cells of some columns, shape (draws, *cells)."""
        shape = self._layout.shape(*columns)
        made = np.zeros((len(self._part(())), *shape))
        for size in range(len(columns) + 1):
            for some in combinations(columns, size):
                rest = [axis for axis, k in enumerate(columns) if k not in some]
                spread = math.prod(shape[axis] for axis in rest)
                part = np.expand_dims(self._part(some), [1 + axis for axis in rest])
                made += part / spread
        return made

    def alone(self, column: int, cells: int) -> Floats:
        """Counts of a column in cells in which it was counted alone, shape (draws, cells)."""
        found = _averaged(*self._given, (column,), (cells,))
        short = self._part(()) - found.sum(axis=1)
        return np.asarray(found + short[:, None] / cells)


def _complete_grams(
    layout: _Layout, noisy: Sequence[Noisy], n: int | None, tables: Tables
) -> Grams:
    """Return what draws Z'Z and the number of records that are complete.

    The sums are drawn of columns less their means, as far as there is an intercept to give them
    back, so that noise in how many records a pair has leaves slopes alone.
    """
    released = _Parts(noisy, [one.counts[None] for one in noisy], layout, n)
    values = means_by_pools(layout.design.values, layout.pooled, layout.grids(released))
    centres = {
        columns: _mean(each[0], released.whole(columns)[0], layout.there(columns))
        for columns, each in values.items()
    }
    centred = replace(layout, design=layout.design.less(centres))
    known = all({*more} >= {*layout.design.missing} for more in layout.records.values())
    rest = None if known else left_out(centred, tables)

    def drawn(size: int, rng: np.random.Generator) -> Moments:
        found = _drawn_gram(centred, noisy, n, size, rng, rest)
        return found._replace(gram=layout.design.restored(found.gram, centres))

    return drawn


def _mean(values: Floats, released: Floats, there: tuple[slice, ...]) -> Floats:
    """Mean of a block's columns by its cells' released counts, as far as they are positive."""
    weights = np.maximum(released[there], 0).ravel() + np.finfo(float).tiny
    flat = values[there].reshape(-1, values.shape[-1])
    return np.asarray(np.average(flat, axis=0, weights=weights))


def left_out(layout: _Layout, tables: Tables) -> dict[Columns, NDArray[np.int32]]:
    """Count latent tables' records that a sum of the design has, and which aren't complete.

    Returns
    -------
    dict of tuple of int to ndarray, shape (tables, *cells)
        By the columns of each sum; of as many tables, evenly spaced, as can be held.
    """
    design, wanted = layout.design, set(layout.records.values())

    def summed(table: NDArray[np.integer]) -> dict[Columns, Floats]:
        codes = pooled_table(table, layout.pooled)
        return layout.complete({each: _counted(codes, each, layout) for each in wanted})

    each = [*tables()]
    cells = sum(math.prod(layout.shape(*columns)) for columns in layout.records)
    made: dict[Columns, list[NDArray[np.int32]]] = {columns: [] for columns in layout.records}
    for one in each[:: 1 + len(each) * cells // _HELD]:
        whole, complete = (summed(some) for some in (one, one[_is_complete(design, one)]))
        for columns, found in made.items():
            found.append((whole[columns] - complete[columns]).astype(np.int32))
    return {columns: np.concatenate(found) for columns, found in made.items()}


def _counted(table: NDArray[np.integer], columns: Columns, layout: _Layout) -> Floats:
    """Count columns of a table, shape (1, *cells)."""
    shape = (1, *layout.shape(*columns))
    codes = [np.zeros(len(table), np.int64), *(table[:, k].astype(np.int64) for k in columns)]
    cells = np.ravel_multi_index(codes, shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float)


def _is_complete(design: Design, table: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Say which records have no missing value in the design's columns."""
    return np.asarray(np.all([table[:, k] < size for k, size in design.levels.items()], axis=0))


def _averaged(
    noisy: Sequence[Noisy], counts: Sequence[Floats], columns: Columns, shape: tuple[int, ...]
) -> Floats:
    """Average columns' counts, in so many cells, over the marginals that have them, by variance."""
    found, variances = [], []
    for one, each in zip(noisy, counts, strict=True):
        sizes = dict(zip(one.columns, one.counts.shape, strict=True))
        if tuple(sizes.get(k) for k in columns) == shape:
            at = [one.columns.index(k) + 1 for k in columns]
            rest = tuple(axis for axis in range(1, each.ndim) if axis not in at)
            order = np.argsort(np.argsort(at))
            found.append(each.sum(axis=rest).transpose(0, *(1 + order)))
            variances.append(one.variance * one.counts.size / found[-1][0].size)
    weights = 1 / np.array(variances)
    summed: Floats = sum(w * each for w, each in zip(weights, found, strict=True)) / weights.sum()
    return summed


def _definite(found: Moments) -> Moments:
    """Keep the Z'Z that are positive definite and of more records than coefficients."""
    gram, n, grids = found
    fine = (np.linalg.eigvalsh(scaled(gram)[0])[:, 0] > DEPENDENT) & (n > gram.shape[1] - 1)
    return Moments(gram[fine], n[fine], {k: each[fine] for k, each in grids.items()})


def least_squares(gram: Floats, n: Floats, rng: np.random.Generator, *, sampled: bool) -> Floats:
    """Coefficients by least squares of positive definite Z'Z, shape (draws, coefficients)."""
    p = gram.shape[1] - 1
    left, right = gram[:, :p, :p], gram[:, :p, p]
    found: Floats = np.asarray(np.linalg.solve(left, right[..., None])[..., 0])
    if not sampled:
        return found
    rest = gram[:, p, p] - np.einsum("di,di->d", right, found)
    spread = np.sqrt(rest / rng.chisquare(n - p))
    roots = np.linalg.cholesky(np.linalg.inv(left))
    errors = np.einsum("dij,dj->di", roots, rng.standard_normal(found.shape))
    return np.asarray(found + spread[:, None] * errors)
