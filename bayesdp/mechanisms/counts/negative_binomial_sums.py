r"""The law of a sum of independent negative binomial counts, to 12 digits.

Let c_m be the coefficient of x^m in G(x) = prod_i (1 - p_i x)^(-r_i), so that given its sum m a
vector z of independent NB(r_i, p_i) counts has probability prod (r_i)_{z_i} p_i^z_i / z_i! / c_m.
By Cauchy's formula on the circle of radius t where m is the mean of the tilted sum,

    c_m t^m / G(t) = (1 / N) sum over N equally spaced w of phi(w) exp(-i w m),

phi(w) = prod ((1 - p_i t) / (1 - p_i t exp(i w)))^r_i being a characteristic function. The only
error is the probability of m + N, m - N, m + 2 N, ...: N is chosen by Chernoff's bound to make that
negligible. |phi| decreases from w = 0 on, and terms below 1e-21 are left out.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.negative_binomial import tilt

Floats = NDArray[np.float64]

_NEGLIGIBLE = 50.0  # minus the logarithm of what is left out
_CHUNK = 1 << 20  # complex numbers at once


def log_coefficient(r: Floats, p: Floats, total: int) -> float:
    """Log of the coefficient c_m, m = `total`."""
    return _integrals(r, p, total)[0]


def record_ratios(r: Floats, p: Floats, total: int) -> Floats:
    """Ratios of c_m at r_i + 1 in place of r_i to c_m itself, one for each i; at least 1."""
    return _integrals(r, p, total)[1]


def _integrals(r: Floats, p: Floats, total: int) -> tuple[float, Floats]:
    t = tilt(r, p, total)
    tilted = p * t
    count = _nodes(r, tilted, total)

    def log_size(w: float) -> float:
        return float(-0.5 * r @ np.log1p(4 * tilted * np.sin(w / 2) ** 2 / (1 - tilted) ** 2))

    last = count // 2
    if log_size(math.pi) < -_NEGLIGIBLE:
        cut = scipy.optimize.brentq(lambda w: log_size(w) + _NEGLIGIBLE, 0.0, math.pi)
        last = min(last, math.ceil(cut / (2 * math.pi) * count) + 1)
    whole, each = 0.0, np.zeros(r.size)
    step = max(1, _CHUNK // r.size)
    for start in range(0, last + 1, step):
        k = np.arange(start, min(start + step, last + 1))
        # Each node but w = 0, and w = pi where N is even, stands for its conjugate too.
        weight = np.where((k == 0) | (2 * k == count), 1.0, 2.0) / count
        w = 2 * math.pi * k / count
        # 1 - q e^(iw) over 1 - q, without cancellation where q is near 1.
        turn = 2 * np.sin(w / 2) ** 2 - 1j * np.sin(w)
        odds = tilted / (1 - tilted)
        factor = 1 + odds[:, None] * turn
        phi = np.exp(-(r @ np.log(factor)) - 1j * np.mod(w * total, 2 * math.pi)) * weight
        whole += float(phi.real.sum())
        each += (phi / factor).sum(axis=1).real / (1 - tilted)
    scale = float(-(r @ np.log1p(-tilted))) - total * math.log(t)
    return math.log(whole) + scale, each / whole


def _nodes(r: Floats, tilted: Floats, total: int) -> int:
    """Number N of nodes, such that terms beyond m - N and m + N are below e^-50 of m's.

    By Chernoff's bound at several distances from the tilted law; below m, m + 1 nodes are enough
    too.
    """
    spread = math.sqrt(float(np.sum(r * tilted / (1 - tilted) ** 2))) + 1
    most = -math.log(float(tilted.max()))  # from here to the pole, on a logarithmic scale

    def needed(shift: float) -> float:
        further = tilted * math.exp(shift)
        bound = float(r @ (np.log1p(-tilted) - np.log1p(-further))) - total * shift
        return (bound + _NEGLIGIBLE + math.log(total + spread)) / abs(shift)

    shifts = [most * 2.0**-k for k in range(1, 24)]
    above = min(needed(shift) for shift in shifts)
    below = min([total + 1.0, *(needed(-shift) for shift in [2 * most, most, *shifts])])
    return max(math.ceil(max(above, below)), 4)
