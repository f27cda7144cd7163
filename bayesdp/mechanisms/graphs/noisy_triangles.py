r"""Triangles of a graph with Cauchy noise, scaled to the graph's smooth sensitivity.

One tie among n nodes can decide n - 2 triangles, but in most graphs none decides nearly so many.
So the noise follows the smooth sensitivity S of the graph (Nissim, Raskhodnikova and Smith 2007;
`bayesdp.mechanisms.graphs.triangle_sensitivity`): with T triangles and c = S / alpha,

    output = round(T + c * Cauchy).

Privacy. Between graphs that differ in one tie, |T - T'| is at most the local sensitivity of
either, so at most S and S', and |log(S' / S)| <= beta. For such pairs
`bayesdp.mechanisms.noise.cauchy` proves that the log ratio of the densities never exceeds epsilon,
with the alpha that it gives: pure epsilon-DP. Rounding is post-processing, and so is cutting off at
2^52 on either side, to keep outputs among exact floats.

As it runs. S, c and alpha are floats, and c is within a relative (5 epsilon + 45) 2^-53 of
S / alpha (`Triangles.smooth_sensitivity`, where log(n) < 14). A scale that much off costs that much
more, once for each graph; alpha is that of an epsilon smaller by (1 + epsilon) 2^-46, which is
more. The draw is exact for that c, and so is the law.

Neighbours by node differ in up to n - 1 ties: by group privacy (n - 1) epsilon holds, which is
rarely of use.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_at_least_one
from bayesdp.core.outputs import WholeNumbers
from bayesdp.core.views import GraphView
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.graphs.network_columns import known_nodes
from bayesdp.mechanisms.graphs.triangle_sensitivity import triangles
from bayesdp.mechanisms.noise.cauchy import (
    cauchy_draw,
    cauchy_log_pmf,
    cauchy_log_upper,
    largest_alpha,
    suitable_beta,
)
from bayesdp.networks.evidence import Evidence, SeenTriangles
from bayesdp.networks.network import Network, as_network
from bayesdp.privacy.composition import repeated
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_edge_or_node
from bayesdp.privacy.profile import Profile, pure_profile

Pair = tuple[Network, Network]
FURTHEST = 2**52
"""Outputs beyond it, on either side, are cut off there."""
_MOST_NODES = 1_000_000
_LEAST, _LARGEST = 1e-6, 20.0  # of epsilon: below rounding shows, above there is no noise
_MARGIN = 1e-9  # from beta to 0 and to epsilon


@dataclass(frozen=True, slots=True)
class NoisyTrianglesMechanism(Mechanism):
    """Release the number of triangles plus Cauchy noise scaled to the smooth sensitivity.

    The statistic is an undirected Network of at least 3 nodes, an output an integer.

    Parameters
    ----------
    epsilon : float
        Epsilon of one copy, under EDGE: graphs on the same public nodes that differ in one tie.
        From 1e-6 to 20.
    beta : float, optional
        Largest change of the log of the noise's scale between neighbouring graphs: a larger beta
        follows the graph more closely, and leaves less of epsilon for the count. By default the
        larger of epsilon / sqrt(2) and log(2 cosh(epsilon) - 1).
    nodes : int, optional
        Number of nodes, from 3 to 1,000,000, where it is public: graphs of other sizes are then
        refused, a promise under NODE can be stated, and models of graphs can read the release.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The module's docstring has the law and the proof.
    """

    epsilon: float = field()  # type: ignore[assignment]  # a parameter, not the profile's
    beta: float = None  # type: ignore[assignment]
    nodes: int | None = None

    name: ClassVar[str] = "noisy_triangles"
    n: ClassVar[None] = None
    neighbours: ClassVar[Neighbours] = Neighbours.EDGE
    source: ClassVar[str] = (
        "bayesdp.mechanisms.graphs.noisy_triangles; Nissim, Raskhodnikova and Smith (2007)"
    )

    def __post_init__(self) -> None:
        epsilon = check_epsilon(self.epsilon)
        if not _LEAST <= epsilon <= _LARGEST:
            raise InvalidInput(
                f"epsilon is {quoted(epsilon)}; for noise by smooth sensitivity it must be from "
                f"{_LEAST} to {_LARGEST}"
            )
        beta = suitable_beta(epsilon) if self.beta is None else as_float(self.beta)
        if not _MARGIN <= beta <= epsilon - _MARGIN:
            raise InvalidInput(
                f"beta is {quoted(self.beta)}; it must lie between 0 and epsilon = "
                f"{quoted(epsilon)}, or be None for one that suits epsilon"
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "beta", beta)
        if self.nodes is not None:
            object.__setattr__(self, "nodes", _check_nodes(self.nodes))

    @property
    def alpha(self) -> float:
        """Largest ratio of smooth sensitivity to scale that keeps epsilon, with rounding."""
        return largest_alpha(self.epsilon - (1 + self.epsilon) * 2.0**-46, self.beta)

    def scale(self, statistic: Any) -> float:
        """Scale c of the noise for this graph, half its width at half maximum; confidential."""
        return self._located(self.check_statistic(statistic))[1]

    def _located(self, network: Network) -> tuple[int, float]:
        counted = triangles(network)
        return counted.number, counted.smooth_sensitivity(self.beta) / self.alpha

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, edge or node.

        Raises
        ------
        InvalidInput
            If `neighbours` is about records, or NODE and the number of nodes isn't known.
        """
        relation = check_edge_or_node(self.neighbours if neighbours is None else neighbours)
        if relation is Neighbours.NODE and self.nodes is None:
            raise InvalidInput(
                "neighbours is 'node', where a promise needs the number of nodes; give the "
                "mechanism nodes="
            )
        return relation

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies, as their pure epsilon implies it.

        Under NODE it follows by group privacy, for the nodes - 1 dyads of one node.
        """
        copies, one = check_at_least_one("copies", copies), self.epsilon
        if self.relation(neighbours) is Neighbours.NODE and self.nodes is not None:
            one = repeated(one, self.nodes - 1)
        return pure_profile(one, copies)

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        nodes = "The nodes are public and not protected; neighbours have the same."
        if relation is Neighbours.NODE:
            return ("By group privacy: one node's dyads change one after another.", nodes)
        return (nodes,)

    def check_statistic(self, statistic: Any) -> Network:
        """Return the graph as a Network if it is undirected and has the mechanism's nodes."""
        network = as_network(statistic)
        if network.directed:
            raise InvalidInput(
                "the network is directed; this counts the triangles of undirected ones: drop the "
                "directions first, if that answers your question"
            )
        n = _check_nodes(network.n)
        if self.nodes not in (None, n):
            raise InvalidInput(
                f"the network has {network.n} nodes; this mechanism is for nodes = {self.nodes}"
            )
        return network

    def draw(self, statistic: Network, copies: int) -> NDArray[np.int64]:
        """Draw copies, exactly, from the secure generator; shape (copies,)."""
        count, scale = self._located(statistic)
        exact = Fraction(scale)
        drawn = (count + cauchy_draw(exact) for _ in range(copies))
        return np.array([min(max(z, -FURTHEST), FURTHEST) for z in drawn], dtype=np.int64)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | graph]; -inf where there is no such output.

        Parameters
        ----------
        output : array_like of int
        statistic : Network, or sequence of Networks
            A sequence makes one axis, which broadcasts with the output's.
        """
        several = isinstance(statistic, Sequence)
        graphs = statistic if several else [statistic]
        located = np.array([self._located(self.check_statistic(graph)) for graph in graphs])
        count, scale = located.T if several else located[0]
        z = np.asarray(output, dtype=np.float64)
        possible = (np.abs(z) <= FURTHEST) & (z == np.floor(z))
        k = np.where(possible, z, 0.0) - count
        law = cauchy_log_pmf(k, scale)
        for end, further in ((-FURTHEST, -k), (FURTHEST, k)):
            law = np.where(z == end, cauchy_log_upper(further, scale), law)
        return np.asarray(np.where(possible, law, -np.inf))

    @property
    def views(self) -> tuple[GraphView, ...]:
        """View of the law given the hidden graph."""
        return (GraphView(self.evidence),)

    def evidence(self, output: Any) -> Evidence:
        """Evidence of a copy about the hidden graph: the law, with each graph's scale of noise.

        Raises
        ------
        InvalidInput
            If the number of nodes isn't known.
        """
        seen = SeenTriangles(self.check_output(output), self.beta, self.alpha, FURTHEST)
        return dataclasses.replace(Evidence.of_statistics(known_nodes(self)), triangles=(seen,))

    def pairs(self) -> list[Pair]:
        """Pairs that differ in one tie, of nodes tied to no or all others, or of a full graph."""
        n = self.nodes or 5
        hubs = [[hub, other] for hub in (0, 1) for other in range(2, n)]
        full = np.argwhere(np.triu(np.ones((n, n)), 1)).tolist()
        return [
            (Network(n, []), Network(n, [[0, 1]])),
            (Network(n, hubs), Network(n, [[0, 1], *hubs])),
            (Network(n, full[1:]), Network(n, full)),
        ]

    @property
    def space(self) -> WholeNumbers:
        """Integers up to 2^52 in size."""
        return WholeNumbers(-FURTHEST, FURTHEST, "triangles")

    def nearby(self, pair: Pair, generator: np.random.Generator) -> Pair:
        """Draw other neighbours for an audit's search, changing a dyad of both or between them."""
        matrix = np.triu(pair[0].to_adjacency())
        dyads = np.argwhere(np.triu(np.ones_like(matrix), 1))
        (i, j), (k, m) = dyads[generator.integers(len(dyads), size=2)]
        matrix[i, j] ^= 1
        other = matrix.copy()
        other[k, m] ^= 1
        return pair[0].with_edges(np.argwhere(matrix)), pair[0].with_edges(np.argwhere(other))


def _check_nodes(nodes: Any) -> int:
    checked = check_at_least_one("nodes", nodes)
    if not 3 <= checked <= _MOST_NODES:
        raise InvalidInput(
            f"nodes is {quoted(nodes)}; triangles are counted among 3 to {_MOST_NODES:,} nodes"
        )
    return checked
