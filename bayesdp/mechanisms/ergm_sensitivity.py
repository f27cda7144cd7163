r"""By how much each statistic of a graph model may change when one dyad's tie does.

One tie from i to j among n public nodes is added; q = 1 - exp(-decay) <= 1, and powers of it count
shared partners or ties. At most n - 2 nodes k are tied to both ends, and each end has at most
n - 2 other ties.

=========================  =====================================================================
statistic                  largest change
=========================  =====================================================================
edges, mutual, nodematch   1
nodefactor                 2: both ends
nodecov, absdiff           the largest of abs(v_i + v_j), of abs(v_i - v_j), over dyads
degree(d), isolates,       2: each end enters or leaves the count, by 1 at most
concurrent
gwdegree, kstar(k)         a node of d ties gains q^d, or C(d, k - 1): twice the largest of these,
                           2 and 2 C(n - 2, k - 1)
triangle                   n - 2; directed 4 (n - 2): k with i -> k -> j, j -> k -> i, a common
                           target, a common source
gwesp                      exp(decay) (1 - q^(n - 2)) + 2 (n - 2): the pair's own partners, and for
                           each of them k, two ties whose partners become one more, q^count each
gwdsp                      2 (n - 2): each other tie of an end makes one two-path, q^count each
=========================  =====================================================================

All are attained: for gwesp and gwdsp where i and j are tied to every other node, and these to no
other. A test compares them with every toggle of every graph on few nodes.

Rounding
--------
A statistic is a sum over its m ties, in their order, of changes as computed. A change is the sum
of at most 2 n terms of one sign, or of two numbers, so it is right to (2 n + 20) u of itself,
u = 2^-53, and is at most the sensitivity D; the sum adds m u of the sum of their sizes, m D. So a
computed statistic is within m (m + 2 n + 20) u D, to first order, of one that keeps to D, and two
neighbours' are no further apart than D (1 + dyads (dyads + 2 n + 20) 2^-51), where the power of two
leaves a factor of two for the higher orders. Statistics that are sums of whole numbers have no
such error.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.networks import change_statistics as change
from bayesdp.networks.formula import BoundFormula
from bayesdp.networks.network import Network

Floats = NDArray[np.float64]


def _nodecov(v: Floats, _: float, n: int, directed: bool) -> float:
    ordered = np.sort(v)
    return float(max(abs(ordered[0] + ordered[1]), abs(ordered[-1] + ordered[-2])))


_LARGEST: dict[int, Callable[[Floats, float, int, bool], float]] = {
    change.EDGES: lambda v, a, n, directed: 1,
    change.MUTUAL: lambda v, a, n, directed: 1,
    change.NODEMATCH: lambda v, a, n, directed: 1,
    change.NODEMATCH_LEVEL: lambda v, a, n, directed: 1,
    change.NODEFACTOR: lambda v, a, n, directed: 2,
    change.NODECOV: _nodecov,
    change.ABSDIFF: lambda v, a, n, directed: v.max() - v.min(),
    change.DEGREE: lambda v, a, n, directed: 2,
    change.BY_DEGREE: lambda v, a, n, directed: 2 * v[: n - 1].max(),
    change.TRIANGLE: lambda v, a, n, directed: (4 if directed else 1) * (n - 2),
    change.GWESP: lambda v, a, n, directed: a * (1 - v[: n - 1].min()) + 2 * (n - 2),
    change.GWDSP: lambda v, a, n, directed: 2 * (n - 2),
    change.ISOLATES: lambda v, a, n, directed: 2,
    change.CONCURRENT: lambda v, a, n, directed: 2,
}
_OF_NUMBERS = {change.NODECOV, change.ABSDIFF, change.BY_DEGREE, change.GWESP, change.GWDSP}
_EXACT = 2.0**53  # whole numbers up to it are floats


def edge_sensitivities(bound: BoundFormula, network: Network) -> tuple[float, ...]:
    """The largest change of each statistic, as computed, when one dyad's tie changes.

    Parameters
    ----------
    bound : BoundFormula
        On these nodes.
    network : Network
        Its nodes and their attributes, all public; its ties aren't read.

    Returns
    -------
    tuple of float
        One a statistic, rounded up.

    Raises
    ------
    InvalidInput
        If a statistic isn't listed, or never changes.
    """
    made, model = [], bound.model
    for t, name in enumerate(bound.names):
        kind = int(model.kind[t])
        if kind not in _LARGEST:
            raise InvalidInput(f"no edge sensitivity of {name} is known; leave the term out")
        values, parameter = model.values[model.row[t]], float(model.parameter[t])
        largest = float(_LARGEST[kind](values, parameter, network.n, network.directed))
        if largest <= 0:
            raise InvalidInput(
                f"{name} never changes with a tie on {network.n} nodes; leave the term out"
            )
        made.append(largest * _rounding(kind, values, parameter, largest, bound, network))
    return tuple(made)


def _rounding(
    kind: int, values: Floats, parameter: float, largest: float, bound: BoundFormula, net: Network
) -> float:
    """1 where sums are exact; else a factor above 1."""
    whole = kind not in _OF_NUMBERS or (
        bool(np.all(values == np.floor(values))) and parameter.is_integer()
    )
    if whole and float(np.abs(bound.at_empty).max()) + net.dyads * largest < _EXACT:
        return 1.0
    terms = net.dyads + 2 * net.n + 20
    return math.nextafter(1 + 2.0**-50 + net.dyads * terms * 2.0**-51, math.inf)
