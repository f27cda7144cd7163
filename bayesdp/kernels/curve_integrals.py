"""Kernels of integrals over a likelihood's curve.

Derived in `bayesdp.engines.curve_integrals`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.kernels.compiling import guarded

_FAR = 50.0  # log of what is negligible
_TAIL = 40.0
_STRIDE = 0.45  # in standard deviations
_WIDEST = 0.5
_AGREE = 1e-9
_SHARP = 1e9  # records that p's prior is worth for one of the group, from which it is a point
_STIRLING = 16.0


@guarded
def _log_odds_parts(t: float) -> tuple[float, float]:
    """log p and log (1 - p)."""
    rest = math.log1p(math.exp(-abs(t)))
    return (-rest, -t - rest) if t > 0 else (t - rest, -rest)


@guarded
def log_likelihood(curve: Any, k: int, t: float) -> float:
    """log L at t, on panel k, -1 below all and as many as there are above."""
    edges, coefficients, _, _, _, ends, n = curve
    if k < 0 or k >= coefficients.shape[0]:
        x, way = (ends[0], ends[2]) if k < 0 else (ends[1], ends[3])
        log_p, log_q = _log_odds_parts(t)
        return float(way + x * log_p + (n - x) * log_q)
    at = (2 * t - edges[k] - edges[k + 1]) / (edges[k + 1] - edges[k])
    one, two = 0.0, 0.0
    for i in range(coefficients.shape[1] - 1, 0, -1):
        one, two = coefficients[k, i] + 2 * at * one - two, one
    return float(coefficients[k, 0] + at * one - two)


@guarded
def _panel(curve: Any, t: float) -> int:
    return int(np.searchsorted(curve[0], t, side="right")) - 1


@guarded
def _log_weight(d: float, u: float, alpha: float, beta: float) -> float:
    """log of p^alpha (1 - p)^beta at t = u + d, relative to its largest, at u."""
    log_m, log_rest = _log_odds_parts(u)
    if abs(d) < 1:
        return -alpha * math.log1p(math.exp(log_rest) * math.expm1(-d)) - beta * math.log1p(
            math.exp(log_m) * math.expm1(d)
        )
    log_p, log_q = _log_odds_parts(u + d)
    return alpha * (log_p - log_m) + beta * (log_q - log_rest)


@guarded
def _log_f(curve: Any, k: int, d: float, u: float, alpha: float, beta: float) -> float:
    """log f at t = u + d, on panel k, relative to the largest weight."""
    return log_likelihood(curve, k, u + d) + _log_weight(d, u, alpha, beta)


@guarded
def _stirling_error(a: float) -> float:
    """log Gamma(a) minus (a - 1/2) log a - a + log(2 pi) / 2."""
    if a < _STIRLING:
        return math.lgamma(a) - (a - 0.5) * math.log(a) + a - 0.5 * math.log(2 * math.pi)
    b = 1 / (a * a)
    return (1 / 12 - b * (1 / 360 - b * (1 / 1260 - b * (1 / 1680 - b / 1188)))) / a


@guarded
def _log_beta(u: float, alpha: float, beta: float) -> float:
    """log of B(alpha, beta), relative to p^alpha (1 - p)^beta at its largest, where t is u."""
    errors = _stirling_error(alpha) + _stirling_error(beta) - _stirling_error(alpha + beta)
    log_m, _ = _log_odds_parts(u)
    return errors + 0.5 * (math.log(2 * math.pi) - log_m - math.log(beta))


@guarded
def _reach(u: float, alpha: float, beta: float, level: float, end: float) -> float:
    """Find how far between u and `end` the log weight is above `level`, or a little beyond."""
    if _log_weight(end - u, u, alpha, beta) > level:
        return end
    near, far = u, end
    for _ in range(60):
        middle = (near + far) / 2
        if _log_weight(middle - u, u, alpha, beta) > level:
            near = middle
        else:
            far = middle
        if abs(far - near) < 0.1 * abs(far - u):
            break
    return far


@guarded
def _stretch(
    curve: Any, u: float, alpha: float, beta: float
) -> tuple[float, float, float, float, float]:
    """Find where f matters, where its tails begin to be exponential, and its curvature."""
    edges, coefficients, before, after, worth, ends, n = curve
    low = min(edges[0], -math.log(beta + n) - _TAIL)
    high = max(edges[-1], math.log(alpha + n) + _TAIL)
    best = int(np.searchsorted(before, before[-1]))  # the panel with the largest
    top, likely = before[-1], -np.inf
    for each in (u, edges[best], edges[best + 1]):
        t = min(max(each, low), high)
        likely = max(likely, _log_f(curve, _panel(curve, t), t - u, u, alpha, beta))
    below = _log_f(curve, -1, low - u, u, alpha, beta) - min(0.0, math.log(alpha + ends[0]))
    panels = coefficients.shape[0]
    above = _log_f(curve, panels, high - u, u, alpha, beta)
    above -= min(0.0, math.log(beta + (n - ends[1])))
    level = max(likely, below, above) - _FAR
    first = int(np.searchsorted(before, level))
    last = panels - int(np.searchsorted(after[::-1], level))
    left = low if first == 0 else edges[min(first, panels)]
    right = high if last == panels else edges[max(last, 0)]
    left = max(left, _reach(u, alpha, beta, level - top, min(low, u)))
    right = min(right, _reach(u, alpha, beta, level - top, max(high, u)))
    left = low if below > level else min(left, high)
    right = high if above > level else max(right, left)
    sharp = 0.0
    for k in range(max(first, _panel(curve, left)), min(last, _panel(curve, right) + 1)):
        sharp = max(sharp, worth[k])
    return left, right, low, high, sharp


@guarded
def _variance(left: float, right: float) -> float:
    """The largest of p (1 - p) between two t."""
    near = 0.0 if left < 0 < right else min(abs(left), abs(right))
    log_p, log_q = _log_odds_parts(near)
    return math.exp(log_p + log_q)


@guarded
def _halves(
    curve: Any,
    u: float,
    alpha: float,
    beta: float,
    stretch: tuple[float, float, float, float, float],
    h: float,
    offset: float,
    room: Any,
) -> tuple[float, float, float, int]:
    """A log, and relative to it the sums over every other node; and the first node's j.

    Nodes are u + (j + offset) h. The two outermost at either end stand for all beyond them in
    their tails, every other one each, where these are reached. In `room`, if it isn't empty, the
    logs of what they add.
    """
    left, right, low, high, _ = stretch
    ends, n = curve[5], curve[6]
    first = math.ceil((max(left, low) - u) / h - offset)
    last = math.floor((min(right, high) - u) / h - offset)
    k = _panel(curve, u + (first - 2 + offset) * h)
    top, sums = -np.inf, np.zeros(2)
    for j in range(first - 2, last + 3):
        d = (j + offset) * h
        t = u + d
        while k + 1 < curve[0].size and t >= curve[0][k + 1]:
            k += 1
        log_term = _log_f(curve, k, d, u, alpha, beta)
        if j < first and t < low:  # one of the two nearest nodes: all beyond it of its kind
            log_term -= math.log(-math.expm1(-(alpha + ends[0]) * 2 * h))
        elif j > last and t > high:
            log_term -= math.log(-math.expm1(-(beta + (n - ends[1])) * 2 * h))
        if room.size:
            room[j - first + 2] = log_term
        if log_term > top:
            sums *= math.exp(top - log_term)
            top = log_term
        sums[j % 2] += math.exp(log_term - top)
    return top, sums[0], sums[1], first - 2


@guarded
def _summed(curve: Any, u: float, alpha: float, beta: float, stretch: Any) -> tuple[float, float]:
    """log of the sum over the lattice, and a stride at which its halves agree."""
    n = curve[6]
    variance = _variance(stretch[0], stretch[1])
    finest = _STRIDE / math.sqrt((alpha + beta + n) * variance)
    h = min(_WIDEST, _STRIDE / math.sqrt((alpha + beta + stretch[4]) * variance + stretch[4] / n))
    while True:
        top, even, odd, _ = _halves(curve, u, alpha, beta, stretch, h, 0.0, np.empty(0))
        if abs(even - odd) <= _AGREE * (even + odd) or h <= finest:
            return top + math.log(even + odd), h
        h /= 2


@guarded
def log_integral(curve: Any, u: float, alpha: float, beta: float) -> float:
    """log of the integral of L over a beta distribution.

    Parameters
    ----------
    curve : tuple
        As returned by `curve_of`.
    u : float
        log(alpha / beta).
    alpha, beta : float
        Positive.
    """
    if alpha + beta > _SHARP * curve[6]:
        return log_likelihood(curve, _panel(curve, u), u)
    log_sum, h = _summed(curve, u, alpha, beta, _stretch(curve, u, alpha, beta))
    return float(log_sum + math.log(h) - _log_beta(u, alpha, beta))


@guarded
def draw_proportion(curve: Any, u: float, alpha: float, beta: float, rng: Any) -> float:
    """Draw p in proportion to L times the density of a beta distribution."""
    _, _, _, _, _, ends, n = curve
    if alpha + beta > _SHARP * n:
        return float(rng.beta(alpha, beta))
    stretch = _stretch(curve, u, alpha, beta)
    _, h = _summed(curve, u, alpha, beta, stretch)
    offset, room = rng.random(), np.full(int((stretch[1] - stretch[0]) / h) + 8, -np.inf)
    top, even, odd, first = _halves(curve, u, alpha, beta, stretch, h, offset, room)
    rest, i = rng.random() * (even + odd), 0
    for i in range(room.size):
        rest -= math.exp(room[i] - top)
        if rest < 0:
            break
    t = u + (first + i + offset) * h
    if t < stretch[2]:  # in a tail every other node is as much less probable as the last
        t -= 2 * h * math.floor(rng.standard_exponential() / ((alpha + ends[0]) * 2 * h))
    elif t > stretch[3]:
        t += 2 * h * math.floor(rng.standard_exponential() / ((beta + (n - ends[1])) * 2 * h))
    log_p, _ = _log_odds_parts(t)
    return math.exp(log_p)


@guarded
def curve_of(curves: Any, g: int, n: float) -> Any:
    """A group's curve, if it has one."""
    starts, edges, coefficients, before, after, worth, ends = curves
    a, b = starts[g], starts[g + 1]
    return (
        edges[a + g : b + g + 1],
        coefficients[a:b],
        before[a:b],
        after[a:b],
        worth[a:b],
        ends[g],
        n,
    )
