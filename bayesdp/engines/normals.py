"""Multivariate normals and their mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Normal:
    """A multivariate normal law.

    Attributes
    ----------
    mean : ndarray, shape (d,)
    root : ndarray, shape (d, d)
        The covariance's lower Cholesky factor.
    """

    mean: Floats
    root: Floats

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw vectors: shape (size, d)."""
        return np.asarray(self.mean + rng.standard_normal((size, self.mean.size)) @ self.root.T)

    def log_density(self, x: Floats) -> Floats:
        """Compute the log density of vectors, shape (size, d)."""
        u = linalg.solve_triangular(self.root, (x - self.mean).T, lower=True)
        constant = np.log(np.diag(self.root)).sum() + self.mean.size * np.log(2 * np.pi) / 2
        return np.asarray(-(u**2).sum(axis=0) / 2 - constant)


@dataclass(frozen=True)
class Mixture:
    """A mixture of equally probable multivariate normals.

    Attributes
    ----------
    parts : sequence of Normal
    """

    parts: Sequence[Normal]

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw vectors, about as many of each part: shape (size, d)."""
        each = -(-size // len(self.parts))
        return np.concatenate([part.draw(each, rng) for part in self.parts], axis=0)[:size]

    def log_density(self, x: Floats) -> Floats:
        """Compute the log density of vectors, shape (size, d)."""
        each = [part.log_density(x) for part in self.parts]
        return np.asarray(special.logsumexp(each, axis=0) - np.log(len(each)))
