r"""Tempered chain on graphs over many coefficients, and its estimate of log Z.

Where ties make ties likelier, a model can have two phases, sparse graphs and nearly complete ones,
with next to nothing between: a chain at fixed coefficients stays in the one it starts from. This
chain's coefficients move too, over levels c_1, ..., c_K. Its law on graphs and levels is

    P(y, k)  proportional to  exp(c_k . s(y) - zeta_k)

(simulated tempering: Marinari and Parisi 1992; Geyer and Thompson 1995). Given the level, the graph
moves by Metropolis steps; given the graph, the level is drawn afresh from all K. The first levels
are roots, at which dyads are independent: there the graph, and which root, are drawn exactly and
afresh, as a Gibbs step on the roots together, since log Z is a closed form at roots and zeta is set
to it. Roots have every density. From each of some coefficients of the region of interest a path of
levels leads to sparse, middling and dense roots, on which the log-odds of a tie in the graph as it
is there don't change: so either phase is reached from its own roots, around the place where they
part, and each return to the roots forgets all that was before.

zeta_k is learned by stochastic approximation until all levels are visited alike (Tan 2017), then
kept, and the chain's graphs y_1, ..., y_N are draws whose marginal law is proportional to M(y) =
sum_k exp(c_k . s(y) - zeta_k), whatever zeta is. With M_0 the part of M that roots have, and the
sum over y of M_0(y) equal to the number of roots,

    Z(theta)  =  roots  E[ exp(theta . s(y)) / M(y) ]  /  E[ M_0(y) / M(y) ],

at every theta at once. Both are averages over the y_i: the points of the result.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.graphs.graph import Graph, attach, duplicate, grown
from bayesdp.kernels.graphs.markov import changes_at, run
from bayesdp.kernels.randomness import uniform

Floats = NDArray[np.float64]


class Ladder(NamedTuple):
    """Levels, and the law of graphs at roots, as kernels read them.

    Attributes
    ----------
    coefficients : ndarray of float, shape (levels, coordinates)
        Roots first.
    roots : int
    dyads : ndarray of int32, shape (dyads, 2)
    alone : ndarray of float, shape (dyads, coordinates)
        Change statistics of the terms that make no dyad depend on another; 0 for others.
    shift : ndarray of float, shape (dyads,)
        Offsets.
    at_empty : ndarray of float, shape (coordinates,)
    empty : Graph
        Not changed.
    """

    coefficients: Floats
    roots: int
    dyads: NDArray[np.int32]
    alone: Floats
    shift: Floats
    at_empty: Floats
    empty: Graph


@kernel
def at_root(ladder: Any, model: Any, k: Any, random: Any, statistics: Any) -> Any:
    """Draw a graph exactly at root k; fill its `statistics`."""
    graph = duplicate(ladder.empty)
    statistics[:] = ladder.at_empty
    change = np.empty(len(statistics))
    for d in range(len(ladder.dyads)):
        odds = ladder.shift[d]
        for t in range(len(statistics)):
            odds += ladder.coefficients[k, t] * ladder.alone[d, t]
        if uniform(random) * (1.0 + math.exp(-odds)) < 1.0:
            i, j = np.int64(ladder.dyads[d, 0]), np.int64(ladder.dyads[d, 1])
            changes_at(graph, model, i, j, 0, change)
            statistics += change
            if attach(graph, i, j):
                graph = grown(graph)
    return graph


@kernel
def temper(
    ladder: Any, model: Any, offset: Any, zeta: Any, root: Any, random: Any, proposals: Any,
    gain: Any, kept: Any, mixture: Any, visits: Any,
) -> Any:  # fmt: skip
    """Make a step for each row of `kept`, from a root's graph; fill statistics and log M.

    `gain`, shape (steps,), has the step sizes for updating `zeta`; empty to leave it. Adds each
    step's probabilities of the levels to `visits`. Returns how often the chain returned to the
    roots.
    """
    levels, terms = ladder.coefficients.shape
    statistics, weight = np.empty(terms), np.empty(levels)
    graph = at_root(ladder, model, root, random, statistics)
    k, tours = root, 0
    for d in range(len(kept)):
        graph = run(graph, model, ladder.coefficients[k], offset, random, statistics, proposals)
        top = -np.inf
        for j in range(levels):
            weight[j] = -zeta[j]
            for t in range(terms):
                weight[j] += ladder.coefficients[j, t] * statistics[t]
            top = max(top, weight[j])
        total = 0.0
        for j in range(levels):
            weight[j] = math.exp(weight[j] - top)
            total += weight[j]
        kept[d], mixture[d] = statistics, top + math.log(total)
        shared = 0.0
        for j in range(levels):
            weight[j] /= total
            visits[j] += weight[j]
            if j < ladder.roots:
                shared += weight[j] / ladder.roots
        if len(gain):
            for j in range(ladder.roots, levels):
                zeta[j] += gain[d] * (weight[j] - shared)
        mark, left = uniform(random), k >= ladder.roots
        k = 0
        while k < levels - 1 and mark >= weight[k]:
            mark -= weight[k]
            k += 1
        if k < ladder.roots:
            tours += left
            k = int(uniform(random) * ladder.roots)
            graph = at_root(ladder, model, k, random, statistics)
    return tours
