"""Registry of terms, one row each, and their statistics on a network.

Definitions and directed conventions are those of R's ergm 4. A term is a list of coordinates:
one statistic each, of which `change_statistics` knows the change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_flag, is_missing, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.kernels.graphs import change_statistics as change
from bayesdp.networks.network import Network


@dataclass(frozen=True)
class Coordinate:
    """One statistic of a term on a network.

    Attributes
    ----------
    name : str
        The term and its arguments, joined by points.
    kind : int
        Number of the change statistic.
    parameter : float
        The change statistic's parameter.
    values : ndarray of float, shape (n,), or None
        One number for each node, or for each count of partners or ties.
    matrix : ndarray of float, shape (n, n), or None
        A dyad covariate.
    at_empty : float
        The statistic of the graph without ties.
    """

    name: str
    kind: int
    parameter: float = 0.0
    values: NDArray[np.float64] | None = None
    matrix: NDArray[np.float64] | None = None
    at_empty: float = 0.0


Builder = Callable[..., list[Coordinate]]


@dataclass(frozen=True)
class Term:
    """A row of the registry.

    Attributes
    ----------
    build : callable
        A function of a network and the arguments in a formula that returns coordinates.
    undirected, directed : bool
        Whether the term is defined on undirected, and on directed, networks.
    dyad_independent : bool
        Whether its change at one dyad never depends on the others.
    """

    build: Builder
    undirected: bool = True
    directed: bool = True
    dyad_independent: bool = False


def attribute_of(network: Network, name: Any) -> NDArray[Any]:
    """Return a node attribute's values, none missing and not all the same."""
    if not isinstance(name, str) or name not in network.attributes:
        known = ", ".join(sorted(map(repr, network.attributes))) or "none"
        raise InvalidInput(
            f"the network's nodes have no attribute {quoted(name)}; they have: {known}. Give its "
            "values in Network(attributes=...); a release keeps those public ones that are named "
            "in EdgeFlipSynthesizer(attributes=...), and ERGMModel(attributes=...) takes those "
            "you know beside"
        )
    values = network.attributes[name]
    missing = int(np.sum(is_missing(np.fromiter(values.tolist(), dtype=object))))
    if missing:
        raise InvalidInput(
            f"attribute {quoted(name)} is missing for {missing} of {network.n} nodes; fill it "
            "in or leave those nodes out"
        )
    if len(set(values.tolist())) == 1:
        raise InvalidInput(
            f"attribute {quoted(name)} is the same for all nodes; its terms would repeat edges"
        )
    return np.asarray(values)


def _numbers(network: Network, name: Any) -> NDArray[np.float64]:
    values = attribute_of(network, name)
    if values.dtype.kind not in "biuf" and not all(is_number(v) for v in values.tolist()):
        raise InvalidInput(
            f"attribute {quoted(name)} isn't numeric; nodecov and absdiff need numbers"
        )
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InvalidInput(
            f"attribute {quoted(name)} isn't finite; nodecov and absdiff need it to be"
        )
    return numbers


def _levels(network: Network, name: Any) -> tuple[list[Any], NDArray[np.float64]]:
    """Sort the levels, and number each node's."""
    values = attribute_of(network, name).tolist()
    try:
        levels = sorted(set(values))
    except TypeError:
        levels = sorted(set(values), key=str)
    number = {level: float(k) for k, level in enumerate(levels)}
    return levels, np.array([number[value] for value in values])


def _edges(network: Network) -> list[Coordinate]:
    return [Coordinate("edges", change.EDGES)]


def _mutual(network: Network) -> list[Coordinate]:
    return [Coordinate("mutual", change.MUTUAL)]


def _nodematch(network: Network, attribute: str, diff: bool = False) -> list[Coordinate]:
    check_flag("nodematch's diff", diff)
    levels, codes = _levels(network, attribute)
    name = f"nodematch.{attribute}"
    if not diff:
        return [Coordinate(name, change.NODEMATCH, values=codes)]
    return [
        Coordinate(f"{name}.{level}", change.NODEMATCH_LEVEL, float(k), codes)
        for k, level in enumerate(levels)
    ]


def _nodefactor(network: Network, attribute: str) -> list[Coordinate]:
    levels, codes = _levels(network, attribute)
    return [
        Coordinate(f"nodefactor.{attribute}.{level}", change.NODEFACTOR, float(k), codes)
        for k, level in enumerate(levels)
        if k > 0
    ]


