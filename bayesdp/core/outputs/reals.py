"""Output space of real numbers, or of tuples of them in the order in which they were drawn."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import as_plain, is_number
from bayesdp.core.outputs import OutputSpace
from bayesdp.errors import InvalidInput, quoted


@dataclass(frozen=True, slots=True)
class Reals(OutputSpace):
    """Finite numbers, or tuples of `size` finite numbers where `size` isn't 0.

    Attributes
    ----------
    size : int
        Length of the tuples; 0 for single numbers.
    low, high : float
        Smallest and largest number; infinite for no bound.
    positive : bool
        Whether all numbers are above 0.
    """

    size: int
    low: float = -math.inf
    high: float = math.inf
    positive: bool = False

    def check(self, output: Any) -> Any:
        """Return the output as a float or a tuple of `size` floats, or raise InvalidInput."""
        try:
            values = tuple(output) if self.size else (output,)
        except TypeError:  # not a sequence
            values = ()
        values = tuple(as_plain(v) for v in values)
        if len(values) != (self.size or 1) or not all(map(self._holds, values)):
            kind = "finite positive numbers" if self.positive else "finite numbers"
            what = f"tuples of {self.size} {kind}" if self.size else kind
            ends = self.low, self.high
            where = "" if math.isinf(self.high) else " in [{}, {}]".format(*ends)
            raise InvalidInput(f"output is {quoted(output)}; this mechanism releases {what}{where}")
        return tuple(map(float, values)) if self.size else float(values[0])

    def _holds(self, value: Any) -> bool:
        if not is_number(value) or not abs(value) <= sys.float_info.max:
            return False
        return self.low <= value <= self.high and not (self.positive and value <= 0)
