"""Copies of records of several bounded columns: checked, written and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput

if TYPE_CHECKING:
    from bayesdp.mechanisms.families.linear_regression import LinearRegression

Rows = tuple[tuple[float, ...], ...]


def check_output(self: LinearRegression, output: Any, size: int) -> Rows:
    """Return a copy as a sorted tuple of records, each a tuple within the bounds, or raise."""
    values, names = np.asarray(output), self.columns
    if values.shape != (size, len(names)) or values.dtype.kind not in "iuf":
        raise InvalidInput(
            f"output has shape {values.shape}; this mechanism releases size = {size} records of "
            f"{len(names)} columns: {', '.join(names)}"
        )
    low, high = self.ends.T
    if not np.all((values >= low) & (values <= high)):
        raise InvalidInput(f"output has records outside the bounds {dict(self.bounds)}")
    order = np.lexsort(values.T[::-1])
    return tuple(map(tuple, values[order].astype(np.float64).tolist()))


def records(self: LinearRegression, output: Any, size: int) -> NDArray[Any]:
    """Synthetic records as a structured array with a field for each column, shape (size,)."""
    values = np.array(self.check_output(output, size))
    made = np.empty(size, dtype=[(name, np.float64) for name in self.columns])
    for j, name in enumerate(self.columns):
        made[name] = values[:, j]
    return made


def encode(self: LinearRegression, outputs: Sequence[Any], size: int) -> dict[str, Any]:
    """Encode copies as columns, one row a record: its copy and its columns."""
    values = np.asarray(outputs, dtype=np.float64).reshape(-1, len(self.columns))
    copies = {"copy": np.repeat(np.arange(len(outputs)), size)}
    return copies | {name: values[:, j] for j, name in enumerate(self.columns)}


def decode(self: LinearRegression, columns: Mapping[str, Any], size: int) -> list[Rows]:
    """Decode the copies, in their order."""
    copy = np.asarray(columns["copy"])
    values = np.column_stack([np.asarray(columns[name]) for name in self.columns])
    order = np.argsort(copy, kind="stable")
    starts = np.flatnonzero(np.diff(copy[order], prepend=-1))[1:]
    return [self.check_output(part, size) for part in np.split(values[order], starts)]
