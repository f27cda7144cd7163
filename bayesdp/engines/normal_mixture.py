"""Finite mixtures of normal distributions: the exact posterior of a mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from bayesdp.engines.log_sums import log_sum
from bayesdp.engines.mixture import Mixture, averaged, quantiles
from bayesdp.mechanisms.laws import HALF_LOG_2PI

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

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    sds: NDArray[np.float64]

    def mean(self) -> float:
        """Expected value."""
        return float((self.weights * self.means).sum())

    def sd(self) -> float:
        """Standard deviation: the mean of the variances plus the variance of the means."""
        variances = self.sds**2 + (self.means - self.mean()) ** 2
        return float(np.sqrt((self.weights * variances).sum()))

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Density at x, any shape."""

        def density(points: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.exp(normal_logpdf(points, self.means, self.sds))

        return averaged(self.weights, x, density)

    def log_density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log density at points x, shape (points,), far out in the tails too."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)

        def term(some: slice) -> NDArray[np.float64]:
            return np.asarray(weights + normal_logpdf(x[some, None], self.means, self.sds))

        return log_sum(x.size, self.weights.size, term)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Probability of at most x, any shape."""

        def below(points: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(special.ndtr((points - self.means) / self.sds))

        return averaged(self.weights, x, below)

    def quantile(self, q: ArrayLike) -> NDArray[np.float64]:
        """Inverse of `cdf`, any shape.

        Raises
        ------
        InvalidInput
            If a value isn't strictly between 0 and 1.
        """
        return quantiles(q, self._quantile)

    def _quantile(self, q: float) -> float:
        low = float(np.min(self.means - _FURTHEST * self.sds))
        high = float(np.max(self.means + _FURTHEST * self.sds))
        return float(
            optimize.brentq(lambda x: float(self.cdf(x)) - q, low, high, xtol=1e-300, rtol=1e-14)
        )

    def sample(self, k: int, seed: int | np.random.Generator | None = None) -> NDArray[np.float64]:
        """Draw `k` times independently, shape (k,)."""
        rng = np.random.default_rng(seed)
        component = self.sample_components(k, rng)
        return rng.normal(self.means[component], self.sds[component])

    def draw(
        self, size: int, rng: np.random.Generator
    ) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
        """Draw "mu" independently, with the draws' log density and components'."""
        i = self.sample_components(size, rng)
        mu = rng.normal(self.means[i], self.sds[i])
        return {"mu": mu}, np.log(self.weights[i]) + normal_logpdf(mu, self.means[i], self.sds[i])


def normal_logpdf(x: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> NDArray[np.float64]:
    """Log-density of N(mean, sd^2) at x, broadcast."""
    x, mean, sd = (np.asarray(v, dtype=np.float64) for v in (x, mean, sd))
    z = (x - mean) / sd
    return np.asarray(-z * z / 2 - np.log(sd) - HALF_LOG_2PI)
