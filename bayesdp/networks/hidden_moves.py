r"""The Metropolis chain on a hidden graph, given coefficients and what was seen of it.

With coefficients c the chain's law is f_c(x) = exp(c . s(x)) L(x), L of `evidence`. A proposal
flips one dyad, drawn with probability `to_listed` from the dyads listed in the evidence, with
probability `to_ties` from the graph's ties (from all dyads where there is none), else from all.
With k dyads listed, m ties and D dyads, dyad d is flipped with probability

    q(d | x)  =  to_listed [d listed] / k  +  to_ties [d tied] / m  +  to_all / D

and a move to x' is accepted with probability min(1, f_c(x') q(d | x') / (f_c(x) q(d | x))): both
have the whole mixture, whichever part the dyad came from, and so the chain is reversible with
respect to f_c. A dyad drawn from all that turns out to be tied is a uniform one of the m, so it
is drawn again from the ties: the same law, and its place among them need not be searched.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.networks.change_statistics import change_of
from bayesdp.networks.compiling import inlined, kernel, leaf
from bayesdp.networks.graph import Graph, attach, detach, duplicate, grown, has_tie
from bayesdp.networks.markov import number_of_dyads
from bayesdp.networks.randomness import below, uniform

TO_LISTED, TO_TIES, TO_TIES_ALONE = 0.55, 0.3, 0.5
"""Shares of the proposals; the rest is drawn from all dyads. The last where none is listed.

