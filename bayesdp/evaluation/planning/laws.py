"""Laws of released counts as tables: a row an output, a column a confidential count."""

from __future__ import annotations

import itertools
import math
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism
from bayesdp.mechanisms.counts.count import Count
from bayesdp.mechanisms.counts.randomized_response import RandomizedResponseMechanism
from bayesdp.mechanisms.noise.additive import AdditiveNoise

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-13
_MOST_CELLS = 40_000_000  # of a table, to bound memory


@singledispatch
def law_of_count(mechanism: Any, n: int) -> Floats | None:
    """Log Pr[z | x], shape (outputs, n + 1), or None where outputs can't be listed.

    Of randomized response z is the number of answers 1, which says all that the answers say of p.
    """
    return None


@law_of_count.register
def _(mechanism: BetaBinomialMechanism, n: int) -> Floats | None:
    outputs = np.arange(mechanism.size + 1)[:, None]
    return mechanism.logp(outputs, Count(np.arange(n + 1), n))


@law_of_count.register
def _(mechanism: AdditiveNoise, n: int) -> Floats | None:
    if not mechanism.whole or mechanism.dimension is not None or mechanism.bounds is not None:
        return None
    reach = 1
    while float(mechanism.noise.log_pmf(reach)) > math.log(_NEGLIGIBLE) - 10:
        reach *= 2
        if (2 * reach + n + 1) * (n + 1) > _MOST_CELLS:
            return None
    outputs = np.arange(-reach, n + reach + 1)[:, None]
    return mechanism.logp(outputs, np.arange(n + 1))


@law_of_count.register
def _(mechanism: RandomizedResponseMechanism, n: int) -> Floats | None:
    if mechanism.k != 2:
        return None
    (_, zero), (_, one) = mechanism.matrix
    trials = np.arange(n + 1)
    truly = np.asarray(stats.binom.pmf(trials[:, None], trials, one))
    falsely = np.asarray(stats.binom.pmf(trials[:, None], trials, zero))
    law = np.empty((n + 1, n + 1))
    for x in range(n + 1):
        law[:, x] = np.convolve(truly[: x + 1, x], falsely[: n - x + 1, n - x])
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(law, 0.0))


def several(law: Floats, copies: int) -> Floats:
    """Tabulate the law of the multiset of several copies' outputs."""
    sets = np.array(list(itertools.combinations_with_replacement(range(law.shape[0]), copies)))
    ways = special.gammaln(copies + 1) * np.ones(len(sets))
    for value in range(law.shape[0]):
        ways -= special.gammaln((sets == value).sum(axis=1) + 1)
    return np.asarray(law[sets].sum(axis=1) + ways[:, None])


def total_variation(law: Floats) -> float:
    """Largest total variation distance of the outputs' laws given neighbouring counts.

    Replacing one of n records moves the count by one or not at all, so these are all neighbours
    there are. Outputs that aren't in the table may differ wholly.
    """
    chances = np.exp(law)
    missing = np.maximum(0.0, 1 - chances.sum(axis=0))
    apart = 0.5 * np.abs(np.diff(chances, axis=1)).sum(axis=0)
    return float(np.max(apart + np.maximum(missing[1:], missing[:-1])))
