"""Release a graph by randomized response on its dyads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import keep
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.graphs.edge_flip import EdgeFlipMechanism
from bayesdp.mechanisms.graphs.edge_flip_promise import check_probability, symmetric
from bayesdp.mechanisms.graphs.network_columns import check_attribute_names, confidential
from bayesdp.networks.network import as_network
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.synthesis.graphs import GraphSynthesizer
from bayesdp.synthesis.parameters import by_value

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, eq=False)
class EdgeFlipSynthesizer(GraphSynthesizer):
    """Release a graph by edge randomized response: each dyad is kept or flipped on its own.

    The nodes are public, and every pair of them is released as tied or not, with probabilities
    that depend on whether it is tied (Karwa, Krivitsky and Slavkovic 2017). The promise is about
    one dyad's tie; ``release.mechanism.guarantee(neighbours="node")`` is the one about all dyads of
    a node. The analyst has the exact law, `release.mechanism.logp`.

    Parameters
    ----------
    epsilon : float, optional
        Total privacy cost of all copies: in each copy, a dyad is flipped with probability
        1 / (1 + exp(epsilon / copies)), rounded up to a multiple of 2^-53.
    tie : float or (n, n) array_like, optional
        Instead of `epsilon`, with `gap`: the probability that a tie is released as a tie, strictly
        between 0 and 1. A matrix has one for each dyad, is symmetric for an undirected graph, and
        its diagonal isn't read. Chosen without the ties; used in each copy.
    gap : float or (n, n) array_like, optional
        The probability that a dyad without a tie is released as a tie, in the same form.
    attributes : sequence of str
        Node attributes that are public and released with the graph. No other attributes are
        released, and none of the ties.

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

    epsilon: float | None = declared(by_value(check_epsilon), optional=True, default=None)
    tie: Any = None
    gap: Any = None
    attributes: Sequence[str] = declared(by_value(check_attribute_names), default=())

    variable = "tie"

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.epsilon is not None, self.tie is not None, self.gap is not None
        if given not in ((True, False, False), (False, True, True)):
            named = [n for n, there in zip(("epsilon", "tie", "gap"), given, strict=True) if there]
            raise InvalidInput(
                f"given: {', '.join(named) or 'nothing'}; give either epsilon, or both tie and "
                "gap, the probabilities that a tie, and a dyad without one, is released as a tie"
            )
        if self.epsilon is not None:
            symmetric(self.epsilon)
        else:
            keep(self, tie=check_probability("tie", self.tie, None, directed=True))
            keep(self, gap=check_probability("gap", self.gap, None, directed=True))

    def mechanism_like(self, example: Any) -> EdgeFlipMechanism:
        """The mechanism for graphs with as many nodes as the example, directed if it is."""
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
