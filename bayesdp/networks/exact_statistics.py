r"""Statistics of a network as exact numbers.

Statistics that aren't integers are sums of public floats, each an integer number of times:

    nodecov    sum_i x_i (ties of i)
    absdiff    sum_i x_i (ties where i is the end with the larger x, less those with the smaller)
    gwdegree, kstar, gwesp, gwdsp
               sum_m w_m (nodes of more than m ties; ties, or pairs, of more than m partners)

with the w_m of `sensitivity`, the floats that change statistics consist of. The multiplicities are
counted in integers and summed as fractions: there is no rounding, whatever the order of the ties.
The other statistics are integers, which the sampler's kernels add up exactly below 2^53.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.graphs import change_statistics as change
from bayesdp.networks.formula import bind, coordinates, parse
from bayesdp.networks.network import Network
from bayesdp.networks.sensitivity_bounds import values_of
from bayesdp.networks.terms import Coordinate


def exact_statistics(network: Network, formula: str) -> tuple[Fraction, ...]:
    """Compute the statistics of a network without rounding, in the order of the formula.

    Examples
    --------
    >>> exact_statistics(Network(3, [[0, 1], [0, 2]]), "edges + gwdegree(0.0)")
    (Fraction(2, 1), Fraction(3, 1))
    """
    terms = [c for call in parse(formula) for c in coordinates(call, network)]
    kernels: Any = None
    values = []
    for t, c in enumerate(terms):
        if c.kind in _COUNTS:
            values.append(_product(*_COUNTS[c.kind](c, network)))
            continue
        if kernels is None:
            kernels = bind(formula, network).graph(network)[1]
        values.append(Fraction(float(kernels[t])))
    return tuple(values)


def degrees(network: Network) -> NDArray[np.int64]:
    """Number of ties of each node, out-ties if directed; shape (n,)."""
    ends = network.edges[:, 0] if network.directed else network.edges.ravel()
    return np.bincount(ends, minlength=network.n).astype(np.int64)


Weighted = tuple[NDArray[np.float64], NDArray[np.int64]]


def _product(weights: NDArray[np.float64], times: NDArray[np.int64]) -> Fraction:
    """Sum weights[i] times[i] exactly."""
    used = np.flatnonzero(times)
    pairs = zip(weights[used].tolist(), times[used].tolist(), strict=True)
    return sum((Fraction(weight) * count for weight, count in pairs), Fraction(0))


def _node_ends(c: Coordinate, network: Network) -> Weighted:
    return values_of(c), np.bincount(network.edges.ravel(), minlength=network.n).astype(np.int64)


def _node_order(c: Coordinate, network: Network) -> Weighted:
    x, ends = values_of(c), network.edges
    swap = (x[ends[:, 0]] < x[ends[:, 1]]).astype(np.int64)
    rows = np.arange(len(ends))
    upper = np.bincount(ends[rows, swap], minlength=network.n)
    lower = np.bincount(ends[rows, 1 - swap], minlength=network.n)
    return x, (upper - lower).astype(np.int64)


def _tie_weights(c: Coordinate, network: Network) -> Weighted:
    matrix = np.empty((0, 0)) if c.matrix is None else c.matrix
    weights = matrix[network.edges[:, 0], network.edges[:, 1]]
    return weights, np.ones(len(weights), dtype=np.int64)


def _by_degree(c: Coordinate, network: Network) -> Weighted:
    return _above(c, degrees(network))


def _gwesp(c: Coordinate, network: Network) -> Weighted:
    adjacency = _sparse(network)
    partners = (adjacency @ adjacency).multiply(adjacency)
    return _above(c, partners.data, 1 if network.directed else 2)


def _gwdsp(c: Coordinate, network: Network) -> Weighted:
    adjacency = _sparse(network)
    partners = (adjacency @ adjacency).tocoo()
    apart = partners.coords[0] != partners.coords[1]
    return _above(c, partners.data[apart], 1 if network.directed else 2)


def _above(c: Coordinate, counts: NDArray[Any], each: int = 1) -> Weighted:
    """Weights w_m, and how many counts exceed m; each is listed `each` times."""
    histogram = np.bincount(counts.astype(np.int64), minlength=1)
    above = histogram[::-1].cumsum()[::-1][1:] // each
    return values_of(c), above.astype(np.int64)


def _sparse(network: Network) -> Any:
    from scipy import sparse

    rows, columns = network.edges[:, 0], network.edges[:, 1]
    if not network.directed:
        rows, columns = np.append(rows, columns), np.append(columns, rows)
    ones = np.ones(len(rows), dtype=np.int64)
    return sparse.csr_array((ones, (rows, columns)), shape=(network.n, network.n))


_COUNTS: dict[int, Callable[[Coordinate, Network], Weighted]] = {
    change.NODECOV: _node_ends,
    change.ABSDIFF: _node_order,
    change.EDGECOV: _tie_weights,
    change.BY_DEGREE: _by_degree,
    change.GWESP: _gwesp,
    change.GWDSP: _gwdsp,
}
