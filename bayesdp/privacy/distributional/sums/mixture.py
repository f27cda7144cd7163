r"""A divergence averaged over a binomial number of records that hide: an upper sum.

Where each of N records hides with probability v, independently, and k hiding records leave a
divergence delta_k, joint convexity of the divergence bounds that of the mixture by

    sum_k Pr[Binomial(N, v) = k] delta_k(epsilon).

delta_k decreases in k, as one more independent record is processing after the fact. With cuts
m_0 < m_1 < ... < m_l the sum is at most

    Pr[M < m_0] + sum_i Pr[m_i <= M < m_{i+1}] delta_{m_i}(epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

BINOMIAL_ERROR = 1e-9
"""Of scipy's binomial distribution, relative, in the tails used here; the tests find far less."""


def mixture_delta(
    divergence: Callable[[int], float], records: int, share: float, blocks: int
) -> float:
    """The module's upper sum of a divergence over a binomial number of records that hide.

    Parameters
    ----------
    divergence : callable
        delta_k of k, decreasing.
    records : int
        N.
    share : float
        v, in (0, 1].
    blocks : int
        Number of cuts; more make the sum tighter and slower.
    """
    if share >= 1:
        return divergence(records)
    cuts = cuts_of(records, share, blocks)
    deltas = [1.0, *(divergence(m) for m in cuts)]
    # Abel's summation, so that no differences of probabilities are taken.
    total = deltas[-1]
    for m, before, after in zip(cuts, deltas[:-1], deltas[1:], strict=True):
        total += below(m, records, share) * max(0.0, before - after)
    return min(1.0, total)


def cuts_of(records: int, share: float, blocks: int) -> list[int]:
    """Whole numbers from 9 standard deviations below the mean of a binomial to 2 above."""
    mean, sd = records * share, math.sqrt(records * share * (1 - share))
    places = np.unique(np.ceil(mean + sd * np.linspace(-9, 2, blocks)).astype(int))
    return [int(m) for m in places if 0 <= m <= records] or [0]


def below(m: int, records: int, share: float) -> float:
    """Probability that Binomial(records, share) < m, rounded up."""
    return min(1.0, float(stats.binom.cdf(m - 1, records, share)) * (1 + BINOMIAL_ERROR))


def largest_cut(records: int, share: float, probability: float) -> int:
    """The largest m with Pr[Binomial(records, share) < m] <= probability, about."""
    if share >= 1:
        return records
    m = int(stats.binom.ppf(probability, records, share))
    while m > 0 and below(m, records, share) > probability:
        m -= 1
    return m
