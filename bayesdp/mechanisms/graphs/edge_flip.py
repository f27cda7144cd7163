r"""Edge randomized response: every dyad of a graph is answered independently, truly or not.

A tie is released as a tie with probability `tie`, a dyad without one with probability `gap`; both
are public, and either the same for all dyads or given for each (Karwa, Krivitsky and Slavkovic
2017; Warner 1965). What is released is a graph on the same nodes, which are public.

Privacy. `edge_flip_promise` has the profile under edge neighbours, the cost under node neighbours,
and the proofs.

The draw. Ties are answered one by one. Of dyads without one, those released as ties are found
by exact geometric steps over the others (`geometric`), so that the work is in proportion to the
ties there are and the ties released, not to the dyads. Probabilities are floats, which are binary
fractions, and the draws have exactly these. How long a draw takes isn't protected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag
from bayesdp.core.views import DyadsView
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.graphs import edge_flip_promise as promise
from bayesdp.mechanisms.graphs.edge_flip_draws import released_ties
from bayesdp.mechanisms.graphs.edge_flip_law import evidence_of, log_law
from bayesdp.mechanisms.graphs.graphs_space import Graphs, Pair
from bayesdp.mechanisms.graphs.network_columns import (
    as_networks,
    check_attribute_names,
    check_on_nodes,
    public_part,
)
from bayesdp.networks.dyads import dyad_numbers, dyads_numbered
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.network import Network
from bayesdp.privacy.accounting import composed_profile
from bayesdp.privacy.composition import repeated
from bayesdp.privacy.neighbours import Neighbours, check_edge_or_node
from bayesdp.privacy.profile import Profile

Integers = NDArray[np.int64]

_LARGEST = 1 << 30  # nodes: the dyads' numbers then fit in 61 bits


@dataclass(frozen=True, slots=True)
class EdgeFlipMechanism(Mechanism):
    """Release a graph whose dyads are answered independently, truly or not.

    The statistic and an output are a `Network` of that many nodes; networkx graphs are accepted
    too.

    Parameters
    ----------
    nodes : int
        Number of nodes, from 2 to 2^30. Public.
    tie, gap : float, or (nodes, nodes) matrix of floats
        Probability that a tie, or a dyad without one, is released as a tie; strictly between 0 and
        1. A matrix has one for each dyad, is symmetric if undirected, and its diagonal isn't read.
    directed : bool
        Whether ties have a direction. Public.
    attributes : sequence of str
        Names of the node attributes that are public and released with the graph; no others are.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The module's docstring proves the profile.
    """

    nodes: int
    tie: Any
    gap: Any
    directed: bool = False
    attributes: tuple[str, ...] = ()

    name: ClassVar[str] = "edge_flip"
    source: ClassVar[str] = (
        "bayesdp.mechanisms.graphs.edge_flip; Karwa, Krivitsky and Slavkovic (2017)"
    )
    n: ClassVar[None] = None
    neighbours: ClassVar[Neighbours] = Neighbours.EDGE
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "nodes", check_at_least_one("nodes", self.nodes))
        if not 2 <= self.nodes <= _LARGEST:
            raise InvalidInput(f"nodes is {self.nodes}; it must be from 2 to 2^30")
        check_flag("directed", self.directed)
        for side in ("tie", "gap"):
            given = getattr(self, side)
            put(self, side, promise.check_probability(side, given, self.nodes, self.directed))
        put(self, "attributes", check_attribute_names(self.attributes))

    @property
    def space(self) -> Graphs:
        """Graphs on the public nodes, with their public attributes."""
        return Graphs(self.nodes, self.directed, self.attributes)

    @property
    def dyads(self) -> int:
        """Number of pairs that may be tied; ordered pairs if directed."""
        return self.space.dyads

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, edge or node; else raise InvalidInput."""
        return check_edge_or_node(self.neighbours if neighbours is None else neighbours)

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` releases.

        It is exact for one release under edge neighbours; otherwise it is a bound that charges
        every answer at the cost of the costliest dyad.
        """
        count, one = check_at_least_one("copies", copies), promise.profile(*self._probabilities())
        pure = repeated(one.pure_epsilon, count)
        if self.relation(neighbours) is Neighbours.NODE:
            pure = repeated(self._node_epsilon(), count)
            count *= self._dyads_of_a_node
        return one if count == 1 else composed_profile(self, count, pure)

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise: which graphs are neighbours, and what is public."""
        by_node = relation is Neighbours.NODE
        differ = "any dyads of one node" if by_node else "the tie of one dyad"
        also = ", a pair of nodes in one direction" if self.directed and not by_node else ""
        return (
            f"Two graphs on the same nodes are neighbours if they differ in {differ}{also}.",
            "The nodes, and the attributes released with them, are public and not protected.",
        )

    def check_statistic(self, statistic: Any) -> Network:
        """Return the network, without attributes that aren't public, if it fits, else raise."""
        network = check_on_nodes("the network", statistic, self.nodes, self.directed)
        return public_part(network, self.attributes)

    def draw(self, statistic: Network, copies: int) -> NDArray[Any]:
        """Answer every dyad, exactly, from the secure generator; Networks, shape (copies,)."""
        drawn = np.empty(copies, dtype=object)
        # Of few dyads, many copies are alike, and share one graph.
        graphs: dict[bytes, Network] = {}
        ties = released_ties(self._numbers(statistic), self.dyads, *self._probabilities(), copies)
        for k, numbers in enumerate(ties):
            key = numbers.tobytes()
            if key not in graphs:
                graphs[key] = statistic.with_edges(self._dyads(numbers))
            drawn[k] = graphs[key]
        return drawn

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], for graphs or for lists or arrays of them, which broadcast.

        Nodes are matched by their order; labels and attributes play no part.
        """
        outputs, statistics = np.broadcast_arrays(as_networks(output), as_networks(statistic))
        law = log_law(*self._probabilities(), self.dyads)
        known: dict[tuple[bytes, bytes], float] = {}  # the same graphs come often
        logs = np.empty(outputs.size)
        for k, both in enumerate(zip(outputs.flat, statistics.flat, strict=True)):
            z, x = (check_on_nodes("a graph", g, self.nodes, self.directed) for g in both)
            key = z.edges.tobytes(), x.edges.tobytes()
            if key not in known:
                known[key] = law(self._numbers(z), self._numbers(x))
            logs[k] = known[key]
        return logs.reshape(outputs.shape)

    @property
    def views(self) -> tuple[DyadsView, ...]:
        """View of the law given the hidden graph."""
        return (DyadsView(self.evidence),)

    def evidence(self, output: Any) -> Evidence:
        """Evidence of a released graph, as log-odds of the hidden graph's dyads."""
        released = check_on_nodes("the output", output, self.nodes, self.directed)
        return evidence_of(released, *self._probabilities())

    def pairs(self) -> list[Pair]:
        """Pairs of one tie and none, a dyad for each pair of probabilities, costliest first."""
        tie, gap = self._probabilities()
        kinds, first = np.unique(np.column_stack([tie, gap]), axis=0, return_index=True)
        dearest = np.argsort(-promise.nearly(*kinds.T), kind="stable")
        return [self.space.one_tie(number) for number in first[dearest].tolist()]

    def nearby(self, pair: Pair, generator: np.random.Generator) -> Pair:
        """Draw other neighbours for an audit's search: any graph, and any dyad of it."""
        return self.space.nearby(generator)

    @property
    def _by_dyad(self) -> bool:
        """True if dyads have probabilities of their own."""
        return isinstance(self.tie, tuple) or isinstance(self.gap, tuple)

    @property
    def _dyads_of_a_node(self) -> int:
        return (self.nodes - 1) * (2 if self.directed else 1)

    def _every_dyad(self) -> Integers:
        """Nodes of all dyads in their order, shape (dyads, 2)."""
        return self._dyads(np.arange(self.dyads))

    def _probabilities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probabilities tie and gap of all dyads in order, or of one dyad that stands for all."""
        if not self._by_dyad:
            return np.array([self.tie]), np.array([self.gap])
        i, j = self._every_dyad().T
        shape = (self.nodes, self.nodes)
        tie, gap = (np.broadcast_to(np.array(p), shape)[i, j] for p in (self.tie, self.gap))
        return tie, gap

    def _node_epsilon(self) -> float:
        if not self._by_dyad:
            return repeated(self.epsilon(), self._dyads_of_a_node)
        return promise.node_epsilon(*self._probabilities(), self._every_dyad())

    def _numbers(self, network: Network) -> Integers:
        return dyad_numbers(network.edges, self.nodes, self.directed)

    def _dyads(self, numbers: Integers) -> Integers:
        return dyads_numbered(numbers, self.nodes, self.directed)
