"""Release statistics of a graph with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least_one, check_delta, keep
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.graphs.network_columns import confidential
from bayesdp.mechanisms.graphs.noisy_statistics.frame import (
    check_formula,
    check_noise,
    columns_of,
    nodes_of,
)
from bayesdp.mechanisms.graphs.noisy_statistics.mechanism import NoisyStatisticsMechanism
from bayesdp.mechanisms.graphs.noisy_statistics.scales import (
    calibrated,
    check_noise_delta,
    check_weights,
)
from bayesdp.networks.network import Network
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import check_edge_or_node
from bayesdp.synthesis.graphs import GraphSynthesizer
from bayesdp.synthesis.parameters import by_value


def _check_degree(name: str, value: Any) -> int:
    return check_at_least_one(name, value, "or None for any degrees")


@dataclass(frozen=True)
class NoisyStatisticsSynthesizer(GraphSynthesizer):
    """Release a formula's statistics of a graph, each with noise scaled to its sensitivity.

    The nodes, their labels and the named attributes are public; the ties are confidential. Each
    statistic's sensitivity is the largest change that a dyad's tie can make to it in any graph on
    these nodes (`bayesdp.networks.sensitivity`), which for kstar, triangle and gwesp grows with the
    number of nodes, unless degrees have a public bound. The analyst has the exact law,
    `release.mechanism.logp`.

    Parameters
    ----------
    formula : str
        For example "edges + kstar(2) + nodematch('grade')"; any terms except edgecov, whose dyad
        attribute would have to be public and part of the release.
    epsilon : float
        Total privacy cost of the copies.
    delta : float
        For Gaussian noise only: the delta at which `epsilon` holds.
    attributes : sequence of str
        Node attributes that are public: all that the formula uses, and any others to release.
    noise : {"laplace", "gaussian"}
        Law of the noise; Gaussian noise needs a positive `delta`.
    weights : sequence of float, optional
        One for each term, whose share of the budget is proportional to it. Default: equal shares.
    max_degree : int, optional
        A bound on every node's number of ties (out-ties if directed) that holds whatever the data,
        as where a survey asks for at most so many friends. The promise is conditional on it, and a
        graph that violates it is refused before anything is spent. That refusal reveals that the
        public claim is false: claim it only where it is true by construction.
    neighbours : {"edge", "node"}
        The relation of `epsilon`: one dyad's tie changes, or all ties of a node, which on n nodes
        takes about n times as much noise. ``release.mechanism.guarantee(neighbours=...)`` states
        both.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or a term has no finite sensitivity.

    Examples
    --------
    >>> import networkx
    >>> declared = NoisyStatisticsSynthesizer("edges + gwesp(0.5)", epsilon=1.0, max_degree=17)
    >>> release = declared.release(networkx.karate_club_graph())
    >>> release.mechanism.statistics
    ('edges', 'gwesp.0.5')
    >>> release.mechanism.scales[0]
    2.0
    """

    formula: str
    epsilon: float = declared(by_value(check_epsilon))
    delta: float = 0.0
    attributes: Sequence[str] = ()
    noise: str = declared(by_value(check_noise), default="laplace")
    weights: Sequence[float] | None = None
    max_degree: int | None = declared(_check_degree, optional=True, default=None)
    neighbours: str = "edge"

    variable = "statistic"

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.attributes
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise InvalidInput(
                f"attributes is {quoted(names)}; it must be a list of names, as ('grade',)"
            )
        check_formula(self.formula, names)
        if self.weights is not None:
            keep(self, weights=check_weights(self.formula, self.weights))
        check_noise_delta(self.noise, self.delta)
        keep(self, delta=check_delta(self.delta))
        check_edge_or_node(self.neighbours)

    def mechanism_like(self, example: Any) -> NoisyStatisticsMechanism:
        """The mechanism for graphs on the nodes of the example, whose ties aren't read.

        Raises
        ------
        InvalidInput
            If the example isn't a graph: released numbers don't say which nodes they belong to.
        """
        if not isinstance(example, Network) and not hasattr(example, "edges"):
            raise InvalidInput(
                f"example is a {type(example).__name__}; it must be a graph: released numbers "
                "don't say how many nodes there are, nor their attributes; give Release.of the "
                "mechanism, declared.mechanism_like(Network(nodes, attributes=...))"
            )
        network = confidential(example)
        return calibrated(
            epsilon=self.epsilon,
            delta=self.delta,
            weights=self.weights,
            formula=self.formula,
            nodes=nodes_of(network),
            directed=network.directed,
            attributes=columns_of(network, self.attributes),
            noise=self.noise,
            max_degree=self.max_degree,
            neighbours=self.neighbours,
        )
