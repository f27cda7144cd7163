"""Numbers of latent tables, as chains over their records kept them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.cell_layout import ends_of
from bayesdp.engines.latent_records import ABSENT

Floats = NDArray[np.float64]


def variables_of(
    records: NDArray[Any], levels: Sequence[int], *, sized: bool
) -> dict[str, NDArray[Any]]:
    """Shares of each column's levels in tables, and numbers of records, as a posterior has them.

    Parameters
    ----------
    records : ndarray of uint16, shape (chains, tables, most records, d)
    levels : sequence of int
        Numbers of levels of the columns.
    sized : bool
        Whether numbers of records are among a posterior's variables, as where they aren't known.

    Returns
    -------
    dict
        "share", shape (chains, tables, all columns' levels), 0 where a table has no records; if
        `sized`, "n", shape (chains, tables).
    """
    ends = ends_of(levels)
    counts = np.empty((*records.shape[:2], int(ends[-1])))
    for place in np.ndindex(records.shape[:2]):
        for j, column in enumerate(records[place].T):
            own = column[column != ABSENT]
            counts[place][ends[j] : ends[j + 1]] = np.bincount(own, minlength=levels[j])
    sizes = (records[..., 0] != ABSENT).sum(axis=-1).astype(np.float64)
    made = {"share": counts / np.maximum(sizes, 1)[..., None]}
    return made | {"n": sizes} if sized else made


def cells_of(records: NDArray[Any], levels: Sequence[int], columns: Sequence[int]) -> Floats:
    """Count the records of tables in the cells of some columns.

    Parameters
    ----------
    records : ndarray of uint16, shape (chains, tables, most records, d)
    levels : sequence of int
        Numbers of levels of the columns.
    columns : sequence of int

    Returns
    -------
    ndarray, shape (chains, tables, cells)
        Of at most 100 cells, evenly spaced among all.
    """
    sizes = [levels[k] for k in columns]
    size = math.prod(sizes)
    chosen = np.unique(np.linspace(0, size - 1, 100).astype(np.int64))
    counts = np.empty((*records.shape[:2], chosen.size))
    for place in np.ndindex(records.shape[:2]):
        table = records[place][records[place][:, 0] != ABSENT].astype(np.int64)
        cells = np.ravel_multi_index([table[:, k] for k in columns], sizes)
        counts[place] = np.bincount(cells, minlength=size)[chosen]
    return counts
