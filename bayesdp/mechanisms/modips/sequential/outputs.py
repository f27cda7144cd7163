"""Copies of mixed tables: checked, shown, written and read; and neighbours that an audit tries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.modips.sequential.counts import statistic_of, sums_of_columns
from bayesdp.mechanisms.modips.sequential.steps import NumericColumns

if TYPE_CHECKING:
    from bayesdp.mechanisms.counts.cells import Axis
    from bayesdp.mechanisms.modips.sequential.mechanism import SequentialModipsMechanism

Rows = tuple[tuple[float, ...], ...]


def columns_of(self: SequentialModipsMechanism) -> dict[str, Axis | tuple[float, float]]:
    """Columns by name, in the steps' order: the labels, or the bounds."""
    found: dict[str, Axis | tuple[float, float]] = {}
    for layout in self.layouts:
        if isinstance(layout.step, NumericColumns):
            found |= dict(layout.step.columns)
        else:
            found |= {axis.name: axis for axis in layout.axes}
    return found


def check_output(self: SequentialModipsMechanism, output: Any) -> Rows:
    """Return a copy as a sorted tuple of records: labels by their numbers, and numbers."""
    values, columns = np.asarray(output), columns_of(self)
    if values.shape != (self.size, len(columns)) or values.dtype.kind not in "iuf":
        raise InvalidInput(
            f"output has shape {values.shape}; this mechanism releases size = {self.size} records "
            f"of {len(columns)} columns: {', '.join(columns)}"
        )
    for (name, kind), x in zip(columns.items(), values.T, strict=True):
        if isinstance(kind, tuple):
            good = np.all((x >= kind[0]) & (x <= kind[1]))
        else:
            good = np.all((x >= 0) & (x < kind.size) & (x == np.floor(x)))
        if not good:
            raise InvalidInput(f"output has values of column {quoted(name)} that it can't have")
    order = np.lexsort(values.T[::-1])
    return tuple(map(tuple, values[order].astype(np.float64).tolist()))


def shown(self: SequentialModipsMechanism, values: Any) -> dict[str, NDArray[Any]]:
    """Show rows of numbers as columns of labels and numbers."""
    found: dict[str, NDArray[Any]] = {}
    for (name, kind), x in zip(columns_of(self).items(), np.asarray(values).T, strict=True):
        found[name] = x if isinstance(kind, tuple) else kind.labels[x.astype(np.int64)]
    return found


def records(self: SequentialModipsMechanism, output: Any) -> NDArray[Any]:
    """Synthetic records as a structured array with a field for each column, shape (size,)."""
    columns = shown(self, self.check_output(output))
    made = np.empty(self.size, dtype=[(name, x.dtype) for name, x in columns.items()])
    for name, x in columns.items():
        made[name] = x
    return made


def encode(self: SequentialModipsMechanism, outputs: Sequence[Any]) -> dict[str, Any]:
    """Encode copies as columns, one row a record: its copy, its labels and its numbers."""
    flat = np.asarray(outputs, dtype=np.float64).reshape(len(outputs) * self.size, -1)
    return {"copy": np.repeat(np.arange(len(outputs)), self.size), **shown(self, flat)}


def decode(self: SequentialModipsMechanism, columns: Mapping[str, Any]) -> list[Rows]:
    """Read the copies that `encode` wrote, in their order."""
    found = []
    for name, kind in columns_of(self).items():
        x = np.asarray(columns[name])
        found.append(x if isinstance(kind, tuple) else kind.bins(x, clamp=False))
    values, copy = np.column_stack(found), np.asarray(columns["copy"])
    order = np.argsort(copy, kind="stable")
    starts = np.flatnonzero(np.diff(copy[order], prepend=-1))[1:]
    return [self.check_output(part) for part in np.split(values[order], starts)]


def pairs(self: SequentialModipsMechanism) -> list[tuple[Any, Any]]:
    """Pairs where a record of the last labels and upper ends is added, or replaces another.

    The others, and the one replaced, have the first labels and numbers in the middle.
    """
    kinds = columns_of(self)
    others = 4 if self.n is None else self.n - 1
    usual = {
        name: (k[0] / 2 + k[1] / 2) if isinstance(k, tuple) else 0 for name, k in kinds.items()
    }
    far = {name: k[1] if isinstance(k, tuple) else k.size - 1 for name, k in kinds.items()}
    found = []
    for rows in ([usual] * others + ([] if self.n is None else [usual]), [usual] * others + [far]):
        table = {name: np.array([row[name] for row in rows]) for name in kinds}
        sums = sums_of_columns(self.layouts, table, len(rows))
        found.append(statistic_of(self.layouts, sums, self.n))
    return [(found[0], found[1])]
