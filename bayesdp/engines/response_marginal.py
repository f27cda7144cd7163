r"""A fast chain over probabilities, given answers of a randomized response, records summed out.

The target is Dirichlet(alpha) times prod_a (theta . columns[:, a])^counts_a, of theta alone. In the
coordinates eta_j = log(theta_j / theta_k) it is nearly normal where answers are informative, and
has exponential tails elsewhere. Steps alternate: an independent proposal from a Student t about the
mode with the curvature there, whose tails are heavier, so that the ratio of target to proposal is
bounded and the chain is uniformly ergodic (Mengersen and Tweedie 1996); and a random walk of that
curvature, which leaves the tails that the other seldom proposes. A step costs as much as there
are patterns, not records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayesdp.engines.generators import generators
from bayesdp.kernels.response_marginal import response_chain

Floats = NDArray[np.float64]


def sample_probabilities(
    counts: NDArray[np.int64],
    columns: Floats,
    alpha: Floats,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: np.random.SeedSequence,
) -> tuple[Floats, Floats]:
    """Draw theta, shape (chains, draws, k), and whether each was a new one.

    Parameters
    ----------
    counts : ndarray of int, shape (patterns,)
    columns : ndarray, shape (k, patterns)
    alpha : ndarray, shape (k,)
    draws, chains, warmup : int
    seed : SeedSequence
    """
    mode, spread = _proposal(counts, columns, alpha)
    root = np.asarray(np.linalg.inv(spread), dtype=np.float64)
    by_pattern = np.ascontiguousarray(columns.T)
    runs = [
        response_chain(
            counts.astype(np.float64), by_pattern, alpha, mode, spread, root, warmup, draws,
            rng,
        )
        for rng in generators(seed, chains)
    ]  # fmt: skip
    theta, accepted = (np.stack(each) for each in zip(*runs, strict=True))
    return theta, accepted


def _proposal(counts: Any, columns: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """Find the mode in the coordinates eta, and a root of the inverse curvature there."""

    def theta_of(eta: Floats) -> Floats:
        weights = np.exp(np.append(eta, 0.0) - max(eta.max(initial=0.0), 0.0))
        return np.asarray(weights / weights.sum())

    def slope(eta: Floats) -> Floats:
        theta = theta_of(eta)
        split = theta * (columns @ (counts / (theta @ columns))) + alpha
        return np.asarray((split - split.sum() * theta)[:-1])

    def value(eta: Floats) -> float:
        theta = theta_of(eta)
        return -float(counts @ np.log(theta @ columns) + alpha @ np.log(theta))

    start = np.zeros(alpha.size - 1)
    optimum: Any = optimize.minimize(value, start, jac=lambda eta: -slope(eta), method="BFGS")  # type: ignore[call-overload]
    mode = optimum.x
    step = 1e-4
    curvature = np.array(
        [(slope(mode - step * e) - slope(mode + step * e)) / (2 * step) for e in np.eye(mode.size)]
    )
    size, direction = np.linalg.eigh((curvature + curvature.T) / 2)
    # Where it is flat, as wide as the prior's tails are.
    return mode, direction / np.sqrt(np.maximum(size, 0.1 * alpha.min()))
