"""A chain of exchange moves: where it starts, how it adapts, what it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bayesdp.networks.exchange import exchange
from bayesdp.networks.pseudolikelihood import inverse
from bayesdp.networks.randomness import state_from
from bayesdp.networks.simulation import Start

_BLOCK = 50  # moves of the warm-up between adaptations
_GOAL = 0.3  # acceptance rate that steps are steered to
_OVERDISPERSED = 2.0  # starts spread so many posterior standard deviations
_WIDER = 1.2  # the guide's standard deviations against the chain's own: its tails must cover
_STEPS = 0.1  # share of random-walk steps among the kept moves, whatever the guide's tails

Law = tuple[NDArray[np.float64], NDArray[np.float64]]
Moves = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]


@dataclass(frozen=True)
class Plan:
    """What the chains of a fit share.

    Attributes
    ----------
    start : Start
        The observed graph, its statistics and the offset.
    centre, covariance : ndarray of float, shapes (terms,), (terms, terms)
        Of pseudo-likelihood and prior: where chains start and how they step at first.
    prior : pair of a mean and a precision matrix
    auxiliary, draws, tune : int
    """

    start: Start
    centre: NDArray[np.float64]
    covariance: NDArray[np.float64]
    prior: Law
    auxiliary: int
    draws: int
    tune: int

    def chain(self, generator: np.random.Generator) -> Moves:
        """Draws, whether accepted, and densities of the auxiliary graphs, after the warm-up."""
        walk = Walk(self, generator)
        walk.warm_up()
        return walk.moves(self.draws)


@dataclass
class Walk:
    """One chain under way.

    The warm-up's first half takes normal steps; from then on most moves fall back towards the
    chain's own mean, reversibly under a normal guide somewhat wider than what it has seen, so
    that far moves are accepted. The rest stay steps, so that a tail heavier than the guide's
    doesn't hold the chain.
    """

    plan: Plan
    generator: np.random.Generator
    theta: NDArray[np.float64] = field(init=False)
    centre: NDArray[np.float64] = field(init=False)
    factor: NDArray[np.float64] = field(init=False)
    """Cholesky factor of the covariance that moves are shaped by."""
    step: float = field(init=False)
    """Standard deviation of a step, in those of the covariance."""
    far: float = field(init=False, default=1.0)
    """sqrt(1 - pull**2) of the moves under the guide."""
    guided: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        terms = len(self.plan.centre)
        self.random = state_from(self.generator)
        self.centre, self.factor = self.plan.centre, _root(self.plan.covariance)
        spread = self.factor @ self.generator.standard_normal(terms)
        self.theta = self.centre + _OVERDISPERSED * spread
        self.step = 2.38 / np.sqrt(terms)

    def warm_up(self) -> None:
        """Make the warm-up's moves, adapting after each block; nothing adapts afterwards."""
        seen = np.empty((0, len(self.theta)))
        for k, first in enumerate(range(0, self.plan.tune, _BLOCK)):
            self.guided = 2 * first >= self.plan.tune
            size = min(_BLOCK, self.plan.tune - first)
            draws, accepted, _ = self.moves(size)
            seen = np.vstack([seen, draws])
            change = np.exp((accepted.mean() - _GOAL) * 2.0 / np.sqrt(k + 1))
            if self.guided:
                self.far = min(1.0, self.far * change)
            else:
                self.step *= change
            self._learn(seen[len(seen) // 2 :])

    def _learn(self, recent: NDArray[np.float64]) -> None:
        """Centre and covariance of what was seen; the start's count as ten moves a term."""
        terms = len(self.theta)
        weight = len(recent) / (len(recent) + 10 * terms)
        own = np.cov(recent.T).reshape(terms, terms)
        self.factor = _root(weight * own + (1 - weight) * self.plan.covariance)
        self.centre = recent.mean(axis=0)

    def moves(self, size: int) -> Moves:
        """Make so many moves from where the chain is."""
        terms = len(self.theta)
        steps = self.generator.random(size) < (_STEPS if self.guided else 1.0)
        wide = _WIDER * self.factor
        guide = self.centre, inverse(wide @ wide.T)
        scale = np.where(steps, self.step / _WIDER, self.far)
        noise = scale[:, None] * (self.generator.standard_normal((size, terms)) @ wide.T)
        pull = np.where(steps, 1.0, np.sqrt(1.0 - self.far**2))
        draws, density = np.empty((size, terms)), np.empty(size)
        accepted = np.empty(size, dtype=np.bool_)
        start = self.plan.start
        exchange(
            start.graph, start.bound.model, start.offset, self.random, start.statistics,
            self.theta, self.plan.prior, guide, pull, noise, self.plan.auxiliary, draws,
            accepted, density,
        )  # fmt: skip
        return draws, accepted, density


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
