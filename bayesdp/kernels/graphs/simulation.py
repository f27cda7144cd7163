"""Kernels that simulate a graph and trace its statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.graphs.graph import duplicate
from bayesdp.kernels.graphs.markov import run


@kernel
def trace(
    graph: Any, model: Any, coef: Any, offset: Any, random: Any, statistics: Any,
    draws: Any, burn_in: Any, interval: Any, keep: Any,
) -> Any:  # fmt: skip
    graph = duplicate(graph)
    current = statistics.copy()
    trace = np.empty((draws, len(coef)))
    ends = np.zeros(draws, dtype=np.int64)
    ties = np.empty((1024 if keep else 0, 2), dtype=np.int32)
    used = 0
    for d in range(draws):
        graph = run(graph, model, coef, offset, random, current, burn_in if d == 0 else interval)
        for t in range(len(coef)):
            trace[d, t] = current[t]
        if keep:
            more = used + graph.sizes[0]
            if more > len(ties):
                ties = _longer(ties, used, 2 * more)
            for e in range(graph.sizes[0]):
                ties[used + e, 0], ties[used + e, 1] = graph.edges[e, 0], graph.edges[e, 1]
            used = more
        ends[d] = used
    return trace, ties[:used], ends


@kernel
def _longer(ties: Any, used: Any, size: Any) -> Any:
    longer = np.empty((size, 2), dtype=np.int32)
    for e in range(used):
        longer[e, 0], longer[e, 1] = ties[e, 0], ties[e, 1]
    return longer
