"""Lengths of intervals for a proportion, from the table of a released count's law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.evaluation.planning.counts import Proportion
from bayesdp.evaluation.planning.laws import several

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-13
MOST_ROWS = 5000
"""Multisets of several copies' outputs that are listed; more are drawn from."""


@dataclass(frozen=True, eq=False)
class Lengths:
    """Lengths of intervals and how probable they are, with the probability that they cover.

    Attributes
    ----------
    chances, lengths, covered : ndarray, shape (outputs,)
    lost : float
        Probability of the outputs that are left out.
    exact : bool
        Whether all outputs are listed; if not, they were drawn, all with the same probability.
    """

    chances: Floats
    lengths: Floats
    covered: Floats
    lost: float
    exact: bool


def lengths_of(about: Proportion, law: Floats, copies: int, draws: int, seed: int) -> Lengths:
    """Compute lengths of intervals from `copies` outputs of one law, from `law_of_count`."""
    if copies == 1 or math.comb(law.shape[0] + copies - 1, copies) <= MOST_ROWS:
        return _listed(about, law if copies == 1 else several(law, copies))
    rng = np.random.default_rng(seed)
    counts, uniform = rng.random(draws), rng.random((draws, copies))
    x = _inverted(np.exp(about.truth), counts)
    with np.errstate(invalid="ignore"):
        cumulative = np.cumsum(np.exp(law), axis=0)
    joint = np.zeros((draws, law.shape[1]))
    for value in np.unique(x):
        rows = np.flatnonzero(x == value)
        outputs = _inverted_of(cumulative[:, value], uniform[rows])
        joint[rows] = law[outputs].sum(axis=1)
    lengths, covered = _seen(about, joint)
    return Lengths(np.full(draws, 1 / draws), lengths, covered, 0.0, exact=False)


def _listed(about: Proportion, law: Floats) -> Lengths:
    chances = np.exp(special.logsumexp(law + about.truth, axis=1))
    kept = chances > _NEGLIGIBLE / len(chances)
    lengths, covered = _seen(about, law[kept])
    lost = max(0.0, 1 - float(chances[kept].sum()))
    return Lengths(chances[kept], lengths, covered, lost, exact=True)


def _seen(about: Proportion, log_likelihoods: Floats) -> tuple[Floats, Floats]:
    """Compute lengths and coverage given outputs, in blocks so that memory is bounded."""
    lengths, covered = [], []
    for start in range(0, len(log_likelihoods), 2048):
        rows = log_likelihoods[start : start + 2048]
        weights = special.softmax(rows + about.belief, axis=1)
        weights[weights < 1e-18] = 0  # subnormal numbers would take ten times as long
        low, high = about.intervals(weights)
        given = special.softmax(rows + about.truth, axis=1)
        lengths.append(high - low)
        covered.append(about.covered(low, high, given))
    return np.concatenate(lengths), np.concatenate(covered)


def _inverted(chances: Floats, uniform: Floats) -> NDArray[np.intp]:
    return _inverted_of(np.cumsum(chances), uniform)


def _inverted_of(cumulative: Floats, uniform: Floats) -> NDArray[np.intp]:
    places = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return np.asarray(np.minimum(places, cumulative.size - 1))
