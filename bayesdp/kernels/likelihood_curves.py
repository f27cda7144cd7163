"""Kernel of the sums that a likelihood's curve takes.

Derived in `bayesdp.engines.likelihood_curves`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import guarded

Floats = NDArray[np.float64]


@guarded
def sums_around(ratios: Floats, t: Floats, modes: NDArray[np.int64]) -> Floats:
    """Sums of terms relative to that at the mode, where each is the one before by ratio e^t."""
    sums = np.empty(t.size)
    for k in range(t.size):
        odds, whole, term = np.exp(t[k]), 1.0, 1.0
        for i in range(modes[k], ratios.size):
            term *= ratios[i] * odds
            whole += term
            if term < 1e-19:
                break
        term = 1.0
        for i in range(modes[k] - 1, -1, -1):
            term /= ratios[i] * odds
            whole += term
            if term < 1e-19:
                break
        sums[k] = whole
    return sums
