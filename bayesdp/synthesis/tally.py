"""Sums over confidential records by group, in memory or in files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.synthesis.groups import name_of, sorted_labels
from bayesdp.synthesis.scan import Scan

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


def typed(data: Any, axes: Sequence[Axis] = (), groups: Iterable[Any] | None = None) -> Any:
    """Return a scan with its columns' declared types; data in memory keep their own."""
    if not isinstance(data, Scan):
        return data
    types = {axis.name: _type_of(axis.categories or (0.5,)) for axis in axes}
    return data.typed(types if data.by is None else types | {data.by: _type_of(groups or ())})


def _type_of(labels: Iterable[Any]) -> str | None:
    """The Arrow type that holds all these labels as they are; None where there is none."""
    kinds = {type(label) for label in labels}
    if kinds in ({str}, {bool}):
        return "string" if kinds == {str} else "bool"
    # 1 is then also what is written as 1.0.
    exact = kinds and kinds <= {int, float} and all(abs(label) <= 2**53 for label in labels)
    return "double" if exact else None


def tallied(
    data: Any,
    tally: Callable[[Any, Any], Mapping[Any, T]],
    add: Callable[[T, T], T],
    by: Any = None,
    empty: T | None = None,
) -> dict[Any, T]:
    """Tally each group's records, in memory or added up over a scan's batches.

    Parameters
    ----------
    data : Scan, records in memory, or iterator of batches of them
    tally : callable
        A function of records and their groups (or None) that returns the tally of each group, or
        of None.
    add : callable
        Adds two tallies of a group.
    by : optional
        The groups of records in memory.
    empty : optional
        The tally of no records, where data without records aren't refused.

    Raises
    ------
    InvalidInput
        If a scan has no record and `empty` isn't given, or `by` is given with a scan or batches.
    """

    def plus(first: dict[Any, T], second: dict[Any, T]) -> dict[Any, T]:
        both = dict(first)
        for label, one in second.items():
            both[label] = add(both[label], one) if label in both else one
        return both

    if isinstance(data, Iterator):
        if by is not None:
            raise InvalidInput(
                "by is given with batches; give all records at once, bdp.scan(..., by='region'), "
                "or no groups"
            )
        return _found(reduce(plus, (dict(tally(batch, None)) for batch in data), {}), empty)
    if not isinstance(data, Scan):
        return dict(tally(data, by))
    if by is not None:
        raise InvalidInput(
            "by is given with a scan; name the column of groups there: bdp.scan(..., by='region')"
        )

    def of_batch(batch: pd.DataFrame) -> dict[Any, T]:
        if not len(batch):  # as a partition of Dask's may be
            return {}
        return dict(tally(batch[list(data.columns)], None if data.by is None else batch[data.by]))

    tallies = data.added(of_batch, plus) or {}
    if not tallies and data.by and empty is not None:
        return {}
    tallies = _found(tallies, empty)
    return {label: tallies[label] for label in sorted_labels(tallies)}


def _found(tallies: dict[Any, T], empty: T | None) -> dict[Any, T]:
    """Return the tallies, or the tally of no records under None."""
    if tallies:
        return tallies
    if empty is None:
        raise InvalidInput("data is empty; there is nothing to release")
    return {None: empty}


def groups_name(data: Any, by: Any) -> str:
    """Name of the groups' column."""
    return data.by or "group" if isinstance(data, Scan) else name_of(by, "group")
