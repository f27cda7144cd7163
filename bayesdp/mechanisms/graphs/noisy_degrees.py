r"""Noisy degrees: every node's degree plus discrete Laplace noise (Karwa and Slavkovic 2016).

Undirected networks have one degree for each node, directed ones an out-degree and an in-degree.
With noise of scale t on each, the log ratio of neighbours' laws at z is the sum of (|z_i - d'_i| -
|z_i - d_i|) / t, at most the L1 distance of the degrees over t, and attained at any z that lies
beyond d on the side away from d' in every component.

One dyad's tie (edge). A tie from i to j is in two degrees: both ends', or i's out-degree and j's
in-degree. So two components move by 1 each, in every pair of neighbours: epsilon = 2 / t for each
copy. And since |z - d'| - |z - d| is 1 or -1 where d' = d + 1, with q = exp(-1 / t) each of the two
is a randomized response that tells the truth with probability 1 / (1 + q): the profile of M copies
is that of 2 M randomized responses of epsilon 1 / t, exactly (`noise.pure.pure_profile`), and they
satisfy M / t^2-zCDP, as each is 1 / (2 t^2)-zCDP (Bun and Steinke 2016, Proposition 1.4).

All of one node's ties (node). With n nodes, the node's own degree moves by at most n - 1 and each
other's by at most 1, which a star attains against the graph without its ties: 2 (n - 1). Directed,
both of the node's own move by at most n - 1, and each other's two by at most 1 each: 4 (n - 1).
So epsilon = 2 (n - 1) / t, or 4 (n - 1) / t, exactly; at a positive delta, what follows from that.
The squares of the moves add up to (n - 1)^2 + (n - 1) = n (n - 1), or twice that: n (n - 1) M /
(2 t^2)-zCDP for M copies, or n (n - 1) M / t^2.

What is done with the degrees afterwards costs nothing: the projection to those of a graph, the
beta-model, and synthetic networks from it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag
from bayesdp.core.outputs import structured
from bayesdp.core.outputs.numbers import Numbers
from bayesdp.core.views import GraphView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.graphs.network_columns import check_texts
from bayesdp.mechanisms.graphs.separate_noise import separate
from bayesdp.mechanisms.noise.additive import AdditiveNoise, noise_space
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.mechanisms.noise.laws import LaplaceNoise
from bayesdp.mechanisms.noise.pure import up
from bayesdp.networks.degree_sequences import degrees
from bayesdp.networks.evidence import Evidence, SeenDegrees
from bayesdp.networks.network import Network, as_network
from bayesdp.networks.network_checks import checked_nodes
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile, pure_profile


@dataclass(frozen=True, slots=True)
class NoisyDegreesMechanism(AdditiveNoise):
    """Release the degrees of a network plus discrete Laplace noise.

    An output is a tuple of integers, in the order of the nodes; for a directed network, all
    out-degrees, then all in-degrees. They may be negative or above n - 1.

    Parameters
    ----------
    scale : float
        t: Pr[noise = k] is proportional to exp(-|k| / t). `calibrate` finds it for an epsilon.
    nodes : int or sequence of labels
        Number of nodes, at least 2, or their labels: texts, numbers or booleans of one type.
        Public.
    directed : bool
        Whether ties have a direction. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    epsilon = 2 / scale for each copy if one dyad's tie changes. The module's docstring has the
    proof.
    """

    scale: float
    nodes: Any
    directed: bool = False

    name: ClassVar[str] = "noisy_degrees"
    log_concave: ClassVar[bool] = False
    norm: ClassVar[str] = "L1"
    law: ClassVar[type[LaplaceNoise]] = LaplaceNoise
    source: ClassVar[str] = "bayesdp.mechanisms.graphs.noisy_degrees; Karwa and Slavkovic (2016)"
    neighbours: ClassVar[Neighbours] = Neighbours.EDGE
    sensitivity: ClassVar[float] = 2.0
    n: ClassVar[None] = None
    bounds: ClassVar[None] = None
    bounding: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_flag("directed", self.directed)
        object.__setattr__(self, "nodes", _public_labels(self.nodes))
        noise = DiscreteLaplaceMechanism(self.scale, 2.0, Neighbours.EDGE, self.dimension)
        object.__setattr__(self, "scale", noise.scale)

    @property
    def labels(self) -> Sequence[Any]:
        """Labels of the nodes, or their numbers from 0."""
        return range(self.nodes) if isinstance(self.nodes, int) else tuple(self.nodes)

    @property
    def dimension(self) -> int:
        """Number of numbers in an output."""
        return len(self.labels) * (2 if self.directed else 1)

    # What is promised.

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies.

        It is exact under edge; under node it follows from the pure epsilon, which is exact.
        """
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        moved, scale = int(self.moved(relation)), Fraction(self.scale)
        total = up(copies * moved / scale)
        if relation is Neighbours.EDGE:
            return pure_profile(up(1 / scale), 2 * copies, total)
        return pure_profile(up(moved / scale), copies, total)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter: copies / (2 scale^2) times the sum of the moves' squares."""
        copies, nodes = check_at_least_one("copies", copies), len(self.labels)
        squares = 2
        if self.relation(neighbours) is Neighbours.NODE:
            squares = nodes * (nodes - 1) * (2 if self.directed else 1)
        cost = up(copies * squares / (2 * Fraction(self.scale) ** 2))
        return cost if math.isfinite(cost) else None

    def _spanned(self, relation: Neighbours) -> Fraction:
        if relation is Neighbours.EDGE:
            return Fraction(1)
        if relation is Neighbours.NODE:
            return Fraction((len(self.labels) - 1) * (2 if self.directed else 1))
        raise InvalidInput(
            f"neighbours is {quoted(relation.value)}; the records of a network are its ties: "
            "'edge' (one dyad's tie changes) or 'node' (any of the ties of one node change)"
        )

    def _stated(self) -> str:
        return (
            "The nodes are public and not protected; under 'edge' each dyad's tie is, under "
            "'node' all ties of each node together."
        )

    # What is drawn, written down, and what an audit tries.

    def check_statistics(self, statistic: Any) -> NDArray[np.int64]:
        """Return the degrees of a graph, or of each of a list of graphs, or raise InvalidInput."""
        if isinstance(statistic, list | tuple):
            return np.stack([self._degrees(graph) for graph in statistic])
        return self._degrees(statistic)

    def _degrees(self, graph: Any) -> NDArray[np.int64]:
        network = as_network(graph)
        if network.directed != self.directed:
            kinds = {True: "directed", False: "undirected"}
            raise InvalidInput(
                f"the network is {kinds[network.directed]}, the mechanism {kinds[self.directed]}; "
                "give it directed=" + str(network.directed)
            )
        return degrees(network.in_order(self.labels)).ravel()

    def pairs(self) -> list[tuple[Network, Network]]:
        """Pairs of graphs with no tie and with one; all neighbours' degrees differ by as much."""
        return [(self._network([]), self._network([(0, 1)]))]

    def nearby(self, pair: Any, generator: np.random.Generator) -> tuple[Network, Network]:
        """Draw other neighbours for an audit's search: any graph, and one dyad toggled."""
        tied = generator.random((len(self.labels),) * 2) < generator.random()
        np.fill_diagonal(tied, False)
        one = tied if self.directed else np.triu(tied)
        i, j = np.sort(generator.choice(len(self.labels), 2, replace=False))
        other = one.copy()
        other[i, j] = not one[i, j]
        return self._network(np.argwhere(one)), self._network(np.argwhere(other))

    def _network(self, edges: Any) -> Network:
        return Network(self.labels, edges, self.directed)

    @property
    def space(self) -> Numbers:
        """Released degrees; out- and in-degrees may come as two rows."""
        rows = 2 if self.directed else 1
        return dataclasses.replace(noise_space(self), rows=rows, shown=self._shown)

    def _shown(self, output: Any) -> NDArray[Any]:
        """One row for each node: `node`, with `degree`, or `out_degree` and `in_degree`."""
        names = ("out_degree", "in_degree") if self.directed else ("degree",)
        degrees = np.reshape(output, (len(names), -1)).astype(np.int64)
        return structured([("node", np.asarray(self.labels)), *zip(names, degrees, strict=True)])

    @property
    def views(self) -> tuple[View, ...]:
        """Views of the law given the hidden graph, or given its degrees."""
        noise = DiscreteLaplaceMechanism(self.scale, 2.0, Neighbours.EDGE)
        return GraphView(self.evidence), separate([noise] * self.dimension)

    def evidence(self, output: Any) -> Evidence:
        """Evidence of an output about the network, for a sampler: degrees observed with noise."""
        values = np.array(self.check_output(output), dtype=np.float64)
        seen = SeenDegrees(values.reshape(2, -1) if self.directed else values, self.scale)
        return Evidence.of_degrees(Network(self.labels, (), self.directed), seen)


def _public_labels(nodes: Any) -> int | tuple[Any, ...]:
    """Return a number of nodes, or their labels as a manifest can hold them."""
    labels = checked_nodes(nodes)
    if isinstance(labels, range) and labels == range(len(labels)):
        return len(labels)
    plain: list[Any] = list(labels)
    kinds = {type(label) for label in plain}
    if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
        raise InvalidInput(
            f"the nodes' labels are of type {', '.join(sorted(k.__name__ for k in kinds))}; "
            "a release holds texts, numbers or booleans, of one type: relabel the nodes"
        )
    check_texts("the nodes' label", plain)
    if kinds == {float} and not all(map(math.isfinite, plain)):
        raise InvalidInput("a node's label is not a finite number; relabel the nodes")
    return len(plain) if plain == list(range(len(plain))) and kinds == {int} else tuple(plain)
