"""Starts of chains of regression moments, and the coordinates that they run in.

The coordinates are white at the mode of the density with Gaussian noise of the same variance, by
the curvature there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayesdp.errors import EngineFailed
from bayesdp.kernels.regression.coordinates import Frame, Space, latent_density, sampled_density
from bayesdp.kernels.regression.moments import Floats, Prior, Seen

_ONE = math.log(math.e - 1)  # log(1 + exp(_ONE)) = 1


@dataclass(frozen=True)
class Hidden:
    """Hidden moments of a regression: their likelihood, priors and the range of n.

    Attributes
    ----------
    seen : Seen
    prior : Prior
    noisy_n : ndarray
        The copies' noisy n; not read where `first` is `last`.
    first, last : int
        The smallest and the largest n.
    """

    seen: Seen
    prior: Prior
    noisy_n: Floats
    first: int
    last: int

    @property
    def columns(self) -> int:
        """Number d of columns."""
        return self.prior[0].size

    @property
    def weights(self) -> Floats:
        """Precision of each copy's noise."""
        _, scale, gaussian, _ = self.seen
        return np.asarray(1 / (np.where(gaussian, 1, 2) * scale * scale))

    @property
    def variance(self) -> float:
        """Variance of the mean of all copies' noise, weighted."""
        return 1 / float(self.weights.sum())


def white_space(hidden: Hidden) -> Space:
    """Find coordinates that are white at the mode of a smooth density near the target."""
    d, sd, penalty = hidden.columns, math.sqrt(hidden.variance), hidden.seen[3]
    mean = np.average(hidden.seen[0], axis=1, weights=hidden.weights)
    n = float(hidden.first)
    if hidden.first < hidden.last:
        least = hidden.first + min(sd, hidden.last - hidden.first) / 2
        noisy = float(np.average(hidden.noisy_n, weights=hidden.weights))
        n = float(np.clip(noisy, least, hidden.last))
    frame = _frame_of_coefficients(mean) if penalty else _frame(mean, d, n, sd)
    one = np.array([sd]), np.array([True])
    smooth = (np.ascontiguousarray(mean[:, None]), *one, penalty)
    u = np.zeros(d + d * (d + 1) // 2)
    u[d : 2 * d] = _ONE

    def density(at: Floats) -> tuple[float, Floats]:
        slope = np.zeros(at.size)
        return latent_density(n, at, slope, frame, smooth, hidden.prior), slope

    u, rotation = _mode(density, u)
    if hidden.first < hidden.last:
        width, away = hidden.last - hidden.first + 2, n - hidden.first + 1
        u = np.append(u, math.log(away / (width - away)))
        whole = np.zeros((u.size, u.size))
        whole[:-1, :-1] = rotation
        whole[-1, -1] = min(math.sqrt(hidden.variance + 1 / 6) / away, 1.0)
        rotation = whole
    ends = float(hidden.first), float(hidden.last)
    return u, rotation, hidden.noisy_n, *ends, frame, hidden.seen, hidden.prior


def _frame(noisy: Floats, d: int, n: float, sd: float) -> Frame:
    """Return the noisy mean, and a root of the noisy covariance where noise isn't larger."""
    mean = np.clip(noisy[:d] / n, -1, 1)
    second = np.zeros((d, d))
    second[range(d), range(d)] = noisy[d : 2 * d]
    j, k = np.triu_indices(d, 1)
    second[j, k] = second[k, j] = noisy[2 * d :]
    values, vectors = np.linalg.eigh(second / n - np.outer(mean, mean))
    values = np.maximum(values, sd * math.sqrt(d) / n + 1e-9)
    root = np.ascontiguousarray(np.linalg.cholesky((vectors * values) @ vectors.T))
    return mean, root


def _frame_of_coefficients(noisy: Floats) -> Frame:
    """Guess records whose regression is the released one; the mode corrects their variance."""
    d = noisy.size
    root = np.diag(np.full(d, 0.3))
    root[-1, :-1] = 0.3 * noisy[1:]  # slopes that they are without a penalty
    mean = np.zeros(d)
    mean[-1] = np.clip(noisy[0], -1, 1)
    return mean, root


def _mode(density: Callable[[Floats], tuple[float, Floats]], u: Floats) -> tuple[Floats, Floats]:
    """Find the mode by Newton's method with absolute curvatures, and the rotation there."""
    size, h = u.size, 1e-4
    value, slope = density(u)
    for _ in range(60):
        curvature = np.array(
            [(density(u - e)[1] - density(u + e)[1]) / (2 * h) for e in h * np.eye(size)]
        )
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        values = np.maximum(np.abs(values), 1e-3)
        step = vectors @ (vectors.T @ slope / values)
        share = min(1.0, 2 / float(np.abs(step).max(initial=1e-300)))
        while share > 1e-8:
            there, slope_there = density(u + share * step)
            if there >= value - 1e-9:
                break
            share /= 2
        else:
            break
        gained, u, value, slope = there - value, u + share * step, there, slope_there
        if gained < 1e-3:
            break
    return u, np.ascontiguousarray((vectors / np.sqrt(values)).T)


def first_point(space: Space, rng: np.random.Generator) -> Floats:
    """Draw a point from the normal density under which the coordinates are white."""
    slope = np.empty(space[0].size)
    for attempt in range(20):
        q = rng.standard_normal(slope.size) * 0.8**attempt
        if sampled_density(q, slope, space) > -math.inf and np.all(np.isfinite(slope)):
            return q
    raise EngineFailed(
        "no moments of records were found that have a density given what was released; check that "
        "the noisy numbers are those of rescaled columns"
    )
