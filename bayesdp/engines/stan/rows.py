"""Ragged arrays for Stan programs, which have none: rows one after the other, and their ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def ends_of_rows(sizes: Sequence[int] | NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the `first` and the `last` place of each row in one, which counts from 1."""
    last = np.cumsum(sizes)
    return {"first": np.concatenate([[1], last[:-1] + 1]), "last": last}
