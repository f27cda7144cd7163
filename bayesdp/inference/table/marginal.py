"""One marginal of a whole table's release, as what it is alone: integers with noise on each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.core.views import Measured, MeasuredTableView, view_of
from bayesdp.errors import InvalidInput, quoted
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
        If it isn't a release of a whole table, or has no marginal of exactly these columns.
    """
    found = [_measured(part, columns) for part in release.parts]
    return [
        tuple(
            _part(part, each[k], columns) for part, each in zip(release.parts, found, strict=True)
        )
        for k in range(min(map(len, found)))
    ]


def _measured(part: Part, columns: Sequence[str]) -> list[Measured]:
    """The marginals of these columns, or InvalidInput."""
    view = view_of(part.mechanism, MeasuredTableView)
    if view is None:
        raise InvalidInput(
            f"columns is {quoted(columns)}, but the release is of {quoted(part.mechanism.name)}, "
            "not of a whole table, as by bdp.TableSynthesizer; leave columns out"
        )
    names = list(view.axes)
    wanted = isinstance(columns, list | tuple) and sorted(map(str, columns))
    each = [sorted(names[k] for k in one.columns) for one in view.measured]
    found = [one for one, there in zip(view.measured, each, strict=True) if there == wanted]
    if found and view.choice is not None and len(columns) > 1:
        raise InvalidInput(
            f"columns is {quoted(columns)}, a marginal that was chosen on confidential counts: "
            "that it was says something of them, which its noise alone leaves out. It is for "
            "bdp.TableModel"
        )
    if not found:
        known = ", ".join(f"({', '.join(there)})" for there in each[:20])
        raise InvalidInput(
            f"columns is {quoted(columns)}; it must be a list of the columns of a marginal that "
            f"was released: {known}{' and others' if len(each) > 20 else ''}. What wasn't is for "
            "bdp.TableModel"
        )
    return found


def _part(part: Part, one: Measured, columns: Sequence[str]) -> Part:
    view: Any = view_of(part.mechanism, MeasuredTableView)
    names = [list(view.axes)[k] for k in one.columns]
    order = [names.index(name) for name in columns]
    counts = [np.asarray(z)[one.slice].reshape(one.shape).transpose(order) for z in part.outputs]
    cell: Any = one.cell
    noise = dataclasses.replace(cell, dimension=counts[0].size)
    return Part(part.group, noise, tuple(tuple(each.ravel().tolist()) for each in counts))
