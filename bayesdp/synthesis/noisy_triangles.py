"""Release of the number of triangles of a confidential graph, by smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesdp.mechanisms.graphs.noisy_triangles import NoisyTrianglesMechanism
from bayesdp.networks.network import Network, as_network
from bayesdp.synthesis.graphs import GraphSynthesizer


@dataclass(frozen=True)
class NoisyTrianglesSynthesizer(GraphSynthesizer):
    """Release the number of triangles of an undirected graph, hiding each tie.

    The noise is Cauchy, scaled to the smooth sensitivity of this graph and those near it, not to
    the worst graph: a small multiple of 1 / epsilon where ties have few common neighbours (Nissim,
    Raskhodnikova and Smith 2007).

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies under EDGE: two graphs on the same public nodes differ in
        one tie.
    beta : float, optional
        How much the logarithm of the noise's scale may change from a graph to its neighbours,
        between 0 and a copy's share of epsilon; by default it is chosen for that share.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    `bayesdp.mechanisms.graphs.noisy_triangles` has the law and the proof.

    Examples
    --------
    >>> import networkx as nx
    >>> release = NoisyTrianglesSynthesizer(epsilon=1.0).release(nx.karate_club_graph())
    >>> release.guarantee.epsilon
    1.0
    """

    epsilon: float = 1.0
    beta: float | None = None

    variable = "triangle"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._mechanism(None)

    def mechanism_like(self, example: Any) -> NoisyTrianglesMechanism:
        """The mechanism for graphs with as many nodes as a network, or for a released output."""
        graph = isinstance(example, Network) or hasattr(example, "edges")
        return self._mechanism(as_network(example).n if graph else None)

    def statistic(self, graph: Any) -> Network:
        """The confidential graph as it is."""
        return as_network(graph)

    def _mechanism(self, nodes: int | None) -> NoisyTrianglesMechanism:
        return NoisyTrianglesMechanism(self.epsilon, self.beta, nodes)  # type: ignore[arg-type]
