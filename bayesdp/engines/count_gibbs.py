r"""Gibbs sampling of latent counts, where their posterior is a mixture of products.

The target is g(sum x) prod_i f_i(x_i) prod_m sum_v prod_i h_{m i}(x_i, v). A sweep draws each v_m
given x, from its points; then, given all v_m, for pairs (i, j) of categories in a random order,
x_i given x_i + x_j and the rest, from all that it can be; and where n is unknown each x_i given the
rest, which moves n. Every step draws from its full conditional, so the target is stationary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.compiling import kernel
from bayesdp.engines.count_vectors import Factored, impossible

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def sample_counts(
    base: Factored,
    mixtures: Sequence[Floats],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
) -> Integers:
    """Draw the counts, shape (chains, draws, k), a sweep each after `warmup` sweeps.

    Parameters
    ----------
    base : Factored
        f and g.
    mixtures : sequence of ndarray, shape (k, counts, points)
        log h, one a copy: counts from the base's firsts on. All tables are as long.
    draws, chains, warmup : int
    seed : int or None
    """
    k, longest = len(base.tables), max(table.size for table in base.tables)
    tables = np.full((k, longest), -np.inf)
    for row, table in zip(tables, base.tables, strict=True):
        row[: table.size] = table
    firsts = np.array(base.firsts, dtype=np.int64)
    if mixtures:
        points = np.ascontiguousarray(np.concatenate(mixtures, axis=2))
    else:
        points = np.zeros((k, 1, 0))
    ends = np.cumsum([0, *(one.shape[2] for one in mixtures)]).astype(np.int64)
    log_sizes = np.full(int(base.sizes[-1]) + 1, -np.inf)
    log_sizes[base.sizes] = base.log_sizes
    found = []
    for child in np.random.SeedSequence(seed).spawn(chains):
        rng = np.random.default_rng(child)
        x = _start(tables, firsts, base, rng)
        fixed = base.sizes.size == 1
        found.append(
            _chain(
                x - firsts, tables, points, ends, log_sizes, int(firsts.sum()), fixed,
                warmup, draws, int(rng.integers(2**31)),
            )
        )  # fmt: skip
    return np.array(found) + firsts


def _start(tables: Floats, firsts: Integers, base: Factored, rng: np.random.Generator) -> Any:
    """Start from possible counts, spread at random: in the order of a random walk to a size."""
    possible = [np.flatnonzero(row > -np.inf) for row in tables]
    low = firsts + np.array([p[0] for p in possible])
    high = firsts + np.array([p[-1] for p in possible])
    sizes = base.sizes[(base.sizes >= low.sum()) & (base.sizes <= high.sum())]
    if not sizes.size:
        raise impossible()
    x, left = low.copy(), int(rng.choice(sizes)) - int(low.sum())
    for i, share in zip(rng.permutation(len(x)), rng.dirichlet(np.ones(len(x))), strict=True):
        more = min(int(high[i] - x[i]), int(share * left))
        x[i] += more
    for i in rng.permutation(len(x)):
        more = min(int(high[i] - x[i]), int(low.sum()) + left - int(x.sum()))
        x[i] += more
    return x


@kernel
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


@kernel
def _chain(
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
