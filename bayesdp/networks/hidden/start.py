"""Starts of a hidden graph's chains: a graph, coefficients and the size of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayesdp.kernels.graphs.markov import changes_of
from bayesdp.kernels.hidden.annealing import Target
from bayesdp.kernels.hidden.graph import Hidden
from bayesdp.kernels.hidden.moves import run_hidden
from bayesdp.kernels.hidden.seen import Seen
from bayesdp.networks.formula import BoundFormula
from bayesdp.networks.network import Network
from bayesdp.networks.pseudolikelihood import Dyads, climb, inverse

_ROUNDS = 20  # of graph and coefficients in turn; the second half counts
_MOST_DYADS = 100_000  # dyads not tied that a pseudo-likelihood reads; of more, a sample
_LEAST = 1e-9  # densities that starts are drawn with stay so far from 0 and 1


def settle(
    hidden: Hidden,
    statistics: NDArray[np.float64],
    bound: BoundFormula,
    nodes: Network,
    target: Target,
    steps: int,
    random: NDArray[np.uint64],
    generator: np.random.Generator,
) -> tuple[Hidden, NDArray[np.float64], NDArray[np.float64]]:
    """Settle a hidden graph by some rounds; find a centre and a covariance for coefficients.

    A round draws coefficients around the maximum of the graph's pseudo-likelihood times prior, and
    moves the graph under them: roughly the posterior, and never far from a graph that the evidence
    supports. It changes `statistics`.
    """
    mean, precision = target.mean, np.diag(target.precision)
    centres, covariance = [], np.zeros((len(mean), len(mean)))
    for k in range(_ROUNDS):
        dyads = _some_dyads(hidden, bound, nodes, len(mean), generator)
        centre, information = climb(dyads, mean, precision)
        own = inverse(information)
        theta = generator.multivariate_normal(centre, own, method="cholesky")
        hidden = run_hidden(hidden, target.model, target.seen, theta, random, statistics, steps)
        if 2 * k >= _ROUNDS:
            centres.append(centre)
            covariance += own / (_ROUNDS - _ROUNDS // 2)
    spread = np.cov(np.array(centres).T).reshape(covariance.shape)
    return hidden, np.mean(centres, axis=0), covariance + spread


def _some_dyads(
    hidden: Hidden, bound: BoundFormula, nodes: Network, terms: int, generator: Any
) -> Dyads:
    """Select dyads for a pseudo-likelihood: all, or the ties and a sample of the others.

    Where the sample holds a share r of the other dyads, log odds are too large by -log r, which is
    the shift (case-control sampling: Prentice and Pyke 1979).
    """
    ties = hidden.graph.edges[: hidden.graph.sizes[0]].astype(np.int64)
    others = nodes.dyads - len(ties)
    sampled = min(others, _MOST_DYADS)
    pairs = np.vstack([ties, _random_dyads(nodes, ties, sampled, generator)])
    full = hidden.graph.degree >= bound.model.most
    free = ~(full[pairs[:, 0]] | (full[pairs[:, 1]] & (not nodes.directed)))
    free[: len(ties)] = True  # given all others, a tie where there is no room is certain not to be
    pairs = pairs[free]
    shift = np.log(others / sampled) if sampled else 0.0
    dyads = Dyads(
        np.empty((len(pairs), terms)),
        np.arange(len(pairs)) < len(ties),
        np.full(len(pairs), shift),
    )
    changes_of(hidden.graph, bound.model, pairs, len(ties), dyads.changes)
    return dyads


def first_guess(seen: Seen, bound: BoundFormula, nodes: Network, generator: Any) -> NDArray[Any]:
    """Guess ties of a graph to start from, shape (ties, 2), that the evidence finds likely."""
    ties = generator.permutation(_guess(seen, bound, nodes, generator))
    degree = np.zeros(nodes.n, dtype=np.int64)
    kept = np.ones(len(ties), dtype=np.bool_)
    for e, (i, j) in enumerate(ties if seen.most < nodes.n else ()):
        kept[e] = degree[i] < seen.most and (nodes.directed or degree[j] < seen.most)
        degree[i] += kept[e]
        degree[j] += kept[e] and not nodes.directed
    within: NDArray[np.int64] = ties[kept]
    return within


def _guess(seen: Seen, bound: BoundFormula, nodes: Network, generator: Any) -> NDArray[Any]:
    """Guess a graph that is likely given the evidence, without a bound on degrees.

    Each dyad is tied with its posterior probability under a Bernoulli graph, whose density is the
    maximum likelihood estimate under the dyads' offsets; without offsets, the estimate from the
    noisy number of ties or the noisy degrees; without these, two ties a node.
    """
    if len(seen.matrix):
        i, j = _all_dyads(nodes)
        odds = seen.matrix[i, j]
        density = _likely_density(odds, np.ones(len(odds)))
        tied = generator.random(len(odds)) < special.expit(odds + special.logit(density))
        return np.column_stack([i[tied], j[tied]])
    listed, others = len(seen.pairs), nodes.dyads - len(seen.pairs)
    if listed or seen.constant:
        odds, weight = np.append(seen.offset, seen.constant), np.append(np.ones(listed), others)
        density = _likely_density(odds, weight)
    else:
        odds, density = np.zeros(1), _seen_density(seen, bound, nodes)
    chance = special.expit(odds + special.logit(density))
    kept = seen.pairs[generator.random(listed) < chance[:-1]]
    more = int(generator.binomial(others, chance[-1]))
    return np.vstack([kept, _random_dyads(nodes, seen.pairs, more, generator)])


def _likely_density(odds: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Find the density p that maximises sum weight log(1 - p + p exp(odds)), which is concave."""
    ratio = -np.expm1(-np.abs(odds))  # with the larger of 1 and exp(odds) taken out
    sign = odds > 0

    def slope(p: float) -> float:
        up = ratio[sign] / ((1 - p) * np.exp(-odds[sign]) + p)
        down = ratio[~sign] / (1 - p + p * np.exp(odds[~sign]))
        return float(weight[sign] @ up - weight[~sign] @ down)

    low, high = _LEAST, 1 - _LEAST
    if slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    return float(optimize.brentq(slope, low, high))


