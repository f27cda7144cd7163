"""Exact draws of the dyads that randomized answers release as ties."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.bernoulli import bernoulli_float
from bayesdp.mechanisms.draws.successes import successes
from bayesdp.networks.dyads import gaps_numbered

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_TOGETHER = 1 << 22  # answers drawn at once, to bound memory


def released_ties(
    ties: Integers, dyads: int, tie: Floats, gap: Floats, copies: int
) -> Iterator[Integers]:
    """Draw the numbers of the dyads released as ties, in ascending order, copy by copy.

    Parameters
    ----------
    ties : ndarray of int64
        Numbers of the dyads that are tied, in ascending order.
    dyads : int
        Number of dyads, below 2^61.
    tie, gap : ndarray of float, shape (dyads,) or (1,)
        Probability that a tie, and that a dyad without one, is released as a tie.
    copies : int
    """
    alike = tie.size == 1
    most = ties.size + dyads * float(gap[0]) if alike else dyads
    block = max(1, int(min(_TOGETHER / (1 + most), (1 << 60) / dyads)))
    for first in range(0, copies, block):
        some = min(block, copies - first)
        if alike:
            numbers = _of_answers_alike(ties, dyads, tie[0], gap[0], some)
        else:
            numbers = _of_each_answer(ties, tie, gap, some)
        ends = np.searchsorted(numbers, dyads * np.arange(some + 1)).tolist()
        for k, (start, end) in enumerate(itertools.pairwise(ends)):
            yield numbers[start:end] - k * dyads


def _of_answers_alike(ties: Integers, dyads: int, tie: float, gap: float, copies: int) -> Integers:
    """Draw where all dyads' answers have the same law, in time proportional to ties and flips.

    Copy k's dyad d has number k dyads + d.
    """
    every = (dyads * np.arange(copies)[:, None] + ties).ravel()
    kept = every[bernoulli_float(np.full(every.size, tie))]
    gaps = dyads - ties.size
    copy, place = np.divmod(successes(copies * gaps, gap), max(gaps, 1))
    made = dyads * copy + gaps_numbered(place, ties)
    return np.sort(np.concatenate([kept, made]))


def _of_each_answer(ties: Integers, tie: Floats, gap: Floats, copies: int) -> Integers:
    """Draw where dyads' answers have laws of their own: every dyad is answered."""
    p = gap.copy()
    p[ties] = tie[ties]
    return np.flatnonzero(bernoulli_float(np.tile(p, copies)))
