r"""Data augmentation where records take k values: chains over the parameters and the counts.

Equal records are counted together. With p(theta) the probabilities of the values, the counts x
of n records, n from its prior, and T the statistics of the values, the target is

    p(theta) Pr[n] n! prod_j p_j^x_j / x_j!  Pr[outputs | T' x],

and a sweep costs the same whatever n is. theta given x is a draw of the caller's; x given theta:

* randomized response: the records of an answer pattern a are split over the values by a multinomial
  with probabilities in proportion to p_j Pr[a | value j]: the conditional law itself;
* laws of a sum: J of value i become value j, J up to n and every scale of it as likely as any
  other, accepted with min(1, p_j^J p_i^-J x_i! x_j! / ((x_i - J)! (x_j + J)!) x ratio of laws);
* n unknown: J records of value i are born or die, where n + J or n - J is a size of the prior, i
  uniform and J from one law, so that births and deaths are proposed alike. A birth is accepted
  with the ratio of the targets, which holds

      Pr[n + J] / Pr[n] x (n + J)! / n! x p_i^J x_i! / (x_i + J)! x ratio of laws.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.engines.augmentation_records import (
    BAD_PARAMETER,
    BAD_STATISTIC,
    GOOD,
    IMPOSSIBLE,
    accepts,
    all_finite,
    below,
    change,
    compiled,
    jump_size,
)

_MOVES = 24  # of a batch of records, for each value, in a sweep


@compiled
def _split(rng: Any, count: int, weights: Any, counts: Any) -> None:
    """Add a multinomial draw of `count` with probabilities in proportion to the weights."""
    rest = 0.0
    for weight in weights:
        rest += weight
    for j in range(weights.size):
        if count == 0:
            break
        last = j == weights.size - 1
        one = (
            count
            if last or weights[j] >= rest * (1 - 1e-14)
            else rng.binomial(count, weights[j] / rest)
        )
        counts[j] += one
        count -= one
        rest -= weights[j]


@compiled
def _good(p: Any) -> bool:
    """Return True if these are probabilities."""
    whole = 0.0
    for value in p:
        if not value >= 0.0:
            return False
        whole += value
    return abs(whole - 1.0) < 1e-6


@compiled
def run_counts(
    posterior: Any, probabilities: Any,
    law_function: Any, law: Any, table: Any, sizes: Any, log_sizes: Any,
    theta: Any, warmup: int, draws: int, rng: Any,
) -> Any:  # fmt: skip
    """Run a chain of data augmentation on counts, given a law of the sum over the records.

    Parameters
    ----------
    posterior, probabilities : compiled functions
        As for `bayesdp.inference.records.model.RecordModel`.
    law_function, law
        As in `bayesdp.engines.augmentation_laws`.
    table : ndarray, shape (k, components)
        Statistics of the values.
    sizes, log_sizes : ndarray
        The possible n, increasing, and their log probabilities.
    theta : ndarray
        Where the chain starts; overwritten.
    warmup, draws : int
    rng : Generator

    Returns
    -------
    theta, shape (draws, numbers); n; acceptance rate; log law, each (draws,); a status
    """
    k, d = table.shape
    numbers = theta.size
    p, log_p = np.empty(k), np.empty(k)
    kept = np.empty((draws, numbers))
    kept_n = np.empty(draws, dtype=np.int64)
    kept_rate, kept_law = np.empty(draws), np.empty(draws)
    x = np.zeros(k, dtype=np.int64)
    total, moved = np.zeros(d), np.empty(d)
    place = below(rng, sizes.size)
    n, status = sizes[place], GOOD
    probabilities(theta, p)
    if not (all_finite(theta) and _good(p)):
        status = BAD_PARAMETER
    else:
        _split(rng, n, p, x)
    current = -np.inf
    for sweep in range(warmup + draws):
        if status != GOOD:
            break
        posterior(rng, x, theta)
        probabilities(theta, p)
        if not (all_finite(theta) and _good(p)):
            status = BAD_PARAMETER
            break
        for j in range(k):
            log_p[j] = math.log(p[j]) if p[j] > 0.0 else -np.inf
        for c in range(d):
            whole = 0.0
            for j in range(k):
                whole += x[j] * table[j, c]
            total[c] = whole
        current = law_function(law, total)
        if np.isnan(current):
            status = BAD_STATISTIC
            break
        accepted, proposals = 0, _MOVES * k
        for _ in range(proposals):
            i, j = below(rng, k), below(rng, k - 1)
            j += j >= i
            batch = jump_size(rng, max(n, 1))
            if batch > x[i]:
                continue
            ratio = (
                math.lgamma(x[i] + 1.0) - math.lgamma(x[i] - batch + 1.0)
                + math.lgamma(x[j] + 1.0) - math.lgamma(x[j] + batch + 1.0)
                + batch * (log_p[j] - log_p[i])
            )  # fmt: skip
            for c in range(d):
                moved[c] = total[c] + batch * (table[j, c] - table[i, c])
            proposed = law_function(law, moved)
            if accepts(rng, ratio + change(proposed, current)):
                accepted += 1
                x[i] -= batch
                x[j] += batch
                current = proposed
                for c in range(d):
                    total[c] = moved[c]
        moves = _MOVES * k if sizes.size > 1 else 0
        for _ in range(moves):
            i, to = below(rng, k), jump_size(rng, sizes.size - 1)
            to = place + to if rng.random() < 0.5 else place - to
            if to < 0 or to >= sizes.size:
                continue
            batch = sizes[to] - n
            if x[i] + batch < 0:
                continue
            ratio = (
                log_sizes[to] - log_sizes[place]
                + math.lgamma(n + batch + 1.0) - math.lgamma(n + 1.0)
                + math.lgamma(x[i] + 1.0) - math.lgamma(x[i] + batch + 1.0)
                + batch * log_p[i]
            )  # fmt: skip
            for c in range(d):
                moved[c] = total[c] + batch * table[i, c]
            proposed = law_function(law, moved)
            if accepts(rng, ratio + change(proposed, current)):
                accepted += 1
                place, n, current = to, sizes[to], proposed
                x[i] += batch
                for c in range(d):
                    total[c] = moved[c]
        if sweep >= warmup:
            if current == -np.inf:
                status = IMPOSSIBLE
                break
            at = sweep - warmup
            kept_n[at], kept_law[at] = n, current
            kept_rate[at] = accepted / (proposals + moves)
            for j in range(numbers):
                kept[at, j] = theta[j]
    return kept, kept_n, kept_rate, kept_law, status


@compiled
def run_response_counts(
    posterior: Any,
    probabilities: Any,
    columns: Any,
    counts: Any,
    theta: Any,
    warmup: int,
    draws: int,
    rng: Any,
) -> Any:
    """Run a chain given the counts of each pattern of answers; return what `run_counts` does.

    Parameters
    ----------
    posterior, probabilities : compiled functions
        As of `bayesdp.inference.records.model.RecordModel`.
    columns : ndarray, shape (patterns, k)
        Pr[pattern | value].
    counts : ndarray of int, shape (patterns,)
    theta : ndarray
        Where the chain starts; overwritten.
    warmup, draws : int
    rng : Generator
    """
    patterns, k = columns.shape
    numbers = theta.size
    p, weights = np.empty(k), np.empty(k)
    kept, kept_law = np.empty((draws, numbers)), np.empty(draws)
    kept_n = np.full(draws, counts.sum())
    x = np.zeros(k, dtype=np.int64)
    status = GOOD
    for sweep in range(-1, warmup + draws):
        if sweep >= 0:
            posterior(rng, x, theta)
        probabilities(theta, p)
        if not (all_finite(theta) and _good(p)):
            status = BAD_PARAMETER
            break
        log_law = 0.0
        for j in range(k):
            x[j] = 0
        for a in range(patterns):
            chance = 0.0
            for j in range(k):
                weights[j] = p[j] * columns[a, j]
                chance += weights[j]
            if not chance > 0.0:
                status = IMPOSSIBLE
                break
            log_law += counts[a] * math.log(chance)
            _split(rng, counts[a], weights, x)
        if status != GOOD:
            break
        if sweep >= warmup:
            kept_law[sweep - warmup] = log_law
            for j in range(numbers):
                kept[sweep - warmup, j] = theta[j]
    return kept, kept_n, np.ones(draws), kept_law, status
