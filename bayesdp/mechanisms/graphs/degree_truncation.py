r"""Graphs cut to a largest degree D, and the sensitivity of what is counted then.

The ties are taken in a public order, and each is kept if both ends have fewer than D kept ones so
far (Blocki, Blum, Datta and Sheffet 2013; Day, Li and Lyu 2016, Algorithm 1). The order is that of
the labels of the ends: it doesn't follow how the graph is listed, which may reveal its ties.

Degrees hardly move
-------------------
Take the ties of two graphs in order, those of both at once, and let diff_u be the kept degree of
u in the first less that in the second. A tie of both that is kept in both or in neither changes
nothing. A tie that is kept in the first alone has an end u with D kept ties in the second and fewer
in the first: diff_u < 0, and |diff_u| falls by one, while the other end's rises by at most one. The
same the other way around. So ties of both graphs never raise the sum of |diff|.

* One tie. If the first graph has one more tie, it alone can raise the sum, by 2: at the end

      sum of |diff_u| <= 2.

* One node v. Let the second graph be the first without the ties of v, and k <= D how many of them
  are kept. A kept one raises the sum over u != v by at most 1, and one that isn't by nothing:

      sum over u != v of |diff_u| <= k.

Sums of functions of degrees
----------------------------
Let F = sum over u of f(kept degree of u), and L = max over 0 <= d < D of |f(d + 1) - f(d)|.

* Neighbours by edge: |F - F'| <= 2 L.
* Neighbours by node both become the same graph without the ties of v, with k and k' kept before.
  F is within L k of f(k) - f(0) plus that graph's value, and F' is likewise, so

      |F - F'| <= max over k, k' from 0 to D of |f(k) - f(k')| + L (k + k')
                = max over k of (f(k) + L k) - min over k of (f(k) - L k).

Edges, f(d) = d / 2, move by at most D by node and 1 by edge; k-stars by 2 D C(D - 1, k - 1) and
2 C(D - 1, k - 1); the nodes of one degree, isolates and concurrent nodes by at most 2 D and 2.
The whole sequence of kept degrees moves by at most 2 D in L1 norm (k + k' + |k - k'|), or 2.

Other statistics
----------------
They depend on which ties are kept, and those of two neighbours may differ all along a path through
the graph: with D = 1 on the path 1-2-3-4-..., the ties 1-2, 3-4, ... are kept, but with one more
tie, 0-1, they are 0-1, 2-3, ... So nodematch, triangle, gwesp and their like aren't offered.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.graphs.network_columns import public_part
from bayesdp.networks.network import Network
from bayesdp.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from bayesdp.kernels.graphs.markov import Model

ALLOWED = ("concurrent", "degree", "edges", "gwdegree", "isolates", "kstar")
"""Terms that are sums of functions of degrees."""
_FINEST = 2**24  # values of gwdegree's function are rounded to multiples of 1 / this


class DegreeSum(NamedTuple):
    """A statistic that is the sum over nodes of a function of their kept degrees.

    Attributes
    ----------
    name : str
    values : tuple of Fraction
        f(0), ..., f(D): for gwdegree rounded to a multiple of 2^-24, so that sums are exact.
    whole : bool
        Whether the statistic is an integer.
    """

    name: str
    values: tuple[Fraction, ...]
    whole: bool

    @property
    def unit(self) -> Fraction:
        """Unit of which all the statistic's values are multiples."""
        return Fraction(1) if self.whole else Fraction(1, _FINEST)

    def of(self, degrees: NDArray[np.int64]) -> Fraction:
        """Compute the statistic of a graph, exactly."""
        counts = np.bincount(degrees, minlength=len(self.values)).tolist()
        return sum((c * f for c, f in zip(counts, self.values, strict=True) if c), Fraction(0))

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """The largest change between neighbours by NODE or EDGE, as the module proves."""
        pairs = zip(self.values[1:], self.values[:-1], strict=True)
        slope = max(abs(after - before) for after, before in pairs)
        if neighbours is Neighbours.EDGE:
            return 2 * slope
        high = max(f + slope * k for k, f in enumerate(self.values))
        return high - min(f - slope * k for k, f in enumerate(self.values))


def degree_sums(formula: str, max_degree: int) -> tuple[DegreeSum, ...]:
    """Make a formula's statistics as functions of the degree, which is at most `max_degree`.

    Raises
    ------
    InvalidInput
        If a term isn't a sum of functions of degrees, or is the same for all kept graphs.
    """
    from bayesdp.networks.formula import bind, parse

    for call in parse(formula):
        if call.name not in ALLOWED:
            raise InvalidInput(
                f"formula has the term {quoted(call.name)}; truncation bounds how far one node "
                "moves the degrees, but not which ties are kept, so only sums of functions of "
                f"degrees are released: {', '.join(ALLOWED)}"
            )
    bound = bind(formula, Network(max_degree + 1))
    sums = []
    for t, name in enumerate(bound.names):
        values = _function(bound.model, t, max_degree)
        if len(set(values)) == 1:
            raise InvalidInput(
                f"formula has {quoted(name)}, which is the same for all graphs with degrees up to "
                f"max_degree = {max_degree}; leave it out or raise max_degree"
            )
        sums.append(DegreeSum(name, values, not name.startswith("gwdegree")))
    return tuple(sums)


def _function(model: Model, t: int, max_degree: int) -> tuple[Fraction, ...]:
    """Table f(0), ..., f(max_degree) of coordinate t, up to a constant that all graphs share."""
    from bayesdp.kernels.graphs import change_statistics as change

    kind, parameter = int(model.kind[t]), float(model.parameter[t])
    degrees = range(max_degree + 1)
    if kind == change.EDGES:
        return tuple(Fraction(d, 2) for d in degrees)
    if kind == change.BY_DEGREE:
        gains: list[float] = model.values[model.row[t], :max_degree].tolist()
        grid = [Fraction(round(Fraction(gain) * _FINEST), _FINEST) for gain in gains]
        return tuple(accumulate(grid, initial=Fraction(0)))
    if kind == change.ISOLATES:
        return tuple(Fraction(d == 0) for d in degrees)
    if kind == change.CONCURRENT:
        return tuple(Fraction(d >= 2) for d in degrees)
    return tuple(Fraction(d == parameter) for d in degrees)  # DEGREE


def truncated_degrees(network: Network, max_degree: int) -> NDArray[np.int64]:
    """Kept degree of each node of an undirected network, by its number; shape (n,)."""
    place = public_places(network)
    ties = np.sort(place[network.edges], axis=1)
    kept = [0] * network.n
    for i, j in ties[np.lexsort((ties[:, 1], ties[:, 0]))].tolist():
        if kept[i] < max_degree and kept[j] < max_degree:
            kept[i] += 1
            kept[j] += 1
    return np.array(kept, dtype=np.int64)[place]


def public_places(network: Network) -> NDArray[np.int64]:
    """Place of each node in the order of the labels; InvalidInput if labels have no order."""
    in_order = public_part(network, ()).nodes
    number = {label: place for place, label in enumerate(in_order)}
    return np.array([number[label] for label in network.nodes], dtype=np.int64)
