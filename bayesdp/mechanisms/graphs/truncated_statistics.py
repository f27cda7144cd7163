r"""Statistics of a graph truncated to a largest degree, with noise that hides one node's ties.

The ties are cut as `bayesdp.mechanisms.graphs.degree_truncation` says, which proves how far each
statistic of the cut graph moves, at most, between neighbours by node and by edge. Each is released
with Laplace noise of its own: discrete for an integer (`DiscreteLaplaceMechanism`), on a lattice
for gwdegree (`LaplaceMechanism`), of a scale that costs its share of epsilon under NODE. Together
they cost the sum of the shares, by composition: of a statistic with sensitivity D_k and scale b_k,

    epsilon(NODE) = sum of D_k(NODE) / b_k,     epsilon(EDGE) = sum of D_k(EDGE) / b_k.

The statistics are computed exactly, as sums of fractions, so that the proved sensitivities are
those of the code as it runs. (Kasiviswanathan, Nissim, Raskhodnikova and Smith 2013 and Day, Li and
Lyu 2016 have node-level releases by truncation.)
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.core.outputs.named import NamedColumns
from bayesdp.core.views import GraphView
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.graphs.degree_truncation import (
    DegreeSum,
    degree_sums,
    public_places,
    truncated_degrees,
)
from bayesdp.mechanisms.graphs.network_columns import known_nodes
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism, LaplaceMechanism
from bayesdp.mechanisms.noise.lattice import FURTHEST
from bayesdp.mechanisms.noise.pure import up
from bayesdp.networks.evidence import Evidence, SeenTruncated
from bayesdp.networks.network import Network, as_network
from bayesdp.privacy.composition import left, total
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_edge_or_node
from bayesdp.privacy.profile import Profile, pure_profile

Pair = tuple[Network, Network]
Noise = DiscreteLaplaceMechanism | LaplaceMechanism
_MOST_DEGREE = 100_000


@dataclass(frozen=True, slots=True)
class TruncatedStatisticsMechanism(Mechanism):
    """Release statistics of the graph truncated to degree `max_degree`, with Laplace noise.

    The statistic is an undirected Network; an output is one number for each statistic.

    Parameters
    ----------
    formula : str
        Sum of terms among edges, kstar, degree, gwdegree, isolates and concurrent, such as
        "edges + kstar(2)".
    epsilon : float
        Epsilon of one copy, under NODE: graphs on the same public nodes that differ in any of the
        dyads of one node.
    max_degree : int
        D, from 1 to 100,000. Public, chosen without the data.
    weights : tuple of float, optional
        Shares of epsilon, one for each statistic, positive; by default equal.
    nodes : int, optional
        Number of nodes, where it is public: graphs of other sizes are then refused, and models of
        graphs can read the release.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or a term isn't a sum of functions of degrees.

    The module's docstring has the promise, `bayesdp.mechanisms.graphs.degree_truncation` the proof.
    """

    formula: str
    epsilon: float = field()  # type: ignore[assignment]  # a parameter, not the profile's
    max_degree: int
    weights: tuple[float, ...] | None = None
    nodes: int | None = None

    name: ClassVar[str] = "truncated_statistics"
    n: ClassVar[None] = None
    neighbours: ClassVar[Neighbours] = Neighbours.NODE
    source: ClassVar[str] = "bayesdp.mechanisms.graphs.degree_truncation; Day, Li and Lyu (2016)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        max_degree = check_at_least_one("max_degree", self.max_degree)
        if max_degree > _MOST_DEGREE:
            raise InvalidInput(f"max_degree is {max_degree}; it must be at most {_MOST_DEGREE:,}")
        object.__setattr__(self, "max_degree", max_degree)
        count = len(degree_sums(self.formula, self.max_degree))
        if self.weights is not None:
            object.__setattr__(self, "weights", _check_weights(self.weights, count))
        if self.nodes is not None:
            object.__setattr__(self, "nodes", check_at_least_one("nodes", self.nodes))
        _noises(self)

    @property
    def statistics(self) -> tuple[DegreeSum, ...]:
        """Statistics of the formula, as functions of the kept degree."""
        return _noises(self)[0]

    @property
    def noises(self) -> tuple[Noise, ...]:
        """The additive noise of each statistic, with its scale and sensitivity under NODE."""
        return _noises(self)[1]

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, node or edge; else raise InvalidInput."""
        return check_edge_or_node(self.neighbours if neighbours is None else neighbours)

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies, as their pure epsilon implies it."""
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        each = [
            dataclasses.replace(noise, sensitivity=up(s.sensitivity(relation)), neighbours=relation)
            for s, noise in zip(self.statistics, self.noises, strict=True)
        ]
        one = total([noise.epsilon() for noise in each])
        whole = total([noise.epsilon(copies=copies) for noise in each])
        return pure_profile(one, copies, whole)

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        return (
            "The nodes and their labels are public and not protected; neighbours have the same.",
            "The formula, max_degree and the weights were chosen without the data.",
        )

    def check_statistic(self, statistic: Any) -> Network:
        """Return the graph as a Network if it is undirected, sortable and not too large."""
        network = as_network(statistic)
        if network.directed:
            raise InvalidInput(
                "the network is directed; degrees are those of undirected ones: drop the "
                "directions first, if that answers your question"
            )
        if self.nodes not in (None, network.n):
            raise InvalidInput(
                f"the network has {network.n} nodes; this mechanism is for nodes = {self.nodes}"
            )
        for s, noise in zip(self.statistics, self.noises, strict=True):
            if network.n * max(s.values) > FURTHEST * min(Fraction(noise.step), s.unit):
                raise InvalidInput(
                    f"{s.name} may be too large for exact noise on {network.n:,} nodes with "
                    f"max_degree = {self.max_degree}; take a smaller one"
                )
        public_places(network)
        return network

    def exact(self, statistic: Any) -> NDArray[np.float64]:
        """Statistics of the truncated graph, without noise; confidential; shape (statistics,)."""
        return self._exact(self.check_statistic(statistic))

    def _exact(self, network: Network) -> NDArray[np.float64]:
        degrees = truncated_degrees(network, self.max_degree)
        return np.array([float(s.of(degrees)) for s in self.statistics])

    def draw(self, statistic: Network, copies: int) -> NDArray[Any]:
        """Draw copies, exactly, from the secure generator; shape (copies, statistics).

        Outputs are integers or, with gwdegree, floats.
        """
        pairs = zip(self.noises, self._exact(statistic), strict=True)
        return np.stack([noise.release(value, copies) for noise, value in pairs], axis=1)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | graph]; -inf where there is no such output.

        Parameters
        ----------
        output : array_like, last axis of length (statistics,)
        statistic : Network, or sequence of Networks
            A sequence makes one axis, which broadcasts with the output's others.
        """
        z = np.asarray(output, dtype=np.float64)
        if z.ndim == 0 or z.shape[-1] != len(self.noises):
            raise InvalidInput(
                f"output has shape {z.shape}; its last axis must have length {len(self.noises)}, "
                f"for {', '.join(s.name for s in self.statistics)}"
            )
        several = isinstance(statistic, Sequence)
        graphs = statistic if several else [statistic]
        values = np.stack([self.exact(graph) for graph in graphs])[slice(None) if several else 0]
        laws = [noise.logp(z[..., k], values[..., k]) for k, noise in enumerate(self.noises)]
        return np.asarray(sum(laws))

    @property
    def views(self) -> tuple[GraphView, ...]:
        """View of the law given the hidden graph."""
        return (GraphView(self.evidence),)

    def evidence(self, output: Any) -> Evidence:
        """Evidence of a copy about the hidden graph, whose nodes, if known, are in label order."""
        seen = SeenTruncated(
            self.max_degree,
            np.array([[float(f) for f in s.values] for s in self.statistics]),
            np.array(self.check_output(output), dtype=np.float64),
            np.array([float(noise.scale) for noise in self.noises]),
            np.array([float(noise.step) for noise in self.noises]),
        )
        return dataclasses.replace(Evidence.of_statistics(known_nodes(self)), truncated=(seen,))

    def pairs(self) -> list[Pair]:
        """Pairs where all dyads of a node change, in an empty graph, or of a full one's last."""
        nodes = self.nodes or self.max_degree + 1
        star = [[0, other] for other in range(1, nodes)]
        full = np.argwhere(np.triu(np.ones((nodes, nodes)), 1))
        return [
            (Network(nodes, []), Network(nodes, star)),
            (Network(nodes, full[full[:, 1] < nodes - 1]), Network(nodes, full)),
        ]

    @property
    def space(self) -> NamedColumns:
        """Released statistics: one record for each copy, with a column for each statistic."""
        named, steps = self.statistics, tuple(noise.step for noise in self.noises)
        whole = tuple(s.whole for s in named)
        return NamedColumns(tuple(s.name for s in named), steps, whole=whole)


