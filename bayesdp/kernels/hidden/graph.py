"""The hidden graph that chains change, with the positions of the evidence's listed dyads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined, kernel
from bayesdp.kernels.graphs.graph import Graph, attach, detach, duplicate, grown


class Hidden(NamedTuple):
    """A hidden graph under change; made by `hidden_of`.

    Attributes
    ----------
    graph : Graph
    place : ndarray of int64, shape (listed,)
        Position of each dyad listed in the evidence among the graph's ties; -1 if it isn't tied.
    back : ndarray of int64, shape (room for ties,)
        Number of each tie among the listed dyads; -1 if it isn't listed.
    """

    graph: Graph
    place: NDArray[np.int64]
    back: NDArray[np.int64]


@inlined
def listed(seen: Any, i: Any, j: Any) -> Any:
    """Find which of the listed dyads this is; -1 for none."""
    if len(seen.pairs) == 0:
        return np.int64(-1)
    low, end = seen.first[i], seen.first[i + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if seen.pairs[middle, 1] < j:
            low = middle + 1
        else:
            high = middle
    return low if low < end and seen.pairs[low, 1] == j else np.int64(-1)


@kernel
def hidden_of(graph: Any, seen: Any) -> Any:
    """Make the hidden graph, with positions; the graph given is used, not copied."""
    place = np.full(len(seen.pairs), -1, dtype=np.int64)
    back = np.full(len(graph.edges), -1, dtype=np.int64)
    for e in range(graph.sizes[0]):
        back[e] = listed(seen, np.int64(graph.edges[e, 0]), np.int64(graph.edges[e, 1]))
        if back[e] >= 0:
            place[back[e]] = e
    return Hidden(graph, place, back)


@kernel
def copied(hidden: Any) -> Any:
    """Copy a hidden graph so that nothing is shared."""
    return Hidden(duplicate(hidden.graph), hidden.place.copy(), hidden.back.copy())


@inlined
def tie(graph: Any, place: Any, back: Any, i: Any, j: Any, r: Any) -> Any:
    """Add a tie that isn't there, listed dyad r or -1; return whether the graph must be grown."""
    back[graph.sizes[0]] = r
    if r >= 0:
        place[r] = graph.sizes[0]
    return attach(graph, i, j)


@inlined
def cut(graph: Any, place: Any, back: Any, e: Any) -> Any:
    """Remove tie number e."""
    last = graph.sizes[0] - 1
    if back[e] >= 0:
        place[back[e]] = -1
    if e != last:
        back[e] = back[last]
        if back[e] >= 0:
            place[back[e]] = e
    detach(graph, e)


@kernel
def roomier(hidden: Any) -> Any:
    """Give a hidden graph more room for ties."""
    graph = grown(hidden.graph)
    back = np.full(len(graph.edges), -1, dtype=np.int64)
    back[: len(hidden.back)] = hidden.back
    return Hidden(graph, hidden.place, back)