def _seen_density(seen: Seen, bound: BoundFormula, nodes: Network) -> float:
    names = [bound.names[k] for k in seen.coordinate]
    if "edges" in names:
        ties = seen.values[names.index("edges")]
    elif len(seen.degrees):
        ties = seen.degrees[0].sum() / 2
    else:
        ties = 2.0 * nodes.n
    return float(np.clip(ties / nodes.dyads, 1 / (nodes.dyads + 1), 1 - 1 / (nodes.dyads + 1)))


def _all_dyads(nodes: Network) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    there = ~np.eye(nodes.n, dtype=bool)
    i, j = np.nonzero(there if nodes.directed else np.triu(there))
    return i, j


def _random_dyads(
    nodes: Network, taken: NDArray[np.int64], count: int, generator: Any
) -> NDArray[np.int64]:
    """Draw `count` distinct dyads, none of them in `taken`."""
    if 4 * (count + len(taken)) > nodes.dyads:
        i, j = _all_dyads(nodes)
        free = np.setdiff1d(i * nodes.n + j, taken @ [nodes.n, 1])
        keys = generator.choice(free, count, replace=False)
        return np.column_stack(np.divmod(keys, nodes.n))
    keys = taken_keys = taken @ [nodes.n, 1]
    while len(keys) < len(taken) + count:
        pair = generator.integers(0, nodes.n, (2 * count + 8, 2))
        pair = pair[pair[:, 0] != pair[:, 1]]
        if not nodes.directed:
            pair = np.sort(pair, axis=1)
        fresh = np.setdiff1d(pair @ [nodes.n, 1], keys)
        fresh = generator.permutation(fresh)[: len(taken) + count - len(keys)]
        keys = np.concatenate([keys, fresh])
    return np.column_stack(np.divmod(keys[len(taken_keys) :], nodes.n))
