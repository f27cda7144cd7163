r"""Gibbs sampling of latent counts, where their posterior is a mixture of products.

The target is g(sum x) prod_i f_i(x_i) prod_m sum_v prod_i h_{m i}(x_i, v). A sweep draws each v_m
given x, from its points; then, given all v_m, for pairs (i, j) of categories in a random order,
x_i given x_i + x_j and the rest, from all its values; and where n is unknown each x_i given the
rest, which changes n. Every step draws from its full conditional, so the target is stationary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.count_vectors import Factored, impossible
from bayesdp.kernels.count_gibbs import count_chain

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
    """Draw the counts, shape (chains, draws, k), one for each sweep after `warmup` sweeps.

    Parameters
    ----------
    base : Factored
        The factors f and g.
    mixtures : sequence of ndarray, shape (k, counts, points)
        log h, one for each copy, at counts from the base's firsts on. All tables have one length.
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
    swept = []
    for child in np.random.SeedSequence(seed).spawn(chains):
        rng = np.random.default_rng(child)
        x = _start(tables, firsts, base, rng)
        fixed = base.sizes.size == 1
        swept.append(
            count_chain(
                x - firsts, tables, points, ends, log_sizes, int(firsts.sum()), fixed,
                warmup, draws, int(rng.integers(2**31)),
            )
        )  # fmt: skip
    return np.array(swept) + firsts


def _start(tables: Floats, firsts: Integers, base: Factored, rng: np.random.Generator) -> Any:
    """Start from possible counts at random, reached by a random walk to a possible size."""
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
