"""Output spaces: what a mechanism may release, its checks, and its columns in a table.

A mechanism whose outputs are of one of these kinds declares which in its property `space`, and
inherits `check_output`, `encode`, `decode`, `records` and `outputs` from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float
from bayesdp.errors import InvalidInput, quoted

_FARTHEST = 2.0**53  # steps: floats are exact up to there
_LISTED = 1_000_000


class OutputSpace:
    """Numbers, or tuples of them, that can't be listed; the base of all kinds.

    A mechanism of this kind checks its outputs itself.
    """

    __slots__ = ()

    def check(self, output: Any) -> Any:
        """Return the output as a Python number or a tuple of them, or raise InvalidInput."""
        raise NotImplementedError

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as columns copy, component and value, one row a number."""
        return encode_numbers(outputs)

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the outputs, unchecked, in the order of their copies."""
        return decode_numbers(columns)

    def records(self, output: Any) -> NDArray[Any]:
        """A column that shows an output."""
        return np.atleast_1d(output)

    def every(self) -> NDArray[Any] | None:
        """List all outputs, or None where they are too many."""
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
        What they are, for a message.
    limit : str
        The parameter that `most` is, for a message; or empty.
    """

    least: int
    most: int
    column: str = "value"
    what: str = "integers"
    limit: str = ""

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
        """Encode copies as columns, one row a copy."""
        return {
            "copy": np.arange(len(outputs)),
            self.column: np.asarray(outputs, dtype=np.int64),
        }

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the numbers, unchecked, in the order of their copies."""
        return list(np.asarray(columns[self.column])[order_of_copies(columns)])

    def every(self) -> NDArray[np.int64] | None:
        """List all numbers, where they are at most a million."""
        if self.most - self.least >= _LISTED:
            return None
        return np.arange(self.least, self.most + 1)


@dataclass(frozen=True, slots=True)
class NamedNumbers(OutputSpace):
    """One number for each name, a multiple of its step.

    Attributes
    ----------
    names : tuple of str
    steps : tuple of float
    kind : str
        What the names are of, as "coefficient".
    """

    names: tuple[str, ...]
    steps: tuple[float, ...]
    kind: str = "number"

    def check(self, output: Any) -> tuple[float, ...]:
        """Return the output as a tuple of floats, or raise InvalidInput."""
        return tuple(map(float, check_multiples(self.names, self.steps, output)))

    def records(self, output: Any) -> NDArray[Any]:
        """Numbers with their names: a structured array."""
        return with_names(self.kind, self.names, output)


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
        If copies have other components than 0, 1, ..., each once.
    """
    copy, value = np.asarray(columns["copy"]), np.asarray(columns["value"])
    if "component" not in columns:
        return list(value[np.argsort(copy, kind="stable")].tolist())
    component = np.asarray(columns["component"])
    order = np.lexsort((component, copy))
    copies = len(np.unique(copy))
    width = len(copy) // max(copies, 1)
    expected = np.tile(np.arange(width), copies)
    if not np.array_equal(component[order], expected):
        raise InvalidInput("component must number the parts of each copy from 0, each once")
    return [tuple(row) for row in value[order].reshape(copies, width).tolist()]


def rows_of(columns: Mapping[str, Any], dimension: int | None) -> list[Any]:
    """Group the values of columns copy, component, value: a list a copy, or a scalar's number.

    Raises
    ------
    InvalidInput
        If a row is missing or repeated.
    """
    d = dimension or 1
    copy, component = (np.asarray(columns[name]) for name in ("copy", "component"))
    order = np.lexsort((component, copy))
    copies = copy.size // d
    if (
        copy.size != copies * d
        or np.any(copy[order] != np.repeat(np.arange(copies), d))
        or np.any(component[order] != np.tile(np.arange(d), copies))
    ):
        raise InvalidInput(
            f"the table must have one row for each copy, numbered from 0, and each of its {d} "
            "components; rows are missing or repeated"
        )
    values = np.asarray(columns["value"])[order].reshape(copies, d)
    return [row.tolist() if dimension else row[0] for row in values]


def order_of_copies(columns: Mapping[str, Any]) -> NDArray[np.intp]:
    """Order the rows by their copies, one a copy, or raise InvalidInput."""
    copy = np.asarray(columns["copy"])
    order = np.argsort(copy, kind="stable")
    if not np.array_equal(copy[order], np.arange(copy.size)):
        raise InvalidInput("the table must have one row for each copy, numbered from 0")
    return order


def check_multiples(names: Sequence[str], steps: Sequence[float], output: Any) -> Sequence[Any]:
    """The output's numbers if there is one for each name, a multiple of its step; else raise."""
    values = output.tolist() if isinstance(output, np.ndarray) else output
    if not isinstance(values, Sequence) or len(values) != len(names):
        raise InvalidInput(
            f"output is {quoted(output)}; this mechanism releases {len(names)} numbers a copy: "
            f"{', '.join(names)}"
        )
    for name, value, step in zip(names, values, steps, strict=True):
        number = as_float(value)
        if not (abs(number) / step <= _FARTHEST and number % step == 0):
            raise InvalidInput(
                f"output has {quoted(value)} for {name}; this mechanism releases multiples of "
                f"{quoted(step)}"
            )
    return values


def with_names(kind: str, names: Sequence[str], output: Any) -> NDArray[Any]:
    """Name released numbers: a structured array of `kind` and value."""
    column = np.array(names)
    table = np.empty(len(column), dtype=[(kind, column.dtype), ("value", np.float64)])
    table[kind], table["value"] = column, output
    return table
