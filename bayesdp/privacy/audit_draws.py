"""Lower bounds on epsilon from draws: counted in blocks, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 21  # numbers drawn at once
_THRESHOLDS = 400  # from the body of each sample; its tail adds some
_COUNTED = 1 << 20  # outputs that fit in a table are counted, not sorted

Sample = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Log ratios in rising order, and how many draws are below each and after the last."""


def bounds_from_draws(
    mechanism: Any, pair: tuple[Any, Any], trials: int, delta: float, level: float
) -> tuple[float, float]:
    """Lower bounds on epsilon, each true with probability 1 - 2 level, in both orders of a pair.

    Events are {log ratio >= t} for the pair as it is, and {log ratio <= t} for the other order.
    Candidates for t come from the first block, the best of them is chosen on the first half of
    the draws, and the bound is that of the second half.
    """
    grid: NDArray[np.float64] | None = None
    tallies: dict[bool, Any] = {True: 0, False: 0}
    for tuning, samples in _blocks(mechanism, pair, trials):
        if grid is None:
            grid = np.unique(np.concatenate([_candidates(sample) for sample in samples]))
        tallies[tuning] = tallies[tuning] + np.array([_tails(s, grid) for s in samples])
    if grid is None or grid.size == 0:  # every draw was impossible under both laws
        return -np.inf, -np.inf
    half = trials // 2
    bounds = []
    for side in (0, 1):  # hits are of the first member above t, or of the second below
        tuned, tested = tallies[True][:, side], tallies[False][:, side]
        best = np.argmax(log_ratio_bound(tuned[side], tuned[1 - side], half, delta, level))
        hits, misses = tested[side, best], tested[1 - side, best]
        bounds.append(float(log_ratio_bound(hits, misses, trials - half, delta, level)))
    return bounds[0], bounds[1]


def log_ratio_bound(
    hits: Any, misses: Any, n: int, delta: float, level: float
) -> NDArray[np.float64]:
    """Lower bound on log((p - delta) / q), from p bounded below and q above, each at `level`."""
    from scipy import special

    hits, misses = np.asarray(hits, dtype=np.float64), np.asarray(misses, dtype=np.float64)
    lower = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), n - hits + 1, level), 0.0)
    safe = np.minimum(misses, n - 1)
    upper = np.where(misses < n, special.betainccinv(safe + 1, n - safe, level), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(lower - delta, 0.0)) - np.log(upper))


def largest_bound(trials: int, delta: float, level: float) -> float:
    """Bound from an event that is seen in every draw of one neighbour and in none of the other."""
    tested = trials - trials // 2
    return float(log_ratio_bound(tested, 0, tested, delta, level))


def smallest_fault(
    trials: int, delta: float, level: float, epsilon: float, power: float
) -> float | None:
    """The least probability q of an event that convicts, with probability `power`.

    The other neighbour never gives the event, which is chosen beforehand or by the first half of
    the draws: h of n tested draws convict if their bound exceeds `epsilon`, and the probability
    Pr[Binomial(n, q) >= h] is the
    regularised incomplete beta function I_q(h, n - h + 1). None if not even h = n convicts.
    """
    from scipy import special

    n = trials - trials // 2
    if largest_bound(trials, delta, level) <= epsilon:
        return None
    low, high = 0, n  # too few, and enough
    while high - low > 1:
        middle = (low + high) // 2
        enough = log_ratio_bound(middle, 0, n, delta, level) > epsilon
        low, high = (low, middle) if enough else (middle, high)
    return float(special.betaincinv(high, n - high + 1, power))


def log_ratios(mechanism: Any, draws: NDArray[Any], pair: tuple[Any, Any]) -> NDArray[np.float64]:
    """Log Pr[z | one] - log Pr[z | other] of each output; NaN where both are impossible."""
    with np.errstate(invalid="ignore"):
        return np.asarray(mechanism.logp(draws, pair[0]) - mechanism.logp(draws, pair[1]))


def _blocks(
    mechanism: Any, pair: tuple[Any, Any], trials: int
) -> Iterator[tuple[bool, list[Sample]]]:
    """Yield samples from both neighbours in blocks, flagged True in the first half of the draws."""
    half = trials // 2
    size = max(1, _BLOCK // max(1, np.size(pair[0])))
    for start in range(0, trials, size):
        draws = [mechanism.release(one, min(size, trials - start)) for one in pair]
        cut = min(max(half - start, 0), len(draws[0]))
        for tuning, part in ((True, slice(None, cut)), (False, slice(cut, None))):
            if len(draws[0][part]):
                yield tuning, [_sample(mechanism, z[part], pair) for z in draws]


def _sample(mechanism: Any, draws: NDArray[Any], pair: tuple[Any, Any]) -> Sample:
    """The log ratios of draws, computed once for each distinct output where it can be counted."""
    outputs, times = distinct(draws)
    ratios = log_ratios(mechanism, outputs, pair)
    times = np.broadcast_to(times, ratios.shape)
    possible = ~np.isnan(ratios)
    ratios, times = ratios[possible], times[possible]
    order = np.argsort(ratios)
    return ratios[order], np.concatenate([[0], np.cumsum(times[order])])


def distinct(draws: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Count how often each output was drawn; the draws themselves, once each, if not countable."""
    once = np.ones(1, dtype=np.int64)
    if draws.dtype.kind not in "iu" or draws.dtype == np.uint64 or draws.size == 0:
        return draws, once
    flat = draws.reshape(len(draws), -1)
    low, high = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
    spans = [b - a + 1 for a, b in zip(low, high, strict=True)]
    cells = 1
    for span in spans:
        cells *= span
        if cells > _COUNTED:
            return np.unique(draws, return_counts=True) if draws.ndim == 1 else (draws, once)
    places = np.zeros(len(flat), dtype=np.int64)
    for column, (a, span) in enumerate(zip(low, spans, strict=True)):
        places *= span
        places += flat[:, column]
        places -= a
    times = np.bincount(places, minlength=cells)
    seen = np.flatnonzero(times)
    outputs = np.stack(np.unravel_index(seen, spans), axis=1) + np.array(low)
    return outputs.reshape(len(seen), *draws.shape[1:]), times[seen]


def _candidates(sample: Sample) -> NDArray[np.float64]:
    """Thresholds among the log ratios that occur: evenly spaced, and 1, 2, 4, ... from the ends."""
    ratios, below = sample
    total = int(below[-1])
    if total == 0:
        return ratios
    tail = 2 ** np.arange(total.bit_length()) - 1
    ranks = np.concatenate([np.linspace(0, total - 1, _THRESHOLDS).astype(np.int64),
                            tail, total - 1 - tail])  # fmt: skip
    return ratios[np.searchsorted(below, ranks, side="right") - 1]


def _tails(sample: Sample, grid: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Numbers of draws whose log ratio is at least, and at most, each value of the grid."""
    ratios, below = sample
    at_least = below[-1] - below[np.searchsorted(ratios, grid)]
    return [at_least, below[np.searchsorted(ratios, grid, side="right")]]
