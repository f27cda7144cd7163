"""The bins of one column: intervals of bounded numbers, or categories.

An interval holds its lower edge but not its upper one, except the last, which holds both.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_present, is_label, is_number, is_text
from bayesdp.errors import InvalidInput, quoted

_LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Axis:
    """One column's bins: intervals between edges, or categories.

    Parameters
    ----------
    name : str
        Name of the column.
    edges : sequence of float, optional
        Edges of the intervals, finite and increasing, two or more.
    categories : sequence of str, int, float or bool, optional
        The categories, one or more, all different. Exactly one of `edges` and `categories` is
        given.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    name: str
    edges: tuple[float, ...] | None = None
    categories: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if not (is_text(self.name) and self.name):
            raise InvalidInput(
                f"name is {quoted(self.name)}; it must be the name of its column, a text"
            )
        if (self.edges is None) == (self.categories is None):
            raise InvalidInput(
                f"column {quoted(self.name)} needs either edges or categories, not both"
            )
        if self.edges is not None:
            object.__setattr__(self, "edges", check_edges(self.name, self.edges))
        else:
            made = _check_categories(self.name, self.categories)
            object.__setattr__(self, "categories", made)

    @property
    def size(self) -> int:
        """Number of the axis's bins."""
        return len(self.categories or self.edges or ()) - (self.categories is None)

    @property
    def fields(self) -> tuple[str, ...]:
        """Columns that show the axis's bins in a table of cells."""
        return (self.name,) if self.edges is None else (f"{self.name}_from", f"{self.name}_to")

    @property
    def widths(self) -> NDArray[np.float64]:
        """Share of each bin in the axis: in its length, or in the number of its categories."""
        if self.edges is None:
            return np.full(self.size, 1 / self.size)
        edges = np.array(self.edges)
        return np.asarray(np.diff(edges) / (edges[-1] - edges[0]))

    def bins(self, column: Any, *, clamp: bool) -> NDArray[np.int64]:
        """Find each record's bin, numbered from 0; it depends on that record alone.

        Parameters
        ----------
        column : array_like, shape (n,)
            Confidential: no message shows a value.
        clamp : bool
            Whether a number outside the bounds counts as the nearest one within.

        Raises
        ------
        InvalidInput
            If a value is missing, of another kind, not a listed category, or outside the bounds
            unless `clamp`.
        """
        check_present(self.name, column)
        if self.categories is not None:
            return self._codes(column)
        values = np.asarray(column)
        if values.dtype.kind not in "biuf" and not all(_is_real(v) for v in values):
            raise InvalidInput(
                f"column {quoted(self.name)} doesn't hold numbers; if it holds labels, list "
                "them all in categories"
            )
        if values.dtype == object:  # integers of any length among them
            values = np.array([max(min(v, _LARGEST), -_LARGEST) for v in values])
        values = values.astype(np.float64)  # as floats, whatever the other records' types
        edges = np.array(self.edges)
        if not clamp and not np.all((values >= edges[0]) & (values <= edges[-1])):
            raise InvalidInput(
                f"column {quoted(self.name)} has records outside its bounds [{edges[0]}, "
                f"{edges[-1]}]; choose wider ones without looking at the data, or outside='clamp' "
                "to move such records to the nearest bound"
            )
        places = np.searchsorted(edges, values, side="right") - 1
        return np.clip(places, 0, self.size - 1).astype(np.int64)

    def _codes(self, column: Any) -> NDArray[np.int64]:
        places = {label: k for k, label in enumerate(self.categories or ())}
        values = column.tolist() if hasattr(column, "tolist") else list(column)
        try:
            codes = np.array([places.get(value, -1) for value in values], dtype=np.int64)
        except TypeError:  # a value that can't be looked up is no label
            codes = np.array([-1])
        if np.any(codes < 0):
            raise InvalidInput(
                f"column {quoted(self.name)} has values outside its categories {self.categories}; "
                "list all that can occur, without looking at the data"
            )
        return codes

    def shown(self, bins: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Show each bin's edges, or its category, in the columns of `fields`."""
        if self.categories is not None:
            return [self.labels[bins]]
        edges = np.array(self.edges)
        return [edges[bins], edges[bins + 1]]

    @property
    def labels(self) -> NDArray[Any]:
        """The categories, as numbers or booleans where all of them are; shape (size,)."""
        given = self.categories or ()
        if {type(label) for label in given} in ({int}, {float}, {bool}):
            return np.array(given)
        made = np.empty(len(given), dtype=object)
        made[:] = given
        return made

    def points(self, bins: NDArray[np.int64], random: np.random.Generator) -> NDArray[Any]:
        """Draw a value in each bin: uniform between its edges, or its category."""
        if self.categories is not None:
            return self.labels[bins]
        low, high = self.shown(bins)
        values = low + random.random(bins.size) * (high - low)
        # Rounding may reach the next bin.
        return np.asarray(np.clip(values, low, np.nextafter(high, low)))


def check_edges(name: str, edges: Any) -> tuple[float, ...]:
    """Return a column's edges as floats if they are finite and increase, else raise."""
    given = edges.tolist() if isinstance(edges, np.ndarray) else edges
    good = isinstance(given, Sequence) and not isinstance(given, str) and len(given) >= 2
    values = [float(v) if is_number(v) else math.nan for v in given] if good else [math.nan]
    with np.errstate(invalid="ignore", over="ignore"):
        increasing = np.all(np.diff(values) > 0) and math.isfinite(values[-1] - values[0])
    if not (good and increasing):
        raise InvalidInput(
            f"edges of column {quoted(name)} are {quoted(edges)}; they must be finite numbers that "
            "increase, two or more"
        )
    return tuple(values)


def _check_categories(name: str, categories: Any) -> tuple[Any, ...]:
    given = categories.tolist() if hasattr(categories, "tolist") else categories
    if isinstance(given, list | tuple):
        labels = tuple(given)
        plain = all(map(is_label, labels))
        if plain and labels and len(set(labels)) == len(labels):
            return labels
    raise InvalidInput(
        f"categories of column {quoted(name)} must be different labels (texts, numbers or "
        "booleans), one or more, that don't depend on the data"
    )


def _is_real(value: Any) -> bool:
    """Return True if a record is a number, even one beyond all floats, which has a bin too.

    A duration, which NumPy counts among the whole numbers, is one of some unit that isn't known.
    """
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def check_order(name: str, given: Any, axes: Sequence[Axis] | None) -> None:
    """Raise InvalidInput, which shows no label, where pandas' labels aren't those of the cells.

    The default labels, 0, 1, 2 ..., say nothing, unless they are categories in another order. An
    interval of pandas' that is a cell's own is its label.
    """
    sides = [s for s in ("index", "columns") if hasattr(getattr(given, s, None), "get_loc")]
    if not axes or not sides:
        return
    shape = tuple(axis.size for axis in axes)
    if np.shape(given) not in (shape, (math.prod(shape),)):
        return  # not one number for each cell
    each = [list(range(axis.size) if axis.categories is None else axis.categories) for axis in axes]
    alone = len(sides) == len(axes)
    wanted = each if alone else [list(itertools.product(*each))]
    for k, (side, labels) in enumerate(zip(sides, wanted, strict=False)):
        found = list(getattr(given, side))
        own = [_own_label(axes[k], v) if alone else _own_labels(axes, v) for v in found]
        silent = found == list(range(len(found))) and set(found) != set(labels)
        if own != labels and not silent:
            upper = any(getattr(v, "closed", None) == "right" for v in found)
            raise InvalidInput(
                f"{name} has other labels in its {side} than the cells, or in another order, and "
                "it is read in the cells' order; put it into that by .reindex, or where it is in "
                "that order, drop the labels by .to_numpy()"
                + ("; a cell holds its lower edge, as by pd.cut(right=False)" if upper else "")
            )


def _own_labels(axes: Sequence[Axis], labels: Any) -> Any:
    """Return labels of one cell, one of each axis, as the axes have them."""
    if not isinstance(labels, tuple) or len(labels) != len(axes):
        return labels
    return tuple(map(_own_label, axes, labels))


def _own_label(axis: Axis, label: Any) -> Any:
    """Return the bin's number, or the category's text, of an interval of pandas' if it is one."""
    if not hasattr(label, "closed_left"):
        return label
    if axis.edges is None:
        return str(label)
    ends = list(itertools.pairwise(axis.edges))
    own = (label.left, label.right)
    return ends.index(own) if label.closed == "left" and own in ends else label
