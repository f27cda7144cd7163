r"""Trimmed means of normal and log-normal populations, and of samples of them taken for known.

With Z ~ N(0, 1), its quantiles z_t and z_u, u = 1 - t, and X = exp(s Z) for log-normal records or
X = Z for normal ones, the population's trimmed mean is, in units of exp(location), or beyond the
location in units of the scale,

    m = E[X; z_t < Z < z_u] / (1 - 2 t),
    E[exp(c Z); z_t < Z < z_u] = exp(c^2 / 2) (Phi(z_u - c) - Phi(z_t - c)),

so 0 for normal records. A sample's is nearly normal about it, with the n-th part of the variance of
a record that is moved to the nearer of the two quantiles when it is beyond, over (1 - 2 t)^2
(Huber and Ronchetti 2009, section 3.3).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.latent_quantiles import QuantilePosterior, drawn_on_grid

Floats = NDArray[np.float64]
Window = tuple[float, float]
"""Probabilities t and 1 - t, t less than 0.5."""
_SMALL = 1e-4  # scale at which log-normal records are normal ones, whose variance has no rounding


def population_mean(
    location: Floats, scale: Floats, window: Window, *, lognormal: bool = False
) -> Floats:
    """The trimmed mean of a normal population, or of a log-normal one.

    Parameters
    ----------
    location, scale : ndarray
        Of the records or, of log-normal ones, of their logarithms.
    window : tuple of float
        Probabilities of the two quantiles that it is the mean between.
    lognormal : bool
    """
    if not lognormal:
        return np.array(location, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(location + log_mean(scale, window)))


def log_mean(scale: Floats, window: Window) -> Floats:
    """Log m for log-normal records, shape of the scale."""
    return _log_part(scale, window) - math.log(window[1] - window[0])


def sample_naive_mean(
    value: float,
    window: Window,
    n: float,
    target: QuantilePosterior,
    shape: Any,
    seed: Any,
    *,
    lognormal: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Draw location, log scale and lp as if a value were the sample's trimmed mean, without noise.

    Given the scale, t is the distance of the location from where the population's is the value.

    Parameters
    ----------
    value : float
        In the records' unit; NaN where none was released, for draws from the prior.
    window : tuple of float
        Probabilities of the two quantiles that it is the mean between.
    n : float
        Number of records.
    target : QuantilePosterior
        The prior's.
    shape : tuple of int
        Shape of the draws.
    seed : int, SeedSequence or None
    lognormal : bool
    """
    rng = np.random.default_rng(seed)
    if math.isnan(value):
        location, log_scale = target.from_prior(shape, rng)
        return location, log_scale, target.log_prior(location, log_scale)
    value = max(value, np.finfo(float).tiny) if lognormal else value

    def located(t: Floats, h: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            centre = math.log(value) - log_mean(np.exp(h), window) if lognormal else value
            return np.asarray(centre + np.exp(h) * t)

    def log_posterior(t: Floats, h: Floats) -> Floats:
        scale = np.exp(h)
        with np.errstate(over="ignore", invalid="ignore"):
            # (value - m) / sd, with both in units of exp(location) where records are log-normal.
            away = np.exp(log_mean(scale, window)) * np.expm1(-scale * t) if lognormal else -t
            variance = _variance(scale, window) if lognormal else _normal_variance(window)
            log = -n * away**2 / (2 * variance) - np.log(variance) / 2
            log = log + target.log_prior(located(t, h), h)
            # The Jacobians of location by t, and of the value by location's unit.
            log = log + h - (located(t, h) if lognormal else h)
        return np.where(np.isfinite(log), log, -np.inf)

    t, h, lp = drawn_on_grid(log_posterior, target.prior, shape, rng)
    return located(t, h), h, lp


def _log_part(c: Floats, window: Window) -> Floats:
    """Log E[exp(c Z); z_t < Z < z_u]."""
    low, high = (special.log_ndtr(z - c) for z in special.ndtri(window))
    return np.asarray(np.square(c) / 2 + high + np.log(-np.expm1(low - high)))


def _variance(scale: Floats, window: Window) -> Floats:
    """The variance of a record times exp(-2 location) that is moved in, over (1 - 2 t)^2."""
    t, ends = window[0], [np.exp(z * scale) for z in special.ndtri(window)]
    mean = np.exp(_log_part(scale, window)) + t * sum(ends)
    square = np.exp(_log_part(2 * scale, window)) + t * sum(end**2 for end in ends)
    found = (square - mean**2) / (window[1] - window[0]) ** 2
    return np.where(scale < _SMALL, scale**2 * _normal_variance(window), found)


def _normal_variance(window: Window) -> float:
    """The variance of a standard normal record that is moved in, over (1 - 2 t)^2."""
    t, z = window[0], float(special.ndtri(window[1]))
    # E[Z^2; |Z| < z] = 1 - 2 t - 2 z phi(z).
    within = 1 - 2 * t - 2 * z * math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return (within + 2 * t * z**2) / (1 - 2 * t) ** 2
