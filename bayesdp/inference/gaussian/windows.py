"""Intervals that hold all but a negligible part of a function with one peak."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bayesdp.inference.unknown_size import Impossible

Floats = NDArray[np.float64]

_COARSE = 64  # points of a search
_FAR = 60.0  # log of what is negligible beside the largest


def shared(near: Sequence[tuple[float, float]], ends: tuple[float, float]) -> tuple[float, float]:
    """Intersect intervals within two ends; where they are apart, return what lies between them."""
    low, high = max(low for low, _ in near), min(high for _, high in near)
    return within((min(low, high), max(low, high)), ends)


def within(interval: tuple[float, float], ends: tuple[float, float]) -> tuple[float, float]:
    """Return an interval's part between two ends; their nearest point where it has none."""
    low, high = (min(max(each, ends[0]), ends[1]) for each in interval)
    return low, high


def window(
    log_weight: Callable[[Floats], Floats],
    low: float,
    high: float,
    ends: tuple[float, float],
    far: float = _FAR,
) -> tuple[float, float]:
    """Find where a function with one peak isn't negligible, between two ends.

    From the interval given, the search goes outwards until the rest is negligible, and then
    inwards, by ever finer grids.
    """
    while True:
        points = np.linspace(low, high, _COARSE)
        values = log_weight(points)
        if not values.max() > -math.inf:
            raise Impossible("the outputs have probability zero under the model")
        good = np.flatnonzero(values >= values.max() - far)
        below, above = good[0] == 0 and low > ends[0], good[-1] == _COARSE - 1 and high < ends[1]
        if below or above:
            length = high - low or 1e-9 * max(abs(low), 1.0)
            low = max(ends[0], low - length) if below else low
            high = min(ends[1], high + length) if above else high
            continue
        first, last = max(good[0] - 1, 0), min(good[-1] + 1, _COARSE - 1)
        if last - first > _COARSE / 4:
            return float(points[first]), float(points[last])
        low, high = float(points[first]), float(points[last])
