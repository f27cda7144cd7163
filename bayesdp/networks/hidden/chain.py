"""A chain over coefficients and hidden graph: its start, its warm-up and its kept moves."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.hidden.annealing import Effort, Target, anneal
from bayesdp.kernels.hidden.graph import hidden_of
from bayesdp.networks.auxiliary import Constant, normalizer_about
from bayesdp.networks.chain import Law, Moves, Walk
from bayesdp.networks.formula import BoundFormula
from bayesdp.networks.hidden.guide import Mixture, fit_mixture, no_mixture
from bayesdp.networks.hidden.kept import Kept, room
from bayesdp.networks.hidden.pace import fit_pace
from bayesdp.networks.hidden.start import first_guess, settle
from bayesdp.networks.network import Network
from bayesdp.networks.normalizer import Normalizer
from bayesdp.networks.randomness import state_from
from bayesdp.progress import Step, no_step
from bayesdp.threads import Halting, in_threads

_STEPS, _SHORTEST = 0.3, 0.05  # short moves lead out of where far ones are seldom accepted
_FRESH = 0.8  # of the other moves, those from the mixture
_BLOCK = 50  # moves between reports of progress
_FITS = 2  # of the mixture in the warm-up, before the last
_ROUGH = 0.25  # of the tempered chains' steps, while the warm-up shows where the posterior is
_GUESSES = 100  # coefficients a chain that the first tempering is about


@dataclass(frozen=True)
class Plan:
    """Plan that the chains on coefficients and hidden graph share.

    Attributes
    ----------
    nodes : Network
    bound : BoundFormula
        The model's statistics, then further ones that were seen.
    target : Target
    constant : Constant
    effort : Effort
    draws, tune, keep : int
        Number of moves kept, of moves of the warm-up, and of graphs kept.
    step : callable
        Called with the number of further moves made.
    """

    nodes: Network
    bound: BoundFormula
    target: Target
    constant: Constant
    effort: Effort
    draws: int
    tune: int
    keep: int
    step: Step = no_step

    def chains(
        self, generators: Sequence[np.random.Generator], generator: np.random.Generator
    ) -> tuple[list[tuple[Kept, tuple[Network, ...]]], Normalizer | None]:
        """Run the chains; return their moves after the warm-up, and some hidden graphs of each.

        The warm-up's second half is made under a guide fitted to the draws of all chains. Where the
        normalising constant is tempered, it is estimated anew around those draws before each part,
        and finally for the moves that are kept; it is returned.
        """
        halting = Halting(self.step)
        plan = dataclasses.replace(self, step=halting)
        paths = in_threads(functools.partial(Path, plan), generators, halting)
        known = self._normalizer(paths, generator, np.vstack([p.guesses() for p in paths]), _ROUGH)
        in_threads(functools.partial(Path.warm_up, normalizer=known), paths, halting)
        parts = np.diff(np.linspace(self.tune // 2, self.tune, _FITS + 1).astype(int))
        for moves in parts:
            known = self._normalizer(paths, generator, self._recent(paths), _ROUGH)
            mixture = self._mixture(paths, generator)
            explore = functools.partial(
                Path.explore, normalizer=known, mixture=mixture, moves=int(moves)
            )
            in_threads(explore, paths, halting)
        known = self._normalizer(paths, generator, self._recent(paths), 1.0)
        mixture = self._mixture(paths, generator)
        kept = functools.partial(Path.kept, normalizer=known, mixture=mixture)
        return in_threads(kept, paths, halting), known

    def _normalizer(
        self,
        paths: list[Path],
        generator: np.random.Generator,
        about: NDArray[np.float64],
        share: float,
    ) -> Normalizer | None:
        if self.constant.tempering is None:
            return self.constant.known
        steps = int(share * self.constant.steps)
        return normalizer_about(self.constant.tempering, about, steps, generator)

    def _recent(self, paths: list[Path]) -> NDArray[np.float64]:
        return np.vstack([path.seen[len(path.seen) // 2 :] for path in paths])

    def _mixture(self, paths: list[Path], generator: np.random.Generator) -> Mixture:
        recent = self._recent(paths)
        least = np.mean([path.walk.covariance for path in paths], axis=0)
        return fit_mixture(recent, least, generator)


class Path:
    """A chain under way: its hidden graph, and the walk of its coefficients."""

    def __init__(self, plan: Plan, generator: np.random.Generator) -> None:
        self.plan = plan
        self.target = plan.target
        self.generator = generator
        self.random = state_from(generator)
        ties = first_guess(plan.target.seen, plan.bound, plan.nodes, generator)
        graph, self.statistics = plan.bound.graph(plan.nodes.with_edges(ties))
        self.hidden, centre, covariance = settle(
            hidden_of(graph, plan.target.seen), self.statistics, plan.bound, plan.nodes,
            plan.target, plan.effort.refresh, self.random, generator,
        )  # fmt: skip
        self.mixture = no_mixture(len(centre))
        self.pace = np.zeros((len(centre), len(centre) + 1))
        self.walk = Walk(centre, covariance, generator, self._anneal_and_learn, _STEPS, _SHORTEST)
        self.tuning: list[Moves] = []

    def guesses(self) -> NDArray[np.float64]:
        """Guess coefficients around the chain's start, shape (guesses, terms)."""
        spread = self.generator.standard_normal((_GUESSES, len(self.walk.centre)))
        return np.asarray(self.walk.centre + spread @ self.walk.factor.T)

    def warm_up(self, *, normalizer: Normalizer | None) -> None:
        """Make the first half of the warm-up."""
        self._know(normalizer)
        self.walk.warm_up(self.plan.tune - self.plan.tune // 2)

    def _know(self, normalizer: Normalizer | None) -> None:
        if normalizer is not None:
            self.target = self.target._replace(points=normalizer.points)

    @property
    def seen(self) -> NDArray[np.float64]:
        """Coefficients of the warm-up so far, shape (moves, terms)."""
        return np.vstack([draws for draws, _ in self.tuning])

    def explore(self, *, normalizer: Normalizer | None, mixture: Mixture, moves: int) -> None:
        """Make moves of the warm-up under a guide."""
        self._know(normalizer)
        self.mixture = mixture
        self.walk.moves(moves)

    def kept(
        self, *, normalizer: Normalizer | None, mixture: Mixture
    ) -> tuple[Kept, tuple[Network, ...]]:
        """Make the moves after the warm-up, without adapting; return them and hidden graphs."""
        self._know(normalizer)
        self.mixture, self.walk.make = mixture, self._anneal
        made, networks = [], []
        for size in np.diff(np.linspace(0, self.plan.draws, self.plan.keep + 1).astype(int)):
            made.append(self.walk.moves(int(size)))
            networks.append(self.network())
        return Kept(*(np.concatenate(parts) for parts in zip(*made, strict=True))), tuple(networks)

    def _anneal(
        self,
        theta: NDArray[np.float64],
        guide: Law,
        pull: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> Kept:
        kept = room(len(noise), len(theta), len(self.statistics))
        fresh = np.zeros(len(noise), dtype=np.bool_)
        if len(self.mixture.weight):
            fresh = (pull < 1.0) & (self.walk.generator.random(len(noise)) < _FRESH)
            drawn = self.mixture.draw(self.walk.generator, len(noise))
            noise = np.where(fresh[:, None], drawn, noise)
        for first in range(0, len(noise), _BLOCK):
            part = slice(first, first + _BLOCK)
            self.hidden = anneal(
                self.hidden, self.target, self.random, self.statistics, theta, guide, pull[part],
                noise[part], fresh[part], self.mixture, self.plan.effort, self.pace,
                kept.part(part),
            )  # fmt: skip
            self.plan.step(len(noise[part]))
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
        """The current hidden graph."""
        graph = self.hidden.graph
        return self.plan.nodes.with_edges(graph.edges[: graph.sizes[0]])
