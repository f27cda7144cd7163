"""A chain of coefficients and hidden graph: its start, its warm-up, what it keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.networks.chain import Law, Moves, Walk
from bayesdp.networks.formula import BoundFormula
from bayesdp.networks.graph import empty_graph
from bayesdp.networks.hidden_annealing import Effort, anneal
from bayesdp.networks.hidden_evidence import Seen
from bayesdp.networks.hidden_exact import Everything
from bayesdp.networks.hidden_moves import Hidden, hidden_of
from bayesdp.networks.hidden_start import first_guess, settle
from bayesdp.networks.network import Network
from bayesdp.networks.offset import NO_OFFSET
from bayesdp.networks.randomness import state_from


@dataclass(frozen=True)
class Plan:
    """What the chains share.

    Attributes
    ----------
    nodes : Network
    bound : BoundFormula
        Of the model's statistics, then of others that were seen.
    seen : Seen
    prior : pair of ndarrays of float, shape (terms,)
        Mean and sd.
    everything : Everything
    effort : Effort
    draws, tune, keep : int
        Moves kept and of the warm-up; graphs kept.
    """

    nodes: Network
    bound: BoundFormula
    seen: Seen
    prior: tuple[NDArray[np.float64], NDArray[np.float64]]
    everything: Everything
    effort: Effort
    draws: int
    tune: int
    keep: int

    def chain(self, generator: np.random.Generator) -> tuple[Moves, list[Network]]:
        """What was kept of the moves after the warm-up, and some hidden graphs."""
        path = Path(self, generator)
        path.walk.warm_up(self.tune)
        made, networks = [], []
        for size in np.diff(np.linspace(0, self.draws, self.keep + 1).astype(int)):
            made.append(path.walk.moves(int(size)))
            networks.append(path.network())
        return tuple(np.concatenate(parts) for parts in zip(*made, strict=True)), networks


class Path:
    """A chain under way: its hidden graph, and the walk of its coefficients."""

    def __init__(self, plan: Plan, generator: np.random.Generator) -> None:
        self.plan = plan
        self.random = state_from(generator)
        ties = first_guess(plan.seen, plan.bound, plan.nodes, generator)
        graph, statistics = plan.bound.graph(plan.nodes.with_edges(ties))
        self.statistics = statistics
        self.hidden, centre, covariance = settle(
            hidden_of(graph, plan.seen), statistics, plan.bound, plan.seen, plan.nodes, plan.prior,
            plan.effort.refresh, self.random, generator,
        )  # fmt: skip
        self.walk = Walk(centre, covariance, generator, self._anneal)

    def _anneal(
        self,
        theta: NDArray[np.float64],
        guide: Law,
        pull: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> Moves:
        plan = self.plan
        size, terms = noise.shape
        draws, trace, density = np.empty((size, terms)), np.empty((size, terms)), np.empty((size, 2))
        accepted = np.empty(size, dtype=np.bool_)
        prior = plan.prior[0], np.diag(1.0 / plan.prior[1] ** 2)
        self.hidden = anneal(
            self.hidden, empty_graph(plan.nodes.n, plan.nodes.directed), plan.bound.model,
            plan.seen, NO_OFFSET, plan.everything, self.random, self.statistics, theta, prior, guide,
            pull, noise, plan.effort, draws, accepted, trace, density,
        )  # fmt: skip
        return draws, accepted, trace, density

    def network(self) -> Network:
        """The hidden graph as it is."""
        graph = self.hidden.graph
        return self.plan.nodes.with_edges(graph.edges[: graph.sizes[0]])
