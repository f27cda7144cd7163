"""Simulations of network models: sensitivities, weights of a grid, posterior, networks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.randomness import random_words
from bayesdp.networks.bayesian import BayesianERGM
from bayesdp.networks.formula import bind
from bayesdp.networks.network import Network
from bayesdp.networks.normalizing_constant import log_constants
from bayesdp.networks.prior import NormalPrior
from bayesdp.networks.sensitivity import largest_changes
from bayesdp.networks.simulation import default_steps, simulate
from bayesdp.warned import warn_about

Floats = NDArray[np.float64]
_PUBLIC_SEED = 20_200  # nothing confidential is drawn with it
_FORGETFUL = 10  # times what a simulation takes by default: it costs no privacy


def edge_sensitivities(formula: str, empty: Network) -> tuple[float, ...]:
    """The largest change of each statistic when one dyad's tie changes, rounded up.

    Raises
    ------
    InvalidInput
        If a statistic never changes: its coefficient would be the prior's.
    """
    each = [up(most) for moves in largest_changes(formula, empty) for most in moves.most]
    if 0 in each:
        name = bind(formula, empty).names[each.index(0)]
        raise InvalidInput(f"{name} never changes with a tie on {empty.n} nodes; leave it out")
    return tuple(each)


def log_weights(
    formula: str, empty: Network, axes: list[Floats], prior: Any, burn_in: int | None
) -> Floats:
    """Log prior on a grid less the model's log normalising constant, simulated without ties.

    A public function of public arguments, simulation included: whoever reads a copy needs the very
    numbers that its cell was drawn by (`dp_ergm.law`).
    """
    constants = log_constants(empty, formula, axes, burn_in=burn_in, seed=_PUBLIC_SEED)
    return _log_prior(prior, axes) - constants


def _log_prior(prior: Any, axes: list[Floats]) -> Floats:
    """Log prior of coefficients, but for its constant."""
    theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    if prior is None:
        return np.zeros(theta.shape[:-1])
    mean, sd = map(np.array, prior)
    return np.asarray(-0.5 * (((theta - mean) / sd) ** 2).sum(axis=-1))


def posterior_draws(
    network: Network, formula: str, prior: Any, draws: int, burn_in: int | None
) -> Floats:
    """Draw coefficients, shape (draws, terms), by a Markov chain given the ties; confidential."""
    given = NormalPrior() if prior is None else NormalPrior(*prior)
    with warnings.catch_warnings(record=True) as said:  # they tell of the network
        warnings.simplefilter("always")
        idata = BayesianERGM(formula, given).fit(
            network, draws=max(1000, draws), auxiliary=burn_in, seed=_seed()
        )
    if said:
        warn_about(
            "the posterior that coefficients are drawn from can't be relied on: the model is "
            "degenerate, burn_in is short, or the prior alone decides in some direction; change a "
            "term (gwesp instead of triangle) or the prior",
            "synthesis",
            stacklevel=2,
        )
    kept = idata.posterior["theta"].to_numpy()
    theta = kept.reshape(-1, kept.shape[-1])
    return np.asarray(theta[np.linspace(0, len(theta) - 1, draws).astype(np.int64)])


def network_from(formula: str, empty: Network, theta: Floats, burn_in: int | None) -> Network:
    """Draw a network from the model at these coefficients, started empty: post-processing."""
    steps = burn_in or _FORGETFUL * default_steps(empty, None)
    return simulate(empty, formula, theta, burn_in=steps, seed=_seed()).networks[0][0]


def _seed() -> int:
    """Draw fresh bits to seed simulation: 256, more than its generators' own state."""
    return int.from_bytes(random_words(4).tobytes(), "little")
