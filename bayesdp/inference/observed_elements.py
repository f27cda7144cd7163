"""Likelihoods of single integers given a release, and the ranges that outputs can come from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.exact_release import exact_windows, hidden_counts
from bayesdp.inference.noisy_cells import one_cell, range_of, reached
from bayesdp.mechanisms.draws.negative_binomial import log_negative_binomial
from bayesdp.release import Part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ends = tuple[float, float]

TAKES = (
    "noise on a number or on each of a vector (LaplaceMechanism, GaussianMechanism and their "
    "discrete forms, PerturbedHistogram), counts of ones (BetaBinomialMechanism, Bernoulli "
    "ConjugateRelease, modips copies of bdp.families.Bernoulli), Poisson-gamma copies without a "
    "fixed total, RandomizedResponse, and modips copies of bdp.families.Gaussian"
)
_SCALES = {True: 100.0, False: 20.0}  # of Laplace or Gaussian noise; see `observe`
_NEGLIGIBLE = 100.0  # below the log of the largest, of events by area


@dataclass(frozen=True)
class Element:
    """Likelihood of one integer given a release, with the range that outputs can come from.

    Attributes
    ----------
    reached : callable
        The smallest and the largest that the outputs can come from, of those within two ends, if
        one looks so many times as far as usual.
    logp : callable
        log Pr[all outputs | x], of integers x.
    weight : int
        How many such there are.
    """

    reached: Callable[[Ends, float], tuple[float, float]]
    logp: Callable[[Integers], Floats]
    weight: int = 1


_NO_EVENTS = Element(lambda ends, times: (0, 0), lambda x: np.where(x == 0, 0.0, -np.inf))


def noisy_elements(part: Part) -> list[Element]:
    """Make the element of each number that got noise."""
    mechanism: Any = part.mechanism
    cell = one_cell(mechanism) if mechanism.dimension is not None else mechanism
    outputs = np.array(part.outputs)
    low, high = range_of(cell) if cell.bounding == "truncated" else (-math.inf, math.inf)

    def element(z: NDArray[Any]) -> Element:
        def logp(x: Integers) -> Floats:
            inside = np.clip(x, low, high)
            law = cell.logp(z[:, None], inside).sum(axis=0)
            return np.asarray(np.where(inside == x, law, -np.inf))

        return Element(lambda ends, times: reached(cell, z, ends, _SCALES, times), logp)

    return [element(column) for column in outputs.reshape(len(outputs), -1).T]


def exact_elements(part: Part) -> list[Element]:
    """Make the element of each integer of an exact statistic."""
    if not part.mechanism.whole:  # type: ignore[attr-defined]
        raise unlike(part.mechanism)

    def element(low: float, high: float) -> Element:
        return Element(
            lambda ends, times: (max(ends[0], low), min(ends[1], high)),
            lambda x: hidden_counts(x, (low, high)),
        )

    return [element(low, high) for low, high in exact_windows(part)]


def area_elements(
    part: Part, *, tilt: float = 1.0, negligible: float = _NEGLIGIBLE
) -> list[Element]:
    """Make the element of each area's events, negative binomial given them, but for a fixed total.

    With a fixed total the law doesn't change if all chances are multiplied by `tilt`; counts are
    looked for down to `negligible` below the log of the likeliest.
    """
    mechanism: Any = part.mechanism
    found = [_NO_EVENTS] * len(mechanism.expected)
    where, z = np.flatnonzero(mechanism.possible), np.array(part.outputs)
    for i, shape, chance in zip(where, mechanism.shape, tilt * mechanism.chance, strict=True):
        found[i] = _area(z[:, i], float(shape), float(chance), negligible)
    return found


def _area(z: NDArray[Any], shape: float, chance: float, negligible: float) -> Element:
    """Make one area's element; log-concave in its events, which is how far they are looked for."""

    def logp(x: Integers) -> Floats:
        return np.asarray(log_negative_binomial(z[:, None], shape + x, chance).sum(axis=0))

    def likely(ends: Ends, times: float) -> tuple[float, float]:
        first, step = int(max(ends[0], 0)), 1 + int(z.max())
        while True:
            values = logp(x := np.arange(first, first + 64 * step, step))
            good = np.flatnonzero(values >= values.max() - times * negligible)
            if good[-1] < x.size - 1:
                return first, min(ends[1], int(x[good[-1] + 1]))
            step *= 8

    return Element(likely, logp)


def events_element(shape: float, chance: float, negligible: float) -> Element:
    """Make the element of an area's events before any release: negative binomial, or none."""
    if chance == 0:
        return _NO_EVENTS

    def logp(x: Integers) -> Floats:
        return np.asarray(log_negative_binomial(x, shape, chance))

    def likely(ends: Ends, times: float) -> Ends:
        mode = math.floor(max(shape - 1, 0.0) * chance / (1 - chance))
        far = 2 * mode + 1
        while far < ends[1] and logp(np.array([mode, far])) @ (1, -1) < times * negligible:
            far *= 2
        return ends[0], min(ends[1], far)

    return Element(likely, logp)


def unlike(mechanism: Any) -> InvalidInput:
    """The error for a mechanism without a law of such a statistic."""
    return InvalidInput(
        f"the release's mechanism {quoted(mechanism.name)} has no law here of a statistic of that "
        f"kind; bdp.observe takes {TAKES}; integers as such, and real numbers as real ones"
    )
