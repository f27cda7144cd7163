r"""Data augmentation where records take k values: chains over the parameters and the counts.

Records that are alike count together. With p(theta) the probabilities of the values, the counts x
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

import numba
import numpy as np

from bayesdp.engines.augmentation_records import (
    BAD_PARAMETER,
    BAD_STATISTIC,
    GOOD,
    IMPOSSIBLE,
    accepts,
    all_finite,
    change,
    jump_size,
)
from bayesdp.engines.count_gibbs import kernel

_MOVES = 24  # of a batch of records, for each value, in a sweep
_SMALL = 10.0  # mean of a binomial that is drawn by adding up its probabilities


@kernel
def binomial(n: int, p: float) -> int:
    """A binomial draw, in a time that doesn't grow with n: Hormann (1993), algorithm BTRS."""
    if n <= 0 or not p > 0.0:
        return 0
    if p >= 1.0:
        return n
    q = min(p, 1.0 - p)
    k = _few(n, q) if n * q < _SMALL else _many(n, q)
    return k if p <= 0.5 else n - k


@kernel
def _few(n: int, p: float) -> int:
    odds = p / (1.0 - p)
    first = math.exp(n * math.log1p(-p))
    while True:
        u, term = np.random.random(), first
        for k in range(n + 1):
            if u < term:
                return k
            u -= term
            term *= odds * (n - k) / (k + 1)
            if term < 1e-18 and k > n * p:
                break


@kernel
def _many(n: int, p: float) -> int:
    sd = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * sd
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre, least = n * p + 0.5, 0.92 - 4.2 / b
    alpha, mode = (2.83 + 5.1 / b) * sd, math.floor((n + 1) * p)
    log_odds = math.log(p / (1.0 - p))
    peak = math.lgamma(mode + 1.0) + math.lgamma(n - mode + 1.0)
    while True:
        u, v = np.random.random() - 0.5, np.random.random()
        near = 0.5 - abs(u)
        k = math.floor((2 * a / near + b) * u + centre)
        if k < 0 or k > n:
            continue
        if near >= 0.07 and v <= least:
            return int(k)
        v = math.log(v * alpha / (a / (near * near) + b))
        if v <= (peak - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0) + (k - mode) * log_odds):
            return int(k)


@numba.njit(nogil=True)
def _split(count: int, weights: Any, counts: Any) -> None:
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
            else binomial(count, weights[j] / rest)
        )
        counts[j] += one
        count -= one
        rest -= weights[j]


@numba.njit(nogil=True)
def _good(p: Any) -> bool:
    """Whether these are probabilities."""
    whole = 0.0
    for value in p:
        if not value >= 0.0:
            return False
        whole += value
    return abs(whole - 1.0) < 1e-6


@numba.njit(nogil=True)
def run_counts(
    start: Any, posterior: Any, probabilities: Any,
    law_function: Any, law: Any, table: Any, sizes: Any, log_sizes: Any,
    numbers: int, warmup: int, draws: int, seed: int,
) -> Any:  # fmt: skip
    """A chain given a law of the sum over the records.

    Parameters
    ----------
    start, posterior, probabilities : compiled functions
        As of `bayesdp.inference.record_model.RecordModel`.
    law_function, law
        As of `bayesdp.engines.augmentation_laws`.
    table : ndarray, shape (k, components)
        Statistics of the values.
    sizes, log_sizes : ndarray
        The possible n, increasing, and their log probabilities.
    numbers : int
        In theta.
    warmup, draws, seed : int

    Returns
    -------
    theta, shape (draws, numbers); n; acceptance rate; log law, each (draws,); a status
    """
    np.random.seed(seed)
    k, d = table.shape
    theta, p, log_p = np.empty(numbers), np.empty(k), np.empty(k)
    kept = np.empty((draws, numbers))
    kept_n = np.empty(draws, dtype=np.int64)
    kept_rate, kept_law = np.empty(draws), np.empty(draws)
    x = np.zeros(k, dtype=np.int64)
    total, moved = np.zeros(d), np.empty(d)
    place = np.random.randint(sizes.size)
    n, status = sizes[place], GOOD
    start(theta)
    probabilities(theta, p)
    if not (all_finite(theta) and _good(p)):
        status = BAD_PARAMETER
    else:
        _split(n, p, x)
    current = -np.inf
    for sweep in range(warmup + draws):
        if status != GOOD:
            break
        posterior(x, theta)
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
            i, j = np.random.randint(k), np.random.randint(k - 1)
            j += j >= i
            batch = jump_size(max(n, 1))
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
            if accepts(ratio + change(proposed, current)):
                accepted += 1
                x[i] -= batch
                x[j] += batch
                current = proposed
                for c in range(d):
                    total[c] = moved[c]
        moves = _MOVES * k if sizes.size > 1 else 0
        for _ in range(moves):
            i, to = np.random.randint(k), jump_size(sizes.size - 1)
            to = place + to if np.random.random() < 0.5 else place - to
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
            if accepts(ratio + change(proposed, current)):
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


@numba.njit(nogil=True)
def run_response_counts(
    start: Any,
    posterior: Any,
    probabilities: Any,
    columns: Any,
    counts: Any,
    numbers: int,
    warmup: int,
    draws: int,
    seed: int,
) -> Any:
    """A chain given the counts of each pattern of answers; returns what `run_counts` does.

    Parameters
    ----------
    start, posterior, probabilities : compiled functions
        As of `bayesdp.inference.record_model.RecordModel`.
    columns : ndarray, shape (patterns, k)
        Pr[pattern | value].
    counts : ndarray of int, shape (patterns,)
    numbers : int
        In theta.
    warmup, draws, seed : int
    """
    np.random.seed(seed)
    patterns, k = columns.shape
    theta, p, weights = np.empty(numbers), np.empty(k), np.empty(k)
    kept, kept_law = np.empty((draws, numbers)), np.empty(draws)
    kept_n = np.full(draws, counts.sum())
    x = np.zeros(k, dtype=np.int64)
    status = GOOD
    start(theta)
    for sweep in range(-1, warmup + draws):
        if sweep >= 0:
            posterior(x, theta)
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
            _split(counts[a], weights, x)
        if status != GOOD:
            break
        if sweep >= warmup:
            kept_law[sweep - warmup] = log_law
            for j in range(numbers):
                kept[sweep - warmup, j] = theta[j]
    return kept, kept_n, np.ones(draws), kept_law, status
