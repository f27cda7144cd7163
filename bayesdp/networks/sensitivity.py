r"""Sensitivity of statistics to a change of one dyad, or of all dyads of one node.

The graphs are all those on the nodes of a network, or those of them whose degrees, out-degrees if
directed, are at most D; without a bound D = n - 1. A subgraph of one of them is one too. So where a
statistic never falls as ties are added, the dyads of node v move it by at most

    M = max over x, v of s(x) - s(x without v's ties),

since two graphs that differ in v's ties have the rest in common; and M is attained. Below,
w_m = values[m] >= 0 is what a pair or a node gains with partner or tie number m + 1 (r^m for gwesp,
gwdsp and gwdegree, C(m, k - 1) for kstar), W(a) = w_0 + ... + w_(a-1), and w is the largest w_m.

One dyad
--------
Both ends have at most D - 1 other ties (out-ties), and n - 2 other nodes.

* A term that adds up a weight w_ij of each tie: the largest |w_ij|.
* degree(k), k <= D: both ends reach k: 2. isolates, and concurrent for D >= 2: 2. mutual: 1.
* kstar, gwdegree: both ends gain one tie's worth: 2 max w_m over m <= D - 1.
* triangle: a common neighbour each: D - 1. Directed, third node k closes (a + b)(c + d) triples,
  where a, b, c, d say whether i -> k, k -> i, j -> k, k -> j. Of a there are A = D - 1 at most, of
  c at most C = min(D, n - 2), and b = d = 1 is allowed everywhere if D >= 2: (n - 2) + 2 A + C;
  for D = 1, b and d exclude each other and a = 0: one cyclic triple at most.
* gwesp: the pair's W(D - 1), and w at most for each of 2 (D - 1) ties to common neighbours, gained
  where these have no other partners. Directed: ties i -> k with j -> k, D - 1; ties k -> j with
  k -> i, n - 2 (none if D = 1).
* gwdsp: w for each other tie of both ends: 2 (D - 1); directed, min(D, n - 2) + n - 2.

Each is attained: by ends that are tied to the same D - 1 nodes, which have no ties among them.

All dyads of a node
-------------------
* Weights: v's ties in one graph and in the other, of weights with opposite signs; D of each.
  Directed, all n - 1 ties towards v besides.
* Counts that a clique of D + 1 nodes makes largest: kstar, C(D, k) + D C(D - 1, k - 1), triangle,
  C(D, 2), and mutual, D. gwdegree, by a star: W(D) + D w_0.
* triangle, directed: a tie between others closes 4 triples with v at most, and they have
  (n - 1) min(D, n - 2) ties.
* isolates: v and D others; directed, all n. concurrent: as many, but the last of an odd number of
  neighbours, if they are all other nodes, can't have had just one tie.
* degree(k): v, and others one tie more or less: at most 2 D of them, D if k = D.
* gwesp: D ties of v with at most D - 1 partners, and D (D - 1) / 2 ties that v is a partner of:
  D W(D - 1) + w D (D - 1) / 2. Directed: D + n - 1 ties of v, and min(D (n - 2), (n - 1) (D - 1))
  others, as such a tie goes from a node that is tied to v, to one that v is tied to.
* gwdsp: D (D - 1) / 2 pairs that v is a partner of; and v with each other node, which have at most
  T = D (D - 1) two-paths in all, and W is largest in sum where they are spread evenly. Directed:
  D (n - 2) pairs; T = D min(D, n - 2) two-paths from v; and to v, from n - 1 nodes, at most
  min(D, n - 2) each.

The last three, and directed triangles where D < n - 1, are bounds that needn't be attained.

Terms of several statistics
---------------------------
A tie is in one level of nodematch(diff=True) at most, and in one pair of nodemix at most, so that
the whole vector moves by 1 in L1 norm. Of nodemix, a node moves the pairs with its own level alone:
each by the bound for weights, and all at once if degrees aren't bounded. A node that gains a tie
leaves one degree and enters the next. So a term has a list of vectors, in its `Moves`, such that
what a change does is in absolute value at most an average of some of them: any convex increasing
cost of a change is largest at one of the vectors.

A tie adds 1 to nodefactor's count of its one end's level, and 1 to that of its other end's, if they
are counted. Let e_a be the vector with 1 for level a alone. Then a tie

* within a level a adds 2 e_a; and there is one only if a has two nodes;
* between a and another level b adds e_a, or e_b, or both, and so at most e_a + e_b.

So a change is in absolute value 2 e_a, for a level a of two nodes or more, or at most the sum of
two different e_a, whose pairs have no statistic in common. A cost that adds up over statistics,
increases, and is 0 for no change, is at most the largest of those of 2 e_a for such a, and of the
sum of the two largest of those of e_a; all are attained, as any two nodes can be tied. A convex
cost of 2 e_a is at least twice that of e_a, so that the sum says nothing more where each level has
two nodes; and where none has, as in sociality, there is nothing but the sum: for L1 it is 2, and
for L2 sqrt(2). With some levels of each kind, noise of the same scale for all still costs 2, in
either norm, and a level of a single node can do with a scale that is smaller, by sqrt(2) for L2.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bayesdp.checks import check_at_least_one
from bayesdp.kernels.graphs import change_statistics as change
from bayesdp.networks.formula import coordinates, parse
from bayesdp.networks.network import Network
from bayesdp.networks.sensitivity_bounds import EDGE, NODE, Graphs, in_level, mixing_moves
from bayesdp.networks.terms import Coordinate

_ONE_AT_A_TIME = (change.NODEMATCH_LEVEL, change.NODEMIX)

Vectors = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Moves:
    """Bounds of the changes of a term's statistics that neighbours may have.

    Attributes
    ----------
    vectors, pairs : tuples of tuples of Fraction
        Each possible change is in absolute value at most an average of some of `vectors`, or at
        most the sum of two different ones of `pairs`, no two of which have a statistic in common.
        Either may be empty.
    """

    vectors: Vectors
    pairs: Vectors = ()

    @property
    def most(self) -> tuple[Fraction, ...]:
        """Largest change of each statistic."""
        return tuple(map(max, zip(*self.vectors, *self.pairs, strict=True)))

    def cost(self, of: Callable[[tuple[Fraction, ...]], Fraction]) -> Fraction:
        """Largest cost of a change: convex, increasing, adding up over statistics, 0 for none."""
        alone = max(map(of, self.vectors), default=Fraction(0))
        return max(alone, sum(heapq.nlargest(2, map(of, self.pairs)), Fraction(0)))

    def proportions(self, power: int) -> tuple[float, ...]:
        """Scales of noise, but for a factor, in proportion to what each statistic changes by.

        Where there are `pairs`, two of them together cost then as much as one of `vectors`.

        Parameters
        ----------
        power : int
            1 where a change costs its sum over scales (Laplace), 2 where squares add up (Gaussian).
        """
        factor = 2.0 ** (-1 / power) if self.pairs else 1.0
        alone = [[factor * float(x) for x in vector] for vector in self.vectors]
        return tuple(map(max, zip(*alone, *(map(float, v) for v in self.pairs), strict=True)))


def largest_changes(
    formula: str, network: Network, *, max_degree: int | None = None, node: bool = False
) -> tuple[Moves, ...]:
    """Bound the largest changes of each term of a formula; the module's docstring has the proofs.

    Parameters
    ----------
    formula : str
        As for `parse`.
    network : Network
        The nodes and their attributes; ties aren't read.
    max_degree : int or None
        Largest degree, out-degree if directed, of the graphs that are compared; None for any.
    node : bool
        Whether all dyads of one node may change, or only one dyad.

    Raises
    ------
    InvalidInput
        If a term isn't defined on such graphs, or `max_degree` isn't a whole number from 1.

    Examples
    --------
    >>> largest_changes("edges + kstar(2)", Network(20))
    (Moves(vectors=((Fraction(1, 1),),), pairs=()), Moves(vectors=((Fraction(36, 1),),), pairs=()))
    """
    most = network.n - 1
    if max_degree is not None:
        most = min(most, check_at_least_one("max_degree", max_degree, "or None for any degrees"))
    graphs = Graphs(network.n, network.directed, most)
    return tuple(_moves(coordinates(call, network), graphs, node) for call in parse(formula))


def _moves(group: Sequence[Coordinate], graphs: Graphs, node: bool) -> Moves:
    kind = group[0].kind
    if kind == change.DEGREE and not node:
        return _degree_moves(group, graphs)
    if node and any(c.kind == change.NODEMIX for c in group):
        return Moves(tuple(mixing_moves(group, graphs)))
    if kind == change.NODEFACTOR and not node:
        return _level_moves(group)
    bound = NODE if node else EDGE
    each = [Fraction(bound[c.kind](c, graphs)) for c in group]
    return Moves(_one_at_a_time(each) if kind in _ONE_AT_A_TIME else (tuple(each),))


def _one_at_a_time(each: Sequence[Fraction]) -> Vectors:
    """Vectors of a change of one statistic alone."""
    return tuple(
        tuple(value if s == t else Fraction(0) for t in range(len(each)))
        for s, value in enumerate(each)
    )


def _level_moves(group: Sequence[Coordinate]) -> Moves:
    """Moves of nodefactor by one tie: within a level of several nodes, or between two levels."""
    several = [in_level(c, c.parameter) > 1 for c in group]
    within = _one_at_a_time([Fraction(2)] * len(group))
    between = () if all(several) else _one_at_a_time([Fraction(1)] * len(group))
    return Moves(tuple(itertools.compress(within, several)), between)


def _degree_moves(group: Sequence[Coordinate], graphs: Graphs) -> Moves:
    """Bound moves by degree: both ends leave degree d and enter d + 1, for every d possible."""
    sizes = [int(c.parameter) for c in group]
    starts = sorted({d for k in sizes for d in (k - 1, k) if 0 <= d < graphs.most} or {0})
    return Moves(
        tuple(
            tuple(Fraction(2 * (k in (d, d + 1)) * (k <= graphs.most)) for k in sizes)
            for d in starts
        )
    )