@functools.lru_cache(maxsize=64)
def _noises(
    mechanism: TruncatedStatisticsMechanism,
) -> tuple[tuple[DegreeSum, ...], tuple[Noise, ...]]:
    """Make the statistics and the noise of each, calibrated to its share of epsilon."""
    statistics = degree_sums(mechanism.formula, mechanism.max_degree)
    weights = mechanism.weights or (1.0,) * len(statistics)
    spent: list[float] = []
    noises: list[Noise] = []
    for k, (s, weight) in enumerate(zip(statistics, weights, strict=True)):
        share = mechanism.epsilon * (weight / math.fsum(weights))
        if k == len(statistics) - 1:  # what is left, so that the shares add up to no more
            share = left(mechanism.epsilon, spent)
        made = DiscreteLaplaceMechanism if s.whole else LaplaceMechanism
        moved: dict[str, Any] = {
            "sensitivity": up(s.sensitivity(Neighbours.NODE)),
            "neighbours": Neighbours.NODE,
        }
        noise: Noise = made.calibrate(epsilon=share, **moved)
        spent.append(noise.epsilon())
        noises.append(noise)
    return statistics, tuple(noises)


def _check_weights(weights: Any, count: int) -> tuple[float, ...]:
    given: list[Any] = list(weights) if isinstance(weights, Sequence | np.ndarray) else []
    if len(given) != count or not all(is_number(w) and 0 < w < math.inf for w in given):
        raise InvalidInput(
            f"weights is {quoted(weights)}; it must be {count} positive numbers, one for each "
            "statistic"
        )
    return tuple(float(w) for w in given)
