"""A chain of moves of coefficients: where it starts, how it adapts, what it keeps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.graphs.exchange import exchange, metropolis
from bayesdp.kernels.graphs.normalizer import Points
from bayesdp.networks.pseudolikelihood import inverse
from bayesdp.networks.randomness import state_from
from bayesdp.networks.simulation import Start
from bayesdp.progress import Step, no_step

_BLOCK = 50  # moves of the warm-up between adaptations
_REPORTED = 500  # moves between reports of progress, where no graphs are drawn
_GOAL = 0.3  # acceptance rate that steps are steered to
_OVERDISPERSED = 2.0  # starts spread so many posterior standard deviations
_WIDER = 1.2  # the guide's standard deviations against the chain's own: its tails must cover

Law = tuple[NDArray[np.float64], NDArray[np.float64]]
Moves = tuple[NDArray[Any], ...]
"""Draws, shape (moves, terms); whether accepted, shape (moves,); further records of each move."""
MakeMoves = Callable[[NDArray[np.float64], Law, NDArray[np.float64], NDArray[np.float64]], Moves]
"""A function of coefficients, which it changes, the guide, pulls and noise, one for each move."""


@dataclass(frozen=True)
class Plan:
    """Plan that the chains of a fit share: model, prior, starting points and lengths.

    Attributes
    ----------
    start : Start
        The observed graph, its statistics and the offset.
    centre, covariance : ndarray of float, shapes (terms,), (terms, terms)
        Mode and covariance of pseudo-likelihood times prior: where chains start, and their first
        steps.
    prior : pair of a mean and a precision matrix
    points : Points
        Points of the normalising constant; none where auxiliary graphs are drawn.
    auxiliary : int
        Number of proposals for each auxiliary graph.
    draws, tune : int
        Number of moves kept, and of the warm-up.
    step : callable
        Called with the number of further moves made.
    """

    start: Start
    centre: NDArray[np.float64]
    covariance: NDArray[np.float64]
    prior: Law
    points: Points
    auxiliary: int
    draws: int
    tune: int
    step: Step = no_step

    def chain(self, generator: np.random.Generator) -> Moves:
        """Run a chain: draws, whether accepted, and densities of auxiliary graphs if any."""
        known = len(self.points.log_weight) > 0
        how = self._metropolis if known else self._exchange
        make = functools.partial(how, state_from(generator))
        walk = Walk(self.centre, self.covariance, generator, make)
        walk.warm_up(self.tune)
        return walk.moves(self.draws)

    def _exchange(
        self,
        random: NDArray[np.uint64],
        theta: NDArray[np.float64],
        guide: Law,
        pull: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> Moves:
        draws, density = np.empty_like(noise), np.empty(len(noise))
        accepted = np.empty(len(noise), dtype=np.bool_)
        for first in range(0, len(noise), _BLOCK):
            part = slice(first, first + _BLOCK)
            exchange(
                self.start.graph, self.start.bound.model, self.start.offset, random,
                self.start.statistics, theta, self.prior, guide, pull[part], noise[part],
                self.auxiliary, draws[part], accepted[part], density[part],
            )  # fmt: skip
            self.step(len(noise[part]))
        return draws, accepted, density

    def _metropolis(
        self,
        random: NDArray[np.uint64],
        theta: NDArray[np.float64],
        guide: Law,
        pull: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> Moves:
        draws, accepted = np.empty_like(noise), np.empty(len(noise), dtype=np.bool_)
        for first in range(0, len(noise), _REPORTED):
            part = slice(first, first + _REPORTED)
            metropolis(
                self.points, random, self.start.statistics, theta, self.prior, guide, pull[part],
                noise[part], draws[part], accepted[part],
            )  # fmt: skip
            self.step(len(noise[part]))
        return draws, accepted


@dataclass
class Walk:
    """Chain of coefficients under way.

    The warm-up's first half takes normal steps; from then on most moves fall back towards the
    chain's own mean, reversibly under a normal guide somewhat wider than the draws so far, so that
    far moves are accepted. The rest remain steps, so that a tail heavier than the guide's doesn't
    trap the chain.

    Attributes
    ----------
    centre, covariance : ndarray of float, shapes (terms,), (terms, terms)
        Mean and covariance that shape the first moves.
    generator : numpy Generator
    make : callable
        Makes the moves.
    steps : float
        Share of steps among the moves once there is a guide.
    shortest : float
        These steps are scaled by a number from here to 1, its logarithm uniform.
    theta : ndarray of float, shape (terms,)
        The chain's current coefficients.
    factor : ndarray of float, shape (terms, terms)
        Cholesky factor of the covariance that shapes moves.
    step : float
        Standard deviation of a step, in units of the covariance's.
    far : float
        sqrt(1 - pull**2) of the moves under the guide.
    guided : bool
        Whether there is a guide yet.
    """

    centre: NDArray[np.float64]
    covariance: NDArray[np.float64]
    generator: np.random.Generator
    make: MakeMoves
    steps: float = 0.1
    shortest: float = 1.0
    theta: NDArray[np.float64] = field(init=False)
    factor: NDArray[np.float64] = field(init=False)
    step: float = field(init=False)
    far: float = field(init=False, default=1.0)
    guided: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        terms = len(self.centre)
        self.factor = _root(self.covariance)
        spread = self.factor @ self.generator.standard_normal(terms)
        self.theta = self.centre + _OVERDISPERSED * spread
        self.step = 2.38 / np.sqrt(terms)

    def warm_up(self, tune: int) -> None:
        """Make the warm-up's moves, adapting after each block; nothing adapts afterwards."""
        seen = np.empty((0, len(self.theta)))
        for k, first in enumerate(range(0, tune, _BLOCK)):
            self.guided = 2 * first >= tune
            size = min(_BLOCK, tune - first)
            draws, accepted, *_ = self.moves(size)
            seen = np.vstack([seen, draws])
            change = np.exp((accepted.mean() - _GOAL) * 2.0 / np.sqrt(k + 1))
            if self.guided:
                self.far = min(1.0, self.far * change)
            else:
                self.step *= change
            self._learn(seen[len(seen) // 2 :])

    def _learn(self, recent: NDArray[np.float64]) -> None:
        """Learn centre and covariance from draws; the initial ones weigh as ten moves a term."""
        if len(recent) < 2:
            return
        terms = len(self.theta)
        weight = len(recent) / (len(recent) + 10 * terms)
        own = np.cov(recent.T).reshape(terms, terms)
        self.factor = _root(weight * own + (1 - weight) * self.covariance)
        self.centre = recent.mean(axis=0)

    def moves(self, size: int) -> Moves:
        """Make a number of moves from the chain's current state."""
        terms = len(self.theta)
        steps = self.generator.random(size) < (self.steps if self.guided else 1.0)
        wide = _WIDER * self.factor
        guide = self.centre, inverse(wide @ wide.T)
        step = np.full(size, self.step / _WIDER)
        if self.guided and self.shortest < 1.0:
            step *= self.shortest ** self.generator.random(size)
        scale = np.where(steps, step, self.far)
        noise = scale[:, None] * (self.generator.standard_normal((size, terms)) @ wide.T)
        pull = np.where(steps, 1.0, np.sqrt(1.0 - self.far**2))
        return self.make(self.theta, guide, pull, noise)


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
