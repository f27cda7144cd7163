"""Kernels of a Gibbs chain over latent counts.

Derived in `bayesdp.engines.count_gibbs`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import guarded

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@guarded
def _pick(log_weights: Floats, count: int) -> int:
    """Pick an index of the first `count`, in proportion to exp; -1 if all are impossible."""
    best = -np.inf
    for i in range(count):
        best = max(best, log_weights[i])
    if best == -np.inf:
        return -1
    total = 0.0
    for i in range(count):
        total += np.exp(log_weights[i] - best)
    point = np.random.random() * total
    last = -1
    for i in range(count):
        weight = np.exp(log_weights[i] - best)
        point -= weight
        if weight > 0:
            last = i
            if point < 0:
                return i
    return last


@guarded
def count_chain(
    x: Integers,
    tables: Floats,
    points: Floats,
    ends: Integers,
    log_sizes: Floats,
    offset: int,
    fixed: bool,
    warmup: int,
    draws: int,
    seed: int,
) -> Integers:
    np.random.seed(seed)
    k, longest = tables.shape
    copies = ends.size - 1
    kept = np.empty((draws, k), dtype=np.int64)
    current = tables.copy()
    chosen = np.zeros(copies, dtype=np.int64)
    work = np.empty(max(longest, points.shape[2]))
    order = np.arange(k)
    for sweep in range(warmup + draws):
        for m in range(copies):
            first, last = ends[m], ends[m + 1]
            for v in range(first, last):
                total = 0.0
                for i in range(k):
                    total += points[i, x[i], v]
                work[v - first] = total
            chosen[m] = first + max(_pick(work, last - first), 0)
        if copies:
            for i in range(k):
                for c in range(longest):
                    current[i, c] = tables[i, c]
                    for m in range(copies):
                        current[i, c] += points[i, c, chosen[m]]
        for i in range(k - 1, 0, -1):
            j = np.random.randint(i + 1)
            order[i], order[j] = order[j], order[i]
        for step in range(k if k > 2 else 1):
            i, j = order[step], order[(step + 1) % k]
            both = x[i] + x[j]
            low, high = max(0, both - longest + 1), min(both, longest - 1)
            for c in range(low, high + 1):
                work[c - low] = current[i, c] + current[j, both - c]
            one = _pick(work, high - low + 1)
            if one >= 0:
                x[i] = low + one
                x[j] = both - x[i]
        if not fixed:
            for i in range(k):
                rest = offset + x.sum() - x[i]
                high = min(longest - 1, log_sizes.size - 1 - rest)
                for c in range(high + 1):
                    work[c] = current[i, c] + log_sizes[rest + c]
                one = _pick(work, high + 1)
                if one >= 0:
                    x[i] = one
        if sweep >= warmup:
            kept[sweep - warmup] = x
    return kept
