"""Noise on a mean, blurred by a normal law, to full precision however wide either is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesdp.core.views import Cell
from bayesdp.mechanisms.laws import HALF_LOG_2PI

Floats = NDArray[np.float64]

_FAR = 9.0  # standard deviations


def log_smooth(part: Cell, c: Floats, r: Floats, rho: Any, cells: tuple[float, float]) -> Floats:
    """Log of the integral over cells of the noise's density around c times N(m; r, rho^2)."""
    low, high = cells
    scale = part.step * float(part.noise.scale)
    if not part.noise.laplace:
        whole = np.hypot(scale, rho)
        middle, sd = r + (c - r) * (rho / whole) ** 2, scale * rho / whole
        inside = log_between((low - middle) / sd, (high - middle) / sd)
        return np.asarray(log_normal(r - c, whole) + inside)
    kink = np.clip(c, low, high)
    left = log_exponential_normal(low, kink, c, r, scale, rho)
    right = log_exponential_normal(-high, -kink, -c, -r, scale, rho)
    return np.asarray(np.logaddexp(left, right) - math.log(2 * scale))


def log_exponential_normal(
    low: Any, high: Any, c: Floats, r: Floats, scale: float, rho: Any
) -> Floats:
    """Log of the integral over low <= m <= high <= c of exp((m - c) / scale) N(m; r, rho^2).

    The integrand is a normal density about r + rho^2 / scale. Where the interval is below that, by
    u and more of its standard deviations, what the two ends leave out is divided by what is left:
    exp(rho^2 / (2 scale^2)) times a tail would lose all digits where rho is much wider than scale.
    """
    slope = rho / scale
    at_low, at_high = (low - r) / rho, (high - r) / rho
    far, near = slope - at_low, slope - at_high
    tail = near >= 0
    u = np.where(tail, near, 0.0) / math.sqrt(2)
    mills = scipy.special.erfcx(u)
    ratio = scipy.special.erfcx(np.maximum(far / math.sqrt(2), u)) / mills
    # log of the integral below `low` over that below `high`
    fall = (low - high) / scale + (high - low) * (at_high + at_low) / (2 * rho) + np.log(ratio)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inside = np.log(-np.expm1(np.minimum(fall, 0.0)))
        below = (high - c) / scale - at_high**2 / 2 + np.log(mills / 2)
        whole = (r - c) / scale + slope**2 / 2 + log_between(-far, -near)
    return np.asarray(np.where(tail, below + inside, whole))


def log_between(a: ArrayLike, b: ArrayLike) -> Floats:
    """Log Pr[a <= N(0, 1) <= b], a <= b, without cancellation in the tails."""
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    flip = a + b > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    logs = np.asarray(scipy.special.log_ndtr(b))
    near = (a > -_FAR) | (b - a < _FAR)  # else what is below a is less than 1e-17 of that below b
    with np.errstate(divide="ignore"):
        logs[near] += np.log(
            -np.expm1(np.minimum(scipy.special.log_ndtr(a[near]) - logs[near], 0.0))
        )
    return logs


def log_normal(x: Floats, sd: Any) -> Floats:
    return np.asarray(-((x / sd) ** 2) / 2 - np.log(sd) - HALF_LOG_2PI)
