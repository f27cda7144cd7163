"""Space of numbers, or vectors of them, on a lattice or not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import LARGEST, as_plain, is_number
from bayesdp.core.outputs import LISTED, OutputSpace, as_sequence, rows_of
from bayesdp.errors import InvalidInput, quoted


@dataclass(frozen=True, slots=True)
class Numbers(OutputSpace):
    """A number, or a vector of `dimension` numbers.

    Attributes
    ----------
    dimension : int or None
        Length of a vector; None for a single number.
    whole : bool
        Whether the numbers are integers; otherwise floats.
    step : float or None
        Spacing of the lattice that floats lie on, a power of two; None for any finite float.
    bounds : tuple or None
        Bounds of each number; None leaves an end open.
    threshold : int, optional
        Numbers below it are shown as 0, like counts in a truncated histogram.
    zeros : tuple of int
        Components that are 0 always: noisy counts of structural zeros alone.
    rows : int
        Number of rows of equal length that a vector may also be given in.
    """

    dimension: int | None = None
    whole: bool = False
    step: float | None = None
    bounds: tuple[Any, Any] | None = None
    threshold: int | None = None
    zeros: tuple[int, ...] = ()
    rows: int = 1

    def check(self, output: Any) -> Any:
        """Return the output as a Python number or a tuple of them, or raise InvalidInput."""
        if self.dimension is None:
            return self._number(output)
        values = as_sequence(output)
        each = [len(row) if isinstance(row, Sequence) else 0 for row in values]
        if self.rows > 1 and each == [self.dimension // self.rows] * self.rows:
            values = [value for row in values for value in row]
        if len(values) != self.dimension:
            raise InvalidInput(
                f"output is {quoted(output)}; this mechanism releases {self.dimension} numbers"
            )
        checked = tuple(map(self._number, values))
        if any(checked[place] for place in self.zeros):
            raise InvalidInput("output has a count other than 0 of structural zeros alone")
        return checked

    @property
    def _lattice(self) -> float | None:
        return 1 if self.whole else self.step

    def _number(self, given: Any) -> int | float:
        value = as_plain(given)
        if not is_number(value) or not self._possible(value):
            what = "finite numbers" if self.step is None else f"multiples of {quoted(self.step)}"
            what = "integers" if self.whole else what
            within = "" if self.bounds is None else f" within {self.bounds}"
            raise InvalidInput(f"output is {quoted(given)}; this mechanism releases {what}{within}")
        if self.threshold is not None and value != 0 and value < self.threshold:
            raise InvalidInput(
                f"output is {quoted(given)}; counts below the threshold {self.threshold} are shown "
                "as 0"
            )
        return int(value) if self.whole else float(value)

    def _possible(self, value: float) -> bool:
        low, high = self.bounds or (None, None)
        steps = value / (self._lattice or 1)
        return (
            math.isfinite(steps)
            and (self._lattice is None or steps == math.floor(steps))
            and not (self.whole and abs(value) > LARGEST)
            and (low is None or low <= value)
            and (high is None or value <= high)
        )

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode outputs as columns copy, component and value, one row for each component."""
        d = self.dimension or 1
        return {
            "copy": np.repeat(np.arange(len(outputs)), d),
            "component": np.tile(np.arange(d), len(outputs)),
            "value": np.asarray(outputs, dtype=np.int64 if self.whole else np.float64).ravel(),
        }

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the outputs, unchecked, in the order of their copies."""
        return rows_of(columns, self.dimension)

    def every(self) -> NDArray[Any] | None:
        """List every output along the first axis; None unless the bounds leave at most 100,000."""
        (low, high), step = self.bounds or (None, None), self._lattice
        if low is None or high is None or step is None:
            return None
        first, last = math.ceil(Fraction(low) / Fraction(step)), Fraction(high) // Fraction(step)
        if (self.dimension or 1) * math.log(last - first + 1) > math.log(LISTED):
            return None
        points = np.arange(first, last + 1) * step
        if self.dimension is None:
            return points
        return np.array(list(itertools.product(points, repeat=self.dimension)))
