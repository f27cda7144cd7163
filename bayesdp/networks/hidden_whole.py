r"""Evidence that follows the whole hidden graph: its law is computed anew for each graph.

Two statistics are not sums of what single ties change. One tie may change which ties are kept all
along a path, where ties are cut to a largest degree D in the order of the nodes; and the largest
change of the triangles by one tie, which the noise of a count of them may be as wide as, is a
maximum over all pairs. With kept degrees k_i, statistics t and triangles T,

    log L(x)  =  - sum_t |seen_t - sum_i f_t(k_i(x))| / scale_t
                 + sum_c log Pr[Cauchy noise of half-width S(x) / alpha_c = seen_c - T(x)],

    S(x) = max over pairs of reach(a, b),
    reach(a, b) = max over s >= 0 of exp(-beta s) min(a + floor((s + min(s, b)) / 2), n - 2)

for pairs with a nodes adjacent to both and b to exactly one (Nissim, Raskhodnikova and Smith 2007,
Claim 3.13). A proposal costs as many steps as the graph has nodes and ties for the first, and as
there are pairs of nodes for the second.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.networks.compiling import inlined, leaf, lowest_one
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.graph import count_common, has_tie

_MOST_NODES = 2_000  # a table has the square of it


class Whole(NamedTuple):
    """Evidence on the whole graph, as arrays for kernels; made by `whole_of`.

    Attributes
    ----------
    most : ndarray of int64, shape (statistics,)
        The degree that ties are cut to; statistics of the same one are next to each other.
    gains : ndarray of float, shape (statistics, largest degree + 1)
        f_t(0), f_t(1), ...
    values, scale, step : ndarray of float, shape (statistics,)
        As seen; the Laplace noise's scale; what the statistic was rounded to before, or 0.
    triangles, alpha, furthest : ndarray of float, shape (counts,)
        Noisy counts; S over the half-width of their noise; where they were cut off.
    table : ndarray of int64, shape (counts,)
        Which of `reach`; counts with the same one are next to each other.
    reach : ndarray of float, shape (tables, n - 1, n - 1)
        By a and b.
    """

    most: NDArray[np.int64]
    gains: NDArray[np.float64]
    values: NDArray[np.float64]
    scale: NDArray[np.float64]
    step: NDArray[np.float64]
    triangles: NDArray[np.float64]
    alpha: NDArray[np.float64]
    furthest: NDArray[np.float64]
    table: NDArray[np.int64]
    reach: NDArray[np.float64]


def whole_of(evidence: Evidence) -> Whole:
    """Convert the evidence that follows the whole graph for kernels.

    Raises
    ------
    InvalidInput
        If the graph is directed, or has too few or too many nodes for triangles.
    """
    cut = sorted(evidence.truncated, key=lambda part: part.max_degree)
    counted = sorted(evidence.triangles, key=lambda part: part.beta)
    if evidence.directed and (cut or counted):
        raise InvalidInput(
            "the evidence is of truncated statistics or triangles, which are those of undirected "
            "graphs, and its nodes are of a directed one"
        )
    n = evidence.n
    if counted and not 3 <= n <= _MOST_NODES:
        raise InvalidInput(
            f"the evidence is of triangles of {n:,} nodes; a chain follows their smooth "
            f"sensitivity on 3 to {_MOST_NODES:,}"
        )
    betas = sorted({part.beta for part in counted})
    sizes = [len(part.values) for part in cut]
    gains = np.zeros((sum(sizes), 1 + max((part.max_degree for part in cut), default=0)))
    for row, f in enumerate(f for part in cut for f in part.functions):
        gains[row, : len(f)] = f
    empty = np.empty(0)
    return Whole(
        most=np.repeat([part.max_degree for part in cut], sizes).astype(np.int64),
        gains=gains,
        values=np.concatenate([empty, *(part.values for part in cut)]),
        scale=np.concatenate([empty, *(part.scale for part in cut)]),
        step=np.concatenate([empty, *(part.granularity for part in cut)]),
        triangles=np.array([float(part.value) for part in counted]),
        alpha=np.array([float(part.alpha) for part in counted]),
        furthest=np.array([float(part.furthest) for part in counted]),
        table=np.array([betas.index(part.beta) for part in counted], dtype=np.int64),
        reach=np.array([_reach(n, beta) for beta in betas]).reshape(len(betas), n - 1, n - 1),
    )


def _reach(n: int, beta: float) -> NDArray[np.float64]:
    """Bound how far s changes elsewhere take a pair's common neighbours, discounted."""
    a = np.arange(n - 1)
    reach = np.zeros((n - 1, n - 1))
    for s in range(min(2 * (n - 2), math.ceil(2 + math.log(n - 2) / beta)) + 1):
        more = (s + np.minimum(s, a)) // 2
        np.maximum(reach, np.exp(-beta * s) * np.minimum(a[:, None] + more, n - 2), out=reach)
    return reach


