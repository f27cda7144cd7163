r"""Density of the sum of j independent uniform variables, to full relative precision everywhere.

The Irwin-Hall density on 0 < s < j is symmetric about j / 2, so let s <= j / 2. For few variables

    v_j(s) = sum over i < s of (-1)^i C(j, i) (s - i)^(j - 1) / (j - 1)!,

whose terms cancel in at most 3 digits up to j = 14. For more, with M(z) = (e^z - 1) / z, the moment
generating function of one, and any real t,

    v_j(s) = exp(-t s) M(t)^j / (2 pi) integral of (M(t + i w) / M(t))^j exp(-i w s) dw:

the law is tilted by e^(t x), and its density inverted from its characteristic function. With t near
the saddle point M'(t) / M(t) = s / j the integrand is largest at 0 and doesn't cancel. It is
analytic, and decays as that of the widest of the tilted laws, an exponential one, at least: like
(1 + y^2 / j)^(-j / 2) at y standard deviations. So a sum over steps of 0.45 out to where that is
1e-13 is the integral to 12 digits: the step folds back only what is 14 standard deviations away.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

_FEW = 14  # variables whose alternating sum keeps its digits
_STEP, _FAR = 0.45, 60.0  # twice the log of what is negligible
_BLOCK = 1 << 14
_TILTS = -np.concatenate([np.linspace(0.0, 8.0, 400), np.geomspace(8.05, 1e12, 800)])


def log_irwin_hall(j: Floats, s: Floats) -> Floats:
    """Log density of the sum of j uniform variables at s, broadcast; -inf outside (0, j).

    Parameters
    ----------
    j : ndarray of whole numbers, at least 1
    s : ndarray
    """
    many, sums = np.broadcast_arrays(np.asarray(j, np.float64), np.asarray(s, np.float64))
    logs = np.full(many.shape, -np.inf)
    inside = (sums > 0) & (sums < many)
    for few, density in ((True, _alternating), (False, _inverted)):
        which = np.flatnonzero(inside & ((many <= _FEW) == few))
        for start in range(0, which.size, _BLOCK):
            at = which[start : start + _BLOCK]
            n, x = many.ravel()[at], sums.ravel()[at]
            logs.ravel()[at] = density(n, np.minimum(x, n - x))
    return logs


def rough_log_irwin_hall(j: Floats, s: Floats) -> Floats:
    """Log density by its saddle point alone, off by less than 0.5: it shows what is negligible."""
    n, x = np.broadcast_arrays(np.asarray(j, np.float64), np.asarray(s, np.float64))
    inside = (x > 0) & (x < n)
    x = np.where(inside, np.minimum(x, n - x), n / 2)
    t = _tilts(x / n)
    logs = n * np.log(_generating(t)) - t * x - np.log(2 * math.pi * n * _variances(t)) / 2
    return np.asarray(np.where(inside, logs, -np.inf))


def _alternating(n: Floats, s: Floats) -> Floats:
    i = np.arange(_FEW / 2 + 1)
    away = s[:, None] - i
    logs = special.xlogy(n[:, None] - 1, np.maximum(away, 1e-300)) - special.gammaln(n)[:, None]
    ways = special.binom(n[:, None], i) * (-1.0) ** i
    top = logs[:, :1]
    sums = np.sum(np.where(away > 0, ways * np.exp(logs - top), 0.0), axis=1)
    return np.asarray(np.log(sums) + top[:, 0])


def _inverted(n: Floats, s: Floats) -> Floats:
    t = _tilts(s / n)
    sd = np.sqrt(n * _variances(t))
    fewest = float(n.min())
    reach = math.sqrt(fewest * math.expm1(_FAR / fewest))
    w = np.arange(_STEP, reach, _STEP) / sd[:, None]
    tilt, rise = t[:, None], np.exp(t)[:, None]
    # M(t + i w) / M(t), by its modulus and its angle.
    square = (np.expm1(tilt) ** 2 + 4 * rise * np.sin(w / 2) ** 2) / (tilt**2 + w**2)
    size = n[:, None] * (np.log(square) / 2 - np.log(_generating(t))[:, None])
    real = np.expm1(tilt) * np.cos(w) - 2 * np.sin(w / 2) ** 2  # of exp(t + i w) - 1
    angle = np.arctan2(rise * np.sin(w), real) - np.arctan2(w, tilt)
    values = np.exp(size) * np.cos(n[:, None] * angle - w * s[:, None])
    whole = (0.5 + values.sum(axis=1)) * _STEP / sd / math.pi
    return np.asarray(np.log(whole) - t * s + n * np.log(_generating(t)))


def _tilts(shares: Floats) -> Floats:
    """Where the mean of a tilted uniform variable is nearly a given share, at most a half."""
    return np.asarray(np.interp(shares, _means(_TILTS)[::-1], _TILTS[::-1]))


def _generating(z: Floats) -> Floats:
    """Moment generating function of a uniform variable at z, at most 0."""
    small = np.abs(z) < 1e-5
    safe = np.where(small, -1.0, z)
    return np.where(small, 1 + z / 2, np.expm1(safe) / safe)


def _means(t: Floats) -> Floats:
    """Mean of a uniform variable tilted by exp(t x), t at most 0."""
    small = np.abs(t) < 1e-3
    safe = np.where(small, -1.0, t)
    return np.where(small, 0.5 + t / 12, -1 / safe + np.exp(safe) / np.expm1(safe))


def _variances(t: Floats) -> Floats:
    small = np.abs(t) < 1e-2
    safe = np.where(small, -1.0, t)
    whole = safe**-2 - np.exp(safe) / np.expm1(safe) ** 2
    return np.where(small, 1 / 12 - t**2 / 240, whole)
