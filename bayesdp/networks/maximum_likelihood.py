"""Monte Carlo maximum likelihood, with Hummel's step length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayesdp.checks import check_at_least_one
from bayesdp.errors import EngineFailed
from bayesdp.networks.formula import bind
from bayesdp.networks.network import as_network
from bayesdp.networks.pseudolikelihood import Fit, fit_mple, inverse, likely_start
from bayesdp.networks.randomness import Seed, generators
from bayesdp.networks.simulation import Start, between_steps, default_steps
from bayesdp.threads import in_threads

_CHAINS = 4
_MARGIN = 0.95  # Hummel, Hunter and Handcock's: a target this far inside the hull is reached
_LEAST_WEIGHT = 0.1  # share of effective draws under which a step is shortened
_BATCHES = 25  # of each chain, for the error of its mean


def fit_mle(
    network: Any,
    formula: str,
    *,
    offset: Any = None,
    draws: int = 2_000,
    iterations: int = 60,
    burn_in: int | None = None,
    interval: int | None = None,
    seed: Seed = None,
) -> Fit:
    """Fit by Monte Carlo maximum likelihood: expected statistics equal the observed ones.

    It starts at the pseudo-likelihood's maximum or, where that is infinite, near it. Each iteration
    simulates at the current theta_0 and maximises
    (theta - theta_0) . t - log mean exp((theta - theta_0) . s), where t lies on the way from the
    simulated mean to the observed statistics, as far as the convex hull of the simulated
    statistics s reaches (Geyer and Thompson 1992; Hummel, Hunter and Handcock 2012), and enough of
    them have weight. Once two steps have reached the observed statistics themselves, a sample four
    times as large gives the estimate, its covariance and its simulation error. Where dyads are
    independent nothing is simulated: the pseudo-likelihood is the likelihood.

    Parameters
    ----------
    network : Network or networkx graph
        The observed network.
    formula : str
        As for `parse`.
    offset : array_like of shape (n, n), or (pairs, values, constant), or None
        Fixed numbers added to the log-odds of the dyads.
    draws : int
        Number of graphs in each iteration, from four chains together.
    iterations : int
        Largest number of iterations, the last sample's included.
    burn_in, interval : int or None
        Proposals before the first graph and between graphs; defaults as in `simulate`.
    seed : int, numpy Generator or None

    Raises
    ------
    InvalidInput
        As for `fit_mple`, but only of independent dyads if ties can be separated from others.
    EngineFailed
        If the chains run to the empty or the complete graph, or no step reaches the
        observed statistics: the model is degenerate, or its maximum is infinite.
    """
    network = as_network(network)
    bound = bind(formula, network)
    if bound.dyad_independent:
        return fit_mple(network, formula, offset=offset)
    each = -(-check_at_least_one("draws", draws) // _CHAINS)
    iterations = check_at_least_one("iterations", iterations)
    first, between = default_steps(network, burn_in), between_steps(network, interval)
    start = Start.of(bound, network, offset)
    theta, observed = likely_start(bound, network, offset), start.statistics
    random = generators(seed, _CHAINS)

    def sample(size: int) -> NDArray[np.float64]:
        """Draw statistics at the current theta, shape (chains, size, terms)."""
        return np.array(
            in_threads(lambda g: start.trace(theta, g, size, first, between)[0], random)
        )

    surrounded = 0
    for _ in range(iterations):
        last = surrounded == 2
        chains = sample(4 * each if last else each)
        drawn = chains.reshape(-1, len(theta))
        _check_spread(drawn, bound.names)
        step, gone = _newton(drawn, observed, 1.0 if last else step_length(drawn, observed))
        theta = theta + step
        if last and gone == 1.0:
            break
        surrounded = surrounded + 1 if gone == 1.0 else 0
    else:
        raise EngineFailed(
            f"after {iterations} iterations the simulated statistics don't surround the observed "
            f"ones closely ({', '.join(bound.names)}): the model is degenerate or its maximum "
            "infinite; raise iterations, change a term (gwesp instead of triangle), or fit with a "
            "prior (BayesianERGM)"
        )
    covariance = inverse(np.cov(drawn.T).reshape(len(theta), -1))
    error = covariance @ _covariance_of_mean(chains) @ covariance
    return Fit(
        bound.names, theta, covariance, "Monte Carlo maximum likelihood", np.sqrt(np.diag(error))
    )


def step_length(drawn: NDArray[np.float64], observed: NDArray[np.float64]) -> float:
    """Fraction of the way to go from the mean of the draws to the observed statistics.

    The largest g in (0, 1] with mean + (g / 0.95)(observed - mean) in the draws' convex hull,
    by one linear program.
    """
    mean = drawn.mean(axis=0)
    scale = drawn.std(axis=0)
    points, way = np.unique((drawn - mean) / scale, axis=0), (observed - mean) / scale
    # Weights of the points, and g: points' weighted mean is g * way; weights sum to one.
    equal = np.column_stack([points.T, -way])
    equal = np.vstack([equal, np.append(np.ones(len(points)), 0.0)])
    goal = np.append(np.zeros(len(points)), -1.0)
    bounds = [(0.0, None)] * len(points) + [(0.0, 1.0 / _MARGIN)]
    solution = optimize.linprog(
        goal, A_eq=equal, b_eq=np.append(np.zeros(len(mean)), 1.0), bounds=bounds
    )
    if solution.x is None:
        raise EngineFailed(f"the step length couldn't be found: {solution.message}")
    share = _MARGIN * float(solution.x[-1])
    return 1.0 if share > 1.0 - 1e-9 else max(share, 1e-3)


def _newton(
    drawn: NDArray[np.float64], observed: NDArray[np.float64], share: float
) -> tuple[NDArray[np.float64], float]:
    """Step of theta after which the weighted draws have the target as their mean.

    The target is moved closer as long as the weights rest on too few draws; also returns the share
    of the way to the observed statistics at which it then lies.
    """
    mean = drawn.mean(axis=0)
    centred = drawn - mean
    while True:
        way, step = share * (observed - mean), np.zeros(len(mean))
        for _ in range(50):
            weight = special.softmax(centred @ step)
            now = weight @ centred
            spread = (centred * weight[:, None]).T @ centred - np.outer(now, now)
            move = np.linalg.lstsq(spread, way - now, rcond=None)[0]
            length = np.abs(centred @ move).max()
            step = step + move * min(1.0, 5.0 / max(length, 1e-300))
            if length < 1e-9:
                break
        weight = special.softmax(centred @ step)
        if 1.0 / (weight**2).sum() >= _LEAST_WEIGHT * len(drawn) or share < 1e-3:
            return step, share
        share /= 2


def _check_spread(drawn: NDArray[np.float64], names: tuple[str, ...]) -> None:
    still = drawn.std(axis=0) == 0
    if still.any():
        raise EngineFailed(
            f"{names[int(np.argmax(still))]} never changes in the simulated networks: the model "
            "is degenerate here and has run to the empty or the complete graph, or the chain is "
            "too short; change a term (gwesp instead of triangle) or raise interval"
        )


def _covariance_of_mean(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance of the mean of all draws, from means of batches, shape (terms, terms)."""
    size = chains.shape[1] // _BATCHES
    batches = chains[:, : size * _BATCHES].reshape(-1, size, chains.shape[2]).mean(axis=1)
    return np.cov(batches.T).reshape(chains.shape[2], -1) / len(batches)
