"""Partial pooling: groups' numbers from one law, its two parameters sampled, the rest summed out.

A chain samples the two, u and v, by slice sampling (Neal 2003) along random directions, which has
nothing to tune but the directions' shape, learnt in warm-up. Given them the groups' numbers are
drawn exactly. `bayesdp.engines.pooled_proportions` and `bayesdp.engines.pooled_means` have the
densities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.pooled_laws import Given
from bayesdp.engines.pooled_means import start_means
from bayesdp.engines.pooled_proportions import start_proportions
from bayesdp.kernels.pooled.pooling import all_log_targets, draw_numbers, run

Floats = NDArray[np.float64]


def log_targets(points: Floats, means: bool, given: Given) -> Floats:
    """Log-density, up to its constant, at points (u, v), shape (points, 2); see `sample`."""
    targets: Floats = all_log_targets(np.ascontiguousarray(points), means, given)
    return targets


def numbers_given(points: Floats, means: bool, given: Given, seed: int | None) -> Floats:
    """Draw the groups' numbers given points (u, v), shape (chains, draws, 2); see `sample`."""
    flat = np.ascontiguousarray(points.reshape(-1, 2))
    numbers: Floats = draw_numbers(flat, means, given, np.random.default_rng(seed))
    return numbers.reshape(*points.shape[:-1], -1)


def sample(
    means: bool, given: Given, *, draws: int, chains: int, warmup: int, seed: int | None
) -> tuple[Floats, Floats]:
    """Draw (u, v, log target), shape (chains, draws, 3), and the groups' numbers.

    Parameters
    ----------
    means : bool
        Whether the numbers are groups' means; if not, they are proportions.
    given : tuple
        As for `pooled_means.log_means` or `pooled_proportions.log_proportions`.
    draws, chains, warmup : int
    seed : int or None
    """
    kept, numbers = [], []
    for child in np.random.SeedSequence(seed).spawn(chains):
        rng = np.random.default_rng(child)
        at: Floats = start_means(given, rng) if means else start_proportions(given, rng)
        root: Floats = np.eye(2)
        for part in (warmup // 3 + 1, warmup // 3 + 1, warmup // 3 + 1):
            chain, _ = run(means, given, at, root, part, False, rng)
            at = chain[-1, :2].copy()
            # Of the later half; a little of the identity, so that it never is flat.
            spread = np.cov(chain[part // 2 :, :2].T) if part > 20 else np.eye(2)
            root = np.asarray(np.linalg.cholesky(spread + 1e-6 * np.eye(2)))
        chain, drawn = run(means, given, at, root, draws, True, rng)
        kept.append(chain)
        numbers.append(drawn)
    return np.stack(kept), np.stack(numbers)