def _sociality(network: Network, nodes: bool | int | Sequence[int] = -1) -> list[Coordinate]:
    """Count each node's ties; `TERMS` says whose are left out."""
    out = _left_out("sociality's nodes", nodes, network.n, "nodes")
    numbers = np.arange(network.n, dtype=np.float64)
    return [
        Coordinate(f"sociality.{label}", change.NODEFACTOR, float(k), numbers)
        for k, label in enumerate(network.nodes)
        if k + 1 not in out
    ]


def _nodemix(
    network: Network, attribute: str, levels2: bool | int | Sequence[int] = -1
) -> list[Coordinate]:
    """Count ties by the pair of their ends' levels; `TERMS` says which pair is left out."""
    levels, codes = _levels(network, attribute)
    pairs = mixing_pairs(len(levels), network.directed)
    out = _left_out("nodemix's levels2", levels2, len(pairs), "pairs of levels")
    return [
        _mix(f"mix.{attribute}.{levels[a]}.{levels[b]}", codes, a, b)
        for number, (a, b) in enumerate(pairs, 1)
        if number not in out
    ]


def mixing_pairs(levels: int, directed: bool) -> list[tuple[int, int]]:
    """List pairs of levels in R's order, the first changing fastest: ordered pairs if directed."""
    return [(a, b) for b in range(levels) for a in range(levels if directed else b + 1)]


def _mix(name: str, codes: NDArray[np.float64], a: int, b: int) -> Coordinate:
    if a == b:
        return Coordinate(name, change.NODEMATCH_LEVEL, float(a), codes)
    return Coordinate(name, change.NODEMIX, values=1.0 * (codes == a) - (codes == b))


def _left_out(name: str, given: Any, count: int, what: str) -> set[int]:
    """Numbers, from 1, of the statistics that a term of `count` of them leaves out."""
    if given is True:
        return set()
    each = list(given) if isinstance(given, Sequence) else [given]
    whole = all(type(k) is int and -count <= k < 0 for k in each)
    if not each or not whole or len(set(each)) == count:
        raise InvalidInput(
            f"{name} is {quoted(given)}; it must be True for all {count} {what}, or those to leave "
            f"out, as -1 for the first or [-1, -{count}], but not all"
        )
    return {-k for k in each}


def _nodecov(network: Network, attribute: str) -> list[Coordinate]:
    values = _numbers(network, attribute)
    return [Coordinate(f"nodecov.{attribute}", change.NODECOV, values=values)]


def _absdiff(network: Network, attribute: str) -> list[Coordinate]:
    values = _numbers(network, attribute)
    return [Coordinate(f"absdiff.{attribute}", change.ABSDIFF, values=values)]


def _edgecov(network: Network, attribute: str) -> list[Coordinate]:
    if attribute not in network.dyad_attributes:
        known = ", ".join(sorted(map(repr, network.dyad_attributes))) or "none"
        raise InvalidInput(
            f"the network has no dyad attribute {quoted(attribute)}; it has: {known}; give it as "
            "Network(..., dyad_attributes={name: matrix})"
        )
    matrix = network.dyad_attributes[attribute]
    return [Coordinate(f"edgecov.{attribute}", change.EDGECOV, matrix=matrix)]


def _counts(term: str, given: Any, least: int) -> list[int]:
    each = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not each:
        raise InvalidInput(f"{term}'s k is an empty list; give a number, or leave {term} out")
    for k in each:
        if isinstance(k, bool) or not isinstance(k, int) or k < least:
            raise InvalidInput(
                f"{term}'s k is {quoted(k)}; it must be a whole number from {least}, or a list of "
                "them"
            )
    return each


def _degree(network: Network, k: int | Sequence[int]) -> list[Coordinate]:
    n = network.n
    return [
        Coordinate(f"degree.{d}", change.DEGREE, float(d), at_empty=float(n if d == 0 else 0))
        for d in _counts("degree", k, 0)
    ]


