r"""Noisy network statistics: a formula's statistics of a graph, each with its own noise.

The graph is on public nodes with public attributes; the ties are confidential.
Under `edge` neighbours, graphs on the same nodes differ in one dyad's tie, an ordered pair's if
directed; under `node`, in any of the dyads of one node. The presence of a node isn't protected.

Statistic t is computed exactly (`bayesdp.networks.exact_statistics`), rounded to a multiple of its
granularity g_t, 1 where it is an integer, and integer noise of scale b_t / g_t is added
(`bayesdp.mechanisms.noise.lattice`): discrete Laplace, or discrete Gaussian. No floating-point
number that depends on the ties is rounded on the way.

max_degree
----------
kstar, triangle and gwesp move by less where all degrees (out-degrees if directed) are at most D.
That the data satisfy it whatever they are, as where a survey asks for up to D friends, is a public
claim that the promise is conditional on. A graph that violates it is refused before anything is
spent; the refusal shows that the claim is false, which no budget can buy back, so claim it only
where it is true by construction. Such a graph has no law either: `logp` refuses it too.

What it promises
----------------
By `bayesdp.networks.sensitivity`, the change of a term's statistics is in absolute value at most
an average of its moves; a statistic that changes by c changes by ceil(c / g) steps at most. A log
ratio of two Laplace laws is at most sum_t (steps of t) g_t / b_t, attained at outputs beyond both
statistics; the Renyi divergence of order alpha of two Gaussians is at most alpha mu^2 / 2 with
mu^2 = sum_t ((steps of t) g_t / b_t)^2. Both are convex and increasing in the steps, so

    epsilon = sum over terms of max over moves of sum_t ceil(move_t / g_t) g_t / b_t,
    mu^2    = sum over terms of max over moves of sum_t (ceil(move_t / g_t) g_t / b_t)^2

hold, and are exact where one pair of graphs has the largest move of every term. Where a change may
be the sum of two moves, as of sociality, the two largest of these are added up. (Where a term has
several moves, its statistics are integers and 1 / g is whole, so that ceil loses nothing.)

M copies with Laplace noise cost M times epsilon, and at delta > 0 what follows from a pure epsilon
(`pure_profile`). For Gaussian noise, `bayesdp.mechanisms.noise.gaussian_profiles` proves a profile
for components of one scale s, in steps, and a shift of M steps: with a^2 of each variance given to
the rounding, it is that of continuous Gaussians M / sqrt(s^2 - a^2) apart. For scales s_t and
shifts j_t, that distance squared is

    sum_t j_t^2 / (s_t^2 - a^2)  <=  sum_t j_t^2 / s_t^2 / (1 - a^2 / s^2) = (s mu)^2 / (s^2 - a^2)

with s the least of them: the profile of scale s and shift s mu holds. So does rho = mu^2 / 2.
Statistics that no change moves are independent of the graph, and don't count.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.core.outputs.named import NamedRows
from bayesdp.core.views import Cell, GraphView, View
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.graphs.noisy_statistics.frame import (
    PUBLIC,
    Frame,
    check_columns,
    check_noise,
    check_steps,
    default_granularity,
    frame,
    nodes_of,
    one_each,
    public_frame,
)
from bayesdp.mechanisms.graphs.separate_noise import separate
from bayesdp.mechanisms.noise.fields import (
    check_each_positive,
    check_granularity,
    check_scale_in_steps,
)
from bayesdp.mechanisms.noise.gaussian import DiscreteGaussianMechanism, GaussianMechanism
from bayesdp.mechanisms.noise.gaussian_profiles import gaussian_profile
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism, LaplaceMechanism
from bayesdp.mechanisms.noise.laws import GaussianNoise, LaplaceNoise, Noise
from bayesdp.mechanisms.noise.pure import up
from bayesdp.networks.evidence import Evidence, SeenStatistics
from bayesdp.networks.network import Network, as_network
from bayesdp.privacy.guarantee import Strength
from bayesdp.privacy.neighbours import Neighbours, check_edge_or_node
from bayesdp.privacy.profile import Profile, pure_profile

_ALL_PAIRS = 8  # nodes up to which every pair of them is tried
_KEPT = 4
_NOISE: dict[str, tuple[Any, Any]] = {
    "laplace": (LaplaceMechanism, DiscreteLaplaceMechanism),
    "gaussian": (GaussianMechanism, DiscreteGaussianMechanism),
}
_LAWS: dict[str, Callable[[Fraction], Noise]] = {"laplace": LaplaceNoise, "gaussian": GaussianNoise}


@dataclass(frozen=True, slots=True)
class NoisyStatisticsMechanism(Mechanism):
    """Release a graph's statistics, each with its own noise.

    `bdp.synthesizers.NoisyStatisticsSynthesizer` chooses the scales. The statistic is a `Network`;
    an output is a tuple of numbers, one for each statistic, in the formula's order.

    The fields hold the public attributes and labels, so that the manifest alone suffices to compute
    the sensitivities and the statistics of any graph on these nodes: without them there would be
    neither a guarantee nor a law. They are one value for each node and are written once, not once
    for each copy.

    Parameters
    ----------
    formula : str
        Formula of the statistics, such as "edges + nodematch('grade') + gwesp(0.5)".
    scales : sequence of float
        b_t: the noise of statistic t has density proportional to exp(-|z| / b_t), or
        exp(-(z / b_t)^2 / 2), nearly.
    nodes : int or sequence of labels
        Number of nodes, or their labels. Public.
    directed : bool
        Whether ties have a direction. Public.
    attributes : sequence of (name, values) pairs
        Public attributes of the nodes; None is a missing value.
    noise : {"laplace", "gaussian"}
        The noise's law.
    granularity : sequence of float, optional
        g_t, powers of two; by default 1 for integers and otherwise at most 2^-20 of the smaller of
        scale and sensitivity, with at most 2^52 steps to the statistic's largest value.
    max_degree : int, optional
        Public bound on degrees, out-degrees if directed, that the data satisfy by construction.
    neighbours : {"edge", "node"}
        The relation of its promise where no other is asked for. It has a promise under both.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or a term isn't defined on such graphs or has no finite
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
        "bayesdp.mechanisms.graphs.noisy_statistics.mechanism; "
        "Dwork, McSherry, Nissim and Smith (2006)"
    )
    log_concave: ClassVar[bool] = False
    n: ClassVar[None] = None

    def __post_init__(self) -> None:
        relation = check_edge_or_node(self.neighbours)
        check_noise(self.noise)
        made = public_frame(**{name: getattr(self, name) for name in PUBLIC})
        scales = check_each_positive("scales", one_each("scales", self.scales, made))
        if self.granularity is None:
            steps = default_granularity(made, scales, relation is Neighbours.NODE)
        else:
            given = one_each("granularity", self.granularity, made)
            steps = tuple(check_granularity(math.nan if g is None else g, 1.0, 1.0) for g in given)
            check_steps(made, steps)
        for scale, step in zip(scales, steps, strict=True):
            check_scale_in_steps(scale, step)
        checked = {
            "scales": scales,
            "nodes": nodes_of(made.network),
            "attributes": check_columns(self.attributes, made.network.n),
            "granularity": steps,
            "neighbours": relation,
        }
        for name, value in checked.items():
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

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, edge or node; else raise InvalidInput."""
        return check_edge_or_node(self.neighbours if neighbours is None else neighbours)

    def cost(self, neighbours: Neighbours | None = None) -> Fraction:
        """Exact cost of a copy: epsilon with Laplace noise, or mu^2 with Gaussian noise."""
        return sum(self.term_costs(neighbours), Fraction(0))

    def term_costs(self, neighbours: Neighbours | None = None) -> list[Fraction]:
        """Share of each term in `cost`."""
        node = self.relation(neighbours) is Neighbours.NODE
        power = 1 if self.noise == "laplace" else 2
        frame, scales = self.frame, [noise.scale for noise in self.noises]
        costs, first = [], 0
        for moves, size in zip(frame.moves(node), frame.sizes, strict=True):
            here = slice(first, first + size)
            statistics = list(zip(self.granularity[here], scales[here], strict=True))
            costs.append(moves.cost(partial(_cost, statistics=statistics, power=power)))
            first += size
        return costs

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
        copies = check_at_least_one("copies", copies)
        if self.noise == "laplace":
            return None
        return up(copies * self.cost(neighbours) / 2)

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies, as the module's docstring proves it."""
        copies, charged = check_at_least_one("copies", copies), self.cost(neighbours)
        if self.noise == "laplace":
            return pure_profile(up(charged), copies, up(copies * charged))
        node = self.relation(neighbours) is Neighbours.NODE
        moved = self.frame.sensitivities(node)
        ratios = [
            (noise.scale, math.ceil(most / Fraction(g)))
            for noise, most, g in zip(self.noises, moved, self.granularity, strict=True)
            if most
        ]
        least = min(scale for scale, _ in ratios)
        length = float(ratios[0][1])  # of a single statistic, exactly
        if len(ratios) > 1:
            length = math.sqrt(up(charged * least**2)) * (1 + 2.0**-50)
        return gaussian_profile(GaussianNoise(least), length, len(ratios), copies, None)

    @property
    def strength(self) -> Strength:
        """The promise's strength: conditional where degrees are bounded by assumption."""
        return Strength.PROVED if self.max_degree is None else Strength.CONDITIONAL

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
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

    def _centre(self, network: Network) -> NDArray[np.int64]:
        exact = self.frame.statistics(network)
        half = Fraction(1, 2)
        return np.array(
            [
                math.floor(value / Fraction(g) + half)
                for value, g in zip(exact, self.granularity, strict=True)
            ]
        )

    def draw(self, statistic: Network, copies: int) -> NDArray[np.float64]:
        """Draw copies, exactly, from the secure generator; shape (copies, statistics)."""
        drawn = np.column_stack([noise.draw(copies) for noise in self.noises])
        return np.asarray((self._centre(statistic) + drawn) * np.array(self.granularity))

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | graph]; -inf where there is no such output.

        `output` has shape (..., statistics). `statistic` is a graph, or a list of graphs, with
        which the output's last axis but one broadcasts.
        """
        several = isinstance(statistic, Sequence)
        graphs = map(self.check_statistic, statistic if several else [statistic])
        centre = np.array([self._centre(graph) for graph in graphs])
        if not several:
            centre = centre[0]
        with np.errstate(over="ignore"):
            y = np.asarray(output, dtype=np.float64) / np.array(self.granularity)
        possible = (np.abs(y) < 2.0**62) & (y == np.floor(y))
        moved = np.where(possible, y, 0).astype(np.int64) - centre
        law = [noise.log_pmf(moved[..., t]) for t, noise in enumerate(self.noises)]
        return np.asarray(np.where(np.all(possible, axis=-1), np.sum(law, axis=0), -np.inf))

    @property
    def views(self) -> tuple[View, ...]:
        """Views of the law given the hidden graph, or given its statistics."""
        kinds = zip(self.scales, self.granularity, self.frame.whole, strict=True)
        cells = [_cell(self.noise, scale, g, whole=whole and g == 1) for scale, g, whole in kinds]
        return GraphView(self.evidence), separate(cells)

    def evidence(self, output: Any) -> Evidence:
        """Evidence of a copy about the hidden graph, for a chain, with its bound on degrees."""
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

    def pairs(self) -> list[tuple[Network, Network]]:
        """Pairs of neighbours that are far apart, within the bound on degrees, for an audit.

        Under `edge`, a tie is added between two nodes that have other ties to the same nodes; under
        `node`, a node without ties gets as many as it may have. The furthest apart are kept.
        """
        node = self.neighbours is Neighbours.NODE
        network, scales = self.frame.network, [float(noise.scale) for noise in self.noises]
        steps = np.array(scales) * self.granularity

        def apart(pair: tuple[Network, Network]) -> float:
            one, other = (self.frame.statistics(member) for member in pair)
            moved = [abs(float(a - b)) for a, b in zip(one, other, strict=True)]
            power = 1 if self.noise == "laplace" else 2
            return float(np.sum((np.array(moved) / steps) ** power))

        made = (_node_pairs if node else _edge_pairs)(network, self._most())
        return sorted(made, key=apart, reverse=True)[:_KEPT]

    def _most(self) -> int:
        n = self.frame.network.n
        return n - 1 if self.max_degree is None else min(n - 1, self.max_degree)

    @property
    def space(self) -> NamedRows:
        """Released numbers, one row for each: integers where the statistic is whole."""
        steps = self.granularity
        each = zip(self.frame.whole, steps, strict=True)
        whole = tuple(is_whole and step >= 1 for is_whole, step in each)
        return NamedRows(self.statistics, steps, "statistic", whole)


def _cost(
    move: tuple[Fraction, ...], statistics: list[tuple[float, Fraction]], power: int
) -> Fraction:
    steps = [math.ceil(m / Fraction(g)) for m, (g, _) in zip(move, statistics, strict=True)]
    ratios = [(k / b) ** power for k, (_, b) in zip(steps, statistics, strict=True)]
    return sum(ratios, Fraction(0))


def _ends(network: Network) -> list[int]:
    """Choose nodes to try: all if few, else the first and last by each attribute, and some."""
    n = network.n
    if n <= _ALL_PAIRS:
        return list(range(n))
    places = {0, 1}
    for values in network.attributes.values():
        order = np.argsort([str(v) if values.dtype.kind in "OU" else v for v in values.tolist()])
        places |= {int(order[k]) for k in (0, 1, -2, -1)}
    return sorted(places)


def _edge_pairs(network: Network, most: int) -> Iterator[tuple[Network, Network]]:
    degrees = {0, 1, 2, 3, most - 1} & set(range(most))
    ordered = itertools.permutations if network.directed else itertools.combinations
    for i, j in ordered(_ends(network), 2):
        yield _graph(network, []), _graph(network, [(i, j)])
        others = [k for k in range(network.n) if k not in (i, j)]
        for degree in sorted(degrees):
            ties = [(end, k) for end in (i, j) for k in others[:degree]]
            if network.directed:
                reach = others if most > 1 else []
                ties += [(k, end) for k in reach for end in (i, j)]
                ties += [(j, k) for k in others[degree : degree + 1] if degree < most]
            yield _graph(network, ties), _graph(network, [*ties, (i, j)])


def _node_pairs(network: Network, most: int) -> Iterator[tuple[Network, Network]]:
    for v in _ends(network):
        others = [k for k in range(network.n) if k != v]
        near = others[:most]
        star = [(v, k) for k in near]
        if network.directed:
            star += [(k, v) for k in others]
        ordered = itertools.permutations if network.directed else itertools.combinations
        inside = ordered(near[: most if network.directed else None], 2)
        clique = [pair for pair in inside if most > 1] if most < 100 else []
        for rest in ([], list(zip(near[::2], near[1::2], strict=False)), clique):
            if most > 1 or not rest:
                yield _graph(network, rest), _graph(network, [*rest, *star])


def _graph(network: Network, ties: Iterable[tuple[int, int]]) -> Network:
    return network.with_edges(np.array(list(ties), dtype=np.int64).reshape(-1, 2))


def _cell(noise: str, scale: float, granularity: float, *, whole: bool) -> Cell:
    """Noise of one statistic; its sensitivity, on which no law depends, is above a step."""
    real, integer = _NOISE[noise]
    made: Cell = (
        integer(scale, 1.0) if whole else real(scale, 2 * granularity, granularity=granularity)
    )
    return made
