"""A chain of coefficients and hidden graph: its start, its warm-up, what it keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.networks.chain import Law, Moves, Walk
from bayesdp.networks.formula import BoundFormula
from bayesdp.networks.hidden_annealing import Effort, Kept, Target, anneal, room
from bayesdp.networks.hidden_moves import hidden_of
from bayesdp.networks.hidden_pace import fit_pace
from bayesdp.networks.hidden_start import first_guess, settle
from bayesdp.networks.network import Network
from bayesdp.networks.randomness import state_from

_STEPS, _SHORTEST = 0.3, 0.05  # short moves lead out of where far ones are seldom accepted


@dataclass(frozen=True)
class Plan:
    """What the chains share.

    Attributes
    ----------
    nodes : Network
    bound : BoundFormula
        Of the model's statistics, then of others that were seen.
    target : Target
    effort : Effort
    draws, tune, keep : int
        Moves kept and of the warm-up; graphs kept.
    """

    nodes: Network
    bound: BoundFormula
    target: Target
    effort: Effort
    draws: int
    tune: int
    keep: int

    def chain(self, generator: np.random.Generator) -> tuple[Kept, tuple[Network, ...]]:
        """What was kept of the moves after the warm-up, and some hidden graphs."""
        path = Path(self, generator)
        path.warm_up()
        made, networks = [], []
        for size in np.diff(np.linspace(0, self.draws, self.keep + 1).astype(int)):
            made.append(path.walk.moves(int(size)))
            networks.append(path.network())
        return Kept(*(np.concatenate(parts) for parts in zip(*made, strict=True))), tuple(networks)


class Path:
    """A chain under way: its hidden graph, and the walk of its coefficients."""

    def __init__(self, plan: Plan, generator: np.random.Generator) -> None:
        self.plan = plan
        self.random = state_from(generator)
        ties = first_guess(plan.target.seen, plan.bound, plan.nodes, generator)
        graph, self.statistics = plan.bound.graph(plan.nodes.with_edges(ties))
        self.hidden, centre, covariance = settle(
            hidden_of(graph, plan.target.seen), self.statistics, plan.bound, plan.nodes,
            plan.target, plan.effort.refresh, self.random, generator,
        )  # fmt: skip
        self.pace = np.zeros((len(centre), len(centre) + 1))
        self.walk = Walk(centre, covariance, generator, self._anneal, _STEPS, _SHORTEST)
        self.tuning: list[Moves] = []

    def warm_up(self) -> None:
        """Adapt the moves and the levels between coefficients; they stay as they are then."""
        self.walk.make = self._anneal_and_learn
        self.walk.warm_up(self.plan.tune)
        self.walk.make = self._anneal

    def _anneal(
        self,
        theta: NDArray[np.float64],
        guide: Law,
        pull: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> Kept:
        kept = room(*noise.shape)
        self.hidden = anneal(
            self.hidden, self.plan.target, self.random, self.statistics, theta, guide, pull, noise,
            self.plan.effort, self.pace, kept,
        )  # fmt: skip
        return kept

    def _anneal_and_learn(
        self,
        theta: NDArray[np.float64],
        guide: Law,
        pull: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> Kept:
        kept = self._anneal(theta, guide, pull, noise)
        self.tuning.append((kept.draws, kept.variance))
        recent = self.tuning[len(self.tuning) // 3 :]
        self.pace = fit_pace(*(np.vstack(parts) for parts in zip(*recent, strict=True)))
        return kept

    def network(self) -> Network:
        """The hidden graph as it is."""
        graph = self.hidden.graph
        return self.plan.nodes.with_edges(graph.edges[: graph.sizes[0]])
