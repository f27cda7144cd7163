r"""Exact negative binomial draws, alone or given their sum.

NB(r, p) has f(k) in proportion to Gamma(r + k) p^k / k!, and is log-concave where r >= 1, so
`bayesdp.mechanisms.draws.log_concave` draws from it. Independent draws given their sum m keep that
law if every p is multiplied by one t > 0. So t is chosen such that m is the mean of the sum, all
draws but the widest are made, and the widest is set to what is left, k, with probability c f(k) /
f(mode): rejection by a proper bound, and what is kept has the conditional law.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.exact_comparison import below_probability, log_gamma
from bayesdp.mechanisms.draws.log_concave import KEPT, log_concave_draws, log_of
from bayesdp.mechanisms.laws import negative_binomial

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Parameters = Callable[[int], tuple[Fraction, Fraction]]

_LARGEST = 2**50  # far beyond what a draw reaches
_BLOCK = 1 << 17  # draws made at once


def negative_binomial_draws(r: Floats, p: Floats, exact: Parameters) -> Integers:
    """Draw independently, element i from NB(*exact(i)), exactly.

    Parameters
    ----------
    r : ndarray, shape (count,)
        Sizes, at least 1; like `p`, right to a few units in the last place.
    p : ndarray, shape (count,)
        Probabilities in (0, 1): the mean is r p / (1 - p).
    exact : callable
        The parameters of element i as Fractions; called for few elements.

    Returns
    -------
    ndarray of int64, shape (count,)
    """
    mode = _mode(r, p)

    def log_law(k: Integers, i: Any) -> Floats:
        return log_negative_binomial(k, r[i], p[i])

    def log_ratio(i: int, k: int) -> Any:
        return _log_ratio(k, int(mode[i]), exact(i))

    curvature = (r - 1) / ((r + mode) * (mode + 1.0))
    # A geometric law's logarithm doesn't bend at all, but falls by log p a step.
    curvature = np.maximum(curvature, np.log(p) ** 2)
    return log_concave_draws(log_law, log_ratio, mode, np.full(r.size, _LARGEST), curvature)


def draws_of_a_sum(r: Floats, p: Floats, exact: Parameters, total: int, copies: int) -> Integers:
    """Draw independent copies of NB(r[i], p[i]) given that their sum is `total`, exactly.

    Returns
    -------
    ndarray of int64, shape (copies, number of laws), each row with sum `total`
    """
    t = tilt(r, p, total)
    tilted, last = p * t, int(np.argmax(r * p / (1 - p * t) ** 2))
    others = np.delete(np.arange(r.size), last)
    mode = int(_mode(r[last : last + 1], tilted[last : last + 1])[0])
    top = log_negative_binomial(np.array([mode]), r[last], tilted[last])

    def tilted_exact(i: int) -> tuple[Fraction, Fraction]:
        weight, chance = exact(i)
        return weight, chance * Fraction(t)

    rows, nothing, kept = max(1, _BLOCK // r.size), np.empty((0, r.size), dtype=np.int64), 0
    parts = [nothing]
    while kept < copies:
        some = min(rows, 64 * (copies - kept))
        place = np.tile(others, some)
        drawn = negative_binomial_draws(
            r[place],
            tilted[place],
            lambda i, place=place: tilted_exact(int(place[i])),  # type: ignore[misc]
        ).reshape(some, others.size)
        left = total - drawn.sum(axis=1)
        possible = np.flatnonzero(left >= 0)
        k = left[possible]
        log_p = log_negative_binomial(k, r[last], tilted[last]) - top + np.log(KEPT)

        def exactly(i: int, k: Any = k) -> Callable[[], Any]:
            return lambda: _log_ratio(int(k[i]), mode, tilted_exact(last)) + log_of(KEPT)

        accepted = possible[below_probability(log_p, exactly)]
        parts.append(np.insert(drawn[accepted], last, left[accepted], axis=1))
        kept += accepted.size
    return np.concatenate(parts)[:copies]


def log_negative_binomial(k: Any, r: Any, p: Any) -> Floats:
    """Log of Gamma(r + k) / (Gamma(r) k!) p^k (1 - p)^r, elementwise."""
    k, r, p = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (k, r, p)))
    return np.asarray(negative_binomial(k, r, 1 - p, p))


def tilt(r: Floats, p: Floats, total: int) -> float:
    """Find the t with which the mean of the sum of NB(r, p t) is about `total`."""
    most = 1 / float(p.max())

    def excess(log_odds: float) -> float:
        shrunk = p * (most / (1 + np.exp(-log_odds)))
        return float(np.log(np.sum(r * shrunk / (1 - shrunk))) - np.log(max(total, 0.5)))

    root = scipy.optimize.brentq(excess, -60.0, 28.0, xtol=1e-9)
    return float(most / (1 + np.exp(-root)))


def _mode(r: Floats, p: Floats) -> Integers:
    return np.asarray(np.maximum(np.floor((p * r - 1) / (1 - p)) + 1, 0), dtype=np.int64)


def _log_ratio(k: int, mode: int, parameters: tuple[Fraction, Fraction]) -> Any:
    """Interval around log(f(k) / f(mode))."""
    from mpmath import iv  # type: ignore[import-untyped]

    r, p = parameters
    here, there = (log_gamma(r + x) - log_gamma(Fraction(x + 1)) for x in (k, mode))
    return here - there + (k - mode) * iv.log(iv.mpf(p.numerator) / p.denominator)
