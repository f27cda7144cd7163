"""The integers from which additive noise reaches what was released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import Cell, Ends, Floats, Integer, Integers
from bayesdp.errors import InvalidInput

_SCALES = {True: 100.0, False: 20.0}  # of Laplace or Gaussian noise, whose laws end there nearly


def range_of(cell: Cell) -> tuple[float, float]:
    """Ends of a number's range, in its own unit; infinite where open."""
    low, high = (None if end is None else end * cell.step for end in cell.ends)
    return -math.inf if low is None else low, math.inf if high is None else high


def reached(
    cell: Cell,
    outputs: NDArray[Any],
    within: tuple[float, float],
    times: float = 1.0,
) -> tuple[int, int]:
    """Return the range of integers from which noise reaches the outputs.

    An output at an inflated end may come from any integer beyond it. Where outputs are further
    apart than noise reaches, all integers between them are included, whose likelihood depends on
    the sum of their distances. Where they are out of reach of every integer within the ends, the
    range begins at the nearest one, beyond which the noise falls as it does beyond the outputs.

    Parameters
    ----------
    cell : Cell
        Noise on a single number.
    outputs : ndarray, shape (copies,)
    within : tuple of two floats
        Ends of the integer's range; infinite where open.
    times : float
        Factor of the distance that noise reaches; inf for the whole range.

    Raises
    ------
    InvalidInput
        If there is no such integer, or infinitely many.
    """
    reach = times * _SCALES[cell.noise.laplace] * cell.scale
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
        first = max(first, start - reach)
    if not (inflated and nearest == high):
        last = min(last, end + reach)
    if math.isinf(first) or math.isinf(last):
        raise InvalidInput(
            "an output is at an end of its range, so the integer behind it may be any beyond that "
            "end; take a distribution with a smallest and a largest value, as pm.Binomial.dist"
        )
    return math.ceil(first), math.floor(last)


def integers(cell: Cell, outputs: Sequence[Any]) -> list[Integer]:
    """The laws of a noisy number, or of each of a noisy vector, given the integers behind them."""
    low, high = range_of(cell) if cell.bounding == "truncated" else (-math.inf, math.inf)

    def integer(z: NDArray[Any]) -> Integer:
        def logp(x: Integers) -> Floats:
            inside = np.clip(x, low, high)
            law = cell.logp(z[:, None], inside).sum(axis=0)
            return np.asarray(np.where(inside == x, law, -np.inf))

        def likely(within: Ends, times: float) -> Ends:
            return reached(cell, z, within, times)

        return Integer(likely, logp)

    return [integer(column) for column in np.array(outputs).reshape(len(outputs), -1).T]
