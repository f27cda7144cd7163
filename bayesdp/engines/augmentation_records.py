r"""Data augmentation record by record: chains over the parameters and all confidential records.

Ju, Awan, Gong and Rao (2022). The target is, with t(x) what a record adds to the statistic,

    p(theta) Pr[n] prod_{i <= n} f(x_i | theta) Pr[outputs | sum_i t(x_i)].

A sweep draws theta given the records, which the outputs don't enter; then, record by record,
proposes x from f(. | theta) and accepts it with probability min(1, ratio of the outputs' laws),
since f cancels. If changing one record changes the law by at most a factor exp(epsilon), which is
what a pure epsilon under replace-one says, every proposal is accepted with probability
exp(-epsilon) at least. A proposal costs the same whatever n is.

n unknown, by reversible jump
-----------------------------
The order of records doesn't matter, so let the target be on ordered lists. From n records, with the
next n + J in the prior's list of sizes: a birth proposes J new records from f(. | theta) and puts
them at J positions chosen at random; a death of J removes those at J positions chosen at random.
Both are proposed with the same probability, as J is drawn from one law, up or down with probability
1/2. There are C = C(n + J, J) choices of positions in either direction, so the ratio of targets
times that of proposals, with which a birth is accepted, is

    Pr[n + J] prod_{all n + J} f  Pr[outputs | s + t]   (1/2) (1 / C)
    ------------------------------------------------- ---------------------------
    Pr[n]     prod_{the n}     f  Pr[outputs | s]       (1/2) (1 / C) prod_{the J} f

= Pr[n + J] Pr[outputs | s + t] / (Pr[n] Pr[outputs | s]); a death is accepted with the inverse. New
records are kept at the end of the list and dead ones moved there first, which changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

GOOD, BAD_STATISTIC, BAD_PARAMETER, BAD_CATEGORY, IMPOSSIBLE = 0, 1, 2, 3, 4
_JUMPS = 16  # moves of n in a sweep
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a kernel for given functions, without a cache on disk."""
    return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]


@compiled
def accepts(rng: Any, log_ratio: float) -> bool:
    """Decide whether a move with this log ratio is accepted; NaN, from inf and -inf, isn't."""
    return log_ratio >= 0.0 or rng.random() < math.exp(log_ratio)


@compiled
def change(proposed: float, current: float) -> float:
    """Log ratio of two laws; 0 where both are impossible, so that a chain may start there."""
    if proposed == -np.inf and current == -np.inf:
        return 0.0
    return proposed - current


@compiled
def below(rng: Any, end: int) -> int:
    """Draw a uniform integer from 0 to end - 1, faster than the generator's own."""
    return min(end - 1, int(rng.random() * end))


@compiled
def jump_size(rng: Any, most: int) -> int:
    """Draw a jump's size from 1 to most, every scale as likely as any other."""
    return min(most, int(math.exp(rng.random() * math.log(most + 1.0))))


@compiled
def all_finite(values: Any) -> bool:
    """Return True if no value is NaN or infinite."""
    whole = 0.0
    for value in values:
        whole += value - value  # 0, or NaN
    return whole == 0.0


