"""Copies of a column of synthetic records in (0, 1): drawn, checked, written and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.randomness import generator


def draw(phi: Any, lam: Any, size: int) -> NDArray[np.float64]:
    """Draw `size` sorted Beta(lambda phi, lambda (1 - phi)) records a copy; shape (copies, size).

    What the sampler rounds to 0 or 1 is moved to 2^-1022 or 1 - 2^-53.
    """
    phi, lam = np.reshape(phi, (-1, 1)), np.reshape(lam, (-1, 1))
    records = generator().beta(lam * phi, lam * (1 - phi), size=(phi.size, size))
    return np.sort(np.clip(records, 2.0**-1022, 1 - 2.0**-53), axis=1)


def check(output: Any, size: int) -> tuple[float, ...]:
    """Return a copy as a sorted tuple if it is `size` records in (0, 1), else raise."""
    values = np.asarray(output)
    if values.shape != (size,) or values.dtype.kind != "f":
        raise InvalidInput(
            f"output has shape {values.shape}; this mechanism releases size = {size} records"
        )
    values = values.astype(np.float64)
    if not np.all((values > 0) & (values < 1)):
        raise InvalidInput("output has records outside (0, 1); this mechanism releases none")
    return tuple(np.sort(values).tolist())


def encode(outputs: Sequence[Sequence[float]], size: int) -> dict[str, Any]:
    """Encode copies as columns, one row a synthetic record: its copy and its value."""
    return {
        "copy": np.repeat(np.arange(len(outputs)), size),
        "value": np.asarray(outputs, dtype=np.float64).ravel(),
    }


def decode(columns: Mapping[str, Any], size: int) -> list[tuple[float, ...]]:
    """Read the copies that `encode` wrote, in their order."""
    copy, values = np.asarray(columns["copy"]), np.asarray(columns["value"])
    order = np.argsort(copy, kind="stable")
    starts = np.flatnonzero(np.diff(copy[order], prepend=-1))[1:]
    return [check(part, size) for part in np.split(values[order], starts)]
