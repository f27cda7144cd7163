r"""Gibbs and Metropolis draws of confidential counts by area, from separate laws and constraints.

The counts x_i have laws w_i(x), from their prior and all that was released about each alone. Two
things may make them dependent: a known sum n, and copies with a fixed total T, whose law is that of
independent z_i ~ NB(a_i + x_i, p_i) given their sum, so that each divides by

    N(x) = Pr[sum of NB(a_i + x_i, p_i) = T].

Without either they are drawn independently. Otherwise a chain takes each area in turn: with a known
sum, it and another are drawn together given their sum, without one it alone, from the w; N enters
by the Metropolis-Hastings rule. Where the sum isn't known, a fixed total is uninformative about it,
and it varies widely: so k events at once are added, to areas in proportion to their counts, or
removed at random. `bayesdp.kernels.fixed_total` computes N.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import guarded
from bayesdp.kernels.fixed_total import expansion, log_norm, tilted, turn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Fixed = tuple[Floats, Floats, Floats, Floats]
"""Of releases with a fixed total: a and p, shape (releases, areas), T and the number of copies."""

_SMALL = 45.0  # below the log of the largest weight: what is never drawn
_AT_ONCE = 50  # moves of many events, after each sweep at most


@guarded
def _drawn(room: Floats, size: int, rng: Any) -> int:
    """Draw an index, from logs of weights, which are overwritten."""
    top, whole = -math.inf, 0.0
    for k in range(size):
        top = max(top, room[k])
    for k in range(size):
        room[k] = math.exp(room[k] - top) if room[k] > top - _SMALL else 0.0
        whole += room[k]
    rest = rng.random() * whole
    for k in range(size):
        rest -= room[k]
        if rest < 0:
            return k
    return size - 1


@guarded
def independent(laws: Floats, starts: Integers, firsts: Integers, draws: int, rng: Any) -> Integers:
    """Draw counts, each from its own law, shape (draws, areas)."""
    areas = firsts.size
    counts = np.empty((draws, areas), dtype=np.int64)
    cumulative = np.empty(laws.size)
    for i in range(areas):
        top, whole = -math.inf, 0.0
        for k in range(starts[i], starts[i + 1]):
            top = max(top, laws[k])
        for k in range(starts[i], starts[i + 1]):
            whole += math.exp(laws[k] - top)
            cumulative[k] = whole
        for t in range(draws):
            at = np.searchsorted(cumulative[starts[i] : starts[i + 1]], rng.random() * whole)
            counts[t, i] = firsts[i] + min(at, starts[i + 1] - starts[i] - 1)
    return counts


@guarded
def _partner(i: int, starts: Integers, tied: bool, rng: Any) -> int:
    """Choose an area to share events with, more likely one with a wider law; or the same area."""
    j = i
    while tied and j == i:
        j = int(np.searchsorted(starts, int(rng.integers(0, starts[-1])), side="right")) - 1
    return j


@guarded
def _proposed(
    x: Integers,
    steps: Integers,
    share: Floats,
    laws: Floats,
    starts: Integers,
    firsts: Integers,
    largest: float,
    rng: Any,
) -> float:
    """Write changes by k events into `steps`; return the log acceptance ratio without N."""
    k = int(largest ** rng.random())
    more, events, whole = rng.random() < 0.5, x.sum(), share.sum()
    if not more and k > events:
        return -math.inf
    for _ in range(k):
        rest = rng.random() * (whole if more else events)
        for i in range(x.size):
            rest -= share[i] if more else x[i] + steps[i]
            if rest < 0 or i == x.size - 1:
                steps[i] += 1 if more else -1
                break
        events -= 0 if more else 1
    # Adding is multinomial, taking away hypergeometric: the ratio of their probabilities.
    before = x.sum()
    most = before + k if more else before
    log_ratio = math.lgamma(most - k + 1.0) - math.lgamma(most + 1.0)
    for i in range(x.size):
        if steps[i] == 0:
            continue
        at = starts[i] + x[i] - firsts[i]
        if not starts[i] <= at + steps[i] < starts[i + 1]:
            return -math.inf
        larger = max(x[i], x[i] + steps[i])
        moved = abs(steps[i])
        log_ratio += math.lgamma(larger + 1.0) - math.lgamma(larger - moved + 1.0)
        log_ratio -= moved * math.log(share[i] / whole)
    if not more:
        log_ratio = -log_ratio
    for i in range(x.size):
        at = starts[i] + x[i] - firsts[i]
        log_ratio += laws[at + steps[i]] - laws[at]
    return log_ratio


@guarded
def _kept(
    x: Integers,
    steps: Integers,
    i: int,
    j: int,
    log_ratio: float,
    expansions: Any,
    norms: Floats,
    copies: Floats,
    rng: Any,
) -> int:
    """Change x by `steps`, in areas i and j or, where i < 0, in all; return 1 if accepted."""
    many = norms.size
    if log_ratio == -math.inf:
        return 0
    gain, moved = log_ratio, np.empty(many)
    for r in range(many):
        turn(expansions[r][0], expansions[r][1], steps, i, j, 1)
        moved[r] = log_norm(expansions[r][0])
        gain += copies[r] * (norms[r] - moved[r])
    if gain >= 0 or math.log(rng.random()) < gain:
        if i < 0:
            for k in range(x.size):
                x[k] += steps[k]
        else:
            x[i] += steps[i]
            if j != i:
                x[j] += steps[j]
        norms[:] = moved
        return 1
    for r in range(many):
        turn(expansions[r][0], expansions[r][1], steps, i, j, -1)
    return 0


@guarded
def chain(
    x: Integers,
    laws: Floats,
    starts: Integers,
    firsts: Integers,
    tied: bool,
    fixed: Fixed,
    warmup: int,
    draws: int,
    rng: Any,
) -> tuple[Integers, Floats, Floats]:
    """Draw counts from their joint law, after `warmup` sweeps; x is the start, and is changed.

    Parameters
    ----------
    x : ndarray of int, shape (areas,)
        Possible counts, with the known sum if `tied`.
    laws : ndarray
        log w, of all areas one after another, from `firsts`; `starts` says where each begins.
    tied : bool
        Whether the sum of the counts is known.
    fixed : tuple
        See `Fixed`.

    Returns
    -------
    counts : ndarray of int, shape (draws, areas)
    log_law : ndarray, shape (draws,)
        Of the counts, up to a constant.
    accepted : ndarray, shape (draws,)
        The share of a sweep's draws that Metropolis and Hastings' rule kept.
    """
    priors, chances, totals, copies = fixed
    areas, many = x.size, totals.size
    kept = np.empty((draws, areas), dtype=np.int64)
    lp, accepted = np.empty(draws), np.empty(draws)
    longest = 0
    for i in range(areas):
        longest = max(longest, starts[i + 1] - starts[i])
    room = np.empty(longest)
    rhos, norms = np.zeros(many), np.zeros(many)
    steps, share = np.zeros(areas, dtype=np.int64), np.empty(areas)
    for i in range(areas):
        share[i] = x[i] + 0.5 if starts[i + 1] - starts[i] > 1 else 0.0
    largest = 2 * math.sqrt(x.sum() + 1.0)
    for t in range(warmup + draws):
        expansions = []
        for r in range(many):
            weights = priors[r] + x
            rhos[r] = tilted(weights, chances[r], totals[r], rhos[r])
            expansions.append(expansion(weights, chances[r], totals[r], rhos[r]))
            norms[r] = log_norm(expansions[r][0])
        count = 0
        for i in range(areas):
            j = _partner(i, starts, tied, rng)
            both = x[i] + x[j]
            low, high = firsts[i], firsts[i] + starts[i + 1] - starts[i] - 1
            if tied:
                low = max(low, both - firsts[j] - starts[j + 1] + starts[j] + 1)
                high = min(high, both - firsts[j])
            for k in range(high - low + 1):
                room[k] = laws[starts[i] + low + k - firsts[i]]
                if tied:
                    room[k] += laws[starts[j] + both - low - k - firsts[j]]
            steps[i] = low + _drawn(room, high - low + 1, rng) - x[i]
            if tied:
                steps[j] = -steps[i]
            count += _kept(x, steps, i, j, 0.0, expansions, norms, copies, rng)
            steps[i] = steps[j] = 0
        if many > 0 and not tied:
            for _ in range(min(areas, _AT_ONCE)):
                log_ratio = _proposed(x, steps, share, laws, starts, firsts, largest, rng)
                _kept(x, steps, -1, -1, log_ratio, expansions, norms, copies, rng)
                for i in range(areas):
                    steps[i] = 0
            if t < warmup:
                for i in range(areas):
                    share[i] += (x[i] - share[i]) / (t + 2)
        if t >= warmup:
            value = 0.0
            for i in range(areas):
                kept[t - warmup, i] = x[i]
                value += laws[starts[i] + x[i] - firsts[i]]
            for r in range(many):
                value -= copies[r] * norms[r]
            lp[t - warmup], accepted[t - warmup] = value, count / areas
    return kept, lp, accepted
