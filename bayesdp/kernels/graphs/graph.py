"""The graph that kernels change: rows of neighbours, and a list of the ties.

A row is the set of a node's neighbours. An undirected graph has one for each node; a directed one
has node i's out-neighbours in row i and its in-neighbours in row n + i. With `inward` = 0 or
n, a tie from i to j is j in row i and i in row `inward + j` in both cases, and so every change
statistic is written once.

Rows are bitsets while they fit in `BITSET_BYTES` together, and sorted lists above.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.bits import count_ones, lowest_one
from bayesdp.kernels.compiling import inlined, kernel, leaf


class Graph(NamedTuple):
    """A graph under change; made by `graph_of`.

    Attributes
    ----------
    n, inward : int
        Number of nodes, and the offset from a node to its row of in-neighbours.
    bits : ndarray of uint64, shape (rows, words)
        Rows as bitsets; shape (0, 0) where they are lists.
    pool : ndarray of int32
        Rows as sorted lists: row r is `pool[start[r] : start[r] + degree[r]]`; empty where
        they are bitsets.
    start, room : ndarray of int64, shape (rows,)
        Where a list begins and how long it may become. Between changes none is full.
    degree : ndarray of int64, shape (rows,)
        Size of each row.
    edges : ndarray of int32, shape (at least ties + 1, 2)
        The ties in no order; i < j if undirected.
    sizes : ndarray of int64, shape (2,)
        Number of ties, and how much of the pool is in use.
    scratch : ndarray of int32, shape (n,)
        Room for a kernel to list nodes.
    """

    n: int
    inward: int
    bits: NDArray[np.uint64]
    pool: NDArray[np.int32]
    start: NDArray[np.int64]
    room: NDArray[np.int64]
    degree: NDArray[np.int64]
    edges: NDArray[np.int32]
    sizes: NDArray[np.int64]
    scratch: NDArray[np.int32]


@kernel
def with_ties(graph: Any, edges: Any) -> Any:
    """Add these ties, none of which may be there yet. Changes the graph given."""
    for e in range(len(edges)):
        if attach(graph, edges[e, 0], edges[e, 1]):
            graph = grown(graph)
    return graph


@kernel
def duplicate(graph: Any) -> Any:
    """Copy a graph so that nothing is shared."""
    return Graph(
        graph.n, graph.inward, graph.bits.copy(), graph.pool.copy(), graph.start.copy(),
        graph.room.copy(), graph.degree.copy(), graph.edges.copy(), graph.sizes.copy(),
        np.empty_like(graph.scratch),
    )  # fmt: skip


@leaf
def _bits_common(bits: Any, a: Any, b: Any) -> Any:
    total = 0
    for w in range(bits.shape[1]):
        total += count_ones(bits[a, w] & bits[b, w])
    return total


@leaf
def _lists_common(pool: Any, start: Any, degree: Any, a: Any, b: Any, out: Any, keep: Any) -> Any:
    """Count two sorted rows' common nodes; the nodes themselves go to `out` if `keep`."""
    p, q, common = start[a], start[b], 0
    p_end, q_end = p + degree[a], q + degree[b]
    while p < p_end and q < q_end:
        first, second = pool[p], pool[q]
        if first == second:
            if keep:
                out[common] = first
            common += 1
        p += first <= second
        q += second <= first
    return common


@leaf
def _bits_listed(bits: Any, a: Any, b: Any, out: Any) -> Any:
    listed = 0
    for w in range(bits.shape[1]):
        word = bits[a, w] & bits[b, w]
        while word != np.uint64(0):
            out[listed] = 64 * w + lowest_one(word)
            listed += 1
            word &= word - np.uint64(1)
    return listed


@inlined
def count_common(graph: Any, a: Any, b: Any) -> Any:
    """Number of nodes that are in both rows."""
    if len(graph.bits):
        return _bits_common(graph.bits, a, b)
    return _lists_common(graph.pool, graph.start, graph.degree, a, b, graph.scratch, False)


@inlined
def list_common(graph: Any, a: Any, b: Any) -> Any:
    """Write the nodes in both rows to the graph's scratch; return how many. a = b is allowed."""
    if len(graph.bits):
        return _bits_listed(graph.bits, a, b, graph.scratch)
    return _lists_common(graph.pool, graph.start, graph.degree, a, b, graph.scratch, True)


