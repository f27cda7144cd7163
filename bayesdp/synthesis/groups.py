"""Disjoint groups of records: each record's group, and the list of groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_missing, listed_labels
from bayesdp.errors import InvalidInput
from bayesdp.release.manifest import Label, check_apart, check_label

T = TypeVar("T")
_FEW = 20  # groups, that somebody has looked at


def name_of(column: Any, default: str) -> str:
    """Name of a column of groups."""
    name = getattr(column, "name", None)
    return name if isinstance(name, str) and name else default


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """Sort labels in their own order, those of one type together."""
    return sorted(labels, key=lambda label: (type(label).__name__, label))


def check_rows(by: Any, data: Any, name: str = "by", what: str = "group") -> None:
    """Raise InvalidInput if both have a pandas index and these differ: rows can't be matched."""
    theirs: Any = getattr(by, "index", None)
    ours: Any = getattr(data, "index", None)
    if hasattr(theirs, "equals") and hasattr(ours, "equals") and not theirs.equals(ours):
        raise InvalidInput(
            f"{name} and data have different indexes; a record's {what} is taken by its place, so "
            f"bring them into one order, as {name}.loc[data.index], or give {name}.to_numpy() if "
            "they are"
        )


def check_apart_from_records(by: Any, data: Any, columns: Collection[str] | None = None) -> None:
    """Refuse groups that are a column to be protected: the same object, memory or name.

    Values aren't compared: a refusal would then say something of confidential records.

    Parameters
    ----------
    by : array_like
        Each record's group.
    data : DataFrame, Series or array_like
        The confidential records.
    columns : collection of str, optional
        Names of the columns that are protected, where a DataFrame may have others.
    """
    if hasattr(data, "columns") and not callable(data.columns):
        there = [name for name in data.columns if columns is None or name in columns]
        protected = {name: data[name] for name in there}
    else:
        protected = {getattr(data, "name", None): data}
    name = getattr(by, "name", None)
    same = (name and name in protected) or any(
        one is by or _share_memory(one, by) for one in protected.values()
    )
    if same:
        raise InvalidInput(
            "by is what is to be protected: groups' labels are public, and so are their sizes, "
            "but where they are declared confidential, which would publish the records' exact "
            "counts; leave by out, or rename it if it is another column"
        )


def _share_memory(one: Any, other: Any) -> bool:
    """True if two columns that numpy holds are one in memory, as a Series and its values are."""
    arrays = [getattr(each, "values", each) for each in (one, other)]
    return all(isinstance(array, np.ndarray) for array in arrays) and np.shares_memory(*arrays)


def rows_by_group(by: Any, n: int, data: Any = None) -> dict[Label, NDArray[np.int64]]:
    """Positions of each group's records among n, the labels sorted.

    An ordered categorical's are in the order that it declares. Those of one without order are in
    that of the records, as Arrow's dictionaries and Polars' categories become, and a release must
    not show whose record came first.

    Raises
    ------
    InvalidInput
        If it isn't n labels, some are missing, or its index isn't that of `data`.
    """
    check_rows(by, data)
    labels = labels_of(by)
    if labels.shape != (n,):
        raise InvalidInput("by must be one column, as long as data")
    raw = {check_label(each): each for each in set(listed_labels("by", labels))}
    levels = getattr(by, "cat", by)
    if getattr(levels, "ordered", False):
        order = [check_label(each) for each in levels.categories if each in raw]
    else:
        order = sorted_labels(raw)
    return {label: np.flatnonzero(labels == raw[label]) for label in order}


def labels_of(by: Any) -> NDArray[Any]:
    """Return labels as they are: in an array of one type, one str would turn every 1 into "1".

    Raises
    ------
    InvalidInput
        If some are missing, each has several, or True or False is among numbers that equal it.
    """
    if getattr(by, "nlevels", 1) > 1:
        raise InvalidInput("by has several labels a record; give one column of groups")
    if np.any(is_missing(by)):
        raise InvalidInput("by has missing values; give every record a group")
    labels = np.asarray(by) if hasattr(by, "dtype") else np.asarray(by, dtype=object)
    if labels.dtype == object:
        listed = set(listed_labels("by", labels.ravel()))
        told_apart = {(isinstance(each, bool | np.bool_), each) for each in labels.flat}
        if len(told_apart) > len(listed):
            raise InvalidInput(
                "by mixes True or False with the number 1 or 0, which equals it, so that two "
                "groups would be one; convert the column with .astype(str), or make it of one type"
            )
    return labels


def check_not_of_each(groups: int, records: int) -> None:
    """Refuse unlisted labels of which there are nearly as many as records, like those of an id.

    The check reads labels and sizes alone, which are public where groups needn't be listed.
    """
    if groups > _FEW and 2 * groups > records:
        raise InvalidInput(
            f"by has {groups:,} groups for {records:,} records, and every label is published; an "
            "id names people. Choose a column of groups, or list the labels that may be "
            "published as groups (--groups a,b,c; --all-groups for all that occur)"
        )


def complete_groups(
    tallies: Mapping[Label, T],
    empty: T,
    groups: Sequence[Any] | None,
    *,
    public_n: bool,
    size: Callable[[T], Any],
) -> dict[Label, T]:
    """Complete the groups that occur by all that are listed, in the listed order.

    Parameters
    ----------
    tallies : mapping
        Tallies of the groups that occur.
    empty : as a value of `tallies`
        Tally of a group without records.
    groups : sequence of labels, optional
        All groups that may occur.
    public_n : bool
        Whether the groups' sizes are public.
    size : callable
        Returns the number of records in a tally.

    Raises
    ------
    InvalidInput
        If groups aren't listed though which of them occur is confidential, or though there are
        nearly as many as records; if others occur; or if one has no records where that is public.
    """
    if groups is None:
        check_apart(tallies)
        if not public_n:
            raise InvalidInput(
                "groups is missing; where n is confidential, list all groups there may be, "
                "since which of them occur is confidential too"
            )
        if not tallies:
            raise InvalidInput("data is empty; there is nothing to release")
        if not all(size(one) for one in tallies.values()):
            raise InvalidInput("a group has n = 0 records; leave it out, or keep n confidential")
        check_not_of_each(len(tallies), sum(int(size(one)) for one in tallies.values()))
        return dict(tallies)
    listed = [check_label(label) for label in groups]
    if len(set(listed)) < len(listed) or not listed:
        raise InvalidInput(f"groups is {listed}; list each group once, and at least one")
    check_apart([*tallies, *listed])
    if set(tallies) - set(listed):
        raise InvalidInput(f"data has records outside the listed groups {listed}; list them all")
    if public_n and not all(label in tallies and size(tallies[label]) for label in listed):
        raise InvalidInput(
            "a listed group has no records; where n is public, leave it out of groups"
        )
    return {label: tallies.get(label, empty) for label in listed}
