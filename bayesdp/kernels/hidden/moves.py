r"""The Metropolis chain on a hidden graph, given coefficients and evidence on the graph.

With coefficients c the chain's law is f_c(x) = exp(c . s(x)) L(x), L of `evidence`. A proposal
flips one dyad, drawn with probability `to_listed` from the dyads listed in the evidence, with
probability `to_ties` from the graph's ties (from all dyads where there is none), else from all.
With k dyads listed, m ties and D dyads, dyad d is flipped with probability

    q(d | x)  =  to_listed [d listed] / k  +  to_ties [d tied] / m  +  to_all / D

and a move to x' is accepted with probability min(1, f_c(x') q(d | x') / (f_c(x) q(d | x))): both
have the whole mixture, whichever part the dyad came from, and so the chain is reversible with
respect to f_c. A dyad drawn from all that turns out to be tied is a uniform one of the m, so it
is drawn again from the ties: the same law, and its place among them need not be searched.
Midway some proposals flip dyads of triangles (`bayesdp.kernels.hidden.triangles`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.kernels.compiling import inlined, kernel, leaf
from bayesdp.kernels.graphs.change_statistics import change_of
from bayesdp.kernels.graphs.graph import full, has_tie
from bayesdp.kernels.graphs.markov import number_of_dyads
from bayesdp.kernels.hidden.graph import cut, listed, roomier, tie
from bayesdp.kernels.hidden.law import support
from bayesdp.kernels.hidden.triangles import flip_triangles
from bayesdp.kernels.hidden.whole import log_whole, reads_whole, room_for
from bayesdp.kernels.randomness import below, uniform

TO_LISTED, TO_TIES, TO_TIES_ALONE = 0.55, 0.3, 0.5
"""Shares of the proposals; the rest is drawn from all dyads. The last where none is listed.

Measured on 205 nodes, edges + gwesp(0.5), a flip at epsilon = 3 and 5, as effective numbers of
gwesp a million proposals where triangles abound: shares 0.55 and 0.3 give 240 and 557, 0.4 and
0.4 154 and 404, 0.8 and 0.1 200 and 698; at epsilon = 2, 318, 275 and 228.
"""
TO_TRIANGLES = 0.15
"""Share of the proposals that flip triangles (`hidden.triangles`), where the evidence lists any.

Measured as above at epsilon = 3, as effective numbers of gwesp a second at (-5.2, 1.4): without
1,100, 0.1 2,100, 0.2 2,300, 0.35 1,800.
"""


@leaf
def _advance(
    graph: Any, place: Any, back: Any, model: Any, seen: Any, coef: Any, random: Any, change: Any,
    room: Any, statistics: Any, steps: Any,
) -> Any:  # fmt: skip
    """Make steps and return their number; negated, if the graph must be grown now."""
    n, dyads = graph.n, number_of_dyads(graph)
    to_listed = TO_LISTED if len(place) else 0.0
    to_ties = TO_TIES if len(place) else TO_TIES_ALONE
    of_listed = to_listed / max(len(place), 1)
    of_any = (1.0 - to_listed - to_ties) / dyads
    of_any_at_empty = (1.0 - to_listed) / dyads
    before = log_whole(seen.whole, graph, statistics, room) if reads_whole(seen.whole) else 0.0
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
        if not present and full(graph, seen.most, i, j):
            continue
        for t in range(len(change)):
            change[t] = change_of(graph, model, t, i, j, np.int64(present))
        gain = 0.0
        for t in range(len(coef)):
            gain += coef[t] * change[t]
        sign = -1.0 if present else 1.0
        gain = sign * gain + support(seen, graph, i, j, r, sign, change, statistics)
        base = of_listed if r >= 0 else 0.0
        fewer = ties - 1 if present else ties  # ties besides this dyad
        adding = base + (of_any if fewer > 0 else of_any_at_empty)
        removing = base + to_ties / (fewer + 1) + of_any
        hastings = adding / removing if present else removing / adding
        bar = uniform(random)
        if reads_whole(seen.whole):
            gain -= before  # what comes after the flip is at most 0
        if bar >= hastings * math.exp(gain):
            continue
        for t in range(len(change)):
            statistics[t] += sign * change[t]
        must_grow = False
        if present:
            cut(graph, place, back, e)
        else:
            must_grow = tie(graph, place, back, i, j, r)
        if reads_whole(seen.whole):
            after = log_whole(seen.whole, graph, statistics, room)
            if bar >= hastings * math.exp(gain + after):
                _take_back(graph, place, back, present, i, j, r)
                for t in range(len(change)):
                    statistics[t] -= sign * change[t]
                continue
            before = after
        if must_grow:
            return -(step + 1)
    return steps


@inlined
def _take_back(graph: Any, place: Any, back: Any, present: Any, i: Any, j: Any, r: Any) -> Any:
    """Undo the last flip: of a tie, which was put at the end, or for which there was room."""
    if present:
        tie(graph, place, back, i, j, r)
    else:
        cut(graph, place, back, graph.sizes[0] - 1)


@kernel
def run_hidden(
    hidden: Any, model: Any, seen: Any, coef: Any, random: Any, statistics: Any, steps: Any
) -> Any:
    """Make `steps` proposals; return the hidden graph, whose arrays are changed.

    `coef`, shape (terms,), is of the model's first coordinates; `statistics`, shape
    (coordinates,), is updated with the graph. Triangles are flipped midway, between as many
    proposals before and after, so that the whole is reversible too.
    """
    change = np.empty(len(statistics))
    flips = int(TO_TRIANGLES * steps) if len(seen.triangles) else 0
    if flips == 0:
        return _run_single(hidden, model, seen, coef, random, change, statistics, steps)
    half = (steps - flips) // 2
    hidden = _run_single(hidden, model, seen, coef, random, change, statistics, half)
    flips = steps - 2 * half
    hidden = flip_triangles(hidden, model, seen, coef, random, change, statistics, flips)
    return _run_single(hidden, model, seen, coef, random, change, statistics, half)


@kernel
def _run_single(
    hidden: Any, model: Any, seen: Any, coef: Any, random: Any, change: Any, statistics: Any,
    steps: Any,
) -> Any:  # fmt: skip
    done, room = 0, room_for(seen.whole)
    while done < steps:
        made = _advance(
            hidden.graph, hidden.place, hidden.back, model, seen, coef, random, change, room,
            statistics, steps - done,
        )  # fmt: skip
        done += abs(made)
        if made < 0:
            hidden = roomier(hidden)
    return hidden