@leaf
def _place(pool: Any, low: Any, high: Any, node: Any) -> Any:
    """Find where a node is, or would be put, in the sorted part of the pool from low to high."""
    while low < high:
        middle = (low + high) // 2
        if pool[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def has_tie(graph: Any, i: Any, j: Any) -> Any:
    """Return True if i is tied to j."""
    if len(graph.bits):
        return (graph.bits[i, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != np.uint64(0)
    end = graph.start[i] + graph.degree[i]
    place = _place(graph.pool, graph.start[i], end, j)
    return place < end and graph.pool[place] == j


@inlined
def _flip(graph: Any, a: Any, node: Any, adds: Any) -> Any:
    """Put a node into a row or take it out; return whether the row is full afterwards."""
    if len(graph.bits):
        graph.bits[a, node >> 6] ^= np.uint64(1) << np.uint64(node & 63)
        graph.degree[a] += 1 if adds else -1
        return False
    return _flip_listed(
        graph.pool, graph.start, graph.room, graph.degree, graph.sizes, a, node, adds
    )


@leaf
def _flip_listed(
    pool: Any, start: Any, room: Any, degree: Any, sizes: Any, a: Any, node: Any, adds: Any
) -> Any:
    first = start[a]
    end = first + degree[a]
    place = _place(pool, first, end, node)
    if adds:
        for p in range(end, place, -1):
            pool[p] = pool[p - 1]
        pool[place] = node
        degree[a] += 1
    else:
        for p in range(place, end - 1):
            pool[p] = pool[p + 1]
        degree[a] -= 1
    if degree[a] < room[a]:
        return False
    if sizes[1] + 2 * room[a] > len(pool):
        return True
    for p in range(degree[a]):
        pool[sizes[1] + p] = pool[first + p]
    start[a] = sizes[1]
    room[a] *= 2
    sizes[1] += room[a]
    return False


@inlined
def attach(graph: Any, i: Any, j: Any) -> Any:
    """Add a tie that isn't there; return whether the graph must be `grown` before the next."""
    edges = graph.edges
    count = graph.sizes[0]
    edges[count, 0] = i
    edges[count, 1] = j
    graph.sizes[0] = count + 1
    first = _flip(graph, i, j, True)
    second = _flip(graph, graph.inward + j, i, True)
    return first or second or count + 1 == len(edges)


@inlined
def detach(graph: Any, e: Any) -> Any:
    """Take out tie number e of the list; the last one takes its place."""
    edges = graph.edges
    _flip(graph, edges[e, 0], edges[e, 1], False)
    _flip(graph, graph.inward + edges[e, 1], edges[e, 0], False)
    graph.sizes[0] -= 1
    edges[e, 0] = edges[graph.sizes[0], 0]
    edges[e, 1] = edges[graph.sizes[0], 1]


@inlined
def full(graph: Any, most: Any, i: Any, j: Any) -> Any:
    """Return True if a tie from i to j would be one too many for a node."""
    return graph.degree[i] >= most or (graph.inward == 0 and graph.degree[j] >= most)


@kernel
def grown(graph: Any) -> Any:
    """Give a graph more room: for the rows that are full, and for others to come."""
    edges, sizes = graph.edges, graph.sizes.copy()
    if sizes[0] + 3 >= len(edges):  # a triangle's ties, which come at once, must fit too
        edges = np.empty((2 * len(edges), 2), dtype=np.int32)
        for e in range(sizes[0]):
            edges[e, 0], edges[e, 1] = graph.edges[e, 0], graph.edges[e, 1]
    pool, start, room = graph.pool, graph.start.copy(), graph.room.copy()
    if len(room):
        sizes[1] = 0
        for a in range(len(room)):
            if graph.degree[a] == room[a]:
                room[a] *= 2
            start[a] = sizes[1]
            sizes[1] += room[a]
        pool = np.empty(2 * sizes[1], dtype=np.int32)
        for a in range(len(room)):
            for p in range(graph.degree[a]):
                pool[start[a] + p] = graph.pool[graph.start[a] + p]
    return Graph(
        graph.n, graph.inward, graph.bits, pool, start, room, graph.degree, edges, sizes,
        graph.scratch,
    )  # fmt: skip
