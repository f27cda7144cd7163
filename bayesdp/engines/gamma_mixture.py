"""Finite mixtures of gamma distributions: the exact posterior of a rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayesdp.engines.mixture import Mixture, averaged

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

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of each component."""
        means = self.shapes / self.rates
        return means, means / self.rates

    def logpdfs(self, x: Floats) -> Floats:
        """Log density of each component at points of shape (..., 1)."""
        return gamma_logpdf(x, self.shapes, self.rates)

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of at most x, any shape."""

        def below(points: Floats) -> Floats:
            return np.asarray(special.gammainc(self.shapes, np.maximum(points, 0.0) * self.rates))

        return averaged(self.weights, x, below)

    def bracket(self, q: float) -> tuple[float, float]:
        """Smallest and largest of the components' own quantiles."""
        each = special.gammaincinv(self.shapes, q) / self.rates
        return float(each.min()) * (1 - 1e-9), float(each.max()) * (1 + 1e-9)

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
