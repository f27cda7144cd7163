r"""The probability that independent negative binomial counts have a given total.

    N = Pr[sum of NB(w_i, p_i) = T]

is a coefficient of a generating function, and so for every rho > 0 the mean of

    F(phi) = prod_i ((1 - p_i) / (1 - p_i rho e^(i phi)))^(w_i) (rho e^(i phi))^(-T)

over K equally spaced phi, apart from the coefficients of T + K, T - K, ..., relative to their
powers of rho. With the rho whose tilted sum has mean T, and K of at least 24 of its standard
deviations, they are below 1e-18 of it. F falls off like a normal density, and few of the K are
needed. A change of the w_i changes log F linearly, so N after a move costs these few exponentials.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import guarded

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SMALL = 45.0  # below the log of the largest F: what is left out
_NEWTON = 100
_NEAR = 1e-9  # of the total: the tilted mean's distance from it


@guarded
def tilted(weights: Floats, chances: Floats, total: float, start: float) -> float:
    """Solve for log rho, with which the sum of NB(weights, rho chances) has mean `total`, or 1.

    Newton's method within a bracket.
    """
    low, high = -math.inf, -math.log(chances.max())
    aim, at = max(total, 1.0), min(start, high - 1e-12)
    for _ in range(_NEWTON):
        mean, slope = 0.0, 0.0
        for i in range(weights.size):
            q = chances[i] * math.exp(at)
            mean += weights[i] * q / (1 - q)
            slope += weights[i] * q / (1 - q) ** 2
        if abs(mean - aim) <= _NEAR * aim:
            return at
        if mean > aim:
            high = at
        else:
            low = at
        step = at - math.log(mean / aim) * mean / slope
        inside = low < step < high
        at = step if inside else ((low + high) / 2 if low > -math.inf else high - 1.0)
    return at


@guarded
def expansion(weights: Floats, chances: Floats, total: float, log_rho: float) -> tuple[Any, Any]:
    """Expand log F at the points needed, with 1 / K in it, and one more of each weight's gain."""
    variance, largest = 0.0, 0.0
    for i in range(weights.size):
        q = chances[i] * math.exp(log_rho)
        variance += weights[i] * q / (1 - q) ** 2
        largest = max(largest, q)
    points = math.ceil(24 * math.sqrt(variance) + 20 / (1 - largest)) + 2
    half = points // 2
    logs = np.empty(half + 1, dtype=np.complex128)
    turns = np.empty((64, weights.size), dtype=np.complex128)
    used, top = 0, 0.0
    for k in range(half + 1):
        phi = 2 * math.pi * k / points
        if k == turns.shape[0]:
            more = np.empty((2 * k, weights.size), dtype=np.complex128)
            for r in range(k):
                for i in range(weights.size):
                    more[r, i] = turns[r, i]
            turns = more
        value = complex(-total * log_rho, -total * phi)
        for i in range(weights.size):
            q = chances[i] * math.exp(log_rho)
            whole = complex(1 - q * math.cos(phi), -q * math.sin(phi))
            turns[k, i] = math.log(1 - chances[i]) - np.log(whole)
            value += weights[i] * turns[k, i]
        twice = 1.0 if k == 0 or 2 * k == points else 2.0
        logs[k] = value + math.log(twice / points)
        used = k + 1
        if k == 0:
            top = value.real
        elif value.real < top - _SMALL:
            break
    return logs[:used], turns[:used]


@guarded
def log_norm(logs: Any) -> float:
    """Log of the normaliser N."""
    top, total = logs[0].real, 0.0
    for k in range(logs.size):
        total += (np.exp(logs[k] - top)).real
    return top + math.log(total) if total > 0 else -math.inf


@guarded
def turn(logs: Any, turns: Any, steps: Integers, i: int, j: int, sign: int) -> None:
    """Change log F by `steps`, of areas i and j or, where i < 0, of all."""
    for k in range(logs.size):
        change = complex(0.0, 0.0)
        if i < 0:
            for each in range(steps.size):
                change += steps[each] * turns[k, each]
        else:
            change += steps[i] * turns[k, i]
            if j != i:
                change += steps[j] * turns[k, j]
        logs[k] += sign * change
