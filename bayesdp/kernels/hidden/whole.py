"""Kernels of evidence that is computed anew for each graph.

Derived in `bayesdp.networks.hidden.whole`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.bits import lowest_one
from bayesdp.kernels.compiling import inlined, kernel, leaf
from bayesdp.kernels.graphs.graph import count_common, has_tie
from bayesdp.kernels.hidden.choices import Choices, log_choices


class Whole(NamedTuple):
    """Evidence on the whole graph, as arrays for kernels; made by `whole_of`.

    Attributes
    ----------
    most : ndarray of int64, shape (statistics,)
        The degree that ties are cut to; statistics of the same one are next to each other.
    gains : ndarray of float, shape (statistics, largest degree + 1)
        f_t(0), f_t(1), ...
    values, scale, step : ndarray of float, shape (statistics,)
        The noisy statistics; the Laplace noise's scale; the multiple to which the statistic was
        rounded before, or 0.
    triangles, alpha, furthest : ndarray of float, shape (counts,)
        Noisy counts; S divided by the half-width of their noise; where they were cut off.
    table : ndarray of int64, shape (counts,)
        Each count's table in `reach`; counts with the same table are next to each other.
    reach : ndarray of float, shape (tables, n - 1, n - 1)
        reach(a, b), by a and b.
    choices : Choices
        Copies from laws that were chosen by the graph's statistics.
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
    choices: Choices


@inlined
def reads_whole(whole: Any) -> Any:
    """Return True if there is evidence on the whole graph."""
    return len(whole.values) + len(whole.triangles) + len(whole.choices.copies) > 0


@kernel
def room_for(whole: Any) -> Any:
    """Make room for the laws that copies were chosen from, shape (laws + slopes,)."""
    return np.empty(len(whole.choices.base) + len(whole.choices.slopes))


@leaf
def log_whole(whole: Any, graph: Any, statistics: Any, room: Any) -> Any:
    """Log-likelihood of the whole graph's evidence, never above zero. Uses the graph's scratch.

    `statistics`, shape (coordinates,), are those of this graph; `room`, made by `room_for`, is for
    the kernel's own use.
    """
    total = log_choices(whole.choices, statistics, room)
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
