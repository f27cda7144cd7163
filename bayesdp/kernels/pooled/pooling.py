"""Kernels of slice sampling under partial pooling.

Derived in `bayesdp.engines.partial_pooling`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import guarded
from bayesdp.kernels.pooled.means import draw_means, log_means
from bayesdp.kernels.pooled.proportions import draw_proportions, log_proportions

Floats = NDArray[np.float64]

_WIDTH = 2.5  # of a first slice, in standard deviations
_STEPS = 50  # of stepping out, each way


@guarded
def log_target(u: float, v: float, means: bool, given: Any) -> float:
    """Log-density of the population's parameters (u, v), of groups' means or proportions."""
    return log_means(u, v, given) if means else log_proportions(u, v, given)


@guarded
def run(
    means: bool, given: Any, start: Floats, root: Floats, draws: int, drawn: bool, rng: Any
) -> tuple[Floats, Floats]:
    """Run a chain: u, v and log target, shape (draws, 3), and if `drawn` the groups' numbers."""
    groups = given[0].size
    kept, numbers = np.empty((draws, 3)), np.empty((draws if drawn else 0, groups))
    u, v = start
    now = log_target(u, v, means, given)
    for i in range(draws):
        for _ in range(2):
            angle = 2 * math.pi * rng.random()
            c, s = math.cos(angle), math.sin(angle)
            du, dv = root[0, 0] * c + root[0, 1] * s, root[1, 0] * c + root[1, 1] * s
            level = now - rng.standard_exponential()
            low = -_WIDTH * rng.random()
            high = low + _WIDTH
            out = int(_STEPS * rng.random())  # shared at random, which keeps detailed balance
            for _ in range(out):
                if not log_target(u + low * du, v + low * dv, means, given) > level:
                    break
                low -= _WIDTH
            for _ in range(_STEPS - 1 - out):
                if not log_target(u + high * du, v + high * dv, means, given) > level:
                    break
                high += _WIDTH
            while True:
                t = low + (high - low) * rng.random()
                next_u, next_v = u + t * du, v + t * dv
                there = log_target(next_u, next_v, means, given)
                if there > level or t == 0.0:
                    u, v, now = next_u, next_v, there
                    break
                if t < 0:
                    low = t
                else:
                    high = t
        kept[i, 0], kept[i, 1], kept[i, 2] = u, v, now
        if drawn and means:
            draw_means(u, v, given, rng, numbers[i])
        elif drawn:
            draw_proportions(u, v, given, rng, numbers[i])
    return kept, numbers


@guarded
def draw_numbers(points: Floats, means: bool, given: Any, rng: Any) -> Floats:
    """Draw the groups' numbers at each (u, v), shape (points, groups)."""
    numbers = np.empty((points.shape[0], given[0].size))
    for i in range(points.shape[0]):
        if means:
            draw_means(points[i, 0], points[i, 1], given, rng, numbers[i])
        else:
            draw_proportions(points[i, 0], points[i, 1], given, rng, numbers[i])
    return numbers


@guarded
def all_log_targets(points: Floats, means: bool, given: Any) -> Floats:
    targets = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        targets[i] = log_target(points[i, 0], points[i, 1], means, given)
    return targets
