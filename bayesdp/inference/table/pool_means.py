"""Functions of a column by pools of its cells: their means there, and how they vary within."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = tuple[int, ...]
_HALVINGS, _STEEPEST = 60, 1e4
"""Halvings of what a pool's law is tilted by, and its most, in logarithms from end to end."""


def pool_of(
    codes: NDArray[np.integer], firsts: Sequence[int] | NDArray[np.integer]
) -> NDArray[np.int64]:
    """Number the pool of each cell, by the pools' first cells."""
    return np.searchsorted(firsts, codes, side="right") - 1


def pooled_table(
    table: NDArray[np.integer], pooled: Mapping[int, NDArray[np.integer]]
) -> NDArray[np.integer]:
    """Make records' cells, shape (records, columns), the pools of those columns that have some."""
    made = np.array(table)
    for k, firsts in pooled.items():
        made[:, k] = pool_of(made[:, k], firsts)
    return made


def means_by_pools(
    values: Mapping[Columns, Floats],
    pooled: Mapping[int, NDArray[np.integer]],
    grids: Mapping[int, Floats],
) -> dict[Columns, Floats]:
    """Make blocks' values, shape (1 or draws, *cells, columns), their means in pools.

    Parameters
    ----------
    values : mapping of tuple of int to ndarray
        By the table's columns.
    pooled : mapping of int to ndarray of int
        First cells of the pools of columns.
    grids : mapping of int to ndarray, shape (draws, cells)
        Counts of these columns' cells.
    """
    made = dict(values)
    for k, firsts in pooled.items():
        for columns in made:
            if k in columns:
                made[columns] = pooled_values(columns, k, made[columns], grids[k], firsts)
    return made


def covariances_by_pools(
    one: tuple[Columns, Floats],
    other: tuple[Columns, Floats],
    pooled: int,
    grid: Floats,
    firsts: NDArray[np.integer],
) -> tuple[Columns, Floats]:
    """Covariances of two blocks' columns within a column's pools.

    Parameters
    ----------
    one, other : tuple
        The table's columns, and values, shape (1, *cells, columns of the block).
    pooled : int
        A column of the table that both have.
    grid : ndarray, shape (draws, cells)
        Counts of its cells.
    firsts : ndarray of int, shape (pools,)

    Returns
    -------
    columns : tuple of int
        The table's columns that either block has.
    covariances : ndarray, shape (draws, *cells, columns of one, columns of the other)
    """
    both = tuple(sorted({*one[0], *other[0]}))
    left, right = (_over(both, *each) for each in (one, other))
    left, right = left[..., :, None], right[..., None, :]

    def mean(values: Floats) -> Floats:
        flat = values.reshape(*values.shape[:-2], -1)
        found = pooled_values(both, pooled, flat, grid, firsts)
        return found.reshape(*found.shape[:-1], *values.shape[-2:])

    return both, mean(left * right) - mean(left) * mean(right)


def _over(both: Columns, columns: Columns, values: Floats) -> Floats:
    """Give values, shape (1, *cells, columns of the block), an axis for each of more columns."""
    absent = [1 + axis for axis, k in enumerate(both) if k not in columns]
    return np.expand_dims(values, absent)


def pooled_values(
    columns: Columns, pooled: int, values: Floats, grid: Floats, firsts: NDArray[np.integer]
) -> Floats:
    """Make a block's values, shape (1 or draws, *cells, columns), those of a column's pools."""
    axis = 1 + columns.index(pooled)
    moved = np.moveaxis(values, axis, 1)
    flat = moved.reshape(*moved.shape[:2], -1)
    found = means_of_pools(grid, flat, firsts)
    return np.moveaxis(found.reshape(*found.shape[:2], *moved.shape[2:]), 1, axis)


def means_of_pools(grid: Floats, values: Floats, firsts: NDArray[np.integer]) -> Floats:
    """Mean values of the records in each pool, by counts of its cells.

    Parameters
    ----------
    grid : ndarray, shape (draws, cells)
    values : ndarray, shape (1 or draws, cells, columns)
    firsts : ndarray of int, shape (pools,)

    Returns
    -------
    ndarray, shape (draws, pools, columns)
        Within the pool's own range; the middle of its cells where it has no records.
    """
    sizes = np.diff([*firsts, values.shape[1]])
    records = np.add.reduceat(grid, firsts, axis=1)[..., None]
    sums = np.add.reduceat(grid[..., None] * values, firsts, axis=1)
    plain = np.add.reduceat(values, firsts, axis=1) / sizes[:, None]
    low, high = (np.asarray(f.reduceat(values, firsts, axis=1)) for f in (np.minimum, np.maximum))
    there = records > 0
    return np.where(there, (sums / np.where(there, records, 1.0)).clip(low, high), plain)


def smoothed(grid: Floats, middles: Floats, widths: Floats, firsts: NDArray[np.integer]) -> Floats:
    """Make counts of cells those of the evenest law in each pool that has their mean.

    That is the one of largest entropy, whose density is exp(t x) up to a constant: even where the
    mean is the pool's middle, as an exponential one's in a tail. Noise in many empty cells, which
    drowns the variance in a pool before its mean, isn't in it but by the mean.

    Parameters
    ----------
    grid : ndarray, shape (draws, cells)
    middles, widths : ndarray, shape (cells,)
        Of the cells, but for that of missing values, which is the last if there is one.
    firsts : ndarray of int, shape (pools,)

    Returns
    -------
    ndarray, shape (draws, cells)
        Shares within each pool, positive or 0.
    """
    own = firsts[firsts < middles.size]
    means = means_of_pools(grid[:, : middles.size], middles[None, :, None], own)[..., 0]
    made = np.ones(grid.shape)
    for mean, (first, last) in zip(means.T, pairwise([*own, middles.size]), strict=True):
        if last - first > 1:
            x = middles[first:last]
            place = (x - x[0]) / (x[-1] - x[0])
            goal = (mean - x[0]) / (x[-1] - x[0])
            made[:, first:last] = _tilted(place, widths[first:last], goal)
    return made


def _tilted(place: Floats, widths: Floats, goal: Floats) -> Floats:
    """Laws, shape (draws, cells), in proportion to widths times exp(t place), that have means."""

    def law(t: Floats) -> Floats:
        made = widths * np.exp(t[:, None] * (place - (t[:, None] > 0)))
        return np.asarray(made / made.sum(axis=1, keepdims=True))

    low, high = np.full(goal.shape, -_STEEPEST), np.full(goal.shape, _STEEPEST)
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        less = law(t) @ place < goal
        low, high = np.where(less, t, low), np.where(less, high, t)
    return law((low + high) / 2)
