"""Finite mixtures of gamma distributions: the exact posterior of a rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from bayesdp.engines.log_sums import log_sum
from bayesdp.engines.mixture import Mixture, averaged, quantiles

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GammaMixture(Mixture):
    """Mixture of Gamma(shapes[k], rates[k]), of mean shapes[k] / rates[k], with weights[k].

    Parameters
    ----------
    weights, shapes, rates : ndarray, shape (components,)
        Non-negative weights that sum to one; positive parameters.
    """

    ends = (0.0, np.inf)
    quantity = "rate"
    variable = "rate"

    weights: Floats
    shapes: Floats
    rates: Floats

    def mean(self) -> float:
        """Expected value."""
        return float((self.weights * (self.shapes / self.rates)).sum())

    def sd(self) -> float:
        """Standard deviation: the mean of the variances plus the variance of the means."""
        means = self.shapes / self.rates
        variances = means / self.rates + (means - self.mean()) ** 2
        return float(np.sqrt((self.weights * variances).sum()))

    def pdf(self, x: ArrayLike) -> Floats:
        """Density at x, any shape; 0 below 0."""

        def density(points: Floats) -> Floats:
            return np.exp(gamma_logpdf(points, self.shapes, self.rates))

        return averaged(self.weights, x, density)

    def log_density(self, x: Floats) -> Floats:
        """Log density at positive points x, shape (points,), far out in the tails too."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)

        def term(some: slice) -> Floats:
            return np.asarray(weights + gamma_logpdf(x[some, None], self.shapes, self.rates))

        return log_sum(x.size, self.weights.size, term)

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of at most x, any shape."""

        def below(points: Floats) -> Floats:
            return np.asarray(special.gammainc(self.shapes, np.maximum(points, 0.0) * self.rates))

        return averaged(self.weights, x, below)

    def quantile(self, q: ArrayLike) -> Floats:
        """Inverse of `cdf`, any shape.

        Raises
        ------
        InvalidInput
            If a value isn't strictly between 0 and 1.
        """
        return quantiles(q, self._quantile)

    def _quantile(self, q: float) -> float:
        """Search between the smallest and the largest of the components' own quantiles."""
        each = special.gammaincinv(self.shapes, q) / self.rates
        low, high = float(each.min()) * (1 - 1e-9), float(each.max()) * (1 + 1e-9)
        return float(
            optimize.brentq(lambda x: float(self.cdf(x)) - q, low, high, xtol=1e-300, rtol=1e-14)
        )

    def sample(self, k: int, seed: int | np.random.Generator | None = None) -> Floats:
        """Draw `k` times independently, shape (k,)."""
        return self.draw(k, np.random.default_rng(seed))[0]["rate"]

    def draw(self, size: int, rng: np.random.Generator) -> tuple[dict[str, Floats], Floats]:
        """Draw "rate" independently, with the draws' log density and components'."""
        i = self.sample_components(size, rng)
        rate = rng.standard_gamma(self.shapes[i]) / self.rates[i]
        law = gamma_logpdf(rate, self.shapes[i], self.rates[i])
        return {"rate": rate}, np.log(self.weights[i]) + law


def gamma_logpdf(x: ArrayLike, shape: ArrayLike, rate: ArrayLike) -> Floats:
    """Log-density of Gamma(shape, rate) at x, broadcast; -inf where x isn't positive."""
    x, shape, rate = (np.asarray(v, dtype=np.float64) for v in (x, shape, rate))
    inside = x > 0
    scaled = np.where(inside, x, 1.0) * rate
    logs = special.xlogy(shape, scaled) - scaled - special.gammaln(shape)
    return np.asarray(np.where(inside, logs - np.log(np.where(inside, x, 1.0)), -np.inf))
