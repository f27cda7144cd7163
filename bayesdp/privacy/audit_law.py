"""Do a mechanism's draws follow the law that it states?

An audit chooses its events by the law, so that where the draws follow another it may be blind: to
a law that is the same under all neighbours, no event tells two of them apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.errors import InvalidInput
from bayesdp.privacy.audit_draws import distinct

_CHECKED = 1000  # draws, at least, or where outputs can't be counted


class Departure(NamedTuple):
    """Parts of draws from a statistic that its law doesn't explain.

    Attributes
    ----------
    impossible : int
        Number of draws to which it gives probability 0.
    outputs : int
        Number of outputs that come more often, or less often, than chance allows; 0 where outputs
        can't be counted, as numbers with a density.
    """

    impossible: int
    outputs: int


def departure(mechanism: Any, statistic: Any, trials: int, level: float) -> Departure:
    """Compare draws from a statistic with its law.

    An output of probability p is k times among n draws with k ~ Binomial(n, p). It departs where
    Pr[k or more], or Pr[k or fewer], is at most `level` p. All probabilities sum to 1, so that a
    sampler which follows the law is found to depart with probability 2 `level` at most.

    Raises
    ------
    InvalidInput
        If the law gives an output no number.
    """
    count = min(trials, max(trials // 10, _CHECKED))
    draws = np.asarray(mechanism.release(statistic, count))
    outputs, times = distinct(draws)
    counted = draws.dtype.kind in "iu" and len(outputs) == len(times)
    logs = _law(mechanism, outputs if counted else outputs[:_CHECKED], statistic)
    impossible = int(np.sum(times * np.isneginf(logs)))
    if not counted:
        return Departure(impossible, 0)
    p = np.exp(np.minimum(logs, 0.0))
    tail = np.minimum(special.bdtrc(times - 1, len(draws), p), special.bdtr(times, len(draws), p))
    return Departure(impossible, int(np.sum(tail <= level * p)))


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
