"""Do a mechanism's draws follow the law that it states?

An audit chooses its events by the law, so that where the draws follow another it may be blind: to
a law that is the same under all neighbours, no event tells two of them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.errors import InvalidInput
from bayesdp.privacy.audit_draws import distinct, log_ratio_bound, log_ratios, rounding

_DRAWN = 100_000  # draws, at least: fewer are blind to a fifth more or less of Gaussian noise
_CHECKED = 1000  # draws whose own law is evaluated, where they can't be counted
_MOST = 1 << 22  # numbers drawn from one statistic
_AGAIN = 100  # draws that are made anew
_RANGES = 16  # of log ratios, between numbers that occur


class Departure(NamedTuple):
    """Parts of draws from a statistic that its law doesn't explain.

    Attributes
    ----------
    impossible : int
        Number of draws to which it gives probability 0.
    outputs : int
        Number of outputs that come more often, or less often, than chance allows; 0 where outputs
        can't be counted, as numbers with a density: of those, see `pair_departure`.
    """

    impossible: int
    outputs: int


def draws_of(mechanism: Any, pair: tuple[Any, Any], trials: int) -> list[NDArray[Any]]:
    """Draw from both members of a pair: a tenth of the trials, or as many as show a wrong scale."""
    count = min(trials, max(trials // 10, _DRAWN))
    count = min(count, max(_CHECKED, _MOST // max(1, np.size(pair[0]))))
    return [np.asarray(mechanism.release(one, count)) for one in pair]


def departure(mechanism: Any, statistic: Any, draws: NDArray[Any], level: float) -> Departure:
    """Compare draws from a statistic with its law.

    An output of probability p is k times among n draws with k ~ Binomial(n, p). It departs where
    Pr[k or more], or Pr[k or fewer], is at most `level` p. All probabilities sum to 1, so that a
    sampler which follows the law is found to depart with probability 2 `level` at most.

    Raises
    ------
    InvalidInput
        If the law gives an output no number.
    """
    outputs, times, counted = _counted(draws)
    if not counted:
        outputs, times = outputs[:_CHECKED], times[:_CHECKED]
    logs = _law(mechanism, outputs, statistic)
    impossible = int(np.sum(times * np.isneginf(logs)))
    if not counted:
        return Departure(impossible, 0)
    p = np.exp(np.minimum(logs, 0.0))
    tail = np.minimum(special.bdtrc(times - 1, len(draws), p), special.bdtr(times, len(draws), p))
    return Departure(impossible, int(np.sum(tail <= level * p)))


def repeats(mechanism: Any, statistic: Any, level: float) -> bool:
    """Return True if draws made anew are the earlier ones, as by a seed that is used again.

    Of independent draws all orders are as likely: n of them, of which k_i are alike, come in the
    order of n others with probability prod k_i! / n! at most, which must be below `level`.
    """
    first, again = (np.asarray(mechanism.release(statistic, _AGAIN)) for _ in range(2))
    if first.dtype.hasobject or not np.array_equal(first, again):
        return False
    _, times = np.unique(first.reshape(len(first), -1), axis=0, return_counts=True)
    return bool(special.gammaln(times + 1).sum() - special.gammaln(len(first) + 1) < np.log(level))


def pair_departure(
    mechanism: Any, pair: tuple[Any, Any], draws: Sequence[NDArray[Any]], level: float
) -> int:
    """Count ranges of the log ratio in which draws from two statistics have another, by intervals.

    For outputs that can't be counted, as numbers with a density: of those with
    a <= log Pr[z | one] - log Pr[z | other] <= b, the first statistic gives exp(a) to exp(b) times
    as many as the second. Ranges are chosen on one half of the draws, and both shares in each are
    bounded by the other, at a level that all ranges share: a sampler that follows its law is found
    to depart with probability 2 `level` at most. 0 where outputs can be counted.
    """
    if all(_counted(z)[2] for z in draws):
        return 0
    ratios = [log_ratios(mechanism, z, pair) for z in draws]
    count = len(draws[0])
    half = count // 2
    seen = np.concatenate([r[:half][np.isfinite(r[:half])] for r in ratios])
    if not seen.size:
        return 0
    edges = np.unique(np.quantile(seen, np.linspace(0, 1, _RANGES + 1), method="nearest"))
    edges = edges[np.diff(edges, prepend=-np.inf) > 4 * rounding(edges)]
    off = rounding(edges)
    low = np.stack([edges, edges], axis=1).ravel()  # an edge itself, and what is beyond it
    low, high = np.concatenate([[-np.inf], low]), np.concatenate([low, [np.inf]])
    tested = [r[half:][~np.isnan(r[half:])] for r in ratios]
    places = [  # twice the number of edges below, and one more at an edge
        np.searchsorted(edges + off, r) + np.searchsorted(edges - off, r, side="right")
        for r in tested
    ]
    one, other = (np.bincount(place, minlength=low.size) for place in places)
    n, each = count - half, level / low.size
    lower = log_ratio_bound(one, other, n, 0.0, each / 2)
    upper = -log_ratio_bound(other, one, n, 0.0, each / 2)
    return int(np.sum((lower > high) | (upper < low)))


def _counted(draws: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64], bool]:
    """Distinct outputs, how often each was drawn, and whether they could be counted."""
    outputs, times = distinct(draws)
    return outputs, times, draws.dtype.kind in "iu" and len(outputs) == len(times)


def _law(mechanism: Any, outputs: NDArray[Any], statistic: Any) -> NDArray[np.float64]:
    """Log-probabilities of outputs, or InvalidInput where one is no number."""
    logs = np.asarray(mechanism.logp(outputs, statistic), dtype=np.float64)
    if np.isnan(logs).any():
        raise InvalidInput(
            f"the mechanism's logp is NaN for {np.isnan(logs).sum()} of {logs.size} outputs that "
            "it drew, so that no event can be chosen by it; its law must be a number, or -inf "
            "where an output is impossible"
        )
    return logs
