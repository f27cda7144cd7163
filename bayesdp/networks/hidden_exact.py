"""Exact draws from a model on few nodes, all of whose graphs are listed."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.networks.compiling import kernel
from bayesdp.networks.formula import BoundFormula
from bayesdp.networks.graph import attach, detach, empty_graph, grown
from bayesdp.networks.markov import changes_at
from bayesdp.networks.network import Network
from bayesdp.networks.randomness import below, uniform

MOST_DYADS = 22


class Everything(NamedTuple):
    """All graphs of a sample space, by their statistics; none where they aren't listed.

    Attributes
    ----------
    statistics : ndarray of float, shape (distinct, terms)
    first : ndarray of int64, shape (distinct + 1,)
        Where the graphs with these statistics begin in `graphs`.
    graphs : ndarray of int32, shape (graphs,)
        Bit d is the tie of dyad d.
    dyads : ndarray of int32, shape (dyads, 2)
    """

    statistics: NDArray[np.float64]
    first: NDArray[np.int64]
    graphs: NDArray[np.int32]
    dyads: NDArray[np.int32]


def nothing_listed(terms: int) -> Everything:
    """Where auxiliary graphs are drawn by a chain."""
    return Everything(
        np.empty((0, terms)),
        np.zeros(1, np.int64),
        np.empty(0, np.int32),
        np.empty((0, 2), np.int32),
    )


def everything(bound: BoundFormula, terms: int, nodes: Network) -> Everything:
    """All graphs of the sample space by the first `terms` statistics of the formula.

    Raises
    ------
    InvalidInput
        If there are more than `MOST_DYADS` dyads.
    """
    if nodes.dyads > MOST_DYADS:
        raise InvalidInput(
            f"auxiliary is 'exact', and nodes have {nodes.dyads:,} dyads; all graphs are listed up "
            f"to {MOST_DYADS}: give a number of proposals, or None"
        )
    there = ~np.eye(nodes.n, dtype=bool)
    dyads = np.argwhere(there if nodes.directed else np.triu(there)).astype(np.int32)
    graphs = np.empty(1 << len(dyads), dtype=np.int32)
    values = np.empty((len(graphs), terms))
    empty = empty_graph(nodes.n, nodes.directed)
    _list_all(empty, bound.model, dyads, bound.at_empty[:terms].copy(), graphs, values)
    inside = _within(graphs, dyads, bound.model.most, nodes)
    graphs, values = graphs[inside], values[inside]
    kind = np.zeros(len(graphs), dtype=np.int64)
    for t in range(terms):
        _, own = np.unique(values[:, t].round(9), return_inverse=True)
        kind = np.unique(kind * (own.max() + 1) + own, return_inverse=True)[1]
    order = np.argsort(kind, kind="stable")
    first = np.searchsorted(kind[order], np.arange(kind.max() + 2)).astype(np.int64)
    return Everything(values[order[first[:-1]]], first, graphs[order], dyads)


def _within(
    graphs: NDArray[np.int32], dyads: NDArray[np.int32], most: int, nodes: Network
) -> NDArray[np.bool_]:
    """Which graphs have no degree, out-degree if directed, above `most`."""
    inside = np.ones(len(graphs), dtype=np.bool_)
    for node in range(nodes.n if most < nodes.n - 1 else 0):
        own = dyads[:, 0] == node if nodes.directed else (dyads == node).any(axis=1)
        inside &= sum((graphs >> d) & 1 for d in np.flatnonzero(own)) <= most
    return inside


@kernel
def _list_all(graph: Any, model: Any, dyads: Any, statistics: Any, graphs: Any, values: Any) -> Any:
    """Every graph once, each but one tie from the last (Gray), and its statistics."""
    change = np.empty(len(statistics))
    code = 0
    for g in range(len(graphs)):
        graphs[g] = code
        values[g] = statistics
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
        else:
            if attach(graph, i, j):
                graph = grown(graph)
            statistics += change


@kernel
def draw_exactly(everything: Any, theta: Any, random: Any, graph: Any, statistics: Any) -> Any:
    """A graph of the model at theta, made of one without ties; fills its `statistics`."""
    kinds, terms = everything.statistics.shape
    weight = np.empty(kinds)
    largest = -np.inf
    for k in range(kinds):
        weight[k] = math.log(everything.first[k + 1] - everything.first[k])
        for t in range(terms):
            weight[k] += theta[t] * everything.statistics[k, t]
        largest = max(largest, weight[k])
    total = 0.0
    for k in range(kinds):
        total += math.exp(weight[k] - largest)
        weight[k] = total
    chosen = min(np.searchsorted(weight, uniform(random) * total, side="right"), kinds - 1)
    first = everything.first[chosen]
    code = everything.graphs[first + below(random, everything.first[chosen + 1] - first)]
    for d in range(len(everything.dyads)):
        tied = (code >> d) & 1
        if tied and attach(graph, everything.dyads[d, 0], everything.dyads[d, 1]):
            graph = grown(graph)
    for t in range(terms):
        statistics[t] = everything.statistics[chosen, t]
    return graph
