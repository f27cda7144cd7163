"""Numbers of latent tables: those that a function of one returns, and counts of cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.inference.table.margins import Margin, population_weights

if TYPE_CHECKING:
    import pandas as pd


def numbers_of(found: Any, *, finite: bool) -> pd.Series[Any]:
    """Return the numbers that a function of a table returned, with their names.

    Parameters
    ----------
    found : number, array, Series, DataFrame or mapping
    finite : bool
        Whether one that isn't finite is refused; NaN stands for it otherwise.
    """
    import pandas as pd

    if isinstance(found, Mapping):
        found = pd.Series(found)
    if isinstance(found, pd.DataFrame):
        found = found.stack(future_stack=True)
    try:
        values = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if finite and not np.all(np.isfinite(values)):
        raise InvalidInput(
            f"function returned a {type(found).__name__} that isn't finite numbers for one of the "
            "latent tables; return numbers, and mind that a rare cell may be empty"
        )
    flat = np.where(np.isfinite(values), values, np.nan).ravel()
    return pd.Series(flat, index=found.index if isinstance(found, pd.Series) else None)


def aligned(found: pd.Series[Any], names: Any) -> NDArray[np.float64]:
    """Return numbers of a table in the order of another's, which must be the same ones.

    Parameters
    ----------
    found : Series
    names : Index
        The other's names.
    """
    if not found.index.equals(names):
        same = len(found) == len(names) and found.index.is_unique and names.is_unique
        if not same or not found.index.isin(names).all():
            raise InvalidInput(
                "the numbers of one latent table differ in how many they are, or in their names, "
                "from another's, as where a label has no records; ask for the same ones of each, "
                "as by groupby(..., observed=False) or value_counts().reindex(labels)"
            )
        found = found.reindex(names)
    return found.to_numpy()


def counts_of(
    tables: Sequence[NDArray[np.uint16]],
    places: Sequence[int],
    sizes: tuple[int, ...],
    margins: Sequence[Margin],
    rng: np.random.Generator,
    *,
    sampled: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count each latent table's records in the cells of some columns, and the first one's naively.

    Parameters
    ----------
    tables : sequence of ndarray of uint16, shape (records, columns)
    places : sequence of int
        The columns.
    sizes : tuple of int
        Their numbers of cells.
    margins : sequence of Margin
    rng : numpy Generator
    sampled : bool
        Whether they are shares in draws of the population, in which margins are known.
    """

    def counted(table: NDArray[Any], weights: Any = None) -> NDArray[np.float64]:
        cells = np.ravel_multi_index([table[:, k].astype(np.int64) for k in places], sizes)
        return np.bincount(cells, weights, math.prod(sizes)).astype(np.float64)

    def weighed(table: NDArray[Any]) -> NDArray[np.float64]:
        return counted(table, population_weights(margins, table, rng)[0])

    if sampled and margins:
        right, naive = ([*map(weighed, each)] for each in (tables, [tables[0]] * len(tables)))
        return np.stack(right), np.stack(naive)
    counts = np.stack([counted(table) for table in tables])
    same = np.repeat(counts[:1], len(counts), axis=0)
    return (resampled(counts, rng), resampled(same, rng)) if sampled else (counts, same)


def resampled(counts: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Shares in a resample of each table with these counts."""
    sizes = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    drawn = [rng.multinomial(int(n[0]), row / n) for row, n in zip(counts, sizes, strict=True)]
    return np.asarray(np.array(drawn) / sizes)
