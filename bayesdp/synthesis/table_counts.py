"""Tables of counts, one for each group, from confidential records or their counts.

`made` is a synthesizer of tables, which declares its cells, its groups and whether n is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis, check_order, counted, shape_of
from bayesdp.release.manifest import Label, check_label
from bayesdp.synthesis.groups import check_rows, complete_groups, rows_by_group
from bayesdp.synthesis.histogram_bins import check_bounds, check_categories, columns_of, make_axes
from bayesdp.synthesis.scan import Scan
from bayesdp.synthesis.tally import tallied, typed

Tables = dict[Label, NDArray[np.int64]]


def declared_axes(
    bounds: Any, categories: Mapping[str, Any] | None, bins: Any, names: Sequence[str] | None = None
) -> tuple[Axis, ...] | None:
    """Return a table's axes, from public information alone; None if its cells have no names."""
    check_categories(categories)
    if bounds is None and not categories:
        if bins is not None:
            raise InvalidInput(
                f"bins is {quoted(bins)}, but there are no bounds to cut; leave it out"
            )
        return None
    pairs = check_bounds(bounds)[1]
    if pairs and (bins is None or isinstance(bins, str)):
        raise InvalidInput(
            f"bins is {quoted(bins)}; give the number of intervals of the bounded columns, or "
            "their edges"
        )
    if isinstance(bounds, Mapping):
        names = list(bounds)  # whatever the order of a file's columns
    elif names is None:
        names = [f"{k}" for k in range(len(pairs))]
    return make_axes(names, bounds, categories or {}, bins if pairs else 1, 2)


def tabulated(
    made: Any, data: Any, counts: Any, by: Any, name: str
) -> tuple[tuple[Axis, ...] | None, Tables]:
    """Return the cells, where named, and each group's counts: of records, or as given."""
    if (data is None) == (counts is None):
        raise InvalidInput("give either data or counts, one of them")
    if counts is None:
        return _counts_by_group(made, data, by, name)
    if by is not None:
        raise InvalidInput("by is given with counts; give counts as a mapping of groups")
    return _given_counts(made, counts, name)


def _counts_by_group(made: Any, data: Any, by: Any, name: str) -> tuple[tuple[Axis, ...], Tables]:
    """Return the cells, and each group's counts of its records."""
    if made.bounds is None and not made.categories:
        raise InvalidInput("categories is missing; list the columns' labels, or give counts")
    made.check_by(data, by)
    check_rows(by, data)

    def columns(batch: Any) -> dict[str, Any]:
        return columns_of(batch, name, made.bounds, made.categories or {})

    known = None if isinstance(data, Scan) else columns(data)
    if known is not None and made.public_n and len(next(iter(known.values()))) == 0:
        raise InvalidInput("data is empty; there is nothing to release")
    names = list(data.columns if known is None else known)
    bounded = [column for column in names if column not in (made.categories or ())]
    axes = declared_axes(made.bounds, made.categories, made.bins, bounded) or ()
    nothing = np.zeros(math.prod(shape_of(axes)), dtype=np.int64)
    tables = tallied(
        typed(data, axes, made.groups),
        lambda batch, by: _counts(made, axes, known or columns(batch), by),
        add,
        by,
        None if made.public_n else nothing,
    )
    if None not in tables:
        return axes, _complete(made, tables, nothing)
    if made.groups is not None:
        raise InvalidInput("groups is given, but by is not: say each record's group")
    return axes, tables


def _counts(made: Any, axes: tuple[Axis, ...], named: Mapping[str, Any], by: Any) -> Tables:
    """Count records in memory, by their columns."""
    columns = list(named.values())
    clamp = made.outside == "clamp"
    if by is None:
        return {None: counted(axes, columns, clamp=clamp)}
    order = list(rows_by_group(by, len(columns[0])))
    # Every record is checked before any is counted by group.
    group = Axis("by", categories=tuple(order))
    whole = counted((group, *axes), [by, *columns], clamp=clamp)
    return dict(zip(order, whole.reshape(len(order), -1), strict=True))


def _given_counts(made: Any, counts: Any, name: str) -> tuple[tuple[Axis, ...] | None, Tables]:
    """Return the cells, where they have names, and the counts given of each group."""
    pairs = check_bounds(made.bounds)[1]
    names = (
        None if isinstance(made.bounds, Mapping) else [f"{name}[{k}]" for k in range(len(pairs))]
    )
    if names is not None and len(names) == 1:
        names = [name]
    axes = declared_axes(made.bounds, made.categories, made.bins, names)
    if isinstance(counts, Mapping):
        if not counts:
            raise InvalidInput("counts is empty; there is nothing to release")
        tables = {check_label(label): _flat(one, axes) for label, one in counts.items()}
        if len({one.size for one in tables.values()}) > 1:
            raise InvalidInput("counts has groups with different numbers of cells")
        return axes, _complete(made, tables, np.zeros_like(next(iter(tables.values()))))
    if made.groups is not None:
        raise InvalidInput("groups is given, but counts isn't a mapping of groups to counts")
    table = _flat(counts, axes)
    if made.public_n and not table.any():
        raise InvalidInput("counts holds no records; there is nothing to release")
    return axes, {None: table}


def _flat(counts: Any, axes: tuple[Axis, ...] | None) -> NDArray[np.int64]:
    if np.ma.is_masked(counts):
        raise InvalidInput("counts has masked cells; fill them in by a public rule")
    given = np.asarray(counts)
    shape = given.shape if axes is None else shape_of(axes)
    if given.dtype.kind not in "iu" or given.ndim == 0 or np.any(given < 0):
        raise InvalidInput(
            f"counts has type {given.dtype} and {given.ndim} dimensions; it must be a table of "
            "whole numbers, none below 0"
        )
    if given.shape not in (shape, (math.prod(shape),)):
        named = "" if axes is None else f", for {' and '.join(axis.name for axis in axes)}"
        raise InvalidInput(f"counts has shape {given.shape}, but the cells make {shape}{named}")
    check_order("counts", counts, axes)
    return given.astype(np.int64).ravel()


def _complete(made: Any, tables: Tables, empty: NDArray[np.int64]) -> Tables:
    """Return all listed groups, also those without records, in the listed order."""
    return complete_groups(tables, empty, made.groups, public_n=made.public_n, size=np.sum)
