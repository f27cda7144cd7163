"""An axis: its range, its ticks, and the positions of values on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers, or of proportions inside [0, 1], and the ticks on it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    proportions: bool = True

    def position(self, value: float) -> float:
        """Position of a value, in percent of the axis; values outside lie at its ends."""
        share = (value - self.low) / (self.high - self.low)
        return 100 * min(max(share, 0.0), 1.0)

    def cuts(self, value: float) -> bool:
        """Return True if a value lies outside the axis."""
        return not self.low <= value <= self.high

    def text(self, tick: float) -> str:
        """A tick's label, with just enough decimals to tell it from its neighbours."""
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else self.high - self.low
        if self.proportions:
            decimals = max(0, math.ceil(-math.log10(100 * step) - 1e-9))
            return f"{100 * tick:.{decimals}f}%"
        largest = max(abs(self.low), abs(self.high))
        if not 1e-4 <= largest < 1e7:
            places = math.floor(math.log10(largest)) - math.floor(math.log10(step) + 1e-9)
            return f"{tick:.{max(0, places)}e}".replace("-", "\N{MINUS SIGN}")
        decimals = max(0, math.ceil(-math.log10(step) - 1e-9))
        return f"{tick:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def axis_over(
    values: Iterable[float], *, steps: int = 3, snap: bool = True, proportions: bool = True
) -> Axis:
    """Make an axis that shows all values, inside [0, 1] if they are proportions.

    Parameters
    ----------
    values : iterable of float
        The values to show. Proportions outside [0, 1] are cut.
    steps : int
        Smallest number of steps between ticks, which are 1, 2 or 5 times a power of ten.
    snap : bool
        Whether the axis is extended to the ticks around the values.
    proportions : bool
        Whether the values are proportions.
    """
    least, most = (0.0, 1.0) if proportions else (-math.inf, math.inf)
    inside = [min(max(value, least), most) for value in values]
    low, high = min(inside), max(inside)
    if high - low <= 1e-6 * (1 if proportions else max(abs(low), abs(high), 1e-300)):
        apart = 0.05 if proportions else max(abs(low), 1e-3) / 20
        low, high = max(least, low - apart), min(most, high + apart)
    step = _nice_step((high - low) / steps)
    if snap:
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        low, high = max(low, least), min(high, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Axis(low, high, tuple(k * step for k in range(first, last + 1)), proportions)


def _nice_step(most: float) -> float:
    power = 10.0 ** math.floor(math.log10(most))
    return next(m * power for m in (5, 2, 1, 0.5) if m * power <= most * (1 + 1e-9))
