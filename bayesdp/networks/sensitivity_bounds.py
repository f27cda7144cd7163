"""Largest changes of single statistics, one function a kind; `sensitivity` has the proofs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.graphs import change_statistics as change
from bayesdp.networks.terms import Coordinate

_UP = 1 + 2.0**-40  # above the rounding of a sum of floats of one sign
_0 = Fraction(0)


@dataclass(frozen=True)
class Graphs:
    """Set of graphs on n nodes whose degrees, out-degrees if directed, are at most `most`."""

    n: int
    directed: bool
    most: int


def is_whole(coordinate: Coordinate) -> bool:
    """Test whether the statistic is an integer on every graph."""
    if coordinate.kind in (change.GWESP, change.GWDSP):
        return False
    parts = (coordinate.values, coordinate.matrix)
    return all(part is None or bool(np.all(part == np.floor(part))) for part in parts)


def values_of(c: Coordinate) -> NDArray[np.float64]:
    """Numbers of the term's nodes; empty where it has none."""
    return np.empty(0) if c.values is None else c.values


def _largest(c: Coordinate, below: int) -> Fraction:
    """Largest of values[:below]; 0 if there are none."""
    return Fraction(float(np.max(values_of(c)[:below], initial=0.0)))


def _sum(c: Coordinate, below: int) -> Fraction:
    """Sum of values[:below], exactly."""
    return sum(map(Fraction, values_of(c)[:below].tolist()), _0)


def in_level(c: Coordinate, level: float) -> int:
    """Number of nodes with this level of the term's attribute."""
    return int(np.count_nonzero(c.values == level))


def _nodematch(c: Coordinate, graphs: Graphs) -> int:
    return int(np.unique(values_of(c), return_counts=True)[1].max() > 1)


def _nodecov(c: Coordinate, graphs: Graphs) -> Fraction:
    x = [Fraction(value) for value in np.sort(values_of(c)).tolist()]
    return max(abs(x[0] + x[1]), abs(x[-2] + x[-1]))


def _absdiff(c: Coordinate, graphs: Graphs) -> Fraction:
    return Fraction(float(values_of(c).max())) - Fraction(float(values_of(c).min()))


def _triangle(c: Coordinate, graphs: Graphs) -> int:
    n, most = graphs.n, graphs.most
    if not graphs.directed:
        return most - 1
    if most == 1:
        return min(1, n - 2)
    return (n - 2) + 2 * (most - 1) + min(most, n - 2)


def _gwesp(c: Coordinate, graphs: Graphs) -> Fraction:
    others = graphs.most - 1
    beside = 2 * others
    if graphs.directed:
        beside = others + graphs.n - 2 if others else 0
    return _sum(c, others) + beside * _largest(c, graphs.n)


def _gwdsp(c: Coordinate, graphs: Graphs) -> Fraction:
    pairs = 2 * (graphs.most - 1)
    if graphs.directed:
        pairs = min(graphs.most, graphs.n - 2) + graphs.n - 2
    return pairs * _largest(c, graphs.n)


Bound = Callable[[Coordinate, Graphs], Any]

EDGE: dict[int, Bound] = {
    change.EDGES: lambda c, graphs: 1,
    change.MUTUAL: lambda c, graphs: 1,
    change.NODEMATCH: _nodematch,
    change.NODEMATCH_LEVEL: lambda c, graphs: int(in_level(c, c.parameter) > 1),
    change.NODEMIX: lambda c, graphs: 1,
    change.NODECOV: _nodecov,
    change.ABSDIFF: _absdiff,
    change.EDGECOV: lambda c, graphs: float(np.abs(c.matrix).max()),  # type: ignore[arg-type]
    change.BY_DEGREE: lambda c, graphs: 2 * _largest(c, graphs.most),
    change.TRIANGLE: _triangle,
    change.GWESP: _gwesp,
    change.GWDSP: _gwdsp,
    change.ISOLATES: lambda c, graphs: 2,
    change.CONCURRENT: lambda c, graphs: 2 * (graphs.most > 1),
}
"""Kind of a statistic to its largest change where one dyad changes."""


Row = NDArray[Any]


def _mixed(c: Coordinate, graphs: Graphs, v: Row, i: int) -> tuple[Row, Row]:
    out, inward = v[i] - v == 2, v - v[i] == 2
    return (out, inward) if graphs.directed else (out | inward, out | inward)


def _given(c: Coordinate, graphs: Graphs, v: Row, i: int) -> tuple[Row, Row]:
    return c.matrix[i], c.matrix[:, i]  # type: ignore[index]