@inlined
def reads_whole(whole: Any) -> Any:
    """Return True if there is evidence on the whole graph."""
    return len(whole.values) + len(whole.triangles) > 0


@leaf
def log_whole(whole: Any, graph: Any) -> Any:
    """Log-likelihood of the whole graph's evidence, never above zero. Uses the graph's scratch."""
    total = 0.0
    kept = graph.scratch
    for t in range(len(whole.values)):
        if t == 0 or whole.most[t] != whole.most[t - 1]:
            _keep(graph, whole.most[t], kept)
        value = 0.0
        for i in range(graph.n):
            value += whole.gains[t, kept[i]]
        if whole.step[t] > 0.0:
            value = whole.step[t] * math.floor(value / whole.step[t] + 0.5)
        total -= abs(whole.values[t] - value) / whole.scale[t]
    smooth, corners = 0.0, 0
    for c in range(len(whole.triangles)):
        if c == 0 or whole.table[c] != whole.table[c - 1]:
            smooth, corners = _smooth_and_corners(graph, whole.reach[whole.table[c]])
        width = smooth / whole.alpha[c]
        seen, apart = whole.triangles[c], whole.triangles[c] - corners / 3.0
        if abs(seen) >= whole.furthest[c]:
            angle = math.atan2(width, math.copysign(apart, seen * apart) - 0.5)
        else:
            angle = math.atan2(width, width * width + (apart - 0.5) * (apart + 0.5))
        total += math.log(angle / math.pi)
    return total


@leaf
def _keep(graph: Any, most: Any, kept: Any) -> Any:
    """Compute kept degrees where ties are cut to `most`, in order of their lower, upper node."""
    for i in range(graph.n):
        kept[i] = 0
    for i in range(graph.n):
        if len(graph.bits):
            for w in range(i >> 6, graph.bits.shape[1]):
                word = graph.bits[i, w]
                while word != np.uint64(0) and kept[i] < most:
                    _keep_tie(kept, most, i, 64 * w + lowest_one(word))
                    word &= word - np.uint64(1)
        else:
            for p in range(graph.start[i], graph.start[i] + graph.degree[i]):
                _keep_tie(kept, most, i, graph.pool[p])


@inlined
def _keep_tie(kept: Any, most: Any, i: Any, j: Any) -> Any:
    if j > i and kept[i] < most and kept[j] < most:
        kept[i] += 1
        kept[j] += 1


@leaf
def _smooth_and_corners(graph: Any, reach: Any) -> Any:
    """Smooth sensitivity S, and three times the number of triangles."""
    smooth, corners = 0.0, 0
    for i in range(graph.n):
        for j in range(i + 1, graph.n):
            common = count_common(graph, i, j)
            tied = np.int64(has_tie(graph, i, j))
            corners += common * tied
            single = graph.degree[i] + graph.degree[j] - 2 * (common + tied)
            smooth = max(smooth, reach[common, single])
    return smooth, corners
