"""Kernel of a normalising constant: a sum over points, times a product over independent pairs.

Derived in `bayesdp.networks.normalizer`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel, leaf

Floats = NDArray[np.float64]
_NEGLIGIBLE = -35.0  # exp of it, times a million points, is nothing beside 1


class Points(NamedTuple):
    """Points that represent all graphs: statistics and weights for kernels, or none.

    Attributes
    ----------
    statistics : ndarray of float, shape (terms, points)
    log_weight : ndarray of float, shape (points,)
    changes : ndarray of float, shape (rows, states, terms)
        Changes of the statistics by pairs of nodes that are independent, as in
        `networks.dyad_table`: one point without ties stands for all graphs of these.
    number : ndarray of float, shape (rows,)
        Number of such pairs.
    """

    statistics: Floats
    log_weight: Floats
    changes: Floats = np.empty((0, 1, 1))
    number: Floats = np.empty(0)


@kernel
def log_constant(points: Any, theta: Any, room: Any) -> Any:
    """Log of the constant Z; `room`, shape (points,), is for the kernel's own use."""
    room[:] = points.log_weight
    for t in range(len(theta)):
        own, coefficient = points.statistics[t], theta[t]
        for k in range(len(room)):
            room[k] += coefficient * own[k]
    top, total = room.max(), 0.0
    for k in range(len(room)):
        if room[k] - top > _NEGLIGIBLE:
            total += math.exp(room[k] - top)
    value = top + math.log(total)
    for r in range(len(points.number)):
        value += points.number[r] * _log_pair(points.changes[r], theta)
    return value


@leaf
def _log_pair(changes: Any, theta: Any) -> Any:
    """Log of 1 + sum_s exp(theta . x_s), the constant of one pair of nodes."""
    top, total = 0.0, 1.0
    for s in range(len(changes)):
        power = 0.0
        for t in range(len(theta)):
            power += theta[t] * changes[s, t]
        if power > top:
            total = total * math.exp(top - power) + 1.0
            top = power
        else:
            total += math.exp(power - top)
    return top + math.log(total)
