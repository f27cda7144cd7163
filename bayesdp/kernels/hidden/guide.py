"""Kernel of the mixture that guides annealing.

Derived in `bayesdp.networks.hidden.guide`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.kernels.compiling import kernel


@kernel
def log_mixture(theta: Any, mixture: Any) -> Any:
    """Log-density of the mixture, up to a constant."""
    terms, components = len(theta), len(mixture.weight)
    logs, top = np.empty(components), -np.inf
    for j in range(components):
        logs[j] = math.log(mixture.weight[j])
        for t in range(terms):
            z = 0.0
            for u in range(t + 1):
                z += mixture.inverse[j, t, u] * (theta[u] - mixture.mean[j, u])
            logs[j] += math.log(mixture.inverse[j, t, t]) - 0.5 * z * z
        top = max(top, logs[j])
    total = 0.0
    for j in range(components):
        total += math.exp(logs[j] - top)
    return top + math.log(total)
