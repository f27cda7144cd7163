"""One marginal of a whole table's release, as what it is alone: integers with noise on each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from bayesdp.core.views import MarginalsView, Measured, MeasuredTableView, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import instead
from bayesdp.release import Part, Release


def laws_of(releases: Sequence[Release], columns: Sequence[str] | None) -> list[tuple[Part, ...]]:
    """Return each release's parts or, where columns are named, those of a marginal of theirs.

    Raises
    ------
    InvalidInput
        As `marginal_parts`.
    """
    if columns is None:
        return [each.parts for each in releases]
    return [parts for each in releases for parts in marginal_parts(each, columns)]


def marginal_parts(release: Release, columns: Sequence[str]) -> list[tuple[Part, ...]]:
    """Take the noisy counts of one marginal out of a release of a whole table.

    Parameters
    ----------
    release : Release
    columns : sequence of str
        The marginal's columns, in the order that the counts are to have: the last moves fastest.

    Returns
    -------
    list of tuple of Part
        For each time that the marginal was measured, the release's parts, each with noise of its
        counts alone as its mechanism: its law is right, and its promise isn't asked for.

    Raises
    ------
    InvalidInput
        If it isn't a release of a table's marginals, or has none of exactly these columns, or has
        structural zeros.
    """
    found = [_measured(part, columns) for part in release.parts]
    return [
        tuple(
            _part(part, each[k], columns) for part, each in zip(release.parts, found, strict=True)
        )
        for k in range(min(map(len, found)))
    ]


def _measured(part: Part, columns: Sequence[str]) -> list[tuple[list[str], Measured]]:
    """The marginals of these columns, and all columns' names, or InvalidInput."""
    names, measured, chosen = _measured_in(part, columns)
    wanted = isinstance(columns, list | tuple) and sorted(map(str, columns))
    each = [sorted(names[k] for k in one.columns) for one in measured]
    found = [one for one, there in zip(measured, each, strict=True) if there == wanted]
    if found and chosen and len(columns) > 1:
        raise InvalidInput(
            f"columns is {quoted(columns)}, a marginal that was chosen on confidential counts: "
            "that it was says something of them, which its noise alone leaves out. It is for "
            "bdp.TableModel"
        )
    if not found:
        known = ", ".join(f"({', '.join(there)})" for there in each[:20])
        raise InvalidInput(
            f"columns is {quoted(columns)}; it must be a list of the columns of a marginal that "
            f"was released: {known}{' and others' if len(each) > 20 else ''}. For what wasn't, "
            f"{instead(part.mechanism)}"
        )
    return [(names, one) for one in found]


def _measured_in(part: Part, columns: Sequence[str]) -> tuple[list[str], Sequence[Measured], bool]:
    """The columns' names, the marginals, and whether some were chosen on confidential counts."""
    view = view_of(part.mechanism, MeasuredTableView)
    if view is not None:
        return list(view.axes), view.measured, view.choice is not None
    table = view_of(part.mechanism, MarginalsView)
    if table is None:
        raise InvalidInput(
            f"columns is {quoted(columns)}, but the release is of {quoted(part.mechanism.name)}, "
            "not of a whole table, as by bdp.TableSynthesizer; leave columns out"
        )
    if not table.possible.all():
        raise InvalidInput(
            f"columns is {quoted(columns)}, but the release has structural zeros, which have no "
            f"noise; {instead(part.mechanism)}"
        )
    shapes = [tuple(table.axes[k].size for k in place) for place in table.places]
    ends = np.cumsum([0, *map(math.prod, shapes)]).tolist()
    return (
        [axis.name for axis in table.axes],
        [
            Measured(place, shape, table.count, slice(first, last))
            for place, shape, first, last in zip(
                table.places, shapes, ends[:-1], ends[1:], strict=True
            )
        ],
        False,
    )


def _part(part: Part, found: tuple[list[str], Measured], columns: Sequence[str]) -> Part:
    known, one = found
    names = [known[k] for k in one.columns]
    order = [names.index(name) for name in columns]
    counts = [np.asarray(z)[one.slice].reshape(one.shape).transpose(order) for z in part.outputs]
    noise = dataclasses.replace(cast(Any, one.cell), dimension=counts[0].size)
    return Part(part.group, noise, tuple(tuple(each.ravel().tolist()) for each in counts))
