"""Release of a graph's degree statistics under node privacy, by truncation of degrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.mechanisms.graphs.truncated_statistics import TruncatedStatisticsMechanism
from bayesdp.networks.network import Network, as_network
from bayesdp.synthesis.graphs import GraphSynthesizer


@dataclass(frozen=True)
class TruncatedStatisticsSynthesizer(GraphSynthesizer):
    """Release statistics of an undirected graph's degrees, hiding all ties of each node.

    Ties are first cut, in the order of the nodes' labels, so that no node has more than
    `max_degree`; then the statistics of the remaining graph get Laplace noise (Kasiviswanathan,
    Nissim, Raskhodnikova and Smith 2013; Day, Li and Lyu 2016). A small `max_degree` needs little
    noise and cuts many ties: choose it without the data, a little above the usual degrees.

    Parameters
    ----------
    formula : str
        Terms among edges, kstar, degree, gwdegree, isolates and concurrent, for example
        "edges + kstar(2)". Others, such as nodematch and triangle, depend on which ties are kept,
        and one node may change all of those.
    epsilon : float
        Total privacy cost of all copies under NODE: two graphs on the same public nodes differ in
        any of the dyads of one node. `guarantee(neighbours="edge")` of the mechanism has the
        smaller cost of one tie.
    max_degree : int
        Largest number of ties that a node keeps, at least 1.
    weights : sequence of float, optional
        Shares of epsilon, one for each statistic; by default equal.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or a term isn't allowed.

    Notes
    -----
    `bayesdp.mechanisms.graphs.degree_truncation` has the proof.

    Examples
    --------
    >>> import networkx as nx
    >>> declared = TruncatedStatisticsSynthesizer("edges + isolates", epsilon=1.0, max_degree=8)
    >>> release = declared.release(nx.karate_club_graph())
    >>> release.guarantee.neighbours.value
    'node'
    """

    formula: str
    epsilon: float = 1.0
    max_degree: int = 10
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mechanism_like()

    def statistic(self, graph: Any) -> Network:
        """The confidential graph as it is."""
        return as_network(graph)

    def mechanism_like(self, example: Any = None) -> TruncatedStatisticsMechanism:
        """The mechanism for graphs with as many nodes as a network, or for a released output."""
        graph = isinstance(example, Network) or hasattr(example, "edges")
        nodes = as_network(example).n if graph else None
        weights: Any = self.weights
        return TruncatedStatisticsMechanism(
            self.formula, self.epsilon, self.max_degree, weights, nodes
        )
