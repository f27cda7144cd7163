"""Kernel that lists all graphs on a few nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.graphs.graph import attach, detach, grown
from bayesdp.kernels.graphs.markov import changes_at
from bayesdp.kernels.graphs.offset import dyad_offset


@kernel
def list_all(
    graph: Any, model: Any, offset: Any, dyads: Any, statistics: Any, values: Any, shift: Any,
    degree: Any,
) -> Any:  # fmt: skip
    """List every graph once, each but one tie from the last (Gray): statistics, offset, degree."""
    change = np.empty(len(statistics))
    code = 0
    added = 0.0
    for g in range(len(values)):
        values[g], shift[g], degree[g] = statistics, added, graph.degree[: graph.n].max()
        d = 0  # the ruler sequence: the dyad that the g-th change flips
        while d < len(dyads) and (g >> d) & 1:
            d += 1
        if d == len(dyads):
            break
        i, j = np.int64(dyads[d, 0]), np.int64(dyads[d, 1])
        present = (code >> d) & 1
        changes_at(graph, model, i, j, present, change)
        code ^= 1 << d
        if present:
            e = 0
            while graph.edges[e, 0] != i or graph.edges[e, 1] != j:
                e += 1
            detach(graph, e)
            statistics -= change
            added -= dyad_offset(offset, i, j)
        else:
            if attach(graph, i, j):
                graph = grown(graph)
            statistics += change
            added += dyad_offset(offset, i, j)
