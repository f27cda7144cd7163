r"""Noisy network statistics: a formula's statistics of a graph, each with its own noise.

The graph is on public nodes with public attributes; what is confidential is who is tied to whom.
Under `edge` neighbours, graphs on the same nodes differ in one dyad's tie, an ordered pair's if
directed; under `node`, in any of the dyads of one node. That a node is there isn't protected.

Statistic t is computed exactly (`bayesdp.networks.exact_statistics`), rounded to a multiple of its
granularity g_t, 1 where it is an integer, and integer noise of scale b_t / g_t is added
(`bayesdp.mechanisms.noise.lattice`): discrete Laplace, or discrete Gaussian. No floating-point
number that depends on the ties is rounded on the way.
`bayesdp.mechanisms.graphs.statistics_promise` proves what this promises.

max_degree
----------
kstar, triangle and gwesp move by less where all degrees (out-degrees if directed) are at most D.
That the data satisfy it whatever they are, as where a survey asks for up to D friends, is a public
claim that the promise is conditional on. A graph that violates it is refused before anything is
spent; the refusal shows that the claim is false, which no budget can buy back, so claim it only
where it is true by construction. Nor has such a graph a law: `logp` refuses it too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.core.views import GraphView
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.graphs import statistics_outputs
from bayesdp.mechanisms.graphs import statistics_promise as promise
from bayesdp.mechanisms.graphs.statistics_fields import check_fields
from bayesdp.mechanisms.graphs.statistics_frame import Frame, frame
from bayesdp.mechanisms.noise.laws import GaussianNoise, LaplaceNoise, Noise
from bayesdp.networks.evidence import Evidence, SeenStatistics
from bayesdp.networks.network import Network, as_network
from bayesdp.privacy.guarantee import Strength
from bayesdp.privacy.neighbours import Neighbours

_LAWS: dict[str, Callable[[Fraction], Noise]] = {"laplace": LaplaceNoise, "gaussian": GaussianNoise}


@dataclass(frozen=True, slots=True)
class NoisyStatisticsMechanism(Mechanism):
    """Release a graph's statistics, each plus noise.

    `bdp.synthesizers.NoisyStatisticsSynthesizer` chooses the scales. The statistic is a `Network`;
    an output is a tuple of numbers, one a statistic, in the formula's order.

    The fields hold the public attributes and labels, so that whoever has the manifest alone can
    compute the sensitivities and the statistics of any graph on these nodes: without them there
    would be neither a guarantee nor a law. They are one value a node, where the graph would be one
    a tie, and are written once, not once a copy.

    Parameters
    ----------
    formula : str
        As "edges + nodematch('grade') + gwesp(0.5)".
    scales : sequence of float
        b_t: the noise of statistic t has density proportional to exp(-|z| / b_t), or
        exp(-(z / b_t)^2 / 2), nearly.
    nodes : int or sequence of labels
    directed : bool
    attributes : sequence of (name, values) pairs
        Public, of the nodes; None is missing.
    noise : {"laplace", "gaussian"}
    granularity : sequence of float, optional
        g_t, powers of two; by default 1 for integers and else 2^-20 of the smaller of scale and
        sensitivity or finer, but never more than 2^52 steps to the statistic's largest value.
    max_degree : int, optional
        Public bound on degrees, out-degrees if directed, that the data satisfy by construction.
    neighbours : {"edge", "node"}
        Where its promise is stated if none is asked for. It knows both.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, a term isn't defined on such graphs, or has no finite
        sensitivity.
    """

    formula: str
    scales: Any
    nodes: Any
    directed: bool = False
    attributes: Any = ()
    noise: str = "laplace"
    granularity: Any = None
    max_degree: int | None = None
    neighbours: Neighbours = Neighbours.EDGE

    name: ClassVar[str] = "noisy_statistics"
    source: ClassVar[str] = (
        "bayesdp.mechanisms.graphs.noisy_statistics; Dwork, McSherry, Nissim and Smith (2006)"
    )
    log_concave: ClassVar[bool] = False
    n: ClassVar[None] = None

    def __post_init__(self) -> None:
        for name, value in check_fields(self).items():
            object.__setattr__(self, name, value)

    @property
    def frame(self) -> Frame:
        """The formula on the public nodes."""
        return frame(self.formula, self.nodes, self.directed, self.attributes, self.max_degree)

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the statistics, in the order of an output."""
        return self.frame.names

    @property
    def noises(self) -> list[Noise]:
        """Law of each statistic's noise, in steps of its granularity."""
        ratios = map(operator.truediv, map(Fraction, self.scales), map(Fraction, self.granularity))
        return [_LAWS[self.noise](ratio) for ratio in ratios]

    # What is promised.

    cost = promise.cost
    rho = promise.rho
    profile = promise.profile

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the relation that a promise is asked under, edge or node; else raise."""
        return promise.relation_of(self, neighbours)

    @property
    def strength(self) -> Strength:
        """Conditional where degrees are bounded by assumption."""
        return Strength.PROVED if self.max_degree is None else Strength.CONDITIONAL

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """What must hold for the promise to hold, in words for the reader of a report."""
        what = "one dyad's tie" if relation is Neighbours.EDGE else "all ties of one node"
        notes = [
            "The nodes, and their labels and attributes in the release, are public and not "
            f"protected: the promise is about {what}.",
            "The mechanism's parameters were chosen without the ties.",
        ]
        if self.max_degree is not None:
            ties = "ties to others" if self.directed else "ties"
            notes.append(
                f"No node can have more than max_degree = {self.max_degree} {ties}, whatever the "
                "data: a graph where one has is refused."
            )
        return tuple(notes)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Network:
        """Return the graph if it is one on the public nodes, else raise."""
        return self.frame.check_network(as_network(statistic))

    def _centre(self, statistic: Any) -> NDArray[np.int64]:
        exact = self.frame.statistics(self.check_statistic(statistic))
        half = Fraction(1, 2)
        return np.array(
            [
                math.floor(value / Fraction(g) + half)
                for value, g in zip(exact, self.granularity, strict=True)
            ]
        )

    def release(self, statistic: Any, copies: int = 1) -> NDArray[np.float64]:
        """Draw copies, exactly, from the secure generator.

        Parameters
        ----------
        statistic : Network or networkx graph
            Confidential.
        copies : int

        Returns
        -------
        ndarray of float, shape (copies, statistics)
        """
        copies, centre = check_at_least_one("copies", copies), self._centre(statistic)
        drawn = np.column_stack([noise.draw(copies) for noise in self.noises])
        return np.asarray((centre + drawn) * np.array(self.granularity))

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | graph]; -inf where there is no such output.

        `output` has shape (..., statistics), and `statistic` is a graph or a list of graphs: then
        the last axis but one of the output broadcasts with them.
        """
        several = isinstance(statistic, Sequence)
        centre = np.array([self._centre(x) for x in (statistic if several else [statistic])])
        if not several:
            centre = centre[0]
        with np.errstate(over="ignore"):
            y = np.asarray(output, dtype=np.float64) / np.array(self.granularity)
        possible = (np.abs(y) < 2.0**62) & (y == np.floor(y))
        moved = np.where(possible, y, 0).astype(np.int64) - centre
        law = [noise.log_pmf(moved[..., t]) for t, noise in enumerate(self.noises)]
        return np.asarray(np.where(np.all(possible, axis=-1), np.sum(law, axis=0), -np.inf))

    @property
    def views(self) -> tuple[GraphView, ...]:
        """The law given the hidden graph."""
        return (GraphView(self.evidence),)

    def evidence(self, output: Any) -> Evidence:
        """Evidence of a copy on the hidden graph, for a chain, with its bound on degrees."""
        rounded = [
            0.0 if whole and g == 1 else g
            for whole, g in zip(self.frame.whole, self.granularity, strict=True)
        ]
        seen = SeenStatistics(
            self.formula,
            np.array(self.check_output(output), dtype=np.float64),
            np.array(self.scales),
            "laplace" if self.noise == "laplace" else "gaussian",
            np.array(rounded),
        )
        return Evidence.of_statistics(self.frame.network, seen, max_degree=self.max_degree)

    # What is written down, and what an audit tries.

    pairs = statistics_outputs.worst_pairs
    check_output = statistics_outputs.check_output
    records = statistics_outputs.records

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as columns copy, statistic and value, one row a statistic."""
        return statistics_outputs.encode(self, outputs)

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the copies, their statistics in the formula's order."""
        return statistics_outputs.decode(self, columns)
