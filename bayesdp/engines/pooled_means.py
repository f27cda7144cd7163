r"""Groups' means from one normal distribution, with all means of records and of groups summed out.

With m the centre and t the spread of that distribution, and records of sd sigma,

    s_g | m, t ~ N(m, t^2 + sigma^2 / n_g),    outputs_g | s_g ~ mechanism,

for the mean s_g of a group's records, so the likelihood of (m, t) is a product over groups of
integrals over s_g: sums over nodes that hold the law of the outputs. u = m and v = log t are left
to sample (`bayesdp.engines.partial_pooling`). Given them each s_g is drawn from its sum, and the
group's mean from its normal distribution given s_g.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.compiling import kernel
from bayesdp.engines.pooled_laws import Given, in_a_row

Floats = NDArray[np.float64]

_MOST = 300.0  # of |log t|
_FAR = 60.0  # log of what is negligible


@kernel
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


@kernel
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


@kernel
def log_integral(
    given: Any, start: int, end: int, best: int, centre: float, variance: float, room: Floats
) -> float:
    """Log of the sum over a group's nodes of law times the normal density."""
    first, last, likely = _matter(given, start, end, best, centre, variance)
    top, whole = _terms(given, first, last, likely, centre, variance, room)
    return float(math.log(whole) + top - math.log(2 * math.pi * variance) / 2)


@kernel
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


@kernel
def log_means(u: float, v: float, given: Any) -> float:
    """Log-density of (m, log t), up to a constant.

    Parameters
    ----------
    u, v : float
    given : tuple
        What `given_means` returns.
    """
    ends, _, _, _, _, _, bests, variances, prior, _, room = given
    if not abs(v) < _MOST:
        return -np.inf
    t = math.exp(v)
    found = v - (((u - prior[0]) / prior[1]) ** 2 + (t / prior[2]) ** 2) / 2
    start = 0
    for g in range(ends.size):
        end = ends[g]
        found += log_integral(given, start, end, bests[g], u, t * t + variances[g], room[0])
        start = end
    return float(found)


@kernel
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


def given_means(
    nodes: list[Floats],
    laws: list[Floats],
    variances: list[float],
    prior: tuple[float, float, float],
) -> Given:
    """Prepare the arrays that `log_means` takes.

    Parameters
    ----------
    nodes, laws : list of ndarray
        Of each group, ascending means, and log of the density of the outputs there times the node's
        weight.
    variances : list of float
        sigma^2 / n of each.
    prior : tuple of three floats
        m's mean and sd, and the scale of t's half-normal prior.
    """
    return in_a_row(laws, nodes, [np.zeros(law.size) for law in laws], variances, prior)


def start_means(given: Any, rng: np.random.Generator) -> Floats:
    """Draw a start from the prior, within what has a density."""
    centre, sd, scale = given[-3]
    while True:
        at = np.array([rng.normal(centre, sd), math.log(abs(rng.normal(0, scale)))])
        if log_means(at[0], at[1], given) > -math.inf:
            return at