def _kstar(network: Network, k: int | Sequence[int]) -> list[Coordinate]:
    """Gain C(d, k - 1) of stars, when a node of degree d gains its next tie."""
    sizes = _counts("kstar", k, 1)
    if any(network.n > 1000 and size > 20 for size in sizes):
        raise InvalidInput("kstar of more than 20 ties on more than 1,000 nodes isn't offered")
    return [
        Coordinate(
            f"kstar.{size}",
            change.BY_DEGREE,
            values=np.array([float(comb(d, size - 1)) for d in range(network.n)]),
        )
        for size in sizes
    ]


def _triangle(network: Network) -> list[Coordinate]:
    return [Coordinate("triangle", change.TRIANGLE)]


def _powers(term: str, decay: Any, fixed: Any, n: int) -> NDArray[np.float64]:
    """Powers (1 - exp(-decay))**m for m = 0, ..., n - 1."""
    if not is_number(decay) or not 0 <= decay < 700:
        raise InvalidInput(f"{term}'s decay is {quoted(decay)}; it must be a number from 0 to 700")
    if fixed is not True:
        raise InvalidInput(f"{term} with fixed = {quoted(fixed)} isn't offered: the decay is fixed")
    powers = np.power(-np.expm1(-float(decay)), np.arange(n))
    return np.asarray(np.minimum.accumulate(powers), dtype=np.float64)  # whatever pow rounds


def _gwesp(network: Network, decay: float, fixed: bool = True) -> list[Coordinate]:
    powers = _powers("gwesp", decay, fixed, network.n)
    return [Coordinate(f"gwesp.{decay}", change.GWESP, float(np.exp(decay)), powers)]


def _gwdsp(network: Network, decay: float, fixed: bool = True) -> list[Coordinate]:
    powers = _powers("gwdsp", decay, fixed, network.n)
    return [Coordinate(f"gwdsp.{decay}", change.GWDSP, values=powers)]


def _gwdegree(network: Network, decay: float, fixed: bool = True) -> list[Coordinate]:
    powers = _powers("gwdegree", decay, fixed, network.n)
    return [Coordinate(f"gwdegree.{decay}", change.BY_DEGREE, values=powers)]


def _isolates(network: Network) -> list[Coordinate]:
    return [Coordinate("isolates", change.ISOLATES, at_empty=float(network.n))]


def _concurrent(network: Network) -> list[Coordinate]:
    return [Coordinate("concurrent", change.CONCURRENT)]


TERMS: dict[str, Term] = {
    "edges": Term(_edges, dyad_independent=True),
    "mutual": Term(_mutual, undirected=False),
    "nodematch": Term(_nodematch, dyad_independent=True),
    "nodefactor": Term(_nodefactor, dyad_independent=True),
    "nodemix": Term(_nodemix, dyad_independent=True),
    "sociality": Term(_sociality, directed=False, dyad_independent=True),
    "nodecov": Term(_nodecov, dyad_independent=True),
    "absdiff": Term(_absdiff, dyad_independent=True),
    "edgecov": Term(_edgecov, dyad_independent=True),
    "degree": Term(_degree, directed=False),
    "kstar": Term(_kstar, directed=False),
    "triangle": Term(_triangle),
    "gwesp": Term(_gwesp),
    "gwdsp": Term(_gwdsp),
    "gwdegree": Term(_gwdegree, directed=False),
    "isolates": Term(_isolates),
    "concurrent": Term(_concurrent, directed=False),
}
"""Name of each term to its row.

Directed: nodefactor and nodecov add up both ends of a tie; gwesp and gwdsp count outgoing
two-paths (R's OTP), i to k to j for the pair (i, j); triangle counts transitive and cyclic
triples; isolates have no tie in either direction; the terms of degree, kstar, gwdegree and
concurrent are refused, since R has them for in- and out-degrees apart. In the first of a
node attribute's sorted levels, nodefactor has its base.

nodemix counts the ties between each two levels, directed: from the first to the second. Pairs are
numbered as in R, the first level changing fastest: a.a, a.b, b.b, or directed a.a, b.a, a.b, b.b.
Since all of them add up to edges, the first is left out, as R does, unless levels2 says otherwise:
True keeps them all, which is a block model if nothing else is in the formula, and [-1, -3] leaves
out the first and the third. Without edges, what is left out has even odds of a tie.

sociality counts the ties of each node, in the network's order and with its labels. As in R, nodes
says whose are left out: the first node's, unless it is True, which leaves out none, or has others'
numbers as levels2 does. With nodemix(..., levels2=True) it makes a degree-corrected block model.
"""