ROWS: dict[int, Callable[[Coordinate, Graphs, Row, int], Row | tuple[Row, Row]]] = {
    change.EDGES: lambda c, graphs, v, i: np.ones(graphs.n),
    change.NODEMATCH: lambda c, graphs, v, i: v == v[i],
    change.NODEMATCH_LEVEL: lambda c, graphs, v, i: (v == c.parameter) & (v[i] == c.parameter),
    change.NODEMIX: _mixed,
    change.NODEFACTOR: lambda c, graphs, v, i: 1.0 * (v == c.parameter) + (v[i] == c.parameter),
    change.NODECOV: lambda c, graphs, v, i: v + v[i],
    change.ABSDIFF: lambda c, graphs, v, i: np.abs(v - v[i]),
    change.EDGECOV: _given,
}
"""Kind of a statistic to its weights of ties between node i and each node, of numbers v.

Where those from i aren't those towards i, it has both.
"""


def _row(c: Coordinate, graphs: Graphs, i: int) -> tuple[Row, Row]:
    """Weights of ties from node i to the others, and from these to i."""
    found = ROWS[c.kind](c, graphs, values_of(c), i)
    out, inward = found if isinstance(found, tuple) else (found, found)
    return np.delete(out, i).astype(np.float64), np.delete(inward, i).astype(np.float64)


def _weights_of(c: Coordinate, graphs: Graphs, i: int) -> Fraction:
    """Largest sum of weights of node i's ties that only one of two graphs has, less the other's."""
    out, inward = _row(c, graphs, i)
    total = np.abs(inward).sum() if graphs.directed else 0.0
    for side in (np.maximum(out, 0.0), np.maximum(-out, 0.0)):
        total += np.sort(side)[::-1][: graphs.most].sum()
    most = float(total)
    return Fraction(most if is_whole(c) and most < 2**53 else math.nextafter(most * _UP, math.inf))


def _weights(c: Coordinate, graphs: Graphs) -> Fraction:
    """Largest of all nodes' weights; nodes of equal value have the same."""
    first: Any = range(graphs.n)
    if c.matrix is None:
        first = [0] if c.kind == change.EDGES else np.unique(values_of(c), return_index=True)[1]
    return max(_weights_of(c, graphs, int(i)) for i in first)


def mixing_moves(group: Sequence[Coordinate], graphs: Graphs) -> Iterator[tuple[Fraction, ...]]:
    """Largest changes of nodemix's statistics by all dyads of one node, for each level it has."""
    values = np.array([values_of(c) for c in group])
    for i in np.unique(values, axis=1, return_index=True)[1]:
        yield tuple(_weights_of(c, graphs, int(i)) for c in group)


def _node_by_degree(c: Coordinate, graphs: Graphs) -> Fraction:
    """Bound a node's own W(D), and each neighbour's last tie."""
    return _sum(c, graphs.most) + graphs.most * _largest(c, graphs.most)


def _node_triangle(c: Coordinate, graphs: Graphs) -> int:
    if graphs.directed:
        return 4 * (graphs.n - 1) * min(graphs.most, graphs.n - 2)
    return math.comb(graphs.most, 2)


def _node_degree(c: Coordinate, graphs: Graphs) -> int:
    most = graphs.most
    if c.parameter > most:
        return 0
    return min(graphs.n, 1 + (most if c.parameter in (0, most) else 2 * most))


def _node_concurrent(c: Coordinate, graphs: Graphs) -> int:
    most = graphs.most
    if most == 1:
        return 0
    return most + (1 if most % 2 == 0 or most < graphs.n - 1 else 0)


def _node_gwesp(c: Coordinate, graphs: Graphs) -> Fraction:
    n, most = graphs.n, graphs.most
    ties, beside = most, Fraction(most * (most - 1), 2)
    if graphs.directed:
        ties, beside = most + n - 1, Fraction(min(most * (n - 2), (n - 1) * (most - 1)))
    return ties * _sum(c, most - 1) + beside * _largest(c, n)


def _node_gwdsp(c: Coordinate, graphs: Graphs) -> Fraction:
    n, most = graphs.n, graphs.most
    if not graphs.directed:
        pairs = Fraction(most * (most - 1), 2)
        return pairs * _largest(c, n) + _spread(c, most * (most - 1), n - 1)
    step = min(most, n - 2)
    towards = (n - 1) * _sum(c, step)
    return most * (n - 2) * _largest(c, n) + _spread(c, most * step, n - 1) + towards


def _spread(c: Coordinate, paths: int, over: int) -> Fraction:
    """Largest sum of W over `over` pairs with `paths` two-paths in all, as W is concave."""
    each, more = divmod(paths, over)
    return (over - more) * _sum(c, each) + (more * _sum(c, each + 1) if more else 0)


NODE: dict[int, Bound] = {
    **dict.fromkeys(ROWS, _weights),
    change.MUTUAL: lambda c, graphs: graphs.most,
    change.DEGREE: _node_degree,
    change.BY_DEGREE: _node_by_degree,
    change.TRIANGLE: _node_triangle,
    change.GWESP: _node_gwesp,
    change.GWDSP: _node_gwdsp,
    change.ISOLATES: lambda c, graphs: graphs.n if graphs.directed else graphs.most + 1,
    change.CONCURRENT: _node_concurrent,
}
"""Kind of a statistic to its largest change where all dyads of one node do."""
