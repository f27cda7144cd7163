"""Several releases of one table, read as one: copies of the same marginals, and other marginals.

Given the table releases are independent, so their laws multiply. The numbers of marginals of the
same columns are of the same counts: they are copies of one another, each with a law of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import MarginalsView, view_of
from bayesdp.errors import InvalidInput
from bayesdp.inference.log_linear.release import NoisyTable, noisy_table
from bayesdp.kernels.log_linear.moves import Released
from bayesdp.release import Part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_Found = list[tuple[NoisyTable, Integers]]
"""Tables, and for each count of a marginal the row of its number in each table."""


def noisy_tables(
    parts: Sequence[Part], categories: Any, zeros: Any, largest: int | None
) -> NoisyTable:
    """Read one release of a table, or several.

    Parameters
    ----------
    parts : sequence of Part
        One for each release.
    categories, zeros, largest
        As for `noisy_table`; they apply to releases that don't say them.

    Raises
    ------
    InvalidInput
        As for `noisy_table`; or if releases are of different tables.
    """
    marginals = [view_of(part.mechanism, MarginalsView) is not None for part in parts]
    named = [getattr(part.mechanism, "axes", None) is not None for part in parts]
    tables = []
    for part, own_columns, own_zeros in zip(parts, named, marginals, strict=True):
        columns = None if own_columns and not all(named) else categories
        empty = None if own_zeros and not all(marginals) else zeros
        tables.append(noisy_table(part, columns, empty, largest))
    return together(tables, largest)


def together(tables: Sequence[NoisyTable], largest: int | None) -> NoisyTable:
    """Combine several tables, or one, into one.

    Parameters
    ----------
    tables : sequence of NoisyTable
    largest : int or None
        The largest possible number of records, if any is.

    Raises
    ------
    InvalidInput
        If they are of different tables, or together have probability zero.
    """
    first = tables[0]
    if len(tables) == 1:
        return first
    for other in tables[1:]:
        if other.axes != first.axes or not np.array_equal(other.possible, first.possible):
            raise InvalidInput(
                f"the releases are of tables with the columns {[a.name for a in first.axes]} and "
                f"{[a.name for a in other.axes]}; several at once must be of one table, with the "
                "same columns in one order, the same categories and the same structural zeros"
            )
    where: dict[frozenset[str], tuple[Integers, _Found]] = {}
    levels, names = first.released.levels, [axis.name for axis in first.axes]
    for table in tables:
        for j, columns in enumerate(table.marginals):
            key = frozenset(columns)
            own = levels[:, [k for k, name in enumerate(names) if name in key]]
            _, cells, place = np.unique(own, axis=0, return_index=True, return_inverse=True)
            if key not in where:
                where[key] = place.ravel(), []
            where[key][1].append((table, table.released.places[cells, j]))
    tabled = any(table.released.table.shape[1] for table in tables)
    width = largest + 1 if tabled and largest is not None else 0
    joined = [_joined(each, width) for _, each in where.values()]
    copies = max(one["observed"].shape[1] for one in joined)
    for one in joined:
        missing = ((0, 0), (0, copies - one["observed"].shape[1]))
        for name in ("observed", "rate", "gaussian"):
            one[name] = np.pad(one[name], missing)
    starts = np.cumsum([0, *(len(one["observed"]) for one in joined)])[:-1]
    places = [start + place for start, (place, _) in zip(starts, where.values(), strict=True)]
    rows = {name: np.concatenate([one[name] for one in joined]) for name in joined[0]}
    precision, information = rows.pop("precision"), rows.pop("information")
    centre = rows.pop("centre") / precision
    changed: dict[str, Any] = {name: np.ascontiguousarray(rows[name]) for name in rows}
    released: Released = first.released._replace(
        places=np.ascontiguousarray(np.stack(places, axis=1)),
        within=np.array([[name in key for name in names] for key in where]),
        first=np.zeros(len(centre), dtype=np.int64),
        **changed,
    )
    every = tuple(tuple(name for name in names if name in key) for key in where)
    alone = len(where) == 1 and all(table.independent for table in tables)
    noise, slope = 1 / float(precision.mean()), float(information.mean())
    return NoisyTable(first.axes, first.possible, every, released, centre, noise, slope, alone)


def _joined(each: _Found, width: int) -> dict[str, Any]:
    """Join the copies of one marginal's numbers, with tables of counts below `width`, if any."""
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(t.released, name)[rows] for t, rows in each], axis=1)
        for name in ("observed", "rate", "gaussian")
    }
    size = len(joined["observed"])
    joined["table"] = np.zeros((size, width))
    for released, rows in ((t.released, rows) for t, rows in each):
        if released.table.shape[1]:
            whole = np.full((size, width), -np.inf)
            start = int(released.first[0])
            whole[:, start : start + released.table.shape[1]] = released.table[rows]
            joined["table"] += whole
    if width and not np.all(np.any(joined["table"] > -np.inf, axis=1)):
        raise InvalidInput("the releases together have probability zero under the model")
    joined["precision"] = np.full(size, sum(1 / t.noise for t, _ in each))
    joined["information"] = np.full(size, sum(t.information for t, _ in each))
    joined["centre"] = np.sum([t.centre[rows] / t.noise for t, rows in each], axis=0)
    return joined
