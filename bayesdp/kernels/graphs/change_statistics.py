"""Change statistics: each term's gain when a tie from i to j is added.

Every function takes a graph in which the tie may or may not be there (`present`), and returns the
term's value with it minus the value without. `values` is the term's row of the model's table, one
number for each node or for each count of partners or ties; `parameter` is the term's parameter.
A new term is one function here, one line of `change_of`, and one row of `terms.TERMS`.
"""

from __future__ import annotations

from typing import Any

from bayesdp.kernels.compiling import inlined
from bayesdp.kernels.graphs.graph import count_common, has_tie, list_common


@inlined
def _nodematch(values: Any, i: Any, j: Any) -> Any:
    return 1.0 if values[i] == values[j] else 0.0


@inlined
def _nodematch_level(values: Any, parameter: Any, i: Any, j: Any) -> Any:
    return 1.0 if values[i] == parameter and values[j] == parameter else 0.0


@inlined
def _nodefactor(values: Any, parameter: Any, i: Any, j: Any) -> Any:
    return (1.0 if values[i] == parameter else 0.0) + (1.0 if values[j] == parameter else 0.0)


@inlined
def _nodemix(graph: Any, values: Any, i: Any, j: Any) -> Any:
    """Test for a tie from a node with 1 to one with -1; undirected, between them."""
    apart = values[i] - values[j]
    return 1.0 if apart == 2.0 or (apart == -2.0 and graph.inward == 0) else 0.0


@inlined
def _degree(graph: Any, parameter: Any, i: Any, j: Any, present: Any) -> Any:
    total = 0.0
    for node in (i, j):
        before = graph.degree[node] - present
        if before + 1 == parameter:
            total += 1.0
        elif before == parameter:
            total -= 1.0
    return total


@inlined
def _by_degree(graph: Any, values: Any, i: Any, j: Any, present: Any) -> Any:
    """Gain of a node of degree d with its next tie, values[d]: gwdegree and kstar."""
    return values[graph.degree[i] - present] + values[graph.degree[j] - present]


@inlined
def _triangle(graph: Any, i: Any, j: Any) -> Any:
    total = count_common(graph, i, graph.inward + j)
    if graph.inward:
        total += count_common(graph, i, j)
        total += count_common(graph, graph.inward + i, graph.inward + j)
        total += count_common(graph, graph.inward + i, j)
    return float(total)


@inlined
def _gwesp(graph: Any, values: Any, parameter: Any, i: Any, j: Any, present: Any) -> Any:
    """Gain of gwesp: the pair's own partners, then the tie's part in neighbouring two-paths."""
    inward = graph.inward
    own = list_common(graph, i, j) if inward == 0 else count_common(graph, i, inward + j)
    total = parameter * (1.0 - values[own])
    if inward == 0:
        for p in range(own):
            k = graph.scratch[p]
            total += values[count_common(graph, i, k) - present]
            total += values[count_common(graph, k, j) - present]
        return total
    for p in range(list_common(graph, i, j)):  # i to k, by way of j
        total += values[count_common(graph, i, inward + graph.scratch[p]) - present]
    for p in range(list_common(graph, inward + i, inward + j)):  # k to j, by way of i
        total += values[count_common(graph, graph.scratch[p], inward + j) - present]
    return total


@inlined
def _gwdsp(graph: Any, values: Any, i: Any, j: Any, present: Any) -> Any:
    inward = graph.inward
    total = 0.0
    for p in range(list_common(graph, j, j)):
        k = graph.scratch[p]
        if k != i:
            total += values[count_common(graph, i, inward + k) - present]
    for p in range(list_common(graph, inward + i, inward + i)):
        k = graph.scratch[p]
        if k != j:
            total += values[count_common(graph, k, inward + j) - present]
    return total


@inlined
def _isolates(graph: Any, i: Any, j: Any, present: Any) -> Any:
    total = 0.0
    for node in (i, j):
        ties = graph.degree[node] - present
        if graph.inward:
            ties += graph.degree[graph.inward + node]
        if ties == 0:
            total -= 1.0
    return total


@inlined
def _concurrent(graph: Any, i: Any, j: Any, present: Any) -> Any:
    return (1.0 if graph.degree[i] - present == 1 else 0.0) + (
        1.0 if graph.degree[j] - present == 1 else 0.0
    )


EDGES, MUTUAL, NODEMATCH, NODEMATCH_LEVEL, NODEMIX = range(5)
NODEFACTOR, NODECOV, ABSDIFF, EDGECOV = range(5, 9)
DEGREE, BY_DEGREE, TRIANGLE, GWESP, GWDSP, ISOLATES, CONCURRENT = range(9, 16)

WITHIN_PAIRS = tuple(range(DEGREE))  # EDGES to EDGECOV
"""Those that read no tie, or, mutual, none but the one back: pairs of nodes are independent."""


@inlined
def change_of(graph: Any, model: Any, t: Any, i: Any, j: Any, present: Any) -> Any:
    """Change statistic of coordinate t; `present` is 1 if the tie is there, else 0."""
    kind = model.kind[t]
    if kind == EDGES:
        return 1.0
    values = model.values[model.row[t]]
    parameter = model.parameter[t]
    if kind == NODEMATCH:
        return _nodematch(values, i, j)
    if kind == GWESP:
        return _gwesp(graph, values, parameter, i, j, present)
    if kind == NODECOV:
        return values[i] + values[j]
    if kind == ABSDIFF:
        return abs(values[i] - values[j])
    if kind == NODEFACTOR:
        return _nodefactor(values, parameter, i, j)
    if kind == NODEMATCH_LEVEL:
        return _nodematch_level(values, parameter, i, j)
    if kind == NODEMIX:
        return _nodemix(graph, values, i, j)
    if kind == BY_DEGREE:
        return _by_degree(graph, values, i, j, present)
    if kind == DEGREE:
        return _degree(graph, parameter, i, j, present)
    if kind == ISOLATES:
        return _isolates(graph, i, j, present)
    if kind == CONCURRENT:
        return _concurrent(graph, i, j, present)
    if kind == TRIANGLE:
        return _triangle(graph, i, j)
    if kind == GWDSP:
        return _gwdsp(graph, values, i, j, present)
    if kind == MUTUAL:
        return 1.0 if has_tie(graph, j, i) else 0.0
    return model.matrices[model.row[t], i, j]  # EDGECOV
