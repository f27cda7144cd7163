"""Gibbs sampling of probabilities from answers that were randomised record by record.

Given theta, the records of an answer pattern p are split over the true categories by a multinomial
with probabilities in proportion to theta_i columns[i, p]; given the split, theta is Dirichlet. The
cost of a sweep grows with the number of patterns, not of records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sample_probabilities(
    counts: NDArray[np.int64],
    columns: Floats,
    alpha: Floats,
    *,
    draws: int,
    chains: int,
    warmup: int,
    rng: np.random.Generator,
) -> Floats:
    """Draw theta, shape (chains, draws, k), one for each sweep after `warmup` sweeps.

    Parameters
    ----------
    counts : ndarray of int, shape (patterns,)
    columns : ndarray, shape (k, patterns)
    alpha : ndarray, shape (k,)
    draws, chains, warmup : int
    rng : Generator
    """
    theta = rng.dirichlet(np.ones(alpha.size), size=chains)
    kept = np.empty((chains, draws, alpha.size))
    for sweep in range(warmup + draws):
        shares = theta[:, None, :] * columns.T
        shares /= shares.sum(axis=-1, keepdims=True)
        split = rng.multinomial(counts, shares).sum(axis=1)
        gammas = np.maximum(rng.standard_gamma(alpha + split), 1e-300)
        theta = gammas / gammas.sum(axis=-1, keepdims=True)
        if sweep >= warmup:
            kept[:, sweep - warmup] = theta
    return kept
