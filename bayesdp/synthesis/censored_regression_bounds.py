r"""Bounds of a censored regression's log densities over intervals of eta and sigma.

Delta bounds the absolute log density l of a record, for each family:

* *Normal*, and log-normal for log y: l is largest where eta is nearest to y, and least where it is
  farthest. With d that distance, -log s - d^2 / (2 s^2) rises in s up to d and falls from there, so
  that it is largest at d, or the end nearest to it, and least at an end.
* *Gamma*, of shape k = sigma^-2: l = k log k - lgamma(k) + k g - log y with g = u - exp(u) and
  u = log y - eta. g is concave with its top at u = 0, and l is concave in k, as
  1 / k < psi'(k): it is least at ends. k is searched by bisection where l is largest, and the
  tangent there, at the ends, bounds l from above.
* *Counts and categories*: l is at most 0. It is concave in a Poisson's or a logit's eta, so least
  at an end, and so for the negative binomial at any k. With several categories it rises in the
  observed one's eta and falls in the others'.
* *Negative binomial*, in k = sigma^-2: with J the least of y and mu rounded up, the terms
  log((k + j) / (k + mu)) rise in k for j < J and fall for j from J to y - 1, as does
  -k log(1 + mu / k). On each of 256 pieces of k's interval the rising part is at least what it
  is at the lower end, and the falling part what it is at the upper.

All is up to rounding in the last digits. Functions are of records y, shape (n,), the ends of each
one's eta, and those of sigma.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Floats = NDArray[np.float64]
Ends = tuple[Any, Any]
_STEPS = 60  # bisections; what they leave is bounded
_PIECES = 256


def of_normal(y: Floats, eta: Ends, sigma: Ends) -> Floats:
    """Delta of a normal record."""
    return _of_distances(y, eta, sigma, 0.0)


def of_log_normal(y: Floats, eta: Ends, sigma: Ends) -> Floats:
    """Delta of a log-normal record."""
    return _of_distances(np.log(y), eta, sigma, np.log(y))


def _of_distances(y: Floats, eta: Ends, sigma: Ends, less: Any) -> Floats:
    nearest = np.maximum(np.maximum(eta[0] - y, y - eta[1]), 0.0)
    farthest = np.maximum(np.abs(y - eta[0]), np.abs(y - eta[1]))
    most = stats.norm.logpdf(nearest, scale=np.clip(nearest, *sigma)) - less
    least = np.minimum(*(stats.norm.logpdf(farthest, scale=end) for end in sigma)) - less
    return np.asarray(np.maximum(most, -least))


def of_gamma(y: Floats, eta: Ends, sigma: Ends) -> Floats:
    """Delta of a gamma record."""
    ends = np.log(y) - eta[1], np.log(y) - eta[0]
    first, last = sigma[1] ** -2, sigma[0] ** -2

    def density(k: Any, g: Floats) -> Floats:
        return np.asarray(special.xlogy(k, k) - special.gammaln(k) + k * g - np.log(y))

    lowest = np.minimum(*(u - np.exp(u) for u in ends))
    least = np.minimum(density(first, lowest), density(last, lowest))
    nearest = np.clip(0.0, *ends)
    top = nearest - np.exp(nearest)

    def slope(k: Any) -> Floats:
        return np.asarray(np.log(k) + 1 - special.psi(k) + top)

    low, high = np.full(y.shape, first), np.full(y.shape, last)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        rises = slope(middle) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    here, along = density(high, top), slope(high)
    most = np.maximum(*(here + along * (end - high) for end in (first, last)))
    return np.asarray(np.maximum(most, -least))


def of_concave(density: Callable[..., Floats]) -> Callable[..., Floats]:
    """Make Delta of a discrete record whose log density is concave in eta, and has no sigma."""

    def found(y: Floats, eta: Ends, sigma: None) -> Floats:
        return -np.minimum(*(density(y, end, None) for end in eta))

    return found


def of_negative_binomial(y: Floats, eta: Ends, sigma: Ends) -> Floats:
    """Delta of a negative binomial record."""
    ends = np.geomspace(sigma[1] ** -2, sigma[0] ** -2, _PIECES + 1)
    return -np.minimum(*(_least_over_shapes(y[:, None], end[:, None], ends) for end in eta))


def _least_over_shapes(y: Floats, eta: Floats, ends: Floats) -> Floats:
    mu = np.exp(eta)
    split = np.minimum(y, np.ceil(mu))

    def rising(k: Floats) -> Floats:
        return np.asarray(special.gammaln(k + split) - special.gammaln(k) - split * np.log(k + mu))

    def falling(k: Floats) -> Floats:
        rest = special.gammaln(k + y) - special.gammaln(k + split)
        return np.asarray(rest - (y - split) * np.log(k + mu) - k * np.log1p(mu / k))

    pieces = rising(ends[:-1]) + falling(ends[1:]) + y * eta - special.gammaln(y + 1)
    return np.asarray(pieces.min(axis=1))


def of_categories(y: Floats, eta: Ends, predicted: int) -> Floats:
    """Delta of a record that is one of several categories; `predicted` have an eta."""
    places = 1 + np.arange(predicted)
    low, high = (end[:, None] for end in eta)
    lowest = np.where(places == y[:, None], low, high)
    lowest = np.concatenate([np.zeros((y.size, 1)), lowest], axis=1)
    chosen = np.take_along_axis(lowest, y.astype(np.int64)[:, None], axis=1)[:, 0]
    return np.asarray(special.logsumexp(lowest, axis=1) - chosen)
