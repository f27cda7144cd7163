"""The Metropolis chain on graphs, by tie/no-tie proposals.

With ties and D dyads, a proposal flips one tie of the list with probability 1/2, else one
dyad of all (always the latter where there is no tie). Given m > 0 ties, a tie is flipped with
probability 1/(2m) + 1/(2D) and an empty dyad with 1/(2D), so the Hastings ratio is

    1 + D / (m + 1)      to add a tie where m > 0,       (1 + D) / 2   where m = 0,
    m / (m + D)          to remove one where m > 1,      2 / (1 + D)   where m = 1

(Morris, Handcock and Hunter 2008; the ratio as in R's ergm). A dyad drawn from all that turns
out to be a tie is a uniform one of the m, so it is drawn again from the list: the same law,
and its place in the list need not be searched. Where the sample space bounds degrees, a tie that
would break the bound is refused, and the chain stays.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import inlined, kernel, leaf
from bayesdp.kernels.graphs.change_statistics import change_of
from bayesdp.kernels.graphs.graph import attach, detach, full, grown, has_tie
from bayesdp.kernels.graphs.offset import dyad_offset
from bayesdp.kernels.randomness import below, uniform


class Model(NamedTuple):
    """The coordinates of a formula on a set of nodes, as kernels read them.

    Attributes
    ----------
    kind : ndarray of int64, shape (terms,)
        Number of each term's change statistic.
    row : ndarray of int64, shape (terms,)
        The change statistic's row of `values`, or its matrix.
    parameter : ndarray of float, shape (terms,)
        The change statistic's parameter.
    values : ndarray of float, shape (rows, n)
        One number for each node, or for each count of partners or ties.
    matrices : ndarray of float, shape (matrices, n, n)
        Dyad covariates.
    most : int
        Largest degree, out-degree if directed: the sample space has no other graphs.
    """

    kind: NDArray[np.int64]
    row: NDArray[np.int64]
    parameter: NDArray[np.float64]
    values: NDArray[np.float64]
    matrices: NDArray[np.float64]
    most: int


@inlined
def number_of_dyads(graph: Any) -> Any:
    """Number of pairs that may be tied, as a float."""
    ordered = float(graph.n) * (graph.n - 1.0)
    return ordered if graph.inward else ordered / 2.0


@leaf
def _advance(
    graph: Any, model: Any, coef: Any, offset: Any, random: Any, change: Any,
    statistics: Any, steps: Any,
) -> Any:  # fmt: skip
    """Make steps and return their number; negated, if the graph must be grown now."""
    terms = len(coef)
    dyads = number_of_dyads(graph)
    n = graph.n
    for step in range(steps):
        ties = graph.sizes[0]
        present = ties > 0 and uniform(random) < 0.5
        i = j = np.int64(0)
        if not present:
            i = below(random, n)
            j = below(random, n - 1)
            if j >= i:
                j += 1
            if graph.inward == 0 and i > j:
                i, j = j, i
            present = has_tie(graph, i, j)
        e = 0
        if present:
            e = below(random, ties)
            i, j = np.int64(graph.edges[e, 0]), np.int64(graph.edges[e, 1])
        if not present and full(graph, model.most, i, j):
            continue
        gain = dyad_offset(offset, i, j)
        for t in range(terms):
            change[t] = change_of(graph, model, t, i, j, np.int64(present))
            gain += coef[t] * change[t]
        if present:
            gain = -gain
            hastings = ties / (ties + dyads) if ties > 1 else 2.0 / (1.0 + dyads)
        else:
            hastings = 1.0 + dyads / (ties + 1.0) if ties > 0 else (1.0 + dyads) / 2.0
        if uniform(random) >= hastings * math.exp(gain):
            continue
        if present:
            detach(graph, e)
            for t in range(terms):
                statistics[t] -= change[t]
        else:
            must_grow = attach(graph, i, j)
            for t in range(terms):
                statistics[t] += change[t]
            if must_grow:
                return -(step + 1)
    return steps


@kernel
def run(
    graph: Any, model: Any, coef: Any, offset: Any, random: Any, statistics: Any, steps: Any
) -> Any:
    """Make `steps` proposals; return the graph, whose arrays are changed.

    `statistics`, shape (terms,), is updated with the graph.
    """
    change = np.empty(len(coef))
    done = 0
    while done < steps:
        made = _advance(graph, model, coef, offset, random, change, statistics, steps - done)
        done += abs(made)
        if made < 0:
            graph = grown(graph)
    return graph


@leaf
def changes_at(graph: Any, model: Any, i: Any, j: Any, present: Any, change: Any) -> Any:
    """Write every coordinate's change statistic at one dyad into `change`, shape (terms,)."""
    for t in range(len(change)):
        change[t] = change_of(graph, model, t, i, j, present)


@kernel
def add_up(graph: Any, model: Any, edges: Any, statistics: Any) -> Any:
    """Add the ties one by one, and their change statistics to `statistics`: the whole graph's."""
    change = np.empty(len(statistics))
    for e in range(len(edges)):
        i, j = np.int64(edges[e, 0]), np.int64(edges[e, 1])
        changes_at(graph, model, i, j, 0, change)
        for t in range(len(statistics)):
            statistics[t] += change[t]
        if attach(graph, i, j):
            graph = grown(graph)
    return graph


@kernel
def all_changes(graph: Any, model: Any, offset: Any, changes: Any, tied: Any, shift: Any) -> Any:
    """Change statistics, whether tied and offset of every dyad, shapes (dyads, terms), (dyads,)."""
    d = 0
    for i in range(graph.n):
        for j in range(0 if graph.inward else i + 1, graph.n):
            if i != j:
                tied[d] = has_tie(graph, i, j)
                shift[d] = dyad_offset(offset, i, j)
                changes_at(graph, model, i, j, np.int64(tied[d]), changes[d])
                d += 1


@kernel
def changes_of(graph: Any, model: Any, pairs: Any, tied: Any, changes: Any) -> Any:
    """Change statistics of some dyads, the first `tied` being ties; shape (dyads, terms)."""
    for d in range(len(pairs)):
        changes_at(graph, model, pairs[d, 0], pairs[d, 1], np.int64(d < tied), changes[d])
