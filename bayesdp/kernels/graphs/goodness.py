"""Kernel that counts degrees, shared partners and distances of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.graphs.graph import count_common

if TYPE_CHECKING:
    pass


@kernel
def count_partners(graph: Any, partners: Any, distance: Any, far: Any) -> Any:
    """Add up shared partners of ties, and shortest paths of ordered pairs by breadth first."""
    n = graph.n
    start = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        start[i + 1] = start[i] + graph.degree[i]
    neighbours, used = np.empty(start[n], dtype=np.int64), start[:n].copy()
    for e in range(graph.sizes[0]):
        a, b = np.int64(graph.edges[e, 0]), np.int64(graph.edges[e, 1])
        partners[count_common(graph, a, graph.inward + b)] += 1
        neighbours[used[a]] = b
        used[a] += 1
        if graph.inward == 0:
            neighbours[used[b]] = a
            used[b] += 1
    queue = np.empty(n, dtype=np.int64)
    for source in range(n):
        far[:] = n
        far[source] = 0
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            if i != source:
                distance[far[i]] += 1
            for p in range(start[i], start[i + 1]):
                j = neighbours[p]
                if far[j] == n:
                    far[j] = far[i] + 1
                    queue[tail] = j
                    tail += 1
        distance[n] += n - tail
