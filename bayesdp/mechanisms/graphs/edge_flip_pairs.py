"""Graphs for an audit of answered dyads: edge neighbours, and all graphs of a few nodes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.networks.dyads import dyads_numbered
from bayesdp.networks.network import Network

Pair = tuple[Network, Network]

_LISTED = 12  # dyads of a graph that are listed


@dataclass(frozen=True, slots=True)
class Graphs:
    """Graphs on so many nodes; their attributes are all zeros, and make no difference."""

    nodes: int
    directed: bool
    dyads: int
    attributes: Sequence[str]

    def tied(self, numbers: Any) -> Network:
        """Make the graph whose dyads of these numbers are tied."""
        ties = dyads_numbered(np.asarray(numbers, dtype=np.int64), self.nodes, self.directed)
        attributes = {name: np.zeros(self.nodes) for name in self.attributes}
        return Network(self.nodes, ties, self.directed, attributes)

    def one_tie(self, number: int) -> Pair:
        """Pair of graphs, one without ties and one with a single tied dyad."""
        return self.tied([]), self.tied([number])

    def nearby(self, generator: np.random.Generator) -> Pair:
        """Draw any graph, of any density, and the same with any one dyad changed."""
        one = generator.random(self.dyads) < generator.random()
        other = one.copy()
        other[generator.integers(self.dyads)] ^= True
        return self.tied(np.flatnonzero(one)), self.tied(np.flatnonzero(other))

    def every(self) -> list[Network] | None:
        """List all graphs, where they are few."""
        if self.dyads > _LISTED:
            return None
        sets = itertools.product((0, 1), repeat=self.dyads)
        return [self.tied(np.flatnonzero(tied)) for tied in sets]
