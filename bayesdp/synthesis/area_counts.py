"""Counts of events by area, with or without groups, in the order of the expected counts."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_mapping, check_even, is_number
from bayesdp.errors import InvalidInput, kind_of
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.counts.poisson_gamma import PoissonGammaMechanism
from bayesdp.release.manifest import Label, check_label
from bayesdp.synthesis.groups import check_rows, labels_of
from bayesdp.synthesis.scan import Scan
from bayesdp.synthesis.tally import tallied, typed

Expected = tuple[tuple[Label, ...] | None, list[float]]


def expected_by_group(given: Any) -> dict[Label, Expected]:
    """Return each group's areas, where named, and expected counts; without groups, under None."""
    if isinstance(given, Mapping) and given and not any(map(is_number, given.values())):
        return {check_label(label): _expected(one) for label, one in given.items()}
    return {None: _expected(given)}


def counts_of_areas(
    groups: Mapping[Label, Expected], data: Any, by: Any
) -> dict[Label, NDArray[np.int64]]:
    """Count the events in each area of each group.

    Parameters
    ----------
    groups : mapping
        As returned by `expected_by_group`. Public.
    data, by
        As given to the synthesizer. Confidential: no message shows a value.

    Raises
    ------
    InvalidInput
        If the data don't fit these groups and areas.
    """
    if isinstance(data, Scan):
        return _scanned(groups, data, by)
    check_even(data)
    if np.ma.is_masked(data):
        raise InvalidInput("data has masked values; drop or impute them by a public rule")
    if None in groups:
        if by is not None:
            raise InvalidInput(
                "by is given, but expected has no groups; give expected as a mapping of each "
                "group to its own"
            )
        return {None: _counts(data, *groups[None])}
    if by is not None:
        if isinstance(data, Mapping):
            raise InvalidInput("by is given with counts; give them as a mapping of groups")
        return _split(groups, data, by)
    if not isinstance(data, Mapping) or {check_label(label) for label in data} != set(groups):
        raise InvalidInput(
            f"data isn't of the groups of expected, {list(groups)}; give a mapping of each to its "
            "counts, or the events' areas with by, each event's group"
        )
    given = {check_label(label): one for label, one in data.items()}
    return {label: _counts(given[label], *groups[label]) for label in groups}


def _scanned(groups: Mapping[Label, Expected], data: Scan, by: Any) -> dict[Label, Any]:
    """Count a scan's events, one a record, whose only column is their area."""
    column = data.column()
    if any(areas is None for areas, _ in groups.values()) or (None in groups) != (data.by is None):
        raise InvalidInput(
            "data is a scan of events' areas; name the areas in expected, as a mapping, and give "
            "it groups if the scan has by, and only then"
        )

    def tally(batch: Any, labels: Any) -> Mapping[Label, NDArray[np.int64]]:
        areas = batch[column]
        return counts_of_areas(groups, areas.tolist() if labels is None else areas, labels)

    nothing = np.zeros(len(groups[None][1]), dtype=np.int64) if None in groups else np.zeros(0)
    areas = dict.fromkeys(area for names, _ in groups.values() for area in names or ())
    known = typed(data, [Axis(column, categories=tuple(areas))], [*groups])
    counts = tallied(known, tally, operator.add, by, nothing)
    return counts or {label: np.zeros(len(e), dtype=np.int64) for label, (_, e) in groups.items()}


def _split(groups: Mapping[Label, Expected], data: Any, by: Any) -> dict[Label, NDArray[np.int64]]:
    check_rows(by, data)
    areas, labels = np.asarray(data, dtype=object), labels_of(by)
    if areas.ndim != 1 or labels.shape != areas.shape:
        raise InvalidInput("by must be one column, as long as data, the events' areas")
    if not {check_label(raw) for raw in labels.tolist()} <= set(groups):
        raise InvalidInput(f"by has other groups than expected, which has {list(groups)}")
    return {label: _counts(areas[labels == label].tolist(), *groups[label]) for label in groups}


def _expected(given: Any) -> Expected:
    areas = None
    given = as_mapping("expected", given)
    if isinstance(given, Mapping):
        areas = tuple(check_label(label) for label in given)
        values = list(given.values())
    else:
        values = list(np.atleast_1d(given).tolist())
    made = PoissonGammaMechanism(None, tuple(values), 1.0, None, areas)  # whose checks raise
    return areas, list(made.expected)


def _counts(data: Any, areas: tuple[Label, ...] | None, expected: list[float]) -> NDArray[np.int64]:
    """Count the events in each area, in the order of the expected counts."""
    size = len(expected)
    own: Any = getattr(data, "index", None)
    if hasattr(own, "is_unique") and areas is not None and set(own) == set(areas):
        if own.name is None and set(areas) == set(range(size)):
            raise InvalidInput(
                f"data is a Series with the index 0 to {size - 1}, which may be the areas or the "
                "rows' numbers; give counts as data.to_dict(), or the events' areas as "
                "data.tolist()"
            )
        data = as_mapping("data", data)
    if isinstance(data, Mapping):
        given = {check_label(label): value for label, value in data.items()}
        if areas is None or set(given) != set(areas):
            raise InvalidInput(
                "data is a mapping whose areas aren't those of expected; give expected as a "
                "mapping of the same areas, and 0 where there is no event"
            )
        counts = np.array([given[label] for label in areas])
    elif areas is not None:
        if not isinstance(data, Iterable):
            raise InvalidInput(
                f"data is {kind_of(data)}; it must be each area's number of events, or the events' "
                "areas"
            )
        counts = np.bincount(Axis("area", categories=areas).bins(data, clamp=False), minlength=size)
    else:
        counts = np.asarray(data)
    if counts.dtype.kind not in "iu" or counts.shape != (size,) or np.any(counts < 0):
        raise InvalidInput(
            f"data has type {counts.dtype} and shape {counts.shape}; it must be a whole number, at "
            f"least 0, for each of the {size} areas"
        )
    return np.asarray(counts, dtype=np.int64)
