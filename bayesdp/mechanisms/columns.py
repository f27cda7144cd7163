"""Outputs of one number or of several, as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float
from bayesdp.errors import InvalidInput, quoted

_FARTHEST = 2.0**53  # steps: floats are exact up to there


class NumberColumns:
    """Base of mechanisms whose outputs are numbers, or tuples of them."""

    __slots__ = ()
    if TYPE_CHECKING:

        def check_output(self, output: Any) -> Any: ...

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as columns copy, component and value, one row a number."""
        return encode_numbers(outputs)

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the outputs, in the order of their copies; InvalidInput if a row is missing."""
        return [self.check_output(z) for z in decode_numbers(columns)]


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
