"""Kernel of a normalising constant as a sum over points that represent all graphs.

Derived in `bayesdp.networks.normalizer`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel

Floats = NDArray[np.float64]
_NEGLIGIBLE = -35.0  # exp of it, times a million points, is nothing beside 1


class Points(NamedTuple):
    """Points that represent all graphs: statistics and weights for kernels, or none.

    Attributes
    ----------
    statistics : ndarray of float, shape (terms, points)
    log_weight : ndarray of float, shape (points,)
    """

    statistics: Floats
    log_weight: Floats


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
    return top + math.log(total)
