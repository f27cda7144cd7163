"""An axis of proportions: its range, its ticks, and where a value lies on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of proportions inside [0, 1] and the ticks on it."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def position(self, value: float) -> float:
        """Where a value lies, in percent of the axis; values outside lie at its ends."""
        share = (value - self.low) / (self.high - self.low)
        return 100 * min(max(share, 0.0), 1.0)

    def cuts(self, value: float) -> bool:
        """Whether a value lies outside the axis."""
        return not self.low <= value <= self.high

    def text(self, tick: float) -> str:
        """A tick's label: no more decimals than tell it from its neighbours."""
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else self.high - self.low
        decimals = max(0, math.ceil(-math.log10(100 * step) - 1e-9))
        return f"{100 * tick:.{decimals}f}%"


def axis_over(values: Iterable[float], *, steps: int = 3, snap: bool = True) -> Axis:
    """An axis that shows all values, inside [0, 1].

    Parameters
    ----------
    values : iterable of float
        What is drawn. Those outside [0, 1] are cut.
    steps : int
        At least so many steps between ticks fit; they are 1, 2 or 5 times a power of ten.
    snap : bool
        Whether the axis is extended to the ticks around the values.
    """
    inside = [min(max(value, 0.0), 1.0) for value in values]
    low, high = min(inside), max(inside)
    if high - low < 1e-6:
        low, high = max(0.0, low - 0.05), min(1.0, high + 0.05)
    step = _nice_step((high - low) / steps)
    if snap:
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        low, high = max(low, 0.0), min(high, 1.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Axis(low, high, tuple(k * step for k in range(first, last + 1)))


def _nice_step(most: float) -> float:
    power = 10.0 ** math.floor(math.log10(most))
    return next(m * power for m in (5, 2, 1, 0.5) if m * power <= most * (1 + 1e-9))
