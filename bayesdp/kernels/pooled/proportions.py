"""Kernels of partially pooled proportions.

Derived in `bayesdp.engines.pooled_proportions`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import guarded
from bayesdp.kernels.curve_integrals import curve_of, draw_proportion, log_integral

Floats = NDArray[np.float64]

_STIRLING = 64.0
_SMALLEST = -600.0  # log of alpha or beta; below, every count is 0, or n: but for e^-500
_FAR = 50.0  # log of what is negligible


@guarded
def log_rising(a: float, k: float) -> float:
    """log of a (a + 1) ... (a + k - 1)."""
    if a < _STIRLING:
        return math.lgamma(a + k) - math.lgamma(a)
    end = a + k
    rest = (1 / end - 1 / a) / 12 - (1 / end**3 - 1 / a**3) / 360 + (1 / end**5 - 1 / a**5) / 1260
    return k * math.log(a) + (end - 0.5) * math.log1p(k / a) - k + rest


@guarded
def _tabulate(room: Floats, alpha: float, beta: float) -> None:
    """Write logs of the rising factorials of alpha and beta into the second and third row."""
    room[1:, 0] = 0.0
    for k in range(room.shape[1] - 1):
        room[1, k + 1] = room[1, k] + math.log(alpha + k)
        room[2, k + 1] = room[2, k] + math.log(beta + k)


@guarded
def _both_rising(x: float, n: float, alpha: float, beta: float, room: Floats) -> float:
    """log of the rising factorials of alpha, x times, and of beta, n - x times."""
    if room.shape[0] > 1:
        return float(room[1, int(x)] + room[2, int(n - x)])
    return float(log_rising(alpha, x) + log_rising(beta, n - x))


@guarded
def _log_term(given: Any, i: int, n: float, alpha: float, beta: float) -> float:
    """log of law times beta-binomial probability at a node, but for what all nodes share."""
    return float(given[1][i] + given[3][i] + _both_rising(given[2][i], n, alpha, beta, given[-1]))


@guarded
def _matter(
    given: Any, start: int, end: int, best: int, n: float, alpha: float, beta: float
) -> tuple[Any, Any]:
    """The first node of a group that matters and the one after the last."""
    _, _, nodes, _, before, after = given[:6]
    likely = _log_term(given, best, n, alpha, beta)
    expected: Any = start + np.searchsorted(nodes[start:end], n * (alpha / (alpha + beta)))
    expected = min(expected, end - 1)
    likely = max(likely, _log_term(given, expected, n, alpha, beta))
    level = likely - log_rising(alpha + beta, n) - _FAR
    first = start + np.searchsorted(before[start:end], level)
    last = end - np.searchsorted(after[start:end][::-1], level)
    return first, last


@guarded
def _log_terms(
    given: Any, first: int, last: int, n: float, alpha: float, beta: float
) -> tuple[float, float]:
    """Write the logs of the nodes' terms into the room; their largest, the sum relative to it."""
    _, law, nodes, ways = given[:4]
    room = given[-1]
    x, top, whole = nodes[first], -np.inf, 0.0
    rising = _both_rising(x, n, alpha, beta, room)
    for i in range(first, last):
        if room.shape[0] > 1:
            rising = room[1, int(nodes[i])] + room[2, int(n - nodes[i])]
        elif nodes[i] == x + 1:
            rising += math.log((alpha + x) / (beta + (n - x - 1)))
        elif nodes[i] != x:
            rising = log_rising(alpha, nodes[i]) + log_rising(beta, n - nodes[i])
        x = nodes[i]
        room[0, i - first] = law[i] + ways[i] + rising
        top = max(top, room[0, i - first])
    for i in range(last - first):
        if room[0, i] > top - _FAR:
            whole += math.exp(room[0, i] - top)
    return top, whole


