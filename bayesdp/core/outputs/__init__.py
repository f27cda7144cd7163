"""Output spaces: what a mechanism may release, its checks, and its columns in a table.

A mechanism declares which kind its outputs are in its property `space`, and inherits
`check_output`, `encode`, `decode`, `records` and `outputs` from it. This module has the base of all
kinds, whole numbers, and the coding that several kinds share; every other file here has kinds of
one sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted

LISTED = 100_000
"""The most outputs of several numbers that are listed."""
_WHOLE_LISTED = 1_000_000


@dataclass(frozen=True, slots=True)
class FromRecords:
    """Reading of an output from the synthetic records that it stands for.

    Attributes
    ----------
    names : tuple of str
        Names of the records' columns; empty where a record is one number or label, of any name.
    output : callable
        Function of the columns, in this order, that returns the output, unchecked.
    """

    names: tuple[str, ...]
    output: Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class OutputSpace:
    """Base of all kinds: numbers, or tuples of numbers, that can't be listed.

    A mechanism that declares this base itself checks its outputs on its own.

    Attributes
    ----------
    shown : callable, optional
        Function of an output that returns the column to show, such as the synthetic records that it
        counts. Default: its numbers.
    counted : FromRecords, optional
        How an output is counted from such records. Default: it isn't.
    """

    shown: Callable[[Any], NDArray[Any]] | None = field(default=None, kw_only=True)
    counted: FromRecords | None = field(default=None, kw_only=True)

    def check(self, output: Any) -> Any:
        """Return the output as a Python number or a tuple of them, or raise InvalidInput."""
        raise NotImplementedError

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as columns copy, component and value, one row for each number."""
        return encode_numbers(outputs)

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the outputs, unchecked, in the order of their copies."""
        return decode_numbers(columns)

    def records(self, output: Any) -> NDArray[Any]:
        """A column that shows an output."""
        return np.atleast_1d(output) if self.shown is None else self.shown(output)

    @property
    def from_records(self) -> FromRecords | None:
        """Reading of an output from synthetic records; None where it doesn't stand for any."""
        return self.counted

    def every(self) -> NDArray[Any] | None:
        """List all outputs; None if there are too many."""
        return None


@dataclass(frozen=True, slots=True)
class WholeNumbers(OutputSpace):
    """Whole numbers from `least` to `most`.

    Attributes
    ----------
    least, most : int
    column : str
        Name of their column in a table.
    what : str
        Description of the numbers, for a message.
    limit : str
        Name of the mechanism's parameter that is `most`, for a message; or empty.
    beside : tuple of pairs
        Names and numbers of columns that are the same for every copy.
    """

    least: int
    most: int
    column: str = "value"
    what: str = "integers"
    limit: str = ""
    beside: tuple[tuple[str, int], ...] = ()

    def check(self, output: Any) -> int:
        """Return the output as an int, or raise InvalidInput."""
        value = np.asarray(output)
        if value.ndim or value.dtype.kind not in "iu" or not self.least <= value <= self.most:
            raise InvalidInput(
                f"output is {quoted(output)}; this mechanism releases {self.what} from "
                f"{self.least} to {self.limit and self.limit + ' = '}{self.most}"
            )
        return int(value)

    def encode(self, outputs: Sequence[int]) -> dict[str, Any]:
        """Encode copies as columns, one row for each copy."""
        return {
            "copy": np.arange(len(outputs)),
            self.column: np.asarray(outputs, dtype=np.int64),
            **{name: np.full(len(outputs), value) for name, value in self.beside},
        }

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the numbers, unchecked, in the order of their copies."""
        return list(values_of(columns, self.column))

    def every(self) -> NDArray[np.int64] | None:
        """List all numbers; None if there are more than a million."""
        if self.most - self.least >= _WHOLE_LISTED:
            return None
        return np.arange(self.least, self.most + 1)


def structured(columns: Iterable[tuple[str, NDArray[Any]]]) -> NDArray[Any]:
    """Make a structured array of named columns of equal length; ValueError if two names agree."""
    pairs = list(columns)
    made = np.empty(len(pairs[0][1]), dtype=[(name, column.dtype) for name, column in pairs])
    for name, column in pairs:
        made[name] = column
    return made


def fields_of(records: NDArray[Any]) -> list[tuple[str, NDArray[Any]]]:
    """Split a structured array into the columns of `structured`; any other is one, "value"."""
    return [(name, records[name]) for name in records.dtype.names or ()] or [("value", records)]


def as_sequence(output: Any) -> Sequence[Any]:
    """Return the output's parts, an array's as Python numbers; empty if it isn't a sequence."""
    values = output.tolist() if hasattr(output, "tolist") else output
    return values if isinstance(values, Sequence) else ()


def encode_numbers(outputs: Sequence[Any]) -> dict[str, Any]:
    """Encode copies as columns `copy` and `value`, and `component` where a copy is a tuple.

    Integers and floats keep their type, and so every digit.
    """
    values = np.asarray(outputs)
    copies = np.arange(len(values))
    if values.ndim == 1:
        return {"copy": copies, "value": values}
    return {
        "copy": np.repeat(copies, values.shape[1]),
        "component": np.tile(np.arange(values.shape[1]), len(values)),
        "value": values.ravel(),
    }


def decode_numbers(columns: Mapping[str, Any]) -> list[Any]:
    """Decode the columns of `encode_numbers`, in the order of the copies; rows in any order.

    Raises
    ------
    InvalidInput
        If a row is missing or repeated.
    """
    if "component" not in columns:
        return list(values_of(columns, "value").tolist())
    width = len(np.unique(columns["component"]))
    return [tuple(row) for row in rows_of(columns, width or 1)]


def values_of(columns: Mapping[str, Any], name: str) -> NDArray[Any]:
    """Return a column's values in the order of the copies; InvalidInput unless each has one row."""
    values: NDArray[Any] = np.asarray(columns[name])[order_of_copies(columns)]
    return values


def rows_of(
    columns: Mapping[str, Any], dimension: int | None, parts: str = "component"
) -> list[Any]:
    """Group the values of columns copy, component and value into one list or number per copy.

    Parameters
    ----------
    columns : mapping
    dimension : int or None
        Length of a copy's list; None for scalars.
    parts : str
        Name of the column that numbers the parts of a copy from 0.

    Raises
    ------
    InvalidInput
        If a row is missing or repeated.
    """
    d = dimension or 1
    copy, component = (np.asarray(columns[name]) for name in ("copy", parts))
    order = np.lexsort((component, copy))
    copies = copy.size // d
    if (
        copy.size != copies * d
        or np.any(copy[order] != np.repeat(np.arange(copies), d))
        or np.any(component[order] != np.tile(np.arange(d), copies))
    ):
        raise InvalidInput(
            f"the table must have one row for each copy, numbered from 0, and each of its {d} "
            f"{parts}s; rows are missing or repeated"
        )
    values = np.asarray(columns["value"])[order].reshape(copies, d)
    return [row.tolist() if dimension else row[0] for row in values]


def order_of_copies(columns: Mapping[str, Any]) -> NDArray[np.intp]:
    """Order the rows by their copies, one for each copy, or raise InvalidInput."""
    copy = np.asarray(columns["copy"])
    order = np.argsort(copy, kind="stable")
    if not np.array_equal(copy[order], np.arange(copy.size)):
        raise InvalidInput("the table must have one row for each copy, numbered from 0")
    return order
