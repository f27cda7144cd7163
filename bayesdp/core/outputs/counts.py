"""Spaces of counts in cells, and of the probabilities of categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import LARGEST, as_plain
from bayesdp.core.outputs import LISTED, OutputSpace, as_sequence
from bayesdp.errors import InvalidInput, quoted

_ROUNDING = 1e-9  # of the sum of probabilities that another program has printed


@dataclass(frozen=True, slots=True)
class CellCounts(OutputSpace):
    """A count for each of some cells, 0 in their structural zeros.

    Attributes
    ----------
    cells : int
    total : int or None
        Their sum, where it is fixed.
    zeros : tuple of int
        The structural zeros, numbered from 0.
    limit : str
        Name of the mechanism's parameter that is `total`, for a message; or empty.
    """

    cells: int
    total: int | None = None
    zeros: tuple[int, ...] = ()
    limit: str = ""

    def check(self, output: Any) -> tuple[int, ...]:
        """Return the counts as a tuple of ints, or raise InvalidInput."""
        counts = _parts(output, Integral, self.cells)
        good = counts and all(0 <= count <= LARGEST for count in counts)
        if not good or (self.total is not None and sum(counts) != self.total):
            named = self.limit and self.limit + " = "
            fixed = "" if self.total is None else f" whose sum is {named}{self.total}"
            raise InvalidInput(
                f"output is {quoted(output)}; this mechanism releases {self.cells} counts, "
                f"integers from 0{fixed}"
            )
        if any(counts[cell] for cell in self.zeros):
            raise InvalidInput("output has a count other than 0 in its structural zeros")
        return counts

    def every(self) -> NDArray[np.int64] | None:
        """List all tables, shape (outputs, cells); None if there are too many or no fixed sum."""
        possible = np.delete(np.arange(self.cells), self.zeros)
        listed = None if self.total is None else all_counts(self.total, len(possible))
        if listed is None:
            return None
        made = np.zeros((len(listed), self.cells), dtype=np.int64)
        made[:, possible] = listed
        return made


def labels_of(k: int, size: int, columns: Sequence[Any]) -> NDArray[np.int64]:
    """Count each label from 0 to k - 1 in a column of `size` records, or raise InvalidInput."""
    (column,) = columns
    labels = np.asarray(column)
    good = labels.shape == (size,) and labels.dtype.kind in "biuf"
    if not (good and np.isin(labels, np.arange(k)).all()):
        raise InvalidInput(
            f"output has {labels.size} records of type {labels.dtype}; this mechanism releases "
            f"size = {size} records, each a whole number from 0 to {k - 1}"
        )
    return np.bincount(labels.astype(np.int64), minlength=k)


@dataclass(frozen=True, slots=True)
class Probabilities(OutputSpace):
    """The probabilities of categories, or the probability of a one.

    Attributes
    ----------
    categories : int or None
        Their number; None for the probability of a one alone.
    """

    categories: int | None = None

    def check(self, output: Any) -> float | tuple[float, ...]:
        """Return a float, or a tuple of them with sum 1, or raise InvalidInput."""
        k = self.categories
        values = _parts((output,) if k is None else output, Real, k or 1)
        possible = bool(values) and all(0 <= value < 2 for value in values)
        if k is None:
            if possible and values[0] <= 1:
                return float(values[0])
            raise InvalidInput(
                f"output is {quoted(output)}; this mechanism releases a probability, a number from "
                "0 to 1"
            )
        if possible and abs(math.fsum(values) - 1) <= _ROUNDING:
            return tuple(map(float, values))
        raise InvalidInput(
            f"output is {quoted(output)}; this mechanism releases the probabilities of {k} "
            "categories, whose sum is 1"
        )


def _parts(output: Any, kind: type, length: int) -> tuple[Any, ...]:
    """The output's numbers, if they are as many as asked for and of that kind; else empty."""
    values = tuple(map(as_plain, as_sequence(output)))
    good = all(isinstance(value, kind) and not isinstance(value, bool) for value in values)
    return values if good and len(values) == length else ()


def all_counts(size: int, k: int) -> NDArray[np.int64] | None:
    """List all k counts with sum `size`, shape (outputs, k); None if more than 100,000."""
    if math.comb(size + k - 1, k - 1) > LISTED:
        return None
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(k - 1):
        left = size - rows.sum(axis=1)
        last = np.concatenate([np.arange(most + 1) for most in left])
        rows = np.column_stack([np.repeat(rows, left + 1, axis=0), last])
    return np.column_stack([rows, size - rows.sum(axis=1)])