@guarded
def log_sum(
    given: Any,
    start: int,
    end: int,
    best: int,
    n: float,
    alpha: float,
    beta: float,
) -> float:
    """log of the sum over a group's nodes of law times the beta-binomial probability."""
    first, last = _matter(given, start, end, best, n, alpha, beta)
    top, whole = _log_terms(given, first, last, n, alpha, beta)
    return float(top + math.log(whole) - log_rising(alpha + beta, n))


@guarded
def draw_count(
    given: Any,
    start: int,
    end: int,
    best: int,
    n: float,
    alpha: float,
    beta: float,
    rng: Any,
) -> float:
    """Draw x from its conditional law."""
    first, last = _matter(given, start, end, best, n, alpha, beta)
    top, whole = _log_terms(given, first, last, n, alpha, beta)
    room, rest, likeliest = given[-1][0], rng.random() * whole, first
    for i in range(first, last):
        if room[i - first] == top:
            likeliest = i
        if room[i - first] > top - _FAR:
            rest -= math.exp(room[i - first] - top)
            if rest < 0:
                return float(given[2][i])
    return float(given[2][likeliest])


@guarded
def _log_shares(u: float) -> tuple[float, float]:
    """log m and log (1 - m)."""
    log_m = -math.log1p(math.exp(-u)) if u > -700 else u
    return log_m, -math.log1p(math.exp(u)) if u < 700 else -u


@guarded
def _log_of_curve(curve: Any, u: float, v: float, log_m: float, log_rest: float) -> float:
    """log of a group's integral."""
    ends, n = curve[5], curve[6]
    if log_m + v < _SMALLEST:
        return float(ends[2]) if ends[0] == 0 else -np.inf
    if log_rest + v < _SMALLEST:
        return float(ends[3]) if ends[1] == n else -np.inf
    return float(log_integral(curve, u, math.exp(log_m + v), math.exp(log_rest + v)))


@guarded
def log_proportions(u: float, v: float, given: Any) -> float:
    """Log-density of (logit m, log kappa), up to the constants of the priors.

    Parameters
    ----------
    u, v : float
    given : tuple
        As returned by `given_proportions`.
    """
    ends, law, nodes, _, _, _, bests, sizes, prior, curves, room = given
    if not abs(v) < -_SMALLEST:
        return -np.inf
    log_m, log_rest = _log_shares(u)
    log_density = prior[0] * log_m + prior[1] * log_rest + v - 2 * math.log(prior[2] + math.exp(v))
    alpha, beta, start = math.exp(log_m + v), math.exp(log_rest + v), 0
    if room.shape[0] > 1:
        _tabulate(room, alpha, beta)
    for g in range(ends.size):
        end = ends[g]
        if end == start:
            log_density += _log_of_curve(curve_of(curves, g, sizes[g]), u, v, log_m, log_rest)
        elif log_m + v < _SMALLEST:
            log_density += law[start] if nodes[start] == 0 else -np.inf
        elif log_rest + v < _SMALLEST:
            log_density += law[end - 1] if nodes[end - 1] == sizes[g] else -np.inf
        else:
            log_density += log_sum(given, start, end, bests[g], sizes[g], alpha, beta)
        start = end
    return float(log_density)


@guarded
def draw_proportions(u: float, v: float, given: Any, rng: Any, p: Floats) -> None:
    """Draw each group's proportion, through its count or on its curve."""
    ends, _, _, _, _, _, bests, sizes, _, curves, room = given
    log_m, log_rest = _log_shares(u)
    alpha = math.exp(max(log_m + v, _SMALLEST))
    beta, start = math.exp(max(log_rest + v, _SMALLEST)), 0
    if room.shape[0] > 1:
        _tabulate(room, alpha, beta)
    for g in range(ends.size):
        end, n = ends[g], sizes[g]
        if end == start:
            near = math.log(alpha) - math.log(beta)
            p[g] = draw_proportion(curve_of(curves, g, n), near, alpha, beta, rng)
            continue
        x = draw_count(given, start, end, bests[g], n, alpha, beta, rng)
        p[g] = rng.beta(alpha + x, beta + n - x)
        start = end
