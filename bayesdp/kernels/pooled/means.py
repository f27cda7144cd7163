"""Kernels of partially pooled means.

Derived in `bayesdp.engines.pooled_means`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import guarded

Floats = NDArray[np.float64]

_MOST = 300.0  # of |log t|
_FAR = 60.0  # log of what is negligible


@guarded
def _matter(
    given: Any, start: int, end: int, best: int, centre: float, variance: float
) -> tuple[Any, Any, float]:
    """Find a group's nodes that matter: the first, one after the last, and a log near the largest.

    With any node the sum is at least w, law times density there. The law is at most that at `best`,
    and the density at most that at the node nearest to the centre: nodes where either is so small
    that even with the largest of the other they have e^-60 of w are left out.
    """
    _, law, nodes, _, before, after = given[:6]
    near: Any = start + np.searchsorted(nodes[start:end], centre)
    near = min(near, end - 1)
    if near > start and centre - nodes[near - 1] < nodes[near] - centre:
        near -= 1
    densest = -((nodes[near] - centre) ** 2) / (2 * variance)
    likely = max(law[near] + densest, law[best] - (nodes[best] - centre) ** 2 / (2 * variance))
    level = likely - densest - _FAR
    radius = math.sqrt(2 * variance * (law[best] + _FAR - likely))
    first = max(
        start + np.searchsorted(before[start:end], level),
        start + np.searchsorted(nodes[start:end], centre - radius),
    )
    last = min(
        end - np.searchsorted(after[start:end][::-1], level),
        start + np.searchsorted(nodes[start:end], centre + radius, side="right"),
    )
    return first, last, likely


@guarded
def _terms(
    given: Any, first: int, last: int, likely: float, centre: float, variance: float, room: Floats
) -> tuple[float, float]:
    """Write the logs of the nodes' terms into `room`; return the largest, and the relative sum."""
    _, law, nodes = given[:3]
    top, whole = likely, 0.0
    for i in range(first, last):
        room[i - first] = law[i] - (nodes[i] - centre) ** 2 / (2 * variance)
        top = max(top, room[i - first])
    for i in range(first, last):
        whole += math.exp(room[i - first] - top)
    return top, whole


@guarded
def log_integral(
    given: Any, start: int, end: int, best: int, centre: float, variance: float, room: Floats
) -> float:
    """Log of the sum over a group's nodes of law times the normal density."""
    first, last, likely = _matter(given, start, end, best, centre, variance)
    top, whole = _terms(given, first, last, likely, centre, variance, room)
    return float(math.log(whole) + top - math.log(2 * math.pi * variance) / 2)


@guarded
def draw_node(
    given: Any,
    start: int,
    end: int,
    best: int,
    centre: float,
    variance: float,
    rng: Any,
    room: Floats,
) -> float:
    """Draw a node by its share of that sum."""
    first, last, likely = _matter(given, start, end, best, centre, variance)
    top, whole = _terms(given, first, last, likely, centre, variance, room)
    rest, chosen = rng.random() * whole, first
    for i in range(first, last):
        share = math.exp(room[i - first] - top)
        if share > 0:
            chosen = i
        rest -= share
        if rest < 0:
            break
    return float(given[2][chosen])


@guarded
def log_blurred(points: Floats, given: Any) -> Floats:
    """Log of the sum over groups of such sums, each with its own variance, about each point."""
    ends, _, _, _, _, _, bests, variances, _, _, room = given
    found, each = np.empty(points.size), np.empty(ends.size)
    for i in range(points.size):
        start, top = 0, -np.inf
        for g in range(ends.size):
            end = ends[g]
            each[g] = log_integral(given, start, end, bests[g], points[i], variances[g], room[0])
            top, start = max(top, each[g]), end
        found[i] = top + math.log(np.sum(np.exp(each - top)))
    return found


@guarded
def log_means(u: float, v: float, given: Any) -> float:
    """Log-density of (m, log t), up to a constant.

    Parameters
    ----------
    u, v : float
    given : tuple
        As returned by `given_means`.
    """
    ends, _, _, _, _, _, bests, variances, prior, _, room = given
    if not abs(v) < _MOST:
        return -np.inf
    t = math.exp(v)
    log_density = v - (((u - prior[0]) / prior[1]) ** 2 + (t / prior[2]) ** 2) / 2
    start = 0
    for g in range(ends.size):
        end = ends[g]
        log_density += log_integral(given, start, end, bests[g], u, t * t + variances[g], room[0])
        start = end
    return float(log_density)


@guarded
def draw_means(u: float, v: float, given: Any, rng: Any, mu: Floats) -> None:
    """Draw each group's mean, through its records' mean."""
    ends, _, _, _, _, _, bests, variances, _, _, room = given
    t, start = math.exp(v), 0
    for g in range(ends.size):
        end, variance = ends[g], t * t + variances[g]
        s = draw_node(given, start, end, bests[g], u, variance, rng, room[0])
        slope = t * t / variance
        mu[g] = rng.normal(u + slope * (s - u), math.sqrt(slope * variances[g]))
        start = end
