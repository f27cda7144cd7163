r"""Triangles of a graph, their local sensitivity to one tie, and their smooth sensitivity.

For a pair of nodes i, j let a be the number of nodes adjacent to both and b the number adjacent
to exactly one. The tie of i and j, put in or taken out, moves the number of triangles by a, so
the local sensitivity is the largest a. With s changed ties elsewhere, each of the min(s, b)
first ones makes a common neighbour of a node that was adjacent to one of them, and each two of the
rest one of a node that was adjacent to neither; there are n - 2 nodes in all. So the largest local
sensitivity within s changes is (Nissim, Raskhodnikova and Smith 2007, Claim 3.13)

    LS(s) = max over pairs of min(a + floor((s + min(s, b)) / 2), n - 2),

and the smooth sensitivity S = max over s >= 0 of exp(-beta s) LS(s). It is at least LS(0), and
graphs that differ in one tie have LS(s) <= LS'(s + 1), hence S <= exp(beta) S'.

Where to stop. LS(s) <= n - 2 is reached at s = 2 (n - 2) at the latest, as floor(s / 2) is n - 2
there; later terms only fall. And LS(2) >= 1, so S >= exp(-2 beta): no s with
exp(-beta s) (n - 2) below that counts.

Which pairs. A pair is outdone by one whose a and b are no smaller, so the largest b for each a is
enough. Pairs with a > 0, or tied, are found from the paths of two ties: in all, sum of d^2 of
them. Of the others, b is the sum of their degrees. Going through nodes by falling degree, the
first that isn't within two ties of node i is its best partner, found within as many steps as
nodes are near i; and once 2 d_i is no more than the best, no later node has a better one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayesdp.networks.network import Network

_BLOCK = 1 << 22  # paths of two ties that are listed at once

Ints = NDArray[np.int64]


class Triangles(NamedTuple):
    """Triangles of a graph, and the pairs of nodes that its smooth sensitivity depends on.

    Attributes
    ----------
    n, number : int
        Numbers of nodes and of triangles.
    common, single : ndarray of int, shape (pairs,)
        a and b of the pairs that no other pair outdoes.
    """

    n: int
    number: int
    common: Ints
    single: Ints

    def local_sensitivity(self, s: Ints) -> Ints:
        """Local sensitivity LS(s), the largest change by one tie within s changed ties."""
        largest = np.zeros(s.shape, dtype=np.int64)
        for a, b in zip(self.common.tolist(), self.single.tolist(), strict=True):
            np.maximum(largest, a + (s + np.minimum(s, b)) // 2, out=largest)
        return np.minimum(largest, self.n - 2)

    def smooth_sensitivity(self, beta: float) -> float:
        """Smooth sensitivity for a beta > 0, within a relative (3 beta + log(n) + 9) 2^-53; n >= 3.

        Each exponent is at most 3 beta + log(n), rounded once; then an exponential, to within
        four units in the last place, and a product.
        """
        last = min(2 * (self.n - 2), math.ceil(2 + math.log(self.n - 2) / beta))
        s = np.arange(last + 1)
        return float(np.max(np.exp(-beta * s) * self.local_sensitivity(s)))


def triangles(network: Network) -> Triangles:
    """Count the triangles of an undirected network, and find the pairs that matter."""
    from scipy import sparse

    n, ends = network.n, network.edges.astype(np.int64)
    pairs = np.concatenate([ends, ends[:, ::-1]])
    ones = np.ones(len(pairs), dtype=np.int64)
    matrix: Any = sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    degree = np.bincount(pairs[:, 0], minlength=n)
    best = np.full(int(degree.max(initial=0)) + 1, -1, dtype=np.int64)
    corners = 0
    paths = np.cumsum(matrix @ degree + 1)
    cuts = np.searchsorted(paths, np.arange(_BLOCK, paths[-1], _BLOCK))
    for rows in np.split(np.arange(n), cuts):
        near = (2 * (matrix[rows] @ matrix) + matrix[rows]).tocoo()  # 2 a, and 1 if tied
        i, j = rows[near.coords[0]], near.coords[1]
        once = i < j
        i, j, doubled = i[once], j[once], near.data[once]
        common, tied = doubled >> 1, doubled & 1
        corners += int(common @ tied)
        np.maximum.at(best, common, degree[i] + degree[j] - 2 * (common + tied))
    best[0] = max(best[0], _best_apart(matrix.indptr, matrix.indices, degree))
    # From the largest a down, only where b is larger than all before.
    before = np.maximum.accumulate(np.append(best[:0:-1], best[0]))
    kept = np.flatnonzero(np.diff(before, prepend=-1) > 0)
    return Triangles(n, corners // 3, len(best) - 1 - kept, before[kept])


def _best_apart(start: NDArray[np.int32], neighbours: NDArray[np.int32], degree: Ints) -> int:
    """Largest sum of degrees of two nodes more than two ties apart; -1 if there are none."""
    order = np.argsort(-degree, kind="stable")
    place = np.argsort(order)
    best = -1
    for i in order.tolist():
        if 2 * degree[i] <= best:
            break
        own = neighbours[start[i] : start[i + 1]]
        second = [neighbours[start[k] : start[k + 1]] for k in own.tolist()]
        near = np.unique(place[np.concatenate([[i], own, *second])])
        gaps = np.flatnonzero(near != np.arange(near.size))
        first = int(gaps[0]) if gaps.size else near.size
        if first < order.size:
            best = max(best, int(degree[i] + degree[order[first]]))
    return best
