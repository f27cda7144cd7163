"""Finite mixtures of normal distributions: the exact posterior of a mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayesdp.engines.mixture import Mixture, averaged
from bayesdp.mechanisms.laws import HALF_LOG_2PI

Floats = NDArray[np.float64]

_FURTHEST = 40.0  # standard deviations, beyond which no float has probability


@dataclass(frozen=True)
class NormalMixture(Mixture):
    """Mixture of N(means[k], sds[k]^2) with weights[k].

    Parameters
    ----------
    weights, means, sds : ndarray, shape (components,)
        Non-negative weights that sum to one; positive standard deviations.
    """

    quantity = "mean"
    variable = "mu"

    weights: Floats
    means: Floats
    sds: Floats

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of each component."""
        return self.means, self.sds**2

    def logpdfs(self, x: Floats) -> Floats:
        """Log density of each component at points of shape (..., 1)."""
        return normal_logpdf(x, self.means, self.sds)

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of at most x, any shape."""

        def below(points: Floats) -> Floats:
            return np.asarray(special.ndtr((points - self.means) / self.sds))

        return averaged(self.weights, x, below)

    def bracket(self, q: float) -> tuple[float, float]:
        """Ends beyond which no float has probability."""
        low, high = self.means - _FURTHEST * self.sds, self.means + _FURTHEST * self.sds
        return float(np.min(low)), float(np.max(high))

    def draw(self, size: int, rng: np.random.Generator) -> tuple[dict[str, Floats], Floats]:
        """Draw "mu" independently, with the draws' log density and components'."""
        i = self.sample_components(size, rng)
        mu = rng.normal(self.means[i], self.sds[i])
        return {"mu": mu}, np.log(self.weights[i]) + normal_logpdf(mu, self.means[i], self.sds[i])


def normal_logpdf(x: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> Floats:
    """Log-density of N(mean, sd^2) at x, broadcast."""
    x, mean, sd = (np.asarray(v, dtype=np.float64) for v in (x, mean, sd))
    z = (x - mean) / sd
    return np.asarray(-z * z / 2 - np.log(sd) - HALF_LOG_2PI)
