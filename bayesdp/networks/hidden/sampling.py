"""Draws of coefficients and of the graph itself, where it was seen only through noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.kernels.hidden.annealing import Effort, Target
from bayesdp.networks.auxiliary import (
    UNRELIABLE,
    Auxiliary,
    Constant,
    problems_of_auxiliary,
    problems_of_constant,
)
from bayesdp.networks.evidence import Constraint, Evidence, check_constraint
from bayesdp.networks.hidden.chain import Plan
from bayesdp.networks.hidden.evidence import seen_of
from bayesdp.networks.hidden.kept import Kept
from bayesdp.networks.hidden.reweighting import reweighted
from bayesdp.networks.hidden.start import first_guess
from bayesdp.networks.network import Network
from bayesdp.networks.normalizer import no_points
from bayesdp.networks.offset import NO_OFFSET
from bayesdp.networks.prior import NormalPrior
from bayesdp.networks.randomness import Seed, generators
from bayesdp.progress import bar
from bayesdp.warned import warn_about

_WEAK = NormalPrior()
_LEVELS = 500  # beyond, far moves cost more than they bring
_FEWEST = 50  # proposals at each level, on few nodes
_COLLAPSED = 0.5  # share of empty or complete graphs; on few nodes some are due
_DECIMALS = 9
"""Sums of changes drift: a 0 that is now 1e-16 and now -1e-16 has ranks, and an R-hat, of noise."""


@dataclass(frozen=True)
class HiddenDraws:
    """Draws from the posterior of coefficients and hidden graph.

    Attributes
    ----------
    terms : tuple of str
    theta : ndarray of float, shape (chains, draws, terms)
        Coefficients.
    statistics : ndarray of float, shape (chains, draws, terms)
        Statistics of the hidden graph, to nine decimals.
    accepted : ndarray of bool, shape (chains, draws)
        Whether the move of the coefficients was accepted.
    density, auxiliary_density : ndarray of float, shape (chains, draws)
        Share of dyads that are tied in the hidden and in the auxiliary graphs; NaN where there are
        no auxiliary graphs.
    constant : Constant
        Source of the normalising constant.
    problems : tuple of str
        Reasons to doubt the draws, in words.
    networks : tuple of tuple of Network
        Some hidden graphs of each chain; the last is that of its last move.
    """

    terms: tuple[str, ...]
    theta: NDArray[np.float64]
    statistics: NDArray[np.float64]
    accepted: NDArray[np.bool_]
    density: NDArray[np.float64]
    auxiliary_density: NDArray[np.float64]
    constant: Constant
    problems: tuple[str, ...]
    networks: tuple[tuple[Network, ...], ...]


def sample_hidden(
    formula: str,
    nodes: Network,
    evidence: Evidence,
    *,
    prior: NormalPrior = _WEAK,
    constraint: Constraint = "max_degree",
    draws: int = 1_000,
    tune: int = 1_000,
    chains: int = 4,
    auxiliary: Auxiliary | None = None,
    tempering: int | None = None,
    levels: int | None = None,
    keep_networks: int = 1,
    seed: Seed = None,
    progress: bool | None = False,
) -> HiddenDraws:
    r"""Draw coefficients c and a graph x from prior(c) exp(c . s(x)) / Z(c) L(x).

    Coefficients move together with the graph (`kernels.hidden.annealing`), which also moves alone
    in between (`kernels.hidden.moves`). Chains start from graphs of their own and overdispersed
    coefficients, and run in parallel threads. In the warm-up's second half they share their draws,
    from which the guide of far moves is fitted (`networks.hidden.guide`); nothing adapts after it.
    Where copies came from noisy histograms, moves are drawn anew by weights in the end
    (`networks.hidden.reweighting`).

    Z is a sum over all graphs, where they can be listed, and a product over pairs of nodes, where
    the model has them independent; otherwise, for up to three coefficients and 5,000 dyads, it
    comes from tempered chains that cross between sparse and dense graphs (`tempering`); beyond
    that, it cancels by auxiliary graphs. Auxiliary chains that are too short bias the answer, and
    badly where they stay in the phase in which they start, which is checked afterwards.

    Parameters
    ----------
    formula : str
        For example "edges + nodematch('grade') + gwesp(0.5)".
    nodes : Network
        Nodes, their attributes, and whether ties are directed. Its own ties aren't read.
    evidence : Evidence
        The evidence on the hidden graph, log L; `evidence.together` joins several.
    prior : NormalPrior
        Prior of the coefficients.
    constraint : {"max_degree", "none"}
        Sample space of the model, for Z and for auxiliary graphs: the graphs within the evidence's
        `max_degree`, if it has one, or all graphs.
    draws, tune, chains : int
        Moves of each chain that are kept, moves of its warm-up, and number of chains.
    auxiliary : int, "exact", "tempered" or None
        Source of Z: "exact" lists all graphs, of at most 22 dyads, or multiplies over independent
        pairs of nodes; "tempered" runs tempered chains; an int is the number of proposals for each
        auxiliary graph, from the hidden one. None takes the first that is possible; an int is then
        twice the number of dyads, at most 400 a tie and at least 1,000.
    tempering : int or None
        Steps of all tempered chains together; None for 16,000.
    levels : int or None
        Largest number of levels between two coefficients; 1 for the plain exchange given the graph,
        whose steps are short where the evidence determines the graph well.
    keep_networks : int
        Number of hidden graphs to keep of each chain, evenly spaced.
    seed : int, numpy Generator or None
        The same seed gives the same draws, whatever the number of processors.
    progress : bool or None
        As for `bayesdp.progress.bar`.

    Raises
    ------
    InvalidInput
        If an argument isn't allowed, or the evidence doesn't fit the nodes.

    Warns
    -----
    UserWarning
        If more than half of the hidden graphs were empty or complete; if Z isn't known well enough
        or auxiliary graphs still depend on their start; if graphs of the model are nothing like the
        hidden ones.
    """
    check_constraint(constraint)
    seen, bound, terms = seen_of(evidence, formula, nodes)
    bound = bound.within(evidence.max_degree if constraint == "max_degree" else None)
    counts = {"draws": draws, "tune": tune, "chains": chains, "keep_networks": keep_networks}
    draws, tune, chains, keep_networks = (check_at_least_one(*each) for each in counts.items())
    if keep_networks > draws:
        raise InvalidInput(f"keep_networks is {keep_networks}, more than the {draws} draws")
    most = _LEVELS if levels is None else check_at_least_one("levels", levels)
    if not isinstance(prior, NormalPrior):
        raise InvalidInput(f"prior is {quoted(prior)}; it must be a NormalPrior(mean, sd)")
    mean, sd = prior.of(terms)
    target = Target(
        bound.model, seen, NO_OFFSET, no_points(terms), mean, np.diag(1.0 / sd**2)
    )  # fmt: skip
    *each, own = generators(seed, chains + 1)
    ties = len(first_guess(seen, bound, nodes, own))
    constant = Constant.of(formula, nodes, auxiliary, tempering, ties=ties, most=bound.model.most)
    both = len(seen.pairs) + ties
    effort = Effort(
        most, max(_FEWEST, both // 4), max(_FEWEST, ties), constant.proposals,
        5 * max(_FEWEST, both),
    )  # fmt: skip
    with bar(progress, chains * (draws + tune)) as step:
        plan = Plan(nodes, bound, target, constant, effort, draws, tune, keep_networks, step)
        drawn, known = plan.chains(each, own)
    kept = Kept(*(np.array(part) for part in zip(*(moves for moves, _ in drawn), strict=True)))
    kept, doubts = reweighted(kept, evidence.copies, seen.whole.choices, own)
    hidden_ties = kept.density[..., 0].ravel() * nodes.dyads
    if known is not None:
        problems = problems_of_constant(known, kept.draws, hidden_ties, own)
    else:
        problems = problems_of_auxiliary(
            formula, drawn[0][1][-1], None, kept.draws, constant, hidden_ties, own
        )
    problems = [*evidence.problems, *doubts, *_collapses(kept.density[..., 0]), *problems]
    if problems:
        warn_about(f"{UNRELIABLE}: {'; '.join(problems)}", "network-fit", stacklevel=2)
    return HiddenDraws(
        terms=bound.names[:terms],
        theta=kept.draws,
        statistics=np.round(kept.statistics[..., :terms], _DECIMALS) + 0.0,
        accepted=kept.accepted,
        density=kept.density[..., 0],
        auxiliary_density=kept.density[..., 1],
        constant=constant,
        problems=tuple(problems),
        networks=tuple(networks for _, networks in drawn),
    )


def _collapses(density: NDArray[np.float64]) -> list[str]:
    collapsed = float(np.isin(density, (0.0, 1.0)).mean())
    if collapsed <= _COLLAPSED:
        return []
    return [
        f"{collapsed:.0%} of the hidden graphs were empty or complete: little of the graph is left "
        "in what was released, or the prior overrules it; tighten or move the prior"
    ]
