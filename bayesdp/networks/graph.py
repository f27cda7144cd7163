"""The graph that kernels change: rows of neighbours, and a list of the ties.

A row is the set of a node's neighbours. An undirected graph has one row for each node; a directed
one has node i's out-neighbours in row i and its in-neighbours in row n + i. With `inward` = 0 or
n, a tie from i to j is j in row i and i in row `inward + j` in both cases, and so every change
statistic is written once.

Rows are bitsets while they fit in `BITSET_BYTES` together, and sorted lists above.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.graphs.graph import Graph, with_ties

BITSET_BYTES = 4 << 20
"""Up to 5,792 undirected or 4,096 directed nodes.

Measured on edges and edges + gwesp(0.5), undirected, 5 ties a node, in million proposals a
second: bitsets 29 and 24 at 500 nodes, 24 and 12 at 4,000, 9 and 7 at 8,000; lists 10 and 8,
9 and 8, 9 and 8.
"""


def empty_graph(n: int, directed: bool, *, bitsets: bool | None = None) -> Graph:
    """Make a graph with no ties; `bitsets` overrides the choice by size."""
    rows = 2 * n if directed else n
    words = (n + 63) // 64
    use_bits = 8 * rows * words <= BITSET_BYTES if bitsets is None else bitsets
    lists = 0 if use_bits else rows
    room = np.full(lists, 4, dtype=np.int64)
    return Graph(
        n=n,
        inward=n if directed else 0,
        bits=np.zeros((rows, words) if use_bits else (0, 0), dtype=np.uint64),
        pool=np.empty(8 * lists, dtype=np.int32),
        start=4 * np.arange(lists, dtype=np.int64),
        room=room,
        degree=np.zeros(rows, dtype=np.int64),
        edges=np.empty((max(64, n), 2), dtype=np.int32),
        sizes=np.array([0, 4 * lists], dtype=np.int64),
        scratch=np.empty(n, dtype=np.int32),
    )


def graph_of(
    n: int, directed: bool, edges: NDArray[np.int32], *, bitsets: bool | None = None
) -> Graph:
    """Make the graph with these ties, shape (ties, 2)."""
    graph: Graph = with_ties(empty_graph(n, directed, bitsets=bitsets), edges)
    return graph
