"""Kernels of moves of coefficients given a graph, a block at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.graphs.graph import duplicate
from bayesdp.kernels.graphs.markov import number_of_dyads, run
from bayesdp.kernels.graphs.normalizer import log_constant
from bayesdp.kernels.randomness import uniform


@kernel
def exchange(
    graph: Any, model: Any, offset: Any, random: Any, observed: Any, theta: Any,
    prior: Any, guide: Any, pull: Any, noise: Any, auxiliary: Any, draws: Any, accepted: Any,
    density: Any,
) -> Any:  # fmt: skip
    """Make one exchange move for each row of `noise`; fill the draws and records of moves.

    A move proposes theta' = c + pull (theta - c) + noise and draws an auxiliary graph y' at
    theta' by `auxiliary` proposals from the observed graph y. It is accepted with probability

        min(1, prior(theta') / prior(theta) * exp((theta' - theta) . (s(y) - s(y')))
               * q(theta) / q(theta')),

    in which the intractable constants have cancelled (Murray, Ghahramani and MacKay 2006;
    Caimo and Friel 2011). With pull = 1 the proposal is a symmetric step and q is constant;
    with pull < 1 and noise from N(0, (1 - pull**2) S) it is reversible under q = N(c, S).
    Either leaves the posterior invariant where y' is an exact draw.

    `prior` and `guide` are pairs of a mean and a precision matrix, of the prior and of q.
    `density` gets each auxiliary graph's share of dyads tied.
    """
    terms = len(theta)
    proposed, statistics = np.empty(terms), np.empty(terms)
    for d in range(len(noise)):
        log_ratio = propose(theta, prior, guide, pull[d], noise[d], proposed)
        statistics[:] = observed
        drawn = run(duplicate(graph), model, proposed, offset, random, statistics, auxiliary)
        for t in range(terms):
            log_ratio += (proposed[t] - theta[t]) * (observed[t] - statistics[t])
        accepted[d] = uniform(random) < math.exp(min(log_ratio, 0.0))
        density[d] = drawn.sizes[0] / number_of_dyads(drawn)
        if accepted[d]:
            theta[:] = proposed
        draws[d] = theta


@kernel
def metropolis(
    points: Any, random: Any, observed: Any, theta: Any, prior: Any, guide: Any, pull: Any,
    noise: Any, draws: Any, accepted: Any,
) -> Any:  # fmt: skip
    """Make moves as `exchange` does, where the constant Z is known at every theta.

    A move is accepted with probability

        min(1, prior(theta') / prior(theta) * exp((theta' - theta) . s(y)) Z(theta) / Z(theta')
               * q(theta) / q(theta')).
    """
    terms = len(theta)
    proposed, room = np.empty(terms), np.empty(len(points.log_weight))
    constant = log_constant(points, theta, room)
    for d in range(len(noise)):
        log_ratio = propose(theta, prior, guide, pull[d], noise[d], proposed)
        other = log_constant(points, proposed, room)
        log_ratio += constant - other
        for t in range(terms):
            log_ratio += (proposed[t] - theta[t]) * observed[t]
        accepted[d] = uniform(random) < math.exp(min(log_ratio, 0.0))
        if accepted[d]:
            theta[:] = proposed
            constant = other
        draws[d] = theta


@kernel
def propose(theta: Any, prior: Any, guide: Any, pull: Any, noise: Any, proposed: Any) -> Any:
    """Propose theta' in `proposed`; log of prior(theta') q(theta) / (prior(theta) q(theta'))."""
    for t in range(len(theta)):
        proposed[t] = guide[0][t] + pull * (theta[t] - guide[0][t]) + noise[t]
    log_ratio = log_normal(proposed, prior) - log_normal(theta, prior)
    if pull < 1.0:
        log_ratio += log_normal(theta, guide) - log_normal(proposed, guide)
    return log_ratio


@kernel
def log_normal(theta: Any, law: Any) -> Any:
    """Log-density of N(mean, precision^-1) without its constant."""
    total = 0.0
    for t in range(len(theta)):
        for u in range(len(theta)):
            total -= 0.5 * (theta[t] - law[0][t]) * law[1][t, u] * (theta[u] - law[0][u])
    return total
