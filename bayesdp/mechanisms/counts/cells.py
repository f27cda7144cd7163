"""The cells of a histogram: all combinations of several columns' bins.

Cells are numbered in the order of `numpy.ravel_multi_index`: the last axis moves fastest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.axis import Axis as Axis
from bayesdp.core.axis import check_edges as check_edges
from bayesdp.core.axis import check_order as check_order
from bayesdp.core.outputs import FromRecords, structured
from bayesdp.errors import InvalidInput, quoted


def check_axes(
    axes: Any, cells: int, numbers: Sequence[str] = ("count",)
) -> tuple[Axis, ...] | None:
    """Return the axes if they fit together and make that many cells, else raise InvalidInput.

    A table shows cells in the axes' columns, beside those of `numbers`.
    """
    if axes is None:
        return None
    made = tuple(Axis(**axis) if isinstance(axis, Mapping) else axis for axis in axes)
    if not made or not all(isinstance(axis, Axis) for axis in made):
        raise InvalidInput(
            f"axes is {quoted(axes)}; it must be a sequence of Axis, one or more, or None"
        )
    if math.prod(axis.size for axis in made) != cells:
        raise InvalidInput(
            f"cells is {cells}, but the axes have {[axis.size for axis in made]} bins, which make "
            f"{math.prod(axis.size for axis in made)} cells"
        )
    names = [*(field for axis in made for field in axis.fields), *numbers]
    names += [axis.name for axis in made if axis.edges is not None]
    if len(set(names)) < len(names):
        raise InvalidInput(
            f"columns are {[axis.name for axis in made]}; a table of cells has columns {names}, "
            "of which two are the same: rename one"
        )
    return made


def shape_of(axes: Sequence[Axis]) -> tuple[int, ...]:
    """Number of bins of each axis."""
    return tuple(axis.size for axis in axes)


def counted(axes: Sequence[Axis], columns: Sequence[Any], *, clamp: bool) -> NDArray[np.int64]:
    """Count the records in each cell, from one column for each axis; shape (cells,)."""
    bins = [axis.bins(column, clamp=clamp) for axis, column in zip(axes, columns, strict=True)]
    cell = np.ravel_multi_index(bins, shape_of(axes))
    return np.bincount(cell, minlength=math.prod(shape_of(axes)))


def table(axes: Sequence[Axis], counts: Any) -> NDArray[Any]:
    """The cells and their counts, a structured array with one row for each cell."""
    places = np.unravel_index(np.arange(len(counts)), shape_of(axes))
    columns = [v for axis, bins in zip(axes, places, strict=True) for v in axis.shown(bins)]
    columns.append(np.asarray(counts, dtype=np.int64))
    names = [*(field for axis in axes for field in axis.fields), "count"]
    return structured(zip(names, columns, strict=True))


def counted_by(axes: Sequence[Axis] | None) -> FromRecords | None:
    """Make the reading of counts from records, by a column for each axis; None without axes."""
    if axes is None:
        return None
    return FromRecords(tuple(axis.name for axis in axes), partial(counted, axes, clamp=False))


def shown_by(axes: Sequence[Axis] | None) -> Callable[[Any], NDArray[Any]] | None:
    """Make the function that shows counts by their cells; None without axes."""
    return None if axes is None else partial(table, axes)


def drawn(
    axes: Sequence[Axis], counts: Any, size: int, random: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Draw independent records: cells in proportion to their counts, uniform within each.

    Where all counts are 0, records are uniform over the bounds and the categories.
    """
    weights = np.asarray(counts, dtype=np.float64)
    if not weights.any():
        weights = np.ones(1)
        for axis in axes:
            weights = np.multiply.outer(weights, axis.widths).ravel()
    return points_in(axes, random.choice(weights.size, size, p=weights / weights.sum()), random)


def points_in(
    axes: Sequence[Axis], cells: NDArray[np.int64], random: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Draw a record in each of these cells, uniform within it."""
    places = np.unravel_index(cells, shape_of(axes))
    return {axis.name: axis.points(bins, random) for axis, bins in zip(axes, places, strict=True)}
