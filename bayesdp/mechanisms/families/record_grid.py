"""Public grid that bounded records are rounded to, one by one, so that their sums are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.count import column_of
from bayesdp.mechanisms.families.base import Number
from bayesdp.mechanisms.noise.pure import up

_GRID = 24  # bits from the bounds' distance to the step


@dataclass(frozen=True, slots=True)
class RecordGrid:
    """Grid of 2^23 to 2^24 steps between public bounds, a power of two apart.

    Attributes
    ----------
    bounds : tuple of two floats
    """

    bounds: tuple[float, float]

    @property
    def width(self) -> Fraction:
        """Distance of the bounds."""
        return Fraction(self.bounds[1]) - Fraction(self.bounds[0])

    @property
    def step(self) -> float:
        """Step of the grid: a power of two."""
        return 2.0 ** (math.frexp(up(self.width))[1] - _GRID)

    @property
    def steps(self) -> int:
        """Number of steps between the bounds, rounded down: the last point is within them."""
        return math.floor(self.width / Fraction(self.step))

    @property
    def middle(self) -> Fraction:
        """Middle of the grid."""
        return Fraction(self.bounds[0]) + self.steps * Fraction(self.step) / 2

    def codes(self, records: Any, *, clip: bool) -> NDArray[np.int64]:
        """Records in whole steps from the lower bound, shape (n,).

        Raises
        ------
        InvalidInput
            If one is missing or, unless `clip` moves it to the nearest bound, outside the bounds.
        """
        if np.size(records) == 0:
            return np.empty(0, dtype=np.int64)
        low, high = self.bounds
        x = column_of(records, f"numbers from {low} to {high}").astype(np.float64)
        if clip and not np.any(np.isnan(x)):
            x = np.clip(x, low, high)
        if not np.all((x >= low) & (x <= high)):
            raise InvalidInput(
                f"data has values that aren't numbers in bounds = {self.bounds}; choose bounds "
                "without looking at the data, and take clip=True to move values beyond a bound "
                "to it"
            )
        return np.clip(np.rint((x - low) / self.step), 0, self.steps).astype(np.int64)


def rounded_number(
    name: str, moves: Fraction, low: float | None, high: float | None, most: Fraction
) -> Number:
    """A number whose sensitivity includes one rounding of each neighbour's value, up to `most`."""
    return Number(name, up(moves + most / 2**52), low, high)


def vector_of(
    statistic: Any, numbers: Sequence[Number], bounds: tuple[float, float]
) -> NDArray[np.float64]:
    """Return a statistic's numbers along the last axis, or raise InvalidInput without showing them.

    Parameters
    ----------
    statistic : array_like, shape (..., len(numbers))
    numbers : sequence of Number
        The numbers that it has, with their ranges.
    bounds : tuple of two floats
        Bounds of the records, for a message.
    """
    x = np.asarray(statistic)
    names = ", ".join(number.name for number in numbers)
    if x.dtype.kind not in "iuf" or x.shape[-1:] != (len(numbers),):
        raise InvalidInput(
            f"the statistic has type {x.dtype} and shape {x.shape}; it must be numbers of "
            f"shape (..., {len(numbers)}): {names}"
        )
    for i, number in enumerate(numbers):
        low = -math.inf if number.low is None else number.low
        high = math.inf if number.high is None else number.high
        if not np.all((x[..., i] >= low) & (x[..., i] <= high)):
            raise InvalidInput(
                f"the statistic's {number.name} can't be that of records in {bounds}"
            )
    return x.astype(np.float64)
