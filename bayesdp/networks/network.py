"""A simple graph with attributes of its nodes and dyads, and its conversions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.checks import check_flag
from bayesdp.errors import InvalidInput, quoted
from bayesdp.headers import shown_names
from bayesdp.networks.network_checks import (
    check_index,
    check_labels,
    check_unmasked,
    checked_attributes,
    checked_edges,
    checked_matrix,
    checked_nodes,
    listed_nodes,
    named_items,
    numbered_edges,
    numbered_ties,
)
from bayesdp.optional import needed

if TYPE_CHECKING:
    import networkx
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A simple graph, without loops or multiple ties, with attributes of nodes and dyads.

    Parameters
    ----------
    nodes : int or sequence of hashable
        Number of nodes, or their labels.
    edges : array_like of int, shape (ties, 2)
        Pairs of node numbers from 0; the order within a pair matters only if directed.
        `from_edges` takes labels instead.
    directed : bool
        Whether ties have a direction.
    attributes : mapping of str to array_like, shape (n,), or to mappings
        Node attributes: values in the order of the nodes, or a mapping from each node's label to
        its value. None or NaN is a missing value, which terms that use it refuse. A pandas index
        with labels of the nodes must have them in that order.
    dyad_attributes : mapping of str to array_like, shape (n, n)
        Numbers for `edgecov`; symmetric if undirected. The diagonal isn't read.

    Raises
    ------
    InvalidInput
        If there is a loop or a multiple tie, a label is missing or there twice, or a node number,
        a shape or an index isn't allowed.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> bdp.networks.Network(4, [(0, 1), (1, 2)], attributes={"age": [31, 40, 28, 52]})
    Network(4 nodes, 2 ties, undirected)
    """

    nodes: Any
    edges: Any = ()
    directed: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)
    dyad_attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_flag("directed", self.directed)
        put(self, "nodes", checked_nodes(self.nodes))
        put(self, "edges", checked_edges(self.edges, self.nodes, self.directed))
        put(self, "attributes", checked_attributes(self.attributes, self.nodes))
        matrices = {
            name: checked_matrix(name, value, self.nodes, self.directed)
            for name, value in named_items("dyad_attributes", self.dyad_attributes)
        }
        put(self, "dyad_attributes", matrices)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def dyads(self) -> int:
        """Number of pairs that may be tied; ordered pairs if directed."""
        pairs = self.n * (self.n - 1)
        return pairs if self.directed else pairs // 2

    @property
    def density(self) -> float:
        """Share of the dyads that are tied."""
        return len(self.edges) / self.dyads

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"Network({self.n:,} nodes, {len(self.edges):,} ties, {kind})"

    def __eq__(self, other: object) -> bool:
        """Compare labels, ties and direction; attributes aren't compared."""
        return (
            isinstance(other, Network)
            and self.directed == other.directed
            and tuple(self.nodes) == tuple(other.nodes)
            and np.array_equal(self.edges, other.edges)
        )

    __hash__ = None  # type: ignore[assignment]

    def with_edges(self, edges: ArrayLike) -> Network:
        """Return a network of these nodes and attributes with other ties, as pairs of numbers."""
        return Network(self.nodes, edges, self.directed, self.attributes, self.dyad_attributes)

    def in_label_order(self) -> Network:
        """Sort the nodes by label; node numbers change with them.

        The order in which labels first appear in ties reveals something about the ties; this one
        doesn't.

        Raises
        ------
        InvalidInput
            If the labels can't be sorted.
        """
        if isinstance(self.nodes, range):
            return self
        try:
            return self.in_order(sorted(self.nodes))
        except TypeError:
            raise InvalidInput(
                "the nodes' labels can't be sorted: make them all text, or all numbers"
            ) from None

    def in_order(self, nodes: Iterable[Hashable]) -> Network:
        """Put the nodes into the order of these labels, which must be the network's own.

        Raises
        ------
        InvalidInput
            If the labels aren't the network's own.
        """
        labels = tuple(nodes)
        if labels == tuple(self.nodes):
            return self
        number = {label: i for i, label in enumerate(self.nodes)}
        if len(labels) != self.n or number.keys() != set(labels):
            raise InvalidInput(
                f"the network's {self.n} nodes aren't the {len(labels)} wanted, by their labels"
            )
        order = np.array([number[label] for label in labels])
        place = np.argsort(order)
        return Network(
            labels,
            place[self.edges],
            self.directed,
            {name: values[order] for name, values in self.attributes.items()},
            {name: m[np.ix_(order, order)] for name, m in self.dyad_attributes.items()},
        )

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[Hashable, Hashable]],
        *,
        nodes: int | Iterable[Hashable] | None = None,
        directed: bool = False,
        attributes: Mapping[str, Any] | None = None,
    ) -> Network:
        """Make a network from pairs of labels.

        `nodes` lists all labels in order, those of isolates too, or is n for 0 to n - 1; without it
        they are those of the edges, in the order in which they first appear. A mapping as an
        attribute is read by label.
        """
        try:
            pairs = [tuple(edge) for edge in edges]
        except TypeError:
            raise InvalidInput(
                f"edges is {quoted(edges)}; it must be a list of pairs of labels"
            ) from None
        if any(len(pair) != 2 for pair in pairs):
            raise InvalidInput("edges has an entry that isn't a pair; each must be of two nodes")
        ends = [label for pair in pairs for label in pair]
        check_labels("edges", ends)
        labels = listed_nodes(list(dict.fromkeys(ends)) if nodes is None else nodes)
        number = {label: i for i, label in enumerate(labels)}
        if any(label not in number for label in ends):
            raise InvalidInput("edges name a label that isn't among the nodes; add it")
        ties = [[number[a], number[b]] for a, b in pairs]
        return cls(labels, ties, directed, {} if attributes is None else attributes)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph) -> Network:
        """Make a network from a networkx graph, with its node order, direction and attributes."""
        names = dict.fromkeys(name for _, data in graph.nodes(data=True) for name in data)
        return cls.from_edges(
            ((a, b) for a, b, *_ in graph.edges),
            nodes=graph.nodes,
            directed=graph.is_directed(),
            attributes={name: dict(graph.nodes(data=name)) for name in names},
        )

    @classmethod
    def from_adjacency(
        cls,
        matrix: Any,
        *,
        nodes: Sequence[Hashable] | None = None,
        directed: bool = False,
        attributes: Mapping[str, Any] | None = None,
    ) -> Network:
        """Make a network from a matrix of zeros and ones, dense, of scipy.sparse, or a DataFrame.

        A DataFrame's index gives the labels, unless `nodes` does. The matrix of an undirected
        network must be symmetric.
        """
        import pandas as pd

        if isinstance(matrix, pd.DataFrame):
            if list(matrix.index) != list(matrix.columns):
                raise InvalidInput("matrix has other labels in its columns than in its index")
            if nodes is None:
                nodes = list(matrix.index)
            check_index("matrix", matrix.index, nodes)
            matrix = matrix.to_numpy()
        check_unmasked("matrix", matrix)
        pairs, n = numbered_ties(matrix, directed)
        if nodes is not None and len(nodes) != n:
            raise InvalidInput(f"matrix is of {n} nodes, and nodes has {len(nodes)} labels")
        given = {} if attributes is None else attributes
        return cls(n if nodes is None else nodes, pairs, directed, given)

    @classmethod
    def from_pandas(
        cls,
        edges: pd.DataFrame | Iterable[pd.DataFrame],
        nodes: pd.DataFrame | None = None,
        *,
        source: str = "source",
        target: str = "target",
        directed: bool = False,
    ) -> Network:
        """Make a network from a table of ties and, if given, one of nodes.

        The index of `nodes` has the labels, its columns are the attributes. With `nodes`, ties may
        come in batches, as `bayesdp.scan` yields them from files: memory holds only their numbers.
        """
        import pandas as pd

        for name, given in (("edges", edges), ("nodes", nodes)):
            if hasattr(given, "to_pandas"):  # of Polars or Arrow
                raise InvalidInput(
                    f"{name} is {quoted(given)} of another package than pandas; give it as "
                    f"{name}.to_pandas()" + ".set_index(label)" * (name == "nodes")
                )
        if not isinstance(nodes, pd.DataFrame | None):
            raise InvalidInput(
                f"nodes is {quoted(nodes)}; it must be a DataFrame with the labels as its index, "
                "as pd.DataFrame(index=labels)"
            )
        attributes = {} if nodes is None else {c: nodes[c].to_numpy() for c in nodes.columns}
        if not isinstance(edges, pd.DataFrame):
            if nodes is None:
                raise InvalidInput("nodes is missing; give them where ties come in batches")
            checked_nodes(nodes.index)
            pairs = numbered_edges(edges, nodes.index, source, target)
            return cls(list(nodes.index), pairs, directed, attributes)
        for column in (source, target):
            if column not in edges.columns:
                raise InvalidInput(
                    f"edges has no column {quoted(column)}; its columns are "
                    f"{shown_names(list(edges.columns))}"
                )
        return cls.from_edges(
            zip(edges[source], edges[target], strict=True),
            nodes=None if nodes is None else list(nodes.index),
            directed=directed,
            attributes=attributes,
        )

    def to_networkx(self) -> networkx.Graph:
        """Convert to a networkx Graph, or DiGraph if directed, with the attributes of nodes.

        Raises
        ------
        MissingDependency
            If networkx isn't installed.
        """
        nx = needed("networkx", "Network.to_networkx", "networks")
        graph: networkx.Graph = nx.DiGraph() if self.directed else nx.Graph()
        columns = {name: values.tolist() for name, values in self.attributes.items()}
        for i, label in enumerate(self.nodes):
            graph.add_node(label, **{name: values[i] for name, values in columns.items()})
        graph.add_edges_from((self.nodes[a], self.nodes[b]) for a, b in self.edges.tolist())
        return graph

    def to_adjacency(self) -> NDArray[np.int8]:
        """Convert to a matrix of zeros and ones, shape (n, n)."""
        matrix = np.zeros((self.n, self.n), dtype=np.int8)
        matrix[self.edges[:, 0], self.edges[:, 1]] = 1
        return matrix if self.directed else matrix | matrix.T


def as_network(graph: Any) -> Network:
    """Return a Network as it is, or make one from a networkx graph.

    Raises
    ------
    InvalidInput
        If `graph` is neither; the message says how to make a Network.
    """
    if isinstance(graph, Network):
        return graph
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        return Network.from_networkx(graph)
    raise InvalidInput(
        f"a network is wanted, and this is a {type(graph).__name__}; make one with "
        "bdp.networks.Network.from_edges, from_adjacency or from_pandas"
    )
