"""Lower bounds on epsilon from draws: counted in blocks, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 21  # numbers drawn at once
_THRESHOLDS = 400  # from the body of each sample; its tail adds some
_ROUNDED = 1e-10  # share of a score that rounding may change
_COUNTED = 1 << 20  # outputs that fit in a table are counted, not sorted

Sample = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Scores in rising order, and how many draws are below each and after the last."""
Score = Callable[[NDArray[Any]], NDArray[np.float64]]
"""A number of each output, by which events are chosen; NaN where it has none."""


def bounds_from_draws(
    mechanism: Any, pair: tuple[Any, Any], trials: int, delta: float, level: float
) -> tuple[float, float]:
    """Lower bounds on epsilon, each true with probability 1 - 2 level, in both orders of a pair.

    Events are {log ratio >= t} for the pair as it is, and {log ratio <= t} for the other order.
    For both they are also {number >= t} and {number <= t}, of the number of an output that differs
    most between the two and of its last bit, which owe nothing to the law. Candidates for t come
    from the first block, the best of all is chosen on the first half of the draws, and the bound
    is that of the second half.
    """
    scores: list[Score] = []
    grids: list[NDArray[np.float64]] = []
    tallies: dict[bool, Any] = {True: [], False: []}
    for tuning, draws in _blocks(mechanism, pair, trials):
        if not scores:
            scores = [lambda z: log_ratios(mechanism, z, pair), *_numbers(draws)]
        counted = [distinct(z) for z in draws]
        samples = [[_sample(score, *each) for each in counted] for score in scores]
        if not grids:
            grids = [np.unique(np.concatenate([_candidates(s) for s in both])) for both in samples]
            tallies = {
                half: [np.zeros((2, 2, g.size), np.int64) for g in grids] for half in tallies
            }
        for k, (both, grid) in enumerate(zip(samples, grids, strict=True)):
            tallies[tuning][k] += np.array([_tails(sample, grid) for sample in both])
    half = trials // 2
    bounds = []
    for side in (0, 1):  # hits are of the first member, or of the second
        events = [(0, side), *((k, tail) for k in range(1, len(scores)) for tail in (0, 1))]
        tuned, tested = (
            np.concatenate([tallies[part][k][:, tail] for k, tail in events], axis=1)
            for part in (True, False)
        )
        if not tuned.size:  # every draw was impossible under both laws, and is no number
            return -np.inf, -np.inf
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
) -> Iterator[tuple[bool, list[NDArray[Any]]]]:
    """Yield draws from both neighbours in blocks, flagged True in the first half of the draws."""
    half = trials // 2
    size = max(1, _BLOCK // max(1, np.size(pair[0])))
    for start in range(0, trials, size):
        draws = [np.asarray(mechanism.release(one, min(size, trials - start))) for one in pair]
        cut = min(max(half - start, 0), len(draws[0]))
        for tuning, part in ((True, slice(None, cut)), (False, slice(cut, None))):
            if len(draws[0][part]):
                yield tuning, [z[part] for z in draws]


def _numbers(draws: list[NDArray[Any]]) -> list[Score]:
    """The number of an output whose mean differs most between neighbours; none of other outputs.

    Of a float its last bit, too: 0 + noise and 1 + noise land on different ones (Mironov 2012).
    """
    if any(z.dtype.kind not in "biuf" for z in draws):
        return []
    flat = [z.reshape(len(z), -1).astype(np.float64) for z in draws]
    if any(z.shape[1] != flat[0].shape[1] or not z.size for z in flat):
        return []
    with np.errstate(all="ignore"):  # of numbers that aren't finite, or don't vary
        apart = np.abs(flat[0].mean(axis=0) - flat[1].mean(axis=0))
        apart = np.where(apart > 0, apart / (flat[0].std(axis=0) + flat[1].std(axis=0)), apart)
    k = int(np.argmax(np.nan_to_num(apart, nan=0.0)))

    def number(z: NDArray[Any]) -> NDArray[np.float64]:
        return z.reshape(len(z), -1)[:, k].astype(np.float64)

    if any(z.dtype.kind == "f" for z in draws):
        return [number, lambda z: _last_bit(number(z))]
    return [number]


def _last_bit(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest power of two, as its exponent, that each number is a multiple of; NaN for 0."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    with np.errstate(divide="ignore"):
        place = np.log2((whole & -whole).astype(np.float64)) + exponent
    return np.where(whole > 0, place, np.nan)


def _sample(score: Score, outputs: NDArray[Any], times: NDArray[np.int64]) -> Sample:
    """The scores of draws, computed once for each distinct output where it can be counted."""
    values = score(outputs)
    times = np.broadcast_to(times, values.shape)
    known = ~np.isnan(values)
    values, times = values[known], times[known]
    order = np.argsort(values)
    return values[order], np.concatenate([[0], np.cumsum(times[order])])


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
    """Thresholds among the scores that occur: evenly spaced, and 1, 2, 4, ... from the ends."""
    scores, below = sample
    total = int(below[-1])
    if total == 0:
        return scores
    tail = 2 ** np.arange(total.bit_length()) - 1
    ranks = np.concatenate([np.linspace(0, total - 1, _THRESHOLDS).astype(np.int64),
                            tail, total - 1 - tail])  # fmt: skip
    return scores[np.searchsorted(below, ranks, side="right") - 1]


def _tails(sample: Sample, grid: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Numbers of draws whose score is at least, and at most, each value of the grid.

    What differs from such a value by rounding alone counts as the value: the last digits of a law
    may depend on what else it is computed for, and so on whose draw an output is.
    """
    scores, below = sample
    at_least = below[-1] - below[np.searchsorted(scores, grid - rounding(grid))]
    return [at_least, below[np.searchsorted(scores, grid + rounding(grid), side="right")]]


def rounding(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound, generously, what rounding may change of a score; 0 where it is infinite."""
    return np.where(np.isfinite(scores), _ROUNDED * (1 + np.abs(scores)), 0.0)
