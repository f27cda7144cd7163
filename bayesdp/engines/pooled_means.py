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

Floats = NDArray[np.float64]

_MOST = 300.0  # of |log t|
_FAR = 90.0  # log of what is negligible


@kernel
def _reach(nodes: Floats, centre: float, variance: float) -> tuple[Any, Any, float]:
    """The first node that matters and the one after the last, and log of the largest density.

    Beyond them the normal density is e^-90 of that; laws are at least e^-60 of their largest.
    """
    nearest = min(max(centre, nodes[0]), nodes[-1])
    away = (nearest - centre) ** 2
    radius = math.sqrt(away + 2 * _FAR * variance)
    first = np.searchsorted(nodes, centre - radius)
    last = np.searchsorted(nodes, centre + radius, side="right")
    return first, last, -away / (2 * variance)


@kernel
def log_integral(law: Floats, nodes: Floats, centre: float, variance: float) -> float:
    """log of the sum over ascending nodes of law times the normal density."""
    first, last, top = _reach(nodes, centre, variance)
    total = 0.0
    for i in range(first, last):
        total += law[i] * math.exp(-((nodes[i] - centre) ** 2) / (2 * variance) - top)
    if not total > 0:
        return -np.inf
    return math.log(total) + top - math.log(2 * math.pi * variance) / 2


@kernel
def draw_node(law: Floats, nodes: Floats, centre: float, variance: float, rng: Any) -> float:
    """A node by its share of that sum."""
    first, last, top = _reach(nodes, centre, variance)
    cumulative, total = np.empty(last - first), 0.0
    for i in range(first, last):
        total += law[i] * math.exp(-((nodes[i] - centre) ** 2) / (2 * variance) - top)
        cumulative[i - first] = total
    chosen = np.searchsorted(cumulative, rng.random() * total, side="right")
    return float(nodes[first + min(chosen, last - first - 1)])


@kernel
def log_means(u: float, v: float, given: Any) -> float:
    """log density of (m, log t), up to a constant.

    Parameters
    ----------
    u, v : float
    given : tuple
        `laws`: density of the outputs at every group's nodes in a row, times the nodes' weights,
        each up to a constant; `ends` of ints: where each group's end in it; `nodes`, ascending in
        each group; `variances`: sigma^2 / n of each; `prior`: m's mean and sd, and the scale of t's
        half-normal prior.
    """
    laws, ends, nodes, variances, prior = given
    if not abs(v) < _MOST:
        return -np.inf
    t = math.exp(v)
    found = v - (((u - prior[0]) / prior[1]) ** 2 + (t / prior[2]) ** 2) / 2
    start = 0
    for g in range(ends.size):
        end = ends[g]
        found += log_integral(laws[start:end], nodes[start:end], u, t * t + variances[g])
        start = end
    return float(found)


@kernel
def draw_means(u: float, v: float, given: Any, rng: Any, mu: Floats) -> None:
    """Each group's, through its records' mean."""
    laws, ends, nodes, variances, _ = given
    t, start = math.exp(v), 0
    for g in range(ends.size):
        end, variance = ends[g], t * t + variances[g]
        s = draw_node(laws[start:end], nodes[start:end], u, variance, rng)
        slope = t * t / variance
        mu[g] = rng.normal(u + slope * (s - u), math.sqrt(slope * variances[g]))
        start = end


def given_means(
    nodes: list[Floats],
    laws: list[Floats],
    variances: list[float],
    prior: tuple[float, float, float],
) -> tuple[Floats, NDArray[np.int64], Floats, Floats, Floats]:
    """What `log_means` takes, laws from their logs and divided by their largest values."""
    scaled = np.concatenate([np.exp(law - law.max()) for law in laws])
    ends = np.cumsum([law.size for law in laws])
    return scaled, ends, np.concatenate(nodes), np.array(variances), np.array(prior)


def start_means(given: Any, rng: np.random.Generator) -> Floats:
    """From the prior, within what has a density."""
    centre, sd, scale = given[-1]
    while True:
        at = np.array([rng.normal(centre, sd), math.log(abs(rng.normal(0, scale)))])
        if log_means(at[0], at[1], given) > -math.inf:
            return at
