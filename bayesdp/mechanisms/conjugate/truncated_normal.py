r"""Normal variables conditioned to [-R, R]: probabilities, draws, and records of one mean.

Let Z(theta) be the probability that N(theta, sigma^2) lies in [-R, R]. Records y given theta,
each conditioned to [-R, R], where theta is N(mu, tau^2) conditioned to [-R, R] itself, have as
their density the integral over [-R, R] of

    f(theta) = exp(-(theta - mu)^2 / (2 tau^2) - m (y0 - theta)^2 / (2 sigma^2)) / Z(theta)^m

times what doesn't depend on theta, y0 their mean. Its log g is concave, -1/t^2 <= g'' <= -1/tau^2
with 1/t^2 = 1/tau^2 + m/sigma^2, for (log Z)'' = (variance given [-R, R] - sigma^2) / sigma^4.
So with theta_0 its maximum in [-R, R] and l = |g'(theta_0)| (0 but at an end),

    f(theta) <= f(theta_0) exp(-l x - x^2 / (2 tau^2)),    x = |theta - theta_0|,

which says where f is negligible; the rest, cut in pieces no longer than 4 t over which, next to
theta_0, g falls by less than 21, takes Gauss and Legendre's rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_NARROW = 0.5  # difference of log tails below which they cancel, and a quadrature doesn't
_BISECTIONS = 45
_BLOCK = 1 << 17  # points of the integrand evaluated at once
_EDGE = 75.0  # f is negligible where its log is this far below its peak
_PIECES = 6  # of each half, at least


def log_mass(mean: ArrayLike, sd: float, R: float) -> Floats:
    """Log Pr[-R <= N(mean, sd^2) <= R]."""
    low, high = _on_the_left(mean, sd, R)
    log_high = scipy.special.log_ndtr(high)
    gap = log_high - scipy.special.log_ndtr(low)
    narrow = gap < _NARROW
    tails = log_high + np.log(-np.expm1(-np.where(narrow, 1.0, gap)))
    if not narrow.any():
        return np.asarray(tails)
    middle, half = (low + high) / 2, R / sd
    step = np.where(narrow, half, 0.0)[..., None] * _NODES
    density = np.exp(-step * (middle[..., None] + step / 2)) @ _WEIGHTS
    width = np.log(half * density) - middle**2 / 2 - 0.5 * np.log(2 * np.pi)
    return np.where(narrow, width, tails)


def truncated_normal(mean: ArrayLike, sd: float, R: float, uniform: Floats) -> Floats:
    """Quantiles of N(mean, sd^2) conditioned to [-R, R], at the probabilities `uniform`.

    It is computed in logarithms, and so is accurate however far in a tail the interval lies.
    """
    mean = np.asarray(mean, dtype=np.float64)
    low, high = _on_the_left(mean, sd, R)
    log_high = scipy.special.log_ndtr(high)
    outside = np.exp(scipy.special.log_ndtr(low) - log_high)
    u = np.where(mean < 0, 1 - uniform, uniform)  # reflected, as the interval is
    with np.errstate(divide="ignore"):
        z = scipy.special.ndtri_exp(log_high + np.log(outside + u * (1 - outside)))
    away = np.where(mean < 0, -sd, sd)
    return np.asarray(np.clip(mean + away * np.clip(z, low, high), -R, R))


def log_common_mean(
    mean: ArrayLike, centre: ArrayLike, size: int, tau: float, sigma: float, R: float
) -> Floats:
    """Log of the integral of f, defined in the module's docstring, over [-R, R].

    Parameters
    ----------
    mean, centre : array_like
        mu and y0, shapes that broadcast; y0 in [-R, R].
    size : int
        m, at least 1.
    tau, sigma, R : float
        Positive.

    Returns
    -------
    ndarray of float, the broadcast shape.
    """
    mu, y0 = np.broadcast_arrays(np.asarray(mean, float), np.asarray(centre, float))
    smallest = 1 / math.sqrt(1 / tau**2 + size / sigma**2)
    pieces = _PIECES + math.ceil(math.sqrt(2 * _EDGE) * tau / (4 * smallest))
    steps = ((np.arange(pieces)[:, None] + (1 + _NODES) / 2) / pieces).ravel()
    log_weights = np.log(np.tile(_WEIGHTS / 2, pieces) / pieces)
    flat = np.empty((mu.size,))
    rows = max(1, _BLOCK // len(steps))
    for start in range(0, mu.size, rows):
        m, y = (v.ravel()[start : start + rows, None] for v in (mu, y0))

        def log_f(theta: Floats, m: Floats = m, y: Floats = y) -> Floats:
            square = ((theta - m) / tau) ** 2 + size * ((theta - y) / sigma) ** 2
            return np.asarray(-square / 2 - size * log_mass(theta, sigma, R))

        def slope(theta: Floats, m: Floats = m, y: Floats = y) -> Floats:
            pull = (m - theta) / tau**2 + size * (y - theta) / sigma**2
            return np.asarray(pull - size * _score(theta, sigma, R))

        peak = _falling_root(slope, m.shape, R)
        steep = np.abs(slope(peak))
        reach = 2 * _EDGE / (steep + np.sqrt(steep**2 + 2 * _EDGE / tau**2))
        halves = []
        for sign in (-1.0, 1.0):
            length = np.minimum(reach, np.maximum(R - sign * peak, 0.0))
            with np.errstate(divide="ignore"):
                log_terms = log_f(peak + sign * length * steps) + log_weights + np.log(length)
            halves.append(scipy.special.logsumexp(log_terms, axis=1))
        flat[start : start + rows] = np.logaddexp(*halves)
    return flat.reshape(mu.shape)


def _falling_root(function: Callable[[Floats], Floats], shape: tuple[int, ...], R: float) -> Floats:
    """Find where a falling function is 0 in [-R, R], or the end next to it, by bisection."""
    low, high = np.full(shape, -R), np.full(shape, R)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        above = function(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2)


def _score(theta: Floats, sigma: float, R: float) -> Floats:
    """Derivative of log Z: (density at -R minus density at R) / Z."""
    lower, upper = ((end - theta) / sigma for end in (-R, R))
    log_z = log_mass(theta, sigma, R) + 0.5 * np.log(2 * np.pi)
    return np.asarray((np.exp(-(lower**2) / 2 - log_z) - np.exp(-(upper**2) / 2 - log_z)) / sigma)


def _on_the_left(mean: ArrayLike, sd: float, R: float) -> tuple[Floats, Floats]:
    """The interval in units of sd from the mean, reflected so that its middle is at most 0."""
    distance = np.abs(np.asarray(mean, dtype=np.float64))
    return (-R - distance) / sd, (R - distance) / sd
