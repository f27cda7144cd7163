"""Counts of binary records, as the synthesizers of a count take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.count import Count
from bayesdp.release.manifest import Label, check_label
from bayesdp.synthesis.groups import complete_groups


def count_of(records: Any, *, empty: bool = False) -> Count:
    """Count 0/1 records, in one column or a frame of one, or take their `Count` as it is.

    Raises
    ------
    InvalidInput
        As by `Count.of`.
    """
    if hasattr(records, "columns") and len(records.columns) == 1:  # of a scan, or a table
        records = records[records.columns[0]]
    return Count.of(records, empty=empty)


def counts_of_groups(
    data: Mapping[Any, Any], by: Any, groups: Sequence[Any] | None, *, public_n: bool
) -> dict[Label, Count]:
    """Return the counts that a mapping of labels to `Count`s has, completed by listed groups.

    Raises
    ------
    InvalidInput
        If `by` is given too, or a value isn't a `Count`, or the groups don't fit.
    """
    if by is not None:
        raise InvalidInput("by is given, but data is a mapping, whose keys are the groups")
    counts = {check_label(label): _whole(count) for label, count in data.items()}
    return complete_groups(counts, Count(0, 0), groups, public_n=public_n, size=lambda one: one.n)


def _whole(count: Any) -> Count:
    if not isinstance(count, Count):
        raise InvalidInput(f"data maps a group to a {type(count).__name__}; it must be a Count")
    return count