@compiled
def run_additive(
    posterior: Any, record: Any, statistic: Any,
    law_function: Any, law: Any, sizes: Any, log_sizes: Any, shape: Any,
    theta: Any, warmup: int, draws: int, rng: Any,
) -> Any:  # fmt: skip
    """Run a chain over all records, given a law of the sum over them.

    Parameters
    ----------
    posterior, record, statistic : compiled functions
        As of `bayesdp.inference.records.model.RecordModel`.
    law_function, law
        As of `bayesdp.engines.augmentation_laws`.
    sizes, log_sizes : ndarray
        The possible n, increasing, and their log probabilities.
    shape : tuple of int
        Numbers in a record and in the statistic.
    theta : ndarray
        Where the chain starts; overwritten.
    warmup, draws : int
    rng : Generator

    Returns
    -------
    theta, shape (draws, numbers); n; acceptance rate; log law, each (draws,); a status
    """
    width, d = shape
    kept = np.empty((draws, theta.size))
    kept_n = np.empty(draws, dtype=np.int64)
    kept_rate, kept_law = np.empty(draws), np.empty(draws)
    records = np.empty((sizes[-1], width))
    parts = np.empty((sizes[-1], d))
    proposal, part = np.empty(width), np.empty(d)
    total, moved = np.zeros(d), np.empty(d)
    place = below(rng, sizes.size)
    n = sizes[place]
    for i in range(n):
        record(rng, theta, proposal)
        statistic(proposal, part)
        for j in range(width):
            records[i, j] = proposal[j]
        for c in range(d):
            parts[i, c] = part[c]
            total[c] += part[c]
    current = law_function(law, total)
    status = GOOD if all_finite(total) and not np.isnan(current) else BAD_STATISTIC
    for sweep in range(warmup + draws):
        if status != GOOD:
            break
        posterior(rng, records[:n], theta)
        if not all_finite(theta):
            status = BAD_PARAMETER
            break
        accepted = 0
        for i in range(n):
            record(rng, theta, proposal)
            statistic(proposal, part)
            same = True
            for c in range(d):
                same &= part[c] == parts[i, c]
                moved[c] = total[c] - parts[i, c] + part[c]
            if not same:
                proposed = law_function(law, moved)
                if np.isnan(proposed):
                    status = BAD_STATISTIC
                    break
                if not accepts(rng, change(proposed, current)):
                    continue
                current = proposed
                for c in range(d):
                    total[c] = moved[c]
                    parts[i, c] = part[c]
            accepted += 1
            for j in range(width):
                records[i, j] = proposal[j]
        # Afresh, so that rounding errors don't add up.
        for c in range(d):
            whole = 0.0
            for i in range(n):
                whole += parts[i, c]
            total[c] = whole
        current = law_function(law, total)
        for _ in range(_JUMPS if sizes.size > 1 and status == GOOD else 0):
            to = jump_size(rng, sizes.size - 1)
            to = place + to if rng.random() < 0.5 else place - to
            if to < 0 or to >= sizes.size:
                continue
            for c in range(d):
                moved[c] = total[c]
            for i in range(n, sizes[to]):
                record(rng, theta, proposal)
                statistic(proposal, part)
                for j in range(width):
                    records[i, j] = proposal[j]
                for c in range(d):
                    parts[i, c] = part[c]
                    moved[c] += part[c]
            for i in range(n - 1, sizes[to] - 1, -1):
                one = below(rng, i + 1)
                for j in range(width):
                    records[i, j], records[one, j] = records[one, j], records[i, j]
                for c in range(d):
                    parts[i, c], parts[one, c] = parts[one, c], parts[i, c]
                    moved[c] -= parts[i, c]
            proposed = law_function(law, moved)
            if np.isnan(proposed):
                status = BAD_STATISTIC
                break
            if accepts(rng, log_sizes[to] - log_sizes[place] + change(proposed, current)):
                place, n, current = to, sizes[to], proposed
                for c in range(d):
                    total[c] = moved[c]
        if sweep >= warmup:
            if current == -np.inf:
                status = IMPOSSIBLE
                break
            at = sweep - warmup
            kept_n[at], kept_law[at] = n, current
            kept_rate[at] = accepted / n if n else 1.0
            for j in range(theta.size):
                kept[at, j] = theta[j]
    return kept, kept_n, kept_rate, kept_law, status


@compiled
def _log_product(chances: Any) -> float:
    """Log of a product, from few logarithms."""
    log_whole, product = 0.0, 1.0
    for chance in chances:
        if product < 1e-150 or chance < 1e-150:
            log_whole += math.log(product) if product > 0.0 else -np.inf
            product = 1.0
        product *= chance
    return log_whole + (math.log(product) if product > 0.0 else -np.inf)


@compiled
def run_responses(
    posterior: Any,
    record: Any,
    statistic: Any,
    columns: Any,
    where: Any,
    width: int,
    theta: Any,
    warmup: int,
    draws: int,
    rng: Any,
) -> Any:
    """Run a chain given each record's own answers; return what `run_additive` does.

    Parameters
    ----------
    posterior, record, statistic : compiled functions
        As of `bayesdp.inference.records.model.RecordModel`.
    columns : ndarray, shape (patterns, k)
        Pr[pattern | category].
    where : ndarray of int, shape (n,)
        Each record's pattern of answers.
    width : int
        Numbers in a record.
    theta : ndarray
        Where the chain starts; overwritten.
    warmup, draws : int
    rng : Generator
    """
    n, k = where.size, columns.shape[1]
    flat, first = columns.ravel(), where * k
    kept = np.empty((draws, theta.size))
    kept_n = np.full(draws, n)
    kept_rate, kept_law = np.empty(draws), np.empty(draws)
    records = np.empty((n, width))
    chances = np.zeros(n)
    proposal, part = np.empty(width), np.empty(1)
    status = GOOD
    for sweep in range(-1, warmup + draws):
        if sweep >= 0:
            posterior(rng, records, theta)
            if not all_finite(theta):
                status = BAD_PARAMETER
                break
        accepted = 0
        for i in range(n):
            record(rng, theta, proposal)
            statistic(proposal, part)
            category = int(part[0]) if 0 <= part[0] < k else -1
            if category < 0 or category != part[0]:
                status = BAD_CATEGORY
                break
            chance, now = flat[first[i] + category], chances[i]
            if chance >= now or sweep < 0 or rng.random() * now < chance:
                accepted += 1
                chances[i] = chance
                for j in range(width):
                    records[i, j] = proposal[j]
        if status != GOOD:
            break
        if sweep >= warmup:
            at = sweep - warmup
            kept_rate[at] = accepted / n
            kept_law[at] = _log_product(chances)
            for j in range(theta.size):
                kept[at, j] = theta[j]
            if kept_law[at] == -np.inf:
                status = IMPOSSIBLE
                break
    return kept, kept_n, kept_rate, kept_law, status
