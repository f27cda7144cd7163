"""Draws of coefficients and of the graph itself, where it was seen through noise alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.hidden_annealing import Effort
from bayesdp.networks.hidden_chain import Plan
from bayesdp.networks.hidden_evidence import seen_of
from bayesdp.networks.hidden_exact import everything, nothing_listed
from bayesdp.networks.network import Network
from bayesdp.networks.prior import Normal
from bayesdp.networks.randomness import Seed, generators
from bayesdp.networks.simulation import default_steps, in_threads

Auxiliary = int | Literal["exact"]
_COLLAPSED = 0.5  # share of empty or complete graphs; on few nodes some are due
_LEVELS = 30
_FEWEST = 50


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
        How auxiliary graphs were drawn.
    levels : int
        Of each move.
    networks : tuple of tuple of Network
        Hidden graphs, evenly spaced in each chain; the last one's draw is its last.
    """

    terms: tuple[str, ...]
    theta: NDArray[np.float64]
    statistics: NDArray[np.float64]
    accepted: NDArray[np.bool_]
    density: NDArray[np.float64]
    auxiliary_density: NDArray[np.float64]
    auxiliary: Auxiliary
    levels: int
    networks: tuple[tuple[Network, ...], ...]


def sample_hidden(
    formula: str,
    nodes: Network,
    evidence: Evidence,
    *,
    prior: Normal | None = None,
    draws: int = 1_000,
    tune: int = 1_000,
    chains: int = 4,
    auxiliary: Auxiliary | None = None,
    levels: int | None = None,
    keep_networks: int = 1,
    seed: Seed = None,
) -> HiddenDraws:
    r"""Draw coefficients c and hidden graph x from prior(c) exp(c . s(x)) / Z(c) L(x).

    See `bayesdp.networks.hidden_annealing` for the moves and why they are right.
    """
    seen, bound, terms = seen_of(evidence, formula, nodes)
    for name, value in (("draws", draws), ("tune", tune), ("chains", chains)):
        check_at_least_one(name, value)
    exact = auxiliary == "exact"
    steps = 0 if exact else default_steps(nodes, auxiliary, "auxiliary")
    ties = 2 * nodes.n
    effort = Effort(
        levels or _LEVELS,
        max(_FEWEST, len(seen.pairs) + ties),
        max(_FEWEST, 2 * ties),
        steps,
        5 * max(_FEWEST, len(seen.pairs) + ties),
    )
    plan = Plan(
        nodes, bound, seen, (prior or Normal()).of(terms),
        everything(bound, terms, nodes) if exact else nothing_listed(terms),
        effort, draws, tune, keep_networks,
    )  # fmt: skip
    drawn = in_threads(plan.chain, generators(seed, chains))
    theta, accepted, trace, density = (
        np.array(part) for part in zip(*(moves for moves, _ in drawn), strict=True)
    )
    return HiddenDraws(
        bound.names[:terms], theta, trace, accepted, density[..., 0], density[..., 1],
        "exact" if exact else steps, effort.levels,
        tuple(tuple(networks) for _, networks in drawn),
    )  # fmt: skip
