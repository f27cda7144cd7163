"""Coefficients drawn privately given a network's ties, and networks from them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.graphs.dp_ergm.grid import CoefficientGrid, likelihood_range
from bayesdp.mechanisms.graphs.dp_ergm.published import published_points
from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.randomness import random_words
from bayesdp.networks.bayesian import BayesianERGM
from bayesdp.networks.exact_statistics import exact_statistics
from bayesdp.networks.formula import BoundFormula, bind
from bayesdp.networks.network import Network
from bayesdp.networks.normalizing_constant import log_constants
from bayesdp.networks.prior import NormalPrior
from bayesdp.networks.sensitivity import largest_changes
from bayesdp.networks.simulation import default_steps, simulate

if TYPE_CHECKING:
    from bayesdp.mechanisms.graphs.dp_ergm.mechanism import DPERGMMechanism

Floats = NDArray[np.float64]
_FORGETFUL = 10  # times what a simulation takes by default: it costs no privacy
_WIDEST = 2.0**50


def edge_sensitivities(formula: str, empty: Network) -> tuple[float, ...]:
    """The largest change of each statistic when one dyad's tie changes, rounded up.

    Raises
    ------
    InvalidInput
        If a statistic never changes: its coefficient would be the prior's.
    """
    each = [up(max(s)) for m in largest_changes(formula, empty) for s in zip(*m, strict=True)]
    if 0 in each:
        name = bind(formula, empty).names[each.index(0)]
        raise InvalidInput(f"{name} never changes with a tie on {empty.n} nodes; leave it out")
    return tuple(each)


def bound_on(mechanism: DPERGMMechanism, empty: Network) -> BoundFormula:
    """Bind the formula to the nodes; its sensitivities must be those that the mechanism has.

    Raises
    ------
    InvalidInput
        If they aren't, the formula isn't defined there, or the grid is too wide.
    """
    bound = bind(mechanism.formula, empty)
    found, declared = edge_sensitivities(mechanism.formula, empty), mechanism.sensitivities
    if len(found) != len(declared) or np.any(np.array(found) > declared):
        raise InvalidInput(
            f"sensitivities is {declared}; on these nodes they are {found}: make the mechanism by "
            "bdp.synthesizers.DPERGMSynthesizer(...).mechanism_like(network)"
        )
    if mechanism.calibration == "corrected":
        largest = _largest(mechanism, bound, empty)
        if not likelihood_range(mechanism.half_widths, mechanism.bins, largest) < _WIDEST:
            raise InvalidInput(
                "log-likelihoods differ by too much over the grid for a choice in 64 bits; take a "
                "smaller scale or reach, or leave out the term with the largest statistics, of "
                f"{', '.join(bound.names)}"
            )
    return bound


def _largest(mechanism: DPERGMMechanism, bound: BoundFormula, empty: Network) -> tuple[float, ...]:
    """A bound on each statistic's absolute value over all graphs on the nodes."""
    at_empty, each = np.abs(bound.at_empty).tolist(), mechanism.sensitivities
    return tuple(a + empty.dyads * d for a, d in zip(at_empty, each, strict=True))


def public_grid(mechanism: DPERGMMechanism, empty: Network) -> CoefficientGrid:
    """Make the grid of a corrected calibration, from a network without ties."""
    m = mechanism
    steps = 2 * np.arange(m.bins) + 1 - m.bins
    axes = [c + float(w) * steps for c, w in zip(m.centre, m.half_widths, strict=True)]
    constants = log_constants(empty, m.formula, axes, burn_in=m.burn_in, seed=_seed())
    largest = _largest(m, bound_on(m, empty), empty)
    public = _log_prior(m, axes) - constants
    return CoefficientGrid(m.centre, m.half_widths, m.bins, m.sensitivities, largest, public)


def _log_prior(mechanism: DPERGMMechanism, axes: list[Floats]) -> Floats:
    """Log prior of coefficients, but for its constant."""
    theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    if mechanism.prior is None:
        return np.zeros(theta.shape[:-1])
    mean, sd = map(np.array, mechanism.prior)
    return np.asarray(-0.5 * (((theta - mean) / sd) ** 2).sum(axis=-1))


def corrected_draws(mechanism: DPERGMMechanism, network: Network, copies: int) -> Floats:
    """Draw coefficients, shape (copies, terms), whose epsilon `dp_ergm.grid` proves."""
    empty = network.with_edges(())
    grid = public_grid(mechanism, empty)
    statistics = exact_statistics(network, mechanism.formula)
    if mechanism.method == "sdd":
        return grid.sdd(statistics, mechanism.cost, copies)
    return grid.sphc(statistics, mechanism.epsilon, mechanism.draws, copies)


def published_draws(mechanism: DPERGMMechanism, network: Network, copies: int) -> Floats:
    """Draw coefficients, shape (copies, terms), from a Markov chain's posterior, as published."""
    m = mechanism
    prior = NormalPrior() if m.prior is None else NormalPrior(*m.prior)
    with warnings.catch_warnings(record=True) as said:  # they tell of the network
        warnings.simplefilter("always")
        idata = BayesianERGM(m.formula, prior).fit(
            network, draws=max(1000, m.draws), auxiliary=m.burn_in, seed=_seed()
        )
    if said:
        warnings.warn(
            "the posterior that coefficients are drawn from wasn't sampled reliably: the model is "
            "degenerate, or burn_in is short; change a term (gwesp instead of triangle) or the "
            "prior",
            UserWarning,
            stacklevel=2,
        )
    theta = idata.posterior["theta"].to_numpy().reshape(-1, len(m.sensitivities))
    spread = np.linspace(0, len(theta) - 1, m.draws).astype(np.int64)
    return published_points(
        m.method, theta[spread], epsilon=m.epsilon, reach=m.reach, bins=m.bins,
        correlation=m.correlation, copies=copies,
    )  # fmt: skip


def network_from(mechanism: DPERGMMechanism, empty: Network, theta: Floats) -> Network:
    """Draw a network from the model at these coefficients, started empty: post-processing."""
    steps = mechanism.burn_in or _FORGETFUL * default_steps(empty, None)
    return simulate(empty, mechanism.formula, theta, burn_in=steps, seed=_seed()).networks[0][0]


def _seed() -> int:
    """Draw fresh bits to seed simulation: 256, more than its generators' own state."""
    return int.from_bytes(random_words(4).tobytes(), "little")
