"""Choice of a normalising constant for a fit, and checks whether it can be relied on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.dyad_table import is_pairwise, known_table, number_of_kinds
from bayesdp.networks.dyads import dyads_numbered
from bayesdp.networks.formula import BoundFormula, bind, bind_together
from bayesdp.networks.listing import MOST_DYADS, listed
from bayesdp.networks.network import Network
from bayesdp.networks.normalizer import Floats, Normalizer
from bayesdp.networks.simulation import Start
from bayesdp.networks.tempering import Tempering
from bayesdp.threads import in_threads

Auxiliary = int | Literal["exact", "tempered"]
UNRELIABLE = "this fit can't be relied on"
"""How the warning begins of a fit that something speaks against."""
TEMPERING = 16_000
"""Steps of the tempered chains, of all together, where none are given."""
_MOST_POINTS = 20_000  # kinds of graphs, or of pairs of nodes, that a move may add up
_MOST_KINDS = 600  # of nodes, whose pairs are tabulated to see how many of these there are
MOST_TERMS, MOST_TEMPERED = 3, 5_000
"""Coefficients and dyads that tempering is tried on, at most."""
_SHORTEST, _A_TIE = 1_000, 400
"""Proposals of an auxiliary graph, at the least, and for each tie at the most.

On 1,000 nodes with 577 ties, edges + gwesp(0.5), integrated autocorrelation times are 3,120
proposals of edges and 13,150 of gwesp at (-6.8, 1.0), and 27,980 and 81,130 at (-6.89, 1.6): at
most 141 a tie.
"""
_CLOUD = 100  # coefficients that tempering is about
_JUDGED = 50  # draws that are looked at after a fit
_LARGEST_ERROR, _FEWEST_EFFECTIVE = 0.2, 100.0  # of log Z
_UNSURE = 0.02  # share of the draws that may be worse
_LONG, _LEAST_LONG = 50, 5  # times an auxiliary graph's proposals, to see whether they do
_FEWEST_JUDGED = 12
_CHECKING, _SHARE = 20_000_000, 0.15  # proposals for it; or so much of the fit's own
_MOST_COMPLETE = 2_000_000  # dyads of a complete graph that is made
_BY_CHANCE = 2e-5  # probability that a comparison finds what isn't there


@dataclass(frozen=True)
class Constant:
    """Source of a fit's normalising constant: all graphs added up, tempered chains, or neither.

    Attributes
    ----------
    kind : "exact", "tempered" or int
        All graphs are added up, by a list or because pairs of nodes are independent; chains wander
        over many coefficients; or the constant isn't known, and each auxiliary graph is drawn by
        this number of proposals.
    most : int or None
        Largest degree in the sample space; None for any.
    known : Normalizer or None
    tempering : Tempering or None
    steps : int
        Number of steps of the tempered chains.
    """

    kind: Auxiliary
    most: int | None = None
    known: Normalizer | None = None
    tempering: Tempering | None = None
    steps: int = 0

    @classmethod
    def of(
        cls, formula: str, nodes: Network, given: Auxiliary | None, steps: int | None,
        offset: Any = None, *, ties: int, most: int | None = None,
    ) -> Constant:  # fmt: skip
        """Choose as given, or the first possible of exact, tempered and auxiliary graphs.

        Auxiliary graphs are drawn by twice as many proposals as there are dyads, but by at most
        `_A_TIE` for each of about `ties` ties: tie/no-tie proposals spend half of a sparse graph's
        steps on its ties, which are soon all renewed, however many dyads there are.

        Tempering isn't possible where the sample space has a bound on degrees, `most`, as dyads
        then depend on each other in every model.

        Raises
        ------
        InvalidInput
            If `given` isn't possible or isn't one of the choices.
        """
        steps = TEMPERING if steps is None else check_at_least_one("tempering", steps)
        if isinstance(given, str) and given not in ("exact", "tempered"):
            raise InvalidInput(
                f"auxiliary is {quoted(given)}; it must be a number, 'exact', 'tempered' or None"
            )
        bare = nodes.with_edges(())
        bound, bounded = bind(formula, bare), most is not None and most < nodes.n - 1
        if given in ("exact", None) and offset is None and not bounded:
            product = _product(bound, bare, asked=given == "exact")
            if product is not None:
                return cls("exact", most, known=product)
        if given == "exact" or (given is None and nodes.dyads <= MOST_DYADS):
            statistics = listed(formula, nodes, offset, most=most)
            if given == "exact" or len(statistics.count) <= _MOST_POINTS:
                return cls("exact", most, known=statistics)
        if given == "tempered" and bounded:
            raise InvalidInput(
                f"auxiliary is 'tempered', and the sample space has degrees up to {most} alone; "
                "take a number of proposals, or None"
            )
        few = len(bound.names) <= MOST_TERMS and nodes.dyads <= MOST_TEMPERED and not bounded
        if given == "tempered" or (given is None and few):
            return cls(
                "tempered", most, tempering=Tempering.of(formula, nodes, offset), steps=steps
            )
        if given is not None:
            return cls(check_at_least_one("auxiliary", given), most)
        return cls(max(_SHORTEST, min(2 * nodes.dyads, _A_TIE * ties)), most)

    @property
    def reason(self) -> str:
        """Reason for the choice of the constant, in words."""
        if self.known is not None and self.known.pairs is not None:
            return "pairs of nodes are independent, so the likelihood's constant is a product"
        if self.kind == "exact":
            return "few enough nodes to list all graphs, so the likelihood's constant is a sum"
        if self.kind == "tempered":
            return "tempered chains know the likelihood's constant, across sparse and dense graphs"
        return "the likelihood's constant is intractable; auxiliary graphs cancel it"

    @property
    def proposals(self) -> int:
        """Number of proposals of each auxiliary graph; 0 where none are drawn."""
        return self.kind if isinstance(self.kind, int) else 0


def _product(bound: BoundFormula, bare: Network, *, asked: bool) -> Normalizer | None:
    """Make the constant of independent pairs of nodes.

    None where they aren't, or are of too many kinds, unless it is asked for.
    """
    if not is_pairwise(bound) or (not asked and number_of_kinds(bound, bare) > _MOST_KINDS):
        return None
    pairs = known_table(bound, [bare])
    return Normalizer.of_pairs(pairs) if asked or pairs.weight.size <= _MOST_POINTS else None


def normalizer_about(
    tempering: Tempering, draws: Floats, steps: int, generator: np.random.Generator
) -> Normalizer:
    """Compute the normalising constant around draws of the coefficients, shape (draws, terms)."""
    return tempering.normalizer(_cloud(draws, generator), steps, generator)


def normalizer_over(
    formula: str, nodes: Network, theta: Floats, steps: int, seed: int
) -> Normalizer:
    """Compute the normalising constant around coefficients, the same for the same seed.

    Parameters
    ----------
    formula : str
    nodes : Network
    theta : ndarray of float, shape (points, terms)
    steps : int
        Steps of all tempered chains together, where graphs can't be listed.
    seed : int
    """
    if nodes.dyads <= MOST_DYADS:
        return listed(formula, nodes)
    generator = np.random.default_rng(seed)
    return normalizer_about(Tempering.of(formula, nodes), theta, steps, generator)


def _cloud(draws: Floats, generator: np.random.Generator) -> Floats:
    """Make a cloud: half are draws, half are draws plus differences of others, times three.

    The outermost draws are in it too, so that a long tail is covered.
    """
    half = _CLOUD // 2
    a, b, c, d = generator.integers(len(draws), size=(4, half))
    outermost = np.concatenate([draws.argmin(axis=0), draws.argmax(axis=0)])
    return np.vstack([draws[a], draws[b] + draws[c] - draws[d], draws[outermost]])


def covers(normalizer: Normalizer, theta: Floats) -> bool:
    """Check that log Z is known well enough at nearly all coefficients, shape (draws, terms)."""
    if normalizer.exact:
        return True
    poor = ~normalizer.within(theta) | (normalizer.error(theta) > _LARGEST_ERROR)
    poor |= normalizer.effective(theta) < _FEWEST_EFFECTIVE
    return bool(poor.mean() <= _UNSURE)


def thinned(theta: Floats, size: int = _JUDGED) -> Floats:
    """Select evenly spaced draws, of shape (chains, draws, terms); shape (size, terms)."""
    flat = theta.reshape(-1, theta.shape[-1])
    return flat[np.linspace(0, len(flat) - 1, min(size, len(flat))).astype(np.int64)]


def problems_of_constant(
    normalizer: Normalizer, theta: Floats, ties: Floats, generator: np.random.Generator
) -> list[str]:
    """List the problems of a fit under a normalising constant, in words.

    Parameters
    ----------
    normalizer : Normalizer
    theta : ndarray of float, shape (chains, draws, terms)
    ties : ndarray of float, shape (graphs,)
        Number of ties of the observed graph, or of hidden ones.
    generator : numpy Generator
    """
    judged = thinned(theta)
    problems = []
    if not covers(normalizer, judged):
        outside = (~normalizer.within(judged)).mean()
        problems.append(
            "the normalising constant isn't known well enough at the draws: its standard error "
            f"is up to {normalizer.error(judged).max():.2g} in logarithms, and {outside:.0%} of "
            "them lie where it wasn't looked for; give more steps (tempering) or a longer warm-up, "
            "or tighten the prior"
        )
    return [*problems, *_runaway(normalizer.draw_ties(judged, generator), ties)]


def problems_of_auxiliary(
    formula: str, network: Network, offset: Any, theta: Floats, constant: Constant, ties: Floats,
    generator: np.random.Generator,
) -> list[str]:  # fmt: skip
    """List the problems of a fit with auxiliary graphs, in words.

    At some of the draws, graphs are drawn like auxiliary ones, from the network, and by many more
    proposals from the empty graph and, where it is in the sample space, from the complete one.
    Where their laws differ, auxiliary graphs stayed in the phase in which they started.

    Parameters
    ----------
    formula : str
    network : Network
        The observed network, or a hidden one.
    offset : array_like of shape (n, n), or (pairs, values, constant), or None
    theta : ndarray of float, shape (chains, draws, terms)
    constant : Constant
    ties : ndarray of float, shape (graphs,)
        Number of ties of the observed graph, or of hidden ones.
    generator : numpy Generator
    """
    proposals = constant.proposals
    own = theta.shape[0] * theta.shape[1] * proposals
    allowed = max(_CHECKING, int(_SHARE * own))
    judged = thinned(theta, min(_JUDGED, max(_FEWEST_JUDGED, allowed // (2 * _LONG * proposals))))
    longer = int(np.clip(allowed // (2 * len(judged) * proposals), _LEAST_LONG, _LONG)) * proposals
    bound, places = bind_together([formula, "edges"], network)
    bound = bound.within(constant.most)
    padded = np.pad(judged, ((0, 0), (0, len(bound.names) - judged.shape[1])))
    starts = {"used": (network, proposals), "empty": (network.with_edges(()), longer)}
    if network.dyads <= _MOST_COMPLETE and bound.model.most >= network.n - 1:
        starts["complete"] = (
            network.with_edges(
                dyads_numbered(np.arange(network.dyads), network.n, network.directed)
            ),
            longer,
        )
    drawn = {
        name: _ends(Start.of(bound, graph, offset), padded, steps, generator)
        for name, (graph, steps) in starts.items()
    }
    problems = []
    mean = {name: f"{values[:, places[1][0]].mean():,.0f}" for name, values in drawn.items()}
    if any(_differ(drawn["used"], drawn[name]) for name in starts):
        problems.append(
            f"auxiliary graphs of {proposals:,} proposals don't forget where they start: at these "
            f"draws they have {mean['used']} ties on average, and after {longer:,} proposals "
            + ", ".join(f"{mean[name]} from the {name} graph" for name in starts if name != "used")
            + "; leave auxiliary out or give more, or change a term (gwesp instead of triangle)"
        )
    return [*problems, *_runaway(drawn["empty"][:, places[1][0]], ties)]


def _ends(
    start: Start, theta: Floats, steps: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Simulate a graph at each of the coefficients, and return its statistics at the end."""

    def end(work: tuple[Floats, np.random.Generator]) -> Floats:
        return np.asarray(start.trace(*work, 1, steps, 1)[0][0])

    return np.array(in_threads(end, list(zip(theta, generator.spawn(len(theta)), strict=True))))


