"""Release a graph by randomized response on its dyads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import keep
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.graphs.edge_flip import EdgeFlipMechanism
from bayesdp.mechanisms.graphs.edge_flip_promise import check_probability, symmetric
from bayesdp.mechanisms.graphs.network_columns import check_attribute_names, confidential
from bayesdp.networks.network import as_network
from bayesdp.privacy.composition import one_of
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.synthesis.publish import publish

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayesdp.privacy.ledger import DatasetLedger
    from bayesdp.release import Release


@dataclass(frozen=True, eq=False)
class EdgeFlipSynthesizer:
    """Release a graph by edge randomized response: each dyad answered on its own, truly or not.

    The nodes are public, and every pair of them is released as tied or not with probabilities
    that depend on whether it is (Karwa, Krivitsky and Slavkovic 2017). The promise is about one
    dyad's tie; ``release.mechanism.guarantee(neighbours="node")`` is the one about all dyads of a
    node. The analyst has the exact law, `release.mechanism.logp`.

    Parameters
    ----------
    epsilon : float, optional
        Total privacy cost of the copies: in each of so many, a dyad is flipped with probability
        1 / (1 + exp(epsilon / copies)), rounded up to a multiple of 2^-53.
    tie, gap : float or (n, n) array_like, optional
        Instead of `epsilon`: the probability that a tie, and that a dyad without one, is released
        as a tie, strictly between 0 and 1. A matrix has one a dyad, is symmetric for an undirected
        graph, and its diagonal isn't read. Chosen without the ties. Each copy has them.
    attributes : sequence of str
        Node attributes that are public and released with the graph. No others are, and none of
        the ties'.

    Raises
    ------
    InvalidInput
        If both `epsilon` and probabilities are given, or neither, or one is out of its range.

    Examples
    --------
    >>> import networkx
    >>> release = EdgeFlipSynthesizer(epsilon=3.0).release(networkx.karate_club_graph())
    >>> release.outputs[0].n
    34
    """

    epsilon: float | None = None
    tie: Any = None
    gap: Any = None
    attributes: Sequence[str] = ()

    def __post_init__(self) -> None:
        given = self.epsilon is not None, self.tie is not None, self.gap is not None
        if given not in ((True, False, False), (False, True, True)):
            named = [n for n, there in zip(("epsilon", "tie", "gap"), given, strict=True) if there]
            raise InvalidInput(
                f"given: {', '.join(named) or 'nothing'}; give either epsilon, or both tie and "
                "gap, the probabilities that a tie, and a dyad without one, is released as a tie"
            )
        if self.epsilon is not None:
            keep(self, epsilon=check_epsilon(self.epsilon))
            symmetric(self.epsilon)
        else:
            keep(self, tie=check_probability("tie", self.tie, None, directed=True))
            keep(self, gap=check_probability("gap", self.gap, None, directed=True))
        keep(self, attributes=check_attribute_names(self.attributes))

    def release(
        self,
        graph: Any,
        *,
        copies: int = 1,
        delta: float = 0.0,
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Answer every dyad; with a ledger, only once the cost is recorded there for good.

        Parameters
        ----------
        graph : Network or networkx graph
            The confidential graph. Its nodes and their labels are public; they are released in
            the labels' order.
        copies : int
            Number of independent released graphs. Each has a share of epsilon.
        delta : float
            Where the promise is stated, in [0, 1).
        ledger : DatasetLedger, optional
            The budget of this graph, under "edge" neighbours. The graph is checked first, then
            the guarantee is spent, then the answers are drawn.

        Returns
        -------
        Release
            Its outputs are graphs; `to_frames` lists their ties.

        Raises
        ------
        InvalidInput
            If the graph isn't simple, lacks an attribute, or isn't of the matrices' size; or if
            there is a ledger and the draws would be seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        network = confidential(graph)
        return publish(
            one_of(self, copies).mechanism_like(graph),
            network,
            copies=copies,
            delta=delta,
            variable="tie",
            ledger=ledger,
        )

    def mechanism_like(self, example: Any) -> EdgeFlipMechanism:
        """The mechanism for graphs of as many nodes, directed if this one is."""
        network = confidential(example)
        matrices = self.epsilon is None and (np.ndim(self.tie) or np.ndim(self.gap))
        if matrices and tuple(as_network(example).nodes) != tuple(network.nodes):
            raise InvalidInput(
                "tie and gap are by node number, and nodes are numbered in the order of their "
                "labels, which isn't the graph's; give matrices for graph.in_label_order(), and "
                "that graph"
            )
        tie, gap = (self.tie, self.gap) if self.epsilon is None else symmetric(self.epsilon)
        return EdgeFlipMechanism(
            network.n, tie, gap, bool(network.directed), tuple(self.attributes)
        )
