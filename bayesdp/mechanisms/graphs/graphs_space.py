"""Space of graphs on public nodes, and the graphs that an audit of their ties tries."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import OutputSpace
from bayesdp.mechanisms.graphs.network_columns import (
    as_networks,
    check_on_nodes,
    check_released,
    decode_networks,
    encode_networks,
    public_part,
    tie_records,
)
from bayesdp.networks.dyads import dyads_numbered
from bayesdp.networks.network import Network

Pair = tuple[Network, Network]

_LISTED = 12  # dyads of a graph that are listed


@dataclass(frozen=True, slots=True)
class Graphs(OutputSpace):
    """Graphs on `nodes` nodes, with their public attributes.

    Attributes
    ----------
    nodes : int
        Number of nodes.
    directed : bool
    attributes : tuple of str
        Names of the public node attributes.
    strict : bool
        Whether a graph with other attributes is refused; otherwise they are left out.
    """

    nodes: int
    directed: bool
    attributes: tuple[str, ...]
    strict: bool = True

    def check(self, output: Any) -> Network:
        """Return the graph with its public attributes, or raise InvalidInput."""
        network = check_on_nodes("the output", output, self.nodes, self.directed)
        return (check_released if self.strict else public_part)(network, self.attributes)

    def encode(self, outputs: Sequence[Network]) -> dict[str, Any]:
        """Encode copies as columns, one row for each node and each tie; see `encode_networks`."""
        return encode_networks(outputs)

    def decode(self, columns: Mapping[str, Any]) -> list[Network]:
        """Decode the graphs, unchecked, in the order of their copies."""
        return decode_networks(columns, self.directed)

    def records(self, output: Network) -> NDArray[Any]:
        """Ties of a graph, as a structured array of the labels of `source` and `target`."""
        return tie_records(output)

    def every(self) -> NDArray[Any] | None:
        """List all graphs, if few; attributes, which make no difference, are zeros."""
        if self.dyads > _LISTED:
            return None
        sets = itertools.product((0, 1), repeat=self.dyads)
        return as_networks([self.tied(np.flatnonzero(tied)) for tied in sets])

    @property
    def dyads(self) -> int:
        """Number of pairs that may be tied; ordered pairs if directed."""
        return self.nodes * (self.nodes - 1) // (1 if self.directed else 2)

    def tied(self, numbers: Any) -> Network:
        """Make the graph whose ties are the dyads of these numbers."""
        ties = dyads_numbered(np.asarray(numbers, dtype=np.int64), self.nodes, self.directed)
        attributes = {name: np.zeros(self.nodes) for name in self.attributes}
        return Network(self.nodes, ties, self.directed, attributes)

    def one_tie(self, number: int) -> Pair:
        """Pair of graphs, one without ties and one with a single tied dyad."""
        return self.tied([]), self.tied([number])

    def nearby(self, generator: np.random.Generator) -> Pair:
        """Draw a graph of any density, and the same graph with one dyad changed."""
        one = generator.random(self.dyads) < generator.random()
        other = one.copy()
        other[generator.integers(self.dyads)] ^= True
        return self.tied(np.flatnonzero(one)), self.tied(np.flatnonzero(other))