def _differ(used: Floats, long: Floats) -> bool:
    """Test whether some statistic's mean differs, or too many of its values exceed all others."""
    m = len(used)
    change = long - used
    spread = change.std(axis=0, ddof=1) / math.sqrt(m) if m > 1 else np.zeros(change.shape[1])
    moved = spread > 0
    ratio = np.abs(change.mean(axis=0)[moved]) / spread[moved]
    if (2 * stats.t.sf(ratio, m - 1) < _BY_CHANCE).any():
        return True
    if (~moved & (change[0] != 0) & (m > _FEWEST_JUDGED // 2)).any():
        return True
    above = (long > used.max(axis=0)).sum(axis=0)
    below = (long < used.min(axis=0)).sum(axis=0)
    most = int(max(above.max(), below.max()))
    return math.comb(2 * m - most, m) / math.comb(2 * m, m) < _BY_CHANCE


def _runaway(simulated: Floats, ties: Floats) -> list[str]:
    """List a problem if graphs of the model are nothing like those that it was fitted to."""
    low, high = simulated.min(), simulated.max()
    room = (high - low) / 2
    if len(simulated) < _FEWEST_JUDGED or low - room <= np.median(ties) <= high + room:
        return []
    return [
        f"graphs simulated at these draws have {low:,.0f} to {high:,.0f} ties, and those that the "
        f"model is fitted to {np.median(ties):,.0f}: the model is degenerate where these "
        "coefficients lie; change a term (gwesp instead of triangle) or the prior"
    ]
