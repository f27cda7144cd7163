"""Kernel of the densities that a regression's evidence integrates."""

from __future__ import annotations

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.regression.coordinates import Space, sampled_density
from bayesdp.kernels.regression.moments import Floats


@kernel
def densities(points: Floats, space: Space) -> Floats:
    """Log-densities at points of the moments' coordinates, shape (points, size)."""
    logs, slope = np.empty(points.shape[0]), np.empty(points.shape[1])
    for s in range(points.shape[0]):
        value = sampled_density(points[s], slope, space)
        logs[s] = value if value == value else -np.inf  # overflow, far from any moments
    return logs
