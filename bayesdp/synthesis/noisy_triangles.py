"""The number of triangles of a confidential graph, by smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesdp.checks import plain
from bayesdp.mechanisms.graphs.noisy_triangles import NoisyTrianglesMechanism
from bayesdp.networks.network import Network, as_network
from bayesdp.privacy.composition import one_of
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.synthesis.publish import publish


@dataclass(frozen=True)
class NoisyTrianglesSynthesizer:
    """Release the number of triangles of an undirected graph, hiding each tie.

    The noise is Cauchy's, as wide as the graph and those near it need, not the worst graph: a
    few over epsilon where ties have few common neighbours (Nissim, Raskhodnikova and Smith 2007).

    Parameters
    ----------
    epsilon : float
        Of all copies, under EDGE: two graphs on the same public nodes that differ in one tie.
    beta : float, optional
        How fast the noise's width may change from a graph to its neighbours, in log, between 0
        and a copy's share of epsilon; None for one that suits it.

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

    def __post_init__(self) -> None:
        plain(self)
        self._mechanism(None)

    def mechanism_like(self, example: Any) -> NoisyTrianglesMechanism:
        """The mechanism for graphs with as many nodes as a network; any, if given an output."""
        graph = isinstance(example, Network) or hasattr(example, "edges")
        return self._mechanism(as_network(example).n if graph else None)

    def release(
        self,
        graph: Any,
        copies: int = 1,
        delta: float = 0.0,
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Draw the noisy counts; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        graph : Network or networkx graph
            Confidential but for its nodes; undirected.
        copies : int
            Independent outputs. Each has a share of epsilon.
        delta : float
            Where the promise is stated; none is needed.
        ledger : DatasetLedger, optional
            The graph's budget.

        Raises
        ------
        InvalidInput
            If the graph is directed, or has fewer than 3 nodes or more than a million.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        network = as_network(graph)
        mechanism = one_of(self, copies).mechanism_like(network)
        return publish(
            mechanism, network, copies=copies, delta=delta, variable="triangle", ledger=ledger
        )

    def _mechanism(self, nodes: int | None) -> NoisyTrianglesMechanism:
        return NoisyTrianglesMechanism(self.epsilon, self.beta, nodes)  # type: ignore[arg-type]
