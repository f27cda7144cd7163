"""Single numbers of a noisy vector, and the integers from which noise reaches the outputs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.histogram import PerturbedHistogram
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.mechanisms.noise.laws import LaplaceNoise

_REACH = {True: 750.0, False: 45.0}  # scales of noise, Laplace or Gaussian: below any float


def one_cell(mechanism: Any) -> AdditiveNoise:
    """Make the mechanism's noise that of a single number."""
    if isinstance(mechanism, PerturbedHistogram):
        bounds, bounding = mechanism.bounds, mechanism.bounding
        return DiscreteLaplaceMechanism(mechanism.scale, bounds=bounds, bounding=bounding)
    sensitivity = max(1.0, math.ceil(mechanism.sensitivity))  # on which no law depends
    made: AdditiveNoise = dataclasses.replace(mechanism, dimension=None, sensitivity=sensitivity)
    return made


def range_of(cell: AdditiveNoise) -> tuple[float, float]:
    """Ends of a number's range, in its own unit; inf where there is none."""
    low, high = (None if end is None else end * cell.step for end in cell.ends)
    return -math.inf if low is None else low, math.inf if high is None else high


def possible(cell: AdditiveNoise, within: tuple[int, int]) -> tuple[int, int]:
    """Integers within two ends that may get such noise."""
    low, high = range_of(cell) if cell.bounding == "truncated" else (-math.inf, math.inf)
    return math.ceil(max(within[0], low)), math.floor(min(within[1], high))


def reached(
    cell: AdditiveNoise,
    outputs: NDArray[Any],
    within: tuple[float, float],
    scales: Mapping[bool, float] = _REACH,
    times: float = 1.0,
) -> tuple[int, int]:
    """Integers from which noise reaches the outputs; what is at an end, from all beyond it.

    Outputs may be further apart than noise reaches: what is between them is as likely as their sum
    of distances from it says. And they may be further from where the integer may be: then from
    its nearest place on, beyond which noise falls as it does beyond the outputs.

    Parameters
    ----------
    cell : AdditiveNoise
        Of a single number.
    outputs : ndarray, shape (copies,)
    within : tuple of two floats
        Where the integer may be; inf where there is no end.
    scales : mapping
        How many scales noise reaches, Laplace's (True) and Gaussian (False).
    times : float
        How many times as far to look.

    Raises
    ------
    InvalidInput
        If there is no such integer, or no end of them.
    """
    reach = times * scales[isinstance(cell.noise, LaplaceNoise)] * cell.scale
    low, high = range_of(cell)
    first, last = within
    if cell.bounding == "truncated":
        first, last = max(first, low), min(last, high)
    if first > last:
        raise InvalidInput("the outputs have probability zero under the model's prior")
    nearest, furthest = float(outputs.min()), float(outputs.max())
    inflated = cell.bounding == "inflated"
    start, end = (min(max(z, first), last) for z in (nearest, furthest))
    if not (inflated and furthest == low):
        first = max(first, math.ceil(start - reach))
    if not (inflated and nearest == high):
        last = min(last, math.floor(end + reach))
    if math.isinf(first) or math.isinf(last):
        raise InvalidInput(
            "an output is at an end of its range, so that the integer behind it may be any beyond "
            "it; take a distribution with a largest and a smallest value, as pm.Binomial.dist"
        )
    return math.ceil(first), math.floor(last)
