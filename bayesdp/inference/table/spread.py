"""Spread of a column of numbers: how much of it is in cells that noise drowns, or in wide ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayesdp.schema.column import Column

_DROWNED = 1.5  # standard deviations
_MOST = 0.2
_MOST_WITHIN = 0.2  # cells as wide as 1.7 standard deviations of a smooth column


@dataclass(frozen=True)
class Spread:
    """Parts of a column's sum of squares about its mean.

    A count that is known to be 0 or more and is drowned in noise has a posterior that is cut off at
    0: where the truth is 0, its mean is .8 of the noise's standard deviations. Far from the
    column's mean, where squares are large, such cells widen the column and inflate what it is
    regressed on. On simulated surveys (3,000 records, epsilon 1, incomes up to 25 times their
    median, regressed on age and education) their share was .35 to .85, and slopes up to 1.2 times
    the truth. Means came out 1.2 to 1.7 times the truth, outside their 95% intervals, where the
    share was above .8, and standard deviations up to 3 times; at .4 and .5 means were right.

    Within a cell numbers are taken to be uniform. Standard deviations of a normal column in three
    cells, where the share of that was .2, came out a quarter too large, in two, at .28, by .58; the
    mean of a log-normal one in eight, at .37, by .3 at epsilon 4. Those of a uniform one in two, at
    .25, were right, as nobody can know from what was released.

    Attributes
    ----------
    drowned : float
        Share of the sum that is in cells whose mean count is less than 1.5 times its posterior
        standard deviation; a half-normal one's is 1.32 times.
    within : float
        Share, of what isn't drowned, that is within cells, where each number counts as the cell's
        middle, if numbers are uniform there.
    pooled: float
        Share of the sum that is within pools of cells, in which the column was counted with others.
    """

    drowned: float
    within: float
    pooled: float = 0.0

    def doubts(self, name: str) -> Iterator[str]:
        """Yield in words what is wrong with the column's numbers, and the way out."""
        if self.drowned > _MOST:
            yield (
                f"{self.drowned:.0%} of the spread of {name} is in cells that noise drowns, where "
                "it adds records that there are none of: slopes, means and standard deviations may "
                "be too large. Declare bounds that few records are beyond, with outside = "
                "'clamp', or wider bins where there are few records"
            )
        if self.within > _MOST_WITHIN:
            yield (
                f"{self.within:.0%} of the spread of {name} is within its cells, each of which "
                "counts as its middle: slopes may be too small, and means and standard deviations "
                "are those of numbers that are spread evenly in each. Declare more bins, or "
                "narrower ones where most records are"
            )
        if self.pooled > _MOST_WITHIN:
            yield (
                f"{self.pooled:.0%} of the spread of {name} is within the intervals that were cut "
                "privately, where nothing was released of how it goes with other columns: what is "
                "said of that may be too weak. Ask for more intervals (private)"
            )


def is_spread(column: Column) -> bool:
    """Return True for a column whose cells are intervals, so that it has a spread."""
    return column.middles is not None and column.variances is not None


def spread_of(
    column: Column, counts: NDArray[np.integer], firsts: Sequence[int] = ()
) -> Spread | None:
    """Return what a column's spread rests on; None where its cells aren't intervals.

    Parameters
    ----------
    column : Column
    counts : ndarray of int, shape (tables, cells)
        Records in each cell of latent tables; missing values are in none.
    firsts : sequence of int
        First cells of the pools in which the column was counted with others, if it was.
    """
    middles, variances = column.middles, column.variances
    total = counts.sum()
    if middles is None or variances is None or not total:
        return None
    mean, sd = counts.mean(axis=0), counts.std(axis=0)
    share = mean / mean.sum()
    squares = share * (middles - share @ middles) ** 2
    inside = share * variances
    drowned = mean < _DROWNED * sd
    rest = squares[~drowned].sum() + inside[~drowned].sum()
    return Spread(
        drowned=float(squares[drowned].sum() / squares.sum()) if squares.any() else 0.0,
        within=float(inside[~drowned].sum() / rest) if rest else 0.0,
        pooled=_within_pools(share, middles, inside, firsts) if len(firsts) else 0.0,
    )


def _within_pools(
    share: NDArray[np.float64],
    middles: NDArray[np.float64],
    inside: NDArray[np.float64],
    firsts: Sequence[int],
) -> float:
    """Share of the sum of squares that is within pools; 0 where there is no spread."""
    pool = np.searchsorted(firsts, np.arange(len(share)), side="right") - 1
    records, sums = np.bincount(pool, share), np.bincount(pool, share * middles)
    apart = middles - (sums / np.where(records > 0, records, 1.0))[pool]
    within = float(share @ apart**2 + inside.sum())
    whole = float(share @ (middles - sums.sum()) ** 2 + inside.sum())
    return within / whole if whole else 0.0


def doubts_of_spreads(
    columns: Mapping[str, Column],
    names: Sequence[str],
    tables: Sequence[NDArray[np.integer]],
    pools: Mapping[str, Sequence[int]],
    *,
    drowned: bool = True,
) -> Iterator[str]:
    """Yield doubts about the spread of those columns that are intervals.

    Parameters
    ----------
    columns : mapping of str to Column
        All columns of the table.
    names : sequence of str
        Those that are judged.
    tables : sequence of ndarray of int, shape (records, columns)
        Latent tables.
    pools : mapping of str to sequence of int
        First cells of the pools in which columns were counted with others.
    drowned : bool
        Whether cells that noise drowns are doubted, beside wide ones.
    """
    for place, (name, column) in enumerate(columns.items()):
        if name not in names or not is_spread(column):
            continue
        counts = [
            np.bincount(one[:, place], minlength=column.cells)[: column.size] for one in tables
        ]
        spread = spread_of(column, np.array(counts), pools.get(name, ()))
        if spread is not None:
            yield from (spread if drowned else replace(spread, drowned=0.0)).doubts(name)
