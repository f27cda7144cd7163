r"""The lattice that additive noise lives on, and the rounding of statistics to it.

A statistic x is rounded to the lattice g Z by floor(x / g + 1/2), exactly, since g is a power of
two; integer noise is added, and the output is an integer times g. So an output has a probability,
and no bit of it comes from floating-point arithmetic on the data (Mironov 2012 shows what such bits
give away).

How far rounding moves neighbours apart
---------------------------------------
If x' - x = t g with t >= 0, then floor(x' / g + 1/2) <= floor(x / g + 1/2) + ceil(t): they differ
by at most ceil(|t|) steps, and by that many for some x. Hence, for a sensitivity of S steps:

* a scalar moves by at most ceil(S) steps: nothing is lost if S is whole;
* d components under L1: the sum of ceil(|t_i|) is an integer below S + d, so at most
  ceil(S) + d - 1;
* d components under L2: ||ceil(|t|)|| <= ||t|| + ||(1, ..., 1)|| <= S + sqrt(d).

Clamping integers to an interval never moves two of them further apart.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.draws.integer_noise import Integers

FURTHEST = 2**52
"""Statistics lie within this many steps of 0, so that they and their noise stay exact."""


def lattice_ends(bounds: tuple[Any, Any] | None, step: float) -> tuple[int | None, int | None]:
    """The first and the last lattice point within the bounds, in steps; None if open.

    Raises
    ------
    InvalidInput
        If fewer than two lattice points, or points too far from 0, are within them.
    """
    low, high = bounds or (None, None)
    g = Fraction(step)
    first = None if low is None else math.ceil(Fraction(low) / g)
    last = None if high is None else math.floor(Fraction(high) / g)
    if first is not None and last is not None and first >= last:
        raise InvalidInput(
            f"bounds is {quoted(bounds)}, with fewer than two points of the lattice between them; "
            f"take wider bounds, a finer granularity than {quoted(step)} or, where that follows "
            "from the noise, a larger epsilon"
        )
    if any(end is not None and abs(end) > FURTHEST for end in (first, last)):
        raise InvalidInput(
            f"bounds is {quoted(bounds)}, more than 2**52 steps of the lattice from 0; take a "
            f"coarser granularity than {quoted(step)} or, where that follows from the noise, a "
            "smaller epsilon"
        )
    return first, last


def moved_steps(
    norm: str, sensitivity: Fraction, step: float, *, dimension: int | None, whole: bool
) -> float:
    """The sensitivity after rounding, in steps, rounded up; an int for a scalar or under L1.

    The module's docstring has the proofs.
    """
    steps, d = sensitivity / Fraction(step), dimension or 1
    if norm == "L1" or d == 1:
        return math.ceil(steps) + (0 if whole else d - 1)
    length = float(steps) + (0.0 if whole else math.sqrt(d))
    return length * (1 + 2.0**-50)


def to_steps(
    statistic: Any,
    step: float,
    *,
    dimension: int | None,
    whole: bool,
    within: tuple[Any, Any] | None,
) -> Integers:
    """Round the confidential statistic to the lattice, in steps; no error shows its value.

    Parameters
    ----------
    statistic : array_like of numbers
        Its last axis has length `dimension`, unless that is None.
    step : float
        A power of two.
    dimension : int or None
        Length of a vector statistic; None for scalars.
    whole : bool
        Whether the statistic must be made of integers.
    within : tuple or None
        Bounds that it must lie within; its rounded values are clamped to them.

    Raises
    ------
    InvalidInput
        If the statistic isn't such an array.
    """
    x = np.asarray(statistic)
    if x.dtype.kind not in "iuf" or np.ma.is_masked(statistic):
        raise InvalidInput(
            "the statistic must be made of numbers (integers or floats), none of them masked"
        )
    if dimension is not None and (x.ndim == 0 or x.shape[-1] != dimension):
        raise InvalidInput(
            f"the statistic has shape {x.shape}; its last axis must have length dimension = "
            f"{dimension}"
        )
    with np.errstate(over="ignore"):  # refused below
        y = x.astype(np.result_type(x, np.float64)) / step
    if not np.all(np.abs(y) <= FURTHEST):  # NaN too
        raise InvalidInput(
            "the statistic is not finite or not within 2**52 steps of the lattice from 0, "
            f"[{-FURTHEST * step}, {FURTHEST * step}]; its value isn't shown, being confidential"
        )
    k = np.floor(y)
    if whole and np.any(k != y):
        raise InvalidInput(
            "the statistic is not whole; its value isn't shown, being confidential (for real "
            "statistics take LaplaceMechanism or GaussianMechanism)"
        )
    if within is not None:
        low, high = within
        if (low is not None and np.any(x < low)) or (high is not None and np.any(x > high)):
            raise InvalidInput(
                f"the statistic lies outside bounds = {quoted(within)}, where a truncated law is "
                "undefined; its value isn't shown, being confidential. Clamp it first, or take "
                "bounding='inflated'"
            )
    rounded: Integers = (k + (y - k >= 0.5)).astype(np.int64)  # y - k is exact where it matters
    if x.dtype.kind != "f" and 2 <= step < 2.0**62:
        rounded = _in_whole_steps(x, int(step))
    if within is not None:
        rounded = np.clip(rounded, *lattice_ends(within, step))
    return rounded


def _in_whole_steps(x: Any, step: int) -> Integers:
    """Integers rounded to multiples of an even step, by whole numbers alone.

    As floats, integers beyond 2^53 would be rounded twice, and some that are one step apart would
    end up two apart.
    """
    wide = np.uint64 if x.dtype.kind == "u" else np.int64
    whole, rest = np.divmod(x.astype(wide), wide(step))
    rounded: Integers = (whole + (rest >= wide(step // 2))).astype(np.int64)
    return rounded
