"""Intervals without privacy: no epsilon can be expected to give shorter ones."""

from __future__ import annotations

import math

import numpy as np

from bayesdp.evaluation.planning.counts import width_at
from bayesdp.evaluation.planning.designs import Design
from bayesdp.evaluation.planning.engines import REPLICATES, generator_of
from bayesdp.evaluation.planning.lengths import Lengths
from bayesdp.evaluation.planning.outlook import assured_length
from bayesdp.evaluation.planning.question import Question

_MOST_N = 10**10


def without_privacy(question: Question, design: Design) -> Lengths | None:
    """Compute lengths of intervals from the data themselves, or None where that isn't known."""
    about = question.proportion()
    if about is not None:
        return _listed(*width_at(about.n, about))
    simulator = question.simulator(design)
    if simulator.reference is None:
        return None
    replicates = question.replicates or REPLICATES
    ends = []
    for r in range(replicates):
        _, data = simulator.simulate(generator_of(question.seed, r))
        ends.append(simulator.reference(data))
    low, high = np.array(ends, dtype=np.float64).T
    chances = np.full(replicates, 1 / replicates)
    return Lengths(chances, high - low, np.zeros(replicates), 0.0, exact=False)


def criterion_of(lengths: Lengths, assurance: float | None) -> float:
    """Return the mean length, or the length that the assured share doesn't exceed."""
    if assurance is None:
        return float(lengths.chances @ lengths.lengths)
    return assured_length(lengths, assurance)[0]


def needed_n(question: Question, length: float, target: float) -> int | None:
    """Estimate how many records would suffice without privacy; None if unknown or over 10^10.

    For a proportion by bisection; otherwise from lengths that fall with the square root of n.
    """
    about = question.proportion()
    if about is None:
        if not isinstance(question.n, int):
            return None
        return math.ceil(question.n * (length / target) ** 2)
    low, high = about.n, 2 * about.n

    def fails(n: int) -> bool:
        return criterion_of(_listed(*width_at(n, about)), question.assurance) > target

    while fails(high):
        low, high = high, 2 * high
        if high > _MOST_N:
            return None
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high


def _listed(chances: np.ndarray, lengths: np.ndarray) -> Lengths:
    return Lengths(chances, lengths, np.zeros(lengths.size), 0.0, exact=True)
