r"""Moves of a hidden graph that flip two or three dyads of a triangle at once.

Where triangles are likely and ties are not, a triangle can hardly be made or taken apart one tie at
a time: the graphs between have its ties without it. So these moves draw one of the triangles whose
three dyads are all listed in the evidence, such as those of a released graph, and then all three
dyads or two of them, each of the four choices as likely; they flip those drawn and accept with
probability min(1, f_c(x') / f_c(x)). What is drawn doesn't depend on x and the same draw leads
back, so the moves are reversible with respect to f_c.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.kernels.compiling import inlined, kernel, leaf
from bayesdp.kernels.graphs.change_statistics import change_of
from bayesdp.kernels.hidden.graph import cut, roomier, tie
from bayesdp.kernels.hidden.law import support
from bayesdp.kernels.randomness import below, uniform

MOST_TRIANGLES = 1_000_000
"""Of more, evenly spaced ones are drawn from."""


@kernel
def triangles_among(pairs: Any, first: Any) -> Any:
    """List triangles of listed dyads, shape (triangles, 3), as their places in the list."""
    every = 0
    for fill in (False, True):
        apart = every // MOST_TRIANGLES + 1
        triangles = np.empty((-(-every // apart) if fill else 0, 3), dtype=np.int64)
        count = 0
        for r in range(len(pairs)):
            i, j = pairs[r]
            p, q = r + 1, first[j]
            while p < first[i + 1] and q < first[j + 1]:
                if pairs[p, 1] == pairs[q, 1]:
                    if fill and count % apart == 0:
                        triangles[count // apart] = r, p, q
                    count += 1
                before, after = pairs[p, 1], pairs[q, 1]
                p += before <= after
                q += after <= before
        every = count
    return triangles


@kernel
def flip_triangles(
    hidden: Any, model: Any, seen: Any, coef: Any, random: Any, change: Any, statistics: Any,
    steps: Any,
) -> Any:  # fmt: skip
    """Make moves that flip triangles' dyads; return the hidden graph, whose arrays are changed."""
    before, state = np.empty_like(statistics), np.empty_like(random)
    done = 0
    while done < steps:
        done += _flip_some(
            hidden.graph, hidden.place, hidden.back, model, seen, coef, random, state, change,
            before, statistics, steps - done,
        )  # fmt: skip
        if done < steps:
            hidden = roomier(hidden)
    return hidden


@leaf
def _flip_some(
    graph: Any, place: Any, back: Any, model: Any, seen: Any, coef: Any, random: Any, state: Any,
    change: Any, before: Any, statistics: Any, steps: Any,
) -> Any:  # fmt: skip
    """Make moves and return their number; fewer if the graph must be grown before the next.

    A move for which there is no room is taken back, random numbers and all, to be made again.
    """
    for step in range(steps):
        _copy(random, state)
        _copy(statistics, before)
        triangle = below(random, len(seen.triangles))
        kept = below(random, 4)  # the dyad not flipped; 3 for none
        gain, end, room = 0.0, 0, True
        while end < 3 and room:
            if end != kept:
                r = seen.triangles[triangle, end]
                i, j = seen.pairs[r, 0], seen.pairs[r, 1]
                present = place[r] >= 0
                sign = -1.0 if present else 1.0
                for t in range(len(change)):
                    change[t] = change_of(graph, model, t, i, j, np.int64(present))
                for t in range(len(coef)):
                    gain += sign * coef[t] * change[t]
                gain += support(seen, graph, i, j, r, sign, change, statistics)
                for t in range(len(change)):
                    statistics[t] += sign * change[t]
                room = not _flip(graph, place, back, seen, r)
            end += 1
        allowed = room and not _exceeds(graph, seen, triangle)
        if allowed and uniform(random) < math.exp(min(gain, 0.0)):
            continue
        for k in range(end - 1, -1, -1):  # the same way back, for which there was room
            if k != kept:
                _flip(graph, place, back, seen, seen.triangles[triangle, k])
        _copy(before, statistics)
        if not room:
            _copy(state, random)
            return step
    return steps


@inlined
def _exceeds(graph: Any, seen: Any, triangle: Any) -> Any:
    """Return True if a node has too many ties; on the way it may, or the way back would differ."""
    for k in range(3):
        r = seen.triangles[triangle, k]
        for side in range(2):
            if graph.degree[seen.pairs[r, side]] > seen.most:
                return True
    return False


@inlined
def _flip(graph: Any, place: Any, back: Any, seen: Any, r: Any) -> Any:
    """Flip listed dyad r; return whether the graph must be grown before the next tie."""
    if place[r] >= 0:
        cut(graph, place, back, place[r])
        return False
    return tie(graph, place, back, seen.pairs[r, 0], seen.pairs[r, 1], r)


@inlined
def _copy(source: Any, target: Any) -> Any:
    for k in range(len(source)):
        target[k] = source[k]
