"""Draws that chains over tables have in common: by weights, and of a prior's concentration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.kernels.compiling import inlined, kernel


@inlined
def chosen(weights: Any, size: int, total: float, rng: Any) -> int:
    """Draw an index in proportion to weights of this total."""
    rest = rng.random() * total
    last = 0
    for c in range(size):
        if weights[c] > 0.0:
            last = c
            rest -= weights[c]
            if rest < 0.0:
                break
    return last


@kernel
def draw_concentration(counts: Any, totals: Any, grid: Any, rng: Any) -> Any:
    """Draw b of a grid of equally likely values, where shares ~ Dirichlet(b, ..., b).

    Parameters
    ----------
    counts : ndarray, shape (multinomials, levels)
    totals : ndarray, shape (multinomials,)
        Their sums.
    grid : ndarray
    rng : numpy Generator
    """
    multinomials, levels = counts.shape
    weights = np.empty(grid.size)
    for g in range(grid.size):
        b = grid[g]
        base, whole = math.lgamma(b), levels * b
        log = multinomials * math.lgamma(whole)
        for k in range(multinomials):
            log -= math.lgamma(totals[k] + whole)
            for c in range(levels):
                if counts[k, c] > 0.0:
                    log += math.lgamma(counts[k, c] + b) - base
        weights[g] = log
    weights[:] = np.exp(weights - weights.max())
    return grid[chosen(weights, grid.size, weights.sum(), rng)]
