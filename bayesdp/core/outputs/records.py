"""Output space of synthetic records, of one column or of several."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import LISTED, FromRecords, OutputSpace, structured
from bayesdp.errors import InvalidInput, quoted


class Labels(Protocol):
    """Protocol of a column's labels, which an output holds as numbers from 0."""

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, in the order of their numbers."""

    def bins(self, column: Any, *, clamp: bool) -> NDArray[np.int64]:
        """Find the numbers of labels, or raise InvalidInput."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers within bounds, or of labels.

    Attributes
    ----------
    name : str
    low, high : float
        Bounds of the values, or of the labels' numbers.
    ends : bool
        Whether values may equal the bounds.
    whole : bool
        Whether values are 64-bit integers, of any size; the bounds then don't apply.
    axis : Labels or None
        The labels that the numbers stand for; None where the values are numbers.
    """

    name: str = "value"
    low: float = -math.inf
    high: float = math.inf
    ends: bool = True
    whole: bool = False
    axis: Labels | None = None

    @property
    def kind(self) -> str:
        """Kind of its values in words, for a message."""
        if self.whole:
            return "whole numbers"
        if math.isinf(self.low) and math.isinf(self.high):
            return "numbers"
        what = "numbers" if self.axis is None else "labels' numbers"
        return f"{what} from {self.low} to {self.high}{'' if self.ends else ', both excluded'}"

    def good(self, numbers: NDArray[Any]) -> bool:
        """Return True if records may have all of these numbers; NaN is never allowed."""
        if numbers.dtype.kind not in ("iu" if self.whole else "iuf"):
            return False
        if self.whole:
            return bool(np.all(numbers == numbers.astype(np.int64)))
        inside = (numbers >= self.low) & (numbers <= self.high)
        if not self.ends:
            inside &= (numbers != self.low) & (numbers != self.high)
        return bool(np.all(inside)) and (
            self.axis is None or bool(np.all(numbers == np.floor(numbers)))
        )

    def shown(self, numbers: Any) -> NDArray[Any]:
        """Show numbers as a table has them."""
        shown = np.asarray(numbers, dtype=np.int64 if self.whole else np.float64)
        return shown if self.axis is None else self.axis.labels[shown.astype(np.int64)]

    def read(self, shown: Any) -> NDArray[Any]:
        """Read numbers from what is shown, or raise InvalidInput."""
        column = np.asarray(shown)
        return column if self.axis is None else self.axis.bins(column, clamp=False)


@dataclass(frozen=True, slots=True)
class Records(OutputSpace):
    """Tables of `size` synthetic records, sorted, so that their order says nothing.

    An output is a tuple of records, each a tuple with a number for each column, or just the number
    where the only column stands `alone`.

    Attributes
    ----------
    size : int
        Records in a table.
    columns : tuple of Column
    alone : bool
        Whether a record is a bare number, that of the only column.
    """

    size: int
    columns: tuple[Column, ...]
    alone: bool = False

    def check(self, output: Any) -> tuple[Any, ...]:
        """Return the records as a sorted tuple, or raise InvalidInput."""
        parts = self._parts(output)
        if len(parts) != len(self.columns) or any(part.shape != (self.size,) for part in parts):
            names = ", ".join(column.name for column in self.columns)
            rows = f"rows of {len(self.columns)} numbers: {names}"
            raise InvalidInput(
                "output has another shape than this mechanism's, which releases size = "
                f"{self.size} {'records, one number for each' if self.alone else rows}"
            )
        for column, part in zip(self.columns, parts, strict=True):
            if not column.good(part):
                raise InvalidInput(
                    f"output has values of {quoted(column.name)} that aren't allowed; this "
                    f"mechanism releases {column.kind}"
                )
        order = np.lexsort(parts[::-1])
        checked = [
            part[order].astype(np.int64 if column.whole else np.float64).tolist()
            for column, part in zip(self.columns, parts, strict=True)
        ]
        return tuple(checked[0]) if self.alone else tuple(zip(*checked, strict=True))

    def _parts(self, output: Any) -> list[NDArray[Any]]:
        """Split an output by columns; empty where its rows aren't all of one length."""
        try:
            if self.alone:
                return [np.asarray(output)]
            if isinstance(output, np.ndarray) and output.dtype != object:
                return list(output.T)
            return [_array(part) for part in zip(*output, strict=True)]
        except (TypeError, ValueError):
            return []

    def every(self) -> NDArray[np.int64] | None:
        """List all tables of labels, shape (tables, size, columns).

        None if there are too many, or records are bare or have numbers.
        """
        if self.alone or any(column.axis is None for column in self.columns):
            return None
        levels = [range(int(column.high) + 1) for column in self.columns]
        kinds = math.prod(map(len, levels))
        if max(kinds, self.size) > LISTED or math.comb(self.size + kinds - 1, self.size) > LISTED:
            return None
        records = itertools.product(*levels)
        return np.array([*itertools.combinations_with_replacement(records, self.size)])

    @property
    def from_records(self) -> FromRecords:
        """Reading of an output from its records, by their columns."""
        names = () if self.alone else tuple(column.name for column in self.columns)
        return FromRecords(names, self._output)

    def _output(self, columns: Sequence[Any]) -> Any:
        parts = [each.read(column) for each, column in zip(self.columns, columns, strict=True)]
        if self.alone:
            return parts[0]
        return list(zip(*(part.tolist() for part in parts), strict=True))

    def records(self, output: Sequence[Any]) -> NDArray[Any]:
        """Synthetic records: numbers, or a structured array with a field for each column."""
        shown = self._shown(output)
        if self.alone:
            return shown[self.columns[0].name]
        return structured(shown.items())

    def encode(self, outputs: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Encode copies as columns, one row for each record: its copy and its values."""
        copies = np.repeat(np.arange(len(outputs)), self.size)
        return {"copy": copies, **self._shown(list(itertools.chain.from_iterable(outputs)))}

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the copies, unchecked, in their order."""
        copy = np.asarray(columns["copy"])
        order = np.argsort(copy, kind="stable")
        if not np.array_equal(copy[order], np.arange(copy.size) // self.size):
            raise InvalidInput(
                f"the table must have size = {self.size} rows for each copy, numbered from 0"
            )
        parts = [each.read(columns[each.name])[order] for each in self.columns]
        starts = range(0, copy.size, self.size)
        copies = [[part[i : i + self.size] for part in parts] for i in starts]
        if self.alone:
            return [part for (part,) in copies]
        return [list(zip(*(part.tolist() for part in each), strict=True)) for each in copies]

    def _shown(self, rows: Sequence[Any]) -> dict[str, NDArray[Any]]:
        parts: Any = [rows] if self.alone else zip(*rows, strict=True)
        parts = list(parts) or [()] * len(self.columns)
        return {
            column.name: column.shown(part)
            for column, part in zip(self.columns, parts, strict=True)
        }


def _array(values: Sequence[Any]) -> NDArray[Any]:
    """An array of values, of type object where True or False is among numbers."""
    return np.array(values, dtype=object if bool in map(type, values) else None)
