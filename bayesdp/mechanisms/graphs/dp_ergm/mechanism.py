r"""Synthetic networks from a sanitised posterior of an exponential random graph model.

Each copy is one network drawn from the model at coefficients of its own. These are sanitised; given
them, a network is drawn from public nodes and public attributes, and costs nothing more (Liu,
Eugenio, Jin and Bowen 2020; Liu, modips, section 3.3). The ties enter only through:

- calibration="corrected": the statistics alone, on a public grid;
  `bayesdp.mechanisms.graphs.dp_ergm.grid` proves what is promised.
- calibration="published": a Markov chain's draws from the posterior, their mean and standard
  deviations, and their histogram. The claim is as published, and false
  (`bayesdp.mechanisms.graphs.dp_ergm.published`).

Copies are independent, each at the whole epsilon. One noisy histogram could serve them all, at the
cost of one; but then the combining rules, which learn of the noise from how copies differ, would
miss it. Given the graph they are independent, and `bayesdp.mechanisms.graphs.dp_ergm.law` has the
law of one, by which `bdp.models.ERGMModel` reads those of the corrected calibration.

Neighbours: EDGE, two graphs on the same public nodes differ in one dyad's tie; NODE, in any of the
dyads of one node. Node neighbours are at most n - 1 steps of one tie apart, 2 (n - 1) if directed,
so that a release of cost epsilon under EDGE costs at most n - 1, or 2 (n - 1), times epsilon under
NODE. The corrected SPHC needs no such factor: its bound is for any two data sets.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag
from bayesdp.core.fields import later
from bayesdp.core.views import GraphView, IntractableView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.draws.integer_noise import LARGEST_SCALE
from bayesdp.mechanisms.graphs.dp_ergm.faults import faults
from bayesdp.mechanisms.graphs.dp_ergm.fields import (
    MOST_CELLS,
    MOST_DRAWS,
    check_correlation,
    check_method,
    check_names,
    check_prior,
    check_relation,
    numbers,
    one_a_term,
)
from bayesdp.mechanisms.graphs.graphs_space import Graphs
from bayesdp.mechanisms.graphs.network_columns import check_on_nodes, public_part
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.selection.posterior_cells import noise_of
from bayesdp.networks.network import Network
from bayesdp.privacy.composition import repeated, shared
from bayesdp.privacy.guarantee import Strength, check_epsilon
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile, pure_profile

if TYPE_CHECKING:
    from bayesdp.mechanisms.graphs.dp_ergm.grid import CoefficientGrid
    from bayesdp.networks.evidence import Evidence, Histogram
    from bayesdp.networks.formula import BoundFormula

_MOST_DYADS = 50_000_000
_WIDEST = 2.0**50  # range of log-likelihoods, for a choice in 64 bits

_PUBLIC = (
    "The nodes, their labels and the attributes named are public and not protected.",
    "The formula, the prior, the grid and all other parameters were chosen without the ties.",
)


@dataclass(frozen=True, slots=True)
class DPERGMMechanism(Mechanism):
    """Networks drawn from a model at coefficients drawn privately from its posterior.

    `bdp.synthesizers.DPERGMSynthesizer` makes the mechanism from a formula and the nodes. Statistic
    and outputs are `Network`s.

    Parameters
    ----------
    formula : str
        Formula of the model.
    epsilon : float
        Largest epsilon of one copy, under `neighbours`.
    nodes : int
        Number of nodes. Public.
    directed : bool
        Whether ties have a direction. Public.
    sensitivities : tuple of float
        The largest change of each statistic when one tie changes.
    method : {"sdd", "sdd_mc", "sphc"}
    calibration : {"corrected", "published"}
    centre, scale : tuple of float, or None
        Centre and scale of the grid, one number for each statistic; None in published calibration,
        which takes the confidential posterior's own.
    prior : pair of tuples of float, or None
        Means and standard deviations of independent normal priors. None is flat on a corrected
        grid, and `Normal()` in published calibration.
    bins : int
        Cells along each coefficient's axis.
    reach : float
        The grid reaches from centre - reach scale to centre + reach scale.
    draws : int
        N, the number of draws in a histogram.
    correlation : float
        Public bound on the posterior's absolute correlations, for published calibration.
    attributes : tuple of str
        Names of the node attributes that are public, and released.
    burn_in : int or None
        Number of proposals before a simulated network; None for ten times that of `simulate`.
    noise_scale : float, optional
        Scale of the noise of a count, for "sphc" as corrected. Default: 2 draws / epsilon, at which
        all counts together keep epsilon. One cell keeps it at less
        (`bayesdp.mechanisms.selection.histogram_cost`), which the synthesizer takes.
    neighbours : {"edge", "node"}
        The relation of `epsilon`, and of the promise where no other is asked for. As corrected, it
        has one under both.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    name: ClassVar[str] = "dp_ergm"
    pure: ClassVar[bool] = True
    log_concave: ClassVar[bool] = False
    n: ClassVar[None] = None

    formula: str
    epsilon: float = field()  # type: ignore[assignment]  # a parameter, not the profile's
    nodes: int
    directed: bool
    sensitivities: Any
    method: str = "sdd"
    calibration: str = "corrected"
    centre: Any = None
    scale: Any = None
    prior: Any = None
    bins: int = 20
    reach: float = 3.0
    draws: int = 1000
    correlation: float = 0.8
    attributes: Any = ()
    burn_in: int | None = None
    noise_scale: float | None = later(None)
    neighbours: Neighbours = later(Neighbours.EDGE)  # noqa: RUF009

    def __post_init__(self) -> None:
        from bayesdp.networks.formula import parse

        parse(self.formula)
        check_method(self.method, self.calibration)
        sensitivities = numbers("sensitivities", self.sensitivities)
        if not sensitivities or min(sensitivities) <= 0:
            raise InvalidInput(
                f"sensitivities is {quoted(self.sensitivities)}; it must have a positive number "
                "for each statistic"
            )
        terms = len(sensitivities)
        published = self.calibration == "published"
        if published and not (self.centre is None and self.scale is None):
            raise InvalidInput(
                "centre and scale are given with calibration='published', which takes the "
                "confidential posterior's mean and standard deviations; leave them out, or use "
                "calibration='corrected'"
            )
        made: dict[str, Any] = {
            "epsilon": check_epsilon(self.epsilon),
            "neighbours": self.relation(),
            "nodes": check_at_least_one("nodes", self.nodes),
            "sensitivities": sensitivities,
            "prior": check_prior(self.prior, terms),
            "bins": check_at_least_one("bins", self.bins),
            "reach": check_positive("reach", self.reach),
            "draws": check_at_least_one("draws", self.draws),
            "correlation": check_correlation(self.correlation),
            "attributes": check_names(self.attributes),
            "burn_in": None
            if self.burn_in is None
            else check_at_least_one("burn_in", self.burn_in),
        }
        check_flag("directed", self.directed)
        if not published:
            made["centre"] = one_a_term("centre", self.centre, terms)
            made["scale"] = one_a_term("scale", self.scale, terms)
            if min(made["scale"]) <= 0:
                raise InvalidInput(f"scale is {quoted(self.scale)}; each number must be positive")
        if made["bins"] < 2 or made["bins"] ** terms > MOST_CELLS:
            raise InvalidInput(
                f"bins is {self.bins}, which makes {made['bins'] ** terms:,} cells for {terms} "
                f"statistics; it must be at least 2, and make at most {MOST_CELLS:,}"
            )
        if not 2 <= made["draws"] <= MOST_DRAWS:
            raise InvalidInput(f"draws is {self.draws}; it must be from 2 to {MOST_DRAWS:,}")
        if self.method == "sphc" and 2 * made["draws"] / made["epsilon"] > LARGEST_SCALE:
            raise InvalidInput(
                f"epsilon is {self.epsilon}, with draws {self.draws}: their noise exceeds 64 bits; "
                "take a larger epsilon"
            )
        for name, value in made.items():
            object.__setattr__(self, name, value)
        self._check_noise_scale()

    def _check_noise_scale(self) -> None:
        """Raise InvalidInput if a scale is given that isn't used, or at which a cell costs more."""
        if self.noise_scale is None:
            return
        if (self.method, self.calibration) != ("sphc", "corrected"):
            raise InvalidInput(
                f"noise_scale is {quoted(self.noise_scale)}, but it is for method='sphc' with "
                "calibration='corrected' alone; leave it out"
            )
        from bayesdp.mechanisms.selection.histogram_cost import check_scale

        cells = self.bins ** len(self.sensitivities)
        scale = check_scale("noise_scale", self.noise_scale, self.draws, cells, self.epsilon)
        object.__setattr__(self, "noise_scale", scale)

    @property
    def half_widths(self) -> tuple[Fraction, ...]:
        """Half a cell's width along each axis, exactly."""
        return tuple(Fraction(s) * Fraction(self.reach) / self.bins for s in self.scale)

    @property
    def cost(self) -> float:
        """Epsilon of one copy under EDGE: `epsilon`'s, or less where the posterior has less."""
        if self.calibration == "published" or self.method == "sphc":
            return self.epsilon
        return min(shared(self.epsilon, self._steps(self.neighbours)), self._whole_cost())

    @property
    def power(self) -> float:
        """Power of prior and likelihood that the corrected SDD draws from, at most 1.

        Raises
        ------
        InvalidInput
            If the mechanism isn't the corrected SDD.
        """
        if (self.method, self.calibration) != ("sdd", "corrected"):
            raise InvalidInput(
                "power is defined for method='sdd' with calibration='corrected' alone"
            )
        return self.cost / self._whole_cost()

    def _whole_cost(self) -> float:
        """Epsilon 2 D of a draw from the posterior on the grid; rounded up."""
        moves = (w * Fraction(d) for w, d in zip(self.half_widths, self.sensitivities, strict=True))
        return up(2 * (self.bins - 1) * sum(moves))

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, edge or node.

        Raises
        ------
        InvalidInput
            If `neighbours` isn't a relation of graphs, or is NODE with published calibration, which
            claims nothing under it.
        """
        return check_relation(
            self.neighbours if neighbours is None else neighbours, self.calibration
        )

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies, as their pure epsilon implies it."""
        copies = check_at_least_one("copies", copies)
        steps = self._steps(self.relation(neighbours))
        total = repeated(self.cost, copies * steps)
        return pure_profile(repeated(self.cost, steps), copies, total)

    def _steps(self, relation: Neighbours) -> int:
        """Count the steps of one tie between neighbours, each of which costs "sdd" its epsilon."""
        if relation is Neighbours.EDGE or self.method != "sdd":
            return 1
        return max(1, self.nodes - 1) * (2 if self.directed else 1)

    @property
    def strength(self) -> Strength:
        """The promise's strength: proved, or as published where the calibration is."""
        published = self.calibration == "published"
        return Strength.AS_PUBLISHED if published else Strength.PROVED

    @property
    def source(self) -> str:
        """The proof or publication that the promise rests on."""
        if self.calibration == "published":
            return "Liu, Eugenio, Jin and Bowen (2020); Liu, modips, Algorithms 2 to 4"
        return "bayesdp.mechanisms.graphs.dp_ergm.grid"

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise; first, the faults of a published calibration."""
        return (*(faults(self.method) if self.calibration == "published" else ()), *_PUBLIC)

    def check_statistic(self, statistic: Any) -> Network:
        """Return the network with only its public attributes if it fits the mechanism, else raise.

        A refusal depends on nodes and attributes, which are public, and never on ties.
        """
        if statistic is None:
            raise InvalidInput(
                "the statistic is None; give a network, as to "
                "bdp.synthesizers.DPERGMSynthesizer(...).release"
            )
        network = check_on_nodes("the network", statistic, self.nodes, self.directed)
        network = public_part(network, self.attributes)
        if network.dyads > _MOST_DYADS:
            raise InvalidInput(
                f"the network has {network.dyads:,} dyads; more than {_MOST_DYADS:,} aren't offered"
            )
        self.bound_on(network.with_edges(()))
        return network

    def draw(self, statistic: Network, copies: int) -> list[Network]:
        """Draw coefficients from the secure generator, and a network from each."""
        from bayesdp.mechanisms.graphs.dp_ergm.draws import network_from

        points = self.coefficients(statistic, copies)
        empty = statistic.with_edges(())
        return [network_from(self.formula, empty, theta, self.burn_in) for theta in points]

    def coefficients(self, network: Network, copies: int) -> NDArray[Any]:
        """Draw sanitised coefficients, shape (copies, terms), from which networks are drawn."""
        if self.calibration == "published":
            return self._published(network, copies)
        from bayesdp.networks.exact_statistics import exact_statistics

        grid = self.public_grid(network.with_edges(()))
        statistics = exact_statistics(network, self.formula)
        if self.method == "sdd":
            return grid.sdd(statistics, self.cost, copies)
        return grid.sphc(statistics, self._scale_of_counts, self.draws, copies)

    @property
    def _scale_of_counts(self) -> Fraction:
        given = self.noise_scale
        return noise_of(self.draws, self.epsilon) if given is None else Fraction(given)

    def _published(self, network: Network, copies: int) -> NDArray[Any]:
        """Draw coefficients from a Markov chain's posterior, as published."""
        from bayesdp.mechanisms.graphs.dp_ergm.draws import posterior_draws
        from bayesdp.mechanisms.graphs.dp_ergm.published import published_points

        posterior = posterior_draws(network, self.formula, self.prior, self.draws, self.burn_in)
        return published_points(
            self.method, posterior, epsilon=self.epsilon, reach=self.reach, bins=self.bins,
            correlation=self.correlation, copies=copies,
        )  # fmt: skip

    def bound_on(self, empty: Network) -> BoundFormula:
        """Bind the formula to nodes, on which it must have the mechanism's sensitivities.

        Raises
        ------
        InvalidInput
            If the sensitivities differ, the formula isn't defined on these nodes, or the grid is
            too wide.
        """
        from bayesdp.mechanisms.graphs.dp_ergm.draws import edge_sensitivities
        from bayesdp.mechanisms.graphs.dp_ergm.grid import likelihood_range
        from bayesdp.networks.formula import bind

        bound = bind(self.formula, empty)
        needed, declared = edge_sensitivities(self.formula, empty), self.sensitivities
        if len(needed) != len(declared) or np.any(np.array(needed) > declared):
            raise InvalidInput(
                f"sensitivities is {declared}; on these nodes they are {needed}: make the "
                "mechanism by bdp.synthesizers.DPERGMSynthesizer(...).mechanism_like(network)"
            )
        if self.calibration == "corrected":
            largest = self._largest(bound, empty)
            if not likelihood_range(self.half_widths, self.bins, largest) < _WIDEST:
                raise InvalidInput(
                    "log-likelihoods differ by too much over the grid for a choice in 64 bits; "
                    "take a smaller scale or reach, or leave out the term with the largest "
                    f"statistics, of {', '.join(bound.names)}"
                )
        return bound

    def _largest(self, bound: BoundFormula, empty: Network) -> tuple[float, ...]:
        """A bound on each statistic's absolute value over all graphs on the nodes."""
        at_empty, each = np.abs(bound.at_empty).tolist(), self.sensitivities
        return tuple(a + empty.dyads * d for a, d in zip(at_empty, each, strict=True))

    def public_grid(self, empty: Network) -> CoefficientGrid:
        """Make the grid of a corrected calibration, from a network without ties."""
        from bayesdp.mechanisms.graphs.dp_ergm.draws import log_weights
        from bayesdp.mechanisms.graphs.dp_ergm.grid import CoefficientGrid, middles_along

        axes = middles_along(self.centre, self.half_widths, self.bins)
        public = log_weights(self.formula, empty, axes, self.prior, self.burn_in)
        largest = self._largest(self.bound_on(empty), empty)
        return CoefficientGrid(
            self.centre, self.half_widths, self.bins, self.sensitivities, largest, public
        )

    def logp(self, output: Any, statistic: Any) -> NoReturn:
        """Raise InvalidInput: the law is an integral over coefficients of an intractable law."""
        raise InvalidInput(_NO_LOGP)

    @property
    def views(self) -> tuple[View, ...]:
        """View of the law given the hidden graph, or why there is none."""
        why = self._no_law()
        return (IntractableView(GraphView, why),) if why else (GraphView(self.evidence),)

    def choice(self, grid: CoefficientGrid) -> tuple[float, Histogram | None]:
        """Return the power that a cell's probability has, and the histogram on the way, if any."""
        if self.method == "sdd":
            return grid.power(self.cost), None
        from bayesdp.mechanisms.selection.histogram_law import log_probabilities
        from bayesdp.networks.evidence import Histogram

        draws, scale = self.draws, float(self._scale_of_counts)
        law = functools.partial(log_probabilities, draws=draws, scale=scale, whole=True)
        return 1.0, Histogram(draws, scale, law)

    def _no_law(self) -> str | None:
        """Say why the law given the graph isn't known; None where it is."""
        if self.calibration == "published":
            why = "the grid of the published calibration depends on the confidential graph"
        else:
            from bayesdp.mechanisms.graphs.dp_ergm.law import unknown_constant

            dyads = self.nodes * (self.nodes - 1) // (1 if self.directed else 2)
            unknown = unknown_constant(self.formula, len(self.sensitivities), dyads)
            if unknown is None:
                return None
            why = unknown
        return f"{why}; {_COMBINE}"

    def evidence(self, output: Any) -> Evidence:
        """Evidence of a copy about the hidden graph: which statistics make its coefficients likely.

        Raises
        ------
        InvalidInput
            If the law is intractable: in the published calibration, and where the model's constant
            isn't known (`dp_ergm.law`).
        """
        if why := self._no_law():
            raise InvalidInput(why)
        from bayesdp.mechanisms.graphs.dp_ergm.law import law_on

        copy = check_on_nodes("the output", output, self.nodes, self.directed)
        return law_on(self, copy.with_edges(())).evidence(copy)

    def pairs(self) -> NoReturn:
        """Raise InvalidInput: without a law of outputs, an audit has nothing to compare."""
        raise InvalidInput(_NO_LOGP)

    @property
    def tractable(self) -> bool:
        """False: the law of an output has a constant that is an integral, and isn't offered."""
        return False

    @property
    def space(self) -> Graphs:
        """Networks on `nodes` nodes, with their public attributes."""
        return Graphs(self.nodes, self.directed, self.attributes, strict=False)


_COMBINE = (
    "analyse each copy as data and combine the results with bdp.combine, whose caveats then hold"
)
_NO_LOGP = (
    "the law of networks from sanitised coefficients is an integral, intractable in general; "
    "bdp.models.ERGMModel reads those of calibration='corrected'; of others, "
    f"{_COMBINE}"
)