Measured on 205 nodes, edges + gwesp(0.5), a flip at epsilon = 3 and 5, as effective numbers of
gwesp a million proposals where triangles abound: shares 0.55 and 0.3 give 240 and 557, 0.4 and
0.4 154 and 404, 0.8 and 0.1 200 and 698; at epsilon = 2, 318, 275 and 228.
"""


class Hidden(NamedTuple):
    """A hidden graph under change; made by `hidden_of`.

    Attributes
    ----------
    graph : Graph
    place : ndarray of int64, shape (listed,)
        Where each dyad listed in the evidence is among the graph's ties; -1 if it isn't tied.
    back : ndarray of int64, shape (room for ties,)
        Which of the dyads listed each tie is; -1 for none.
    """

    graph: Graph
    place: NDArray[np.int64]
    back: NDArray[np.int64]


@inlined
def listed(seen: Any, i: Any, j: Any) -> Any:
    """Which of the dyads listed this is; -1 for none."""
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
    """The graph, with places; keeps the one given."""
    place = np.full(len(seen.pairs), -1, dtype=np.int64)
    back = np.full(len(graph.edges), -1, dtype=np.int64)
    for e in range(graph.sizes[0]):
        back[e] = listed(seen, np.int64(graph.edges[e, 0]), np.int64(graph.edges[e, 1]))
        if back[e] >= 0:
            place[back[e]] = e
    return Hidden(graph, place, back)


@kernel
def copied(hidden: Any) -> Any:
    """A copy that shares nothing."""
    return Hidden(duplicate(hidden.graph), hidden.place.copy(), hidden.back.copy())


@inlined
def _log_law(law: Any, scale: Any, step: Any, seen: Any, value: Any) -> Any:
    """Log density of the noise, but for its constant; the value is rounded as before it."""
    if step > 0.0:
        value = step * math.floor(value / step + 0.5)
    u = (seen - value) / scale
    return -abs(u) if law == 0 else -0.5 * u * u


@inlined
def _support(
    seen: Any, graph: Any, i: Any, j: Any, r: Any, sign: Any, change: Any, now: Any
) -> Any:
    """What log L gains when the tie from i to j is added (sign 1) or taken out (sign -1).

    r is the dyad's place in the list; `now`, shape (coordinates,), the statistics before.
    """
    if len(seen.matrix):
        total = sign * seen.matrix[i, j]
    else:
        total = sign * (seen.offset[r] if r >= 0 else seen.constant)
    for k in range(len(seen.coordinate)):
        t = seen.coordinate[k]
        if change[t] != 0.0:
            law, scale, step = seen.law[k], seen.scale[k], seen.step[k]
            total += _log_law(law, scale, step, seen.values[k], now[t] + sign * change[t])
            total -= _log_law(law, scale, step, seen.values[k], now[t])
    for k in range(len(seen.degrees)):
        for row in (i, graph.inward + j):
            degree, value = float(graph.degree[row]), seen.degrees[k, row]
            law, scale = seen.degree_law[k], seen.degree_scale[k]
            total += _log_law(law, scale, 0.0, value, degree + sign)
            total -= _log_law(law, scale, 0.0, value, degree)
    return total


@inlined
def _full(graph: Any, most: Any, i: Any, j: Any) -> Any:
    """Whether a tie from i to j would be one too many for a node."""
    return graph.degree[i] >= most or (graph.inward == 0 and graph.degree[j] >= most)


@leaf
def _advance(
    graph: Any, place: Any, back: Any, model: Any, seen: Any, coef: Any, random: Any, change: Any,
    statistics: Any, steps: Any,
) -> Any:  # fmt: skip
    """Steps made; less than zero, their number negated, if the graph must be grown now."""
    n, dyads = graph.n, number_of_dyads(graph)
    to_listed = TO_LISTED if len(place) else 0.0
    to_ties = TO_TIES if len(place) else TO_TIES_ALONE
    of_listed = to_listed / max(len(place), 1)
    of_any = (1.0 - to_listed - to_ties) / dyads
    of_any_at_empty = (1.0 - to_listed) / dyads
    for step in range(steps):
        ties = graph.sizes[0]
        part = uniform(random)
        r = e = np.int64(-1)
        if part < to_listed:
            r = below(random, len(place))
            i, j = seen.pairs[r, 0], seen.pairs[r, 1]
            e = place[r]
            present = e >= 0
        else:
            i = j = np.int64(0)
            present = ties > 0 and part < to_listed + to_ties
            if not present:
                i = below(random, n)
                j = below(random, n - 1)
                if j >= i:
                    j += 1
                if graph.inward == 0 and i > j:
                    i, j = j, i
                present = has_tie(graph, i, j)
            if present:
                e = below(random, ties)
                i, j = np.int64(graph.edges[e, 0]), np.int64(graph.edges[e, 1])
                r = back[e]
            else:
                r = listed(seen, i, j)
        if not present and _full(graph, seen.most, i, j):
            continue
        for t in range(len(change)):
            change[t] = change_of(graph, model, t, i, j, np.int64(present))
        gain = 0.0
        for t in range(len(coef)):
            gain += coef[t] * change[t]
        sign = -1.0 if present else 1.0
        gain = sign * gain + _support(seen, graph, i, j, r, sign, change, statistics)
        base = of_listed if r >= 0 else 0.0
        fewer = ties - 1 if present else ties  # ties besides this dyad
        adding = base + (of_any if fewer > 0 else of_any_at_empty)
        removing = base + to_ties / (fewer + 1) + of_any
        hastings = adding / removing if present else removing / adding
        if uniform(random) >= hastings * math.exp(gain):
            continue
        for t in range(len(change)):
            statistics[t] += sign * change[t]
        if present:
            last = ties - 1
            if r >= 0:
                place[r] = -1
            if e != last:
                back[e] = back[last]
                if back[e] >= 0:
                    place[back[e]] = e
            detach(graph, e)
        else:
            back[ties] = r
            if r >= 0:
                place[r] = ties
            if attach(graph, i, j):
                return -(step + 1)
    return steps


@kernel
def run_hidden(
    hidden: Any, model: Any, seen: Any, coef: Any, random: Any, statistics: Any, steps: Any
) -> Any:
    """Make so many proposals; return the hidden graph, whose arrays are changed.

    `coef`, shape (terms,), is of the model's first coordinates; `statistics`, shape
    (coordinates,), is kept up with the graph.
    """
    change = np.empty(len(statistics))
    done = 0
    while done < steps:
        made = _advance(
            hidden.graph, hidden.place, hidden.back, model, seen, coef, random, change, statistics,
            steps - done,
        )  # fmt: skip
        done += abs(made)
        if made < 0:
            hidden = _roomier(hidden)
    return hidden


@kernel
def _roomier(hidden: Any) -> Any:
    graph = grown(hidden.graph)
    back = np.full(len(graph.edges), -1, dtype=np.int64)
    back[: len(hidden.back)] = hidden.back
    return Hidden(graph, hidden.place, back)
