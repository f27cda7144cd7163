"""Draws of coefficients and of the graph itself, where it was seen through noise alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.bayesian import warn_of_collapse
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.graph import empty_graph
from bayesdp.networks.hidden_annealing import Effort, Kept, Target
from bayesdp.networks.hidden_chain import Plan
from bayesdp.networks.hidden_evidence import seen_of
from bayesdp.networks.hidden_exact import everything, nothing_listed
from bayesdp.networks.hidden_start import first_guess
from bayesdp.networks.network import Network
from bayesdp.networks.offset import NO_OFFSET
from bayesdp.networks.prior import Normal
from bayesdp.networks.randomness import Seed, generators
from bayesdp.networks.simulation import default_steps

Auxiliary = int | Literal["exact"]
_WEAK = Normal()
_LEVELS = 500  # beyond, far moves cost more than they bring
_FEWEST = 50  # proposals at each level, on few nodes


@dataclass(frozen=True)
class HiddenDraws:
    """Draws from the posterior of coefficients and hidden graph.

    Attributes
    ----------
    terms : tuple of str
    theta : ndarray of float, shape (chains, draws, terms)
        Coefficients.
    statistics : ndarray of float, shape (chains, draws, terms)
        Of the hidden graph.
    accepted : ndarray of bool, shape (chains, draws)
        Whether the coefficients moved.
    density, auxiliary_density : ndarray of float, shape (chains, draws)
        Share of dyads tied, of the hidden and of the auxiliary graphs.
    auxiliary : int or "exact"
        Proposals that auxiliary graphs were drawn by.
    networks : tuple of tuple of Network
        Some hidden graphs of each chain; the last is that of its last draw.
    """

    terms: tuple[str, ...]
    theta: NDArray[np.float64]
    statistics: NDArray[np.float64]
    accepted: NDArray[np.bool_]
    density: NDArray[np.float64]
    auxiliary_density: NDArray[np.float64]
    auxiliary: Auxiliary
    networks: tuple[tuple[Network, ...], ...]


def sample_hidden(
    formula: str,
    nodes: Network,
    evidence: Evidence,
    *,
    prior: Normal = _WEAK,
    draws: int = 1_000,
    tune: int = 1_000,
    chains: int = 4,
    auxiliary: Auxiliary | None = None,
    levels: int | None = None,
    keep_networks: int = 1,
    seed: Seed = None,
) -> HiddenDraws:
    r"""Draw coefficients c and a graph x from prior(c) exp(c . s(x)) / Z(c) L(x).

    Coefficients move together with the graph (`hidden_annealing`), which also moves alone between
    (`hidden_moves`). Chains start from graphs of their own, and overdispersed coefficients, and
    run in parallel threads. In the warm-up's second half they share what they have seen, as the
    guide of far moves (`hidden_guide`); nothing adapts after it. Auxiliary graphs that are too
    short bias coefficients towards the prior.

    Parameters
    ----------
    formula : str
        As "edges + nodematch('grade') + gwesp(0.5)".
    nodes : Network
        Nodes, their attributes, and whether ties have directions. Its own ties aren't read.
    evidence : Evidence
        What was seen, log L; `evidence.together` joins several.
    prior : Normal
        Of the coefficients.
    draws, tune, chains : int
        Moves kept and of the warm-up, of each chain.
    auxiliary : int, "exact" or None
        Proposals of each auxiliary graph, from the hidden one; None for twice the number of dyads,
        at least 1,000; "exact" for exact draws, by listing all graphs of at most 22 dyads.
    levels : int or None
        The most levels between two coefficients; 1 for the plain exchange given the graph, whose
        steps are short where the graph is much better known than before it was hidden.
    keep_networks : int
        Hidden graphs to keep of each chain, evenly spaced.
    seed : int, numpy Generator or None
        The same seed gives the same draws, whatever the number of processors.

    Raises
    ------
    InvalidInput
        If an argument isn't allowed, or the evidence doesn't fit the nodes.

    Warns
    -----
    UserWarning
        If more than half of the hidden or of the auxiliary graphs were empty or complete.
    """
    seen, bound, terms = seen_of(evidence, formula, nodes)
    counts = {"draws": draws, "tune": tune, "chains": chains, "keep_networks": keep_networks}
    draws, tune, chains, keep_networks = (check_at_least_one(*each) for each in counts.items())
    if keep_networks > draws:
        raise InvalidInput(f"keep_networks is {keep_networks}, more than the {draws} draws")
    most = _LEVELS if levels is None else check_at_least_one("levels", levels)
    if isinstance(auxiliary, str) and auxiliary != "exact":
        raise InvalidInput(
            f"auxiliary is {quoted(auxiliary)}; it must be a number, 'exact' or None"
        )
    exact = auxiliary == "exact"
    listed = everything(bound, terms, nodes) if exact else nothing_listed(terms)
    steps = 0 if exact else default_steps(nodes, auxiliary, "auxiliary")  # type: ignore[arg-type]
    if not isinstance(prior, Normal):
        raise InvalidInput(f"prior is {quoted(prior)}; it must be a Normal(mean, sd)")
    mean, sd = prior.of(terms)
    empty = empty_graph(nodes.n, nodes.directed)
    target = Target(
        bound.model, seen, NO_OFFSET, listed, empty, mean, np.diag(1.0 / sd**2)
    )  # fmt: skip
    *each, own = generators(seed, chains + 1)
    ties = len(first_guess(seen, bound, nodes, own))
    both = len(seen.pairs) + ties
    effort = Effort(
        most, max(_FEWEST, both // 4), max(_FEWEST, ties), steps, 5 * max(_FEWEST, both)
    )
    plan = Plan(nodes, bound, target, effort, draws, tune, keep_networks)
    drawn = plan.chains(each, own)
    kept = Kept(*(np.array(part) for part in zip(*(moves for moves, _ in drawn), strict=True)))
    _warn_of_collapses(kept.density)
    return HiddenDraws(
        terms=bound.names[:terms],
        theta=kept.draws,
        statistics=kept.statistics,
        accepted=kept.accepted,
        density=kept.density[..., 0],
        auxiliary_density=kept.density[..., 1],
        auxiliary="exact" if exact else steps,
        networks=tuple(networks for _, networks in drawn),
    )


def _warn_of_collapses(density: NDArray[np.float64]) -> None:
    for which, share in zip(("hidden", "auxiliary"), np.moveaxis(density, -1, 0), strict=True):
        warn_of_collapse(which, share, stacklevel=4)
