"""Checks of the public parameters of additive noise, which return their standard form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bayesdp.checks import as_float, is_number
from bayesdp.errors import InvalidInput, quoted

BOUNDING = ("truncated", "inflated")
_FINEST = 20  # bits of the default granularity below the smaller of sensitivity and scale
_LONGEST = 2**40  # the default granularity makes no scale longer, in steps
_LEAST, _LARGEST = 2.0**-20, 2.0**45  # steps: outputs stay among the floats that hold all integers


def check_positive(name: str, value: Any, unit: str = "statistic's unit") -> float:
    """Return `value` as a float if it is a positive finite number, else raise InvalidInput."""
    checked = as_float(value)
    if not 0 < checked < math.inf:
        raise InvalidInput(
            f"{name} is {quoted(value)}; it must be a positive finite number, in the {unit}"
        )
    return checked


def check_each_positive(name: str, values: Sequence[Any]) -> tuple[float, ...]:
    """Return the values as floats if all are positive and finite, else raise, showing none."""
    try:
        return tuple(check_positive(name, value) for value in values)
    except InvalidInput:
        raise InvalidInput(
            f"{name} has a value that isn't a positive finite number, in the statistic's unit"
        ) from None


def check_granularity(granularity: Any, scale: float, sensitivity: float) -> float:
    """Return the lattice's step: the power of two given, or one so fine that it costs little."""
    if granularity is None:
        finest = math.frexp(min(scale, sensitivity))[1] - 1 - _FINEST
        return 2.0 ** max(finest, math.frexp(scale / _LONGEST)[1])
    step = as_float(granularity)
    if not 2.0**-900 <= step <= 2.0**900 or math.frexp(step)[0] != 0.5:
        raise InvalidInput(
            f"granularity is {quoted(granularity)}; it must be a power of two, for example 2**-20, "
            "or None for one chosen from the scale and the sensitivity"
        )
    return step


def scale_range(step: float) -> tuple[float, float]:
    """The smallest and the largest scale on a lattice of that step."""
    return _LEAST * step, _LARGEST * step


def check_scale_in_steps(scale: float, step: float) -> None:
    """Raise InvalidInput if the noise is too wide or too narrow for its lattice."""
    least, largest = scale_range(step)
    if not least <= scale <= largest:
        raise InvalidInput(
            f"scale is {quoted(scale)}; on a lattice with granularity {quoted(step)} it must be "
            f"from {least:.3g} to {largest:.3g} (it is proportional to 1 / epsilon)"
        )


def check_bounds(
    bounds: Any, bounding: Any, whole: bool
) -> tuple[float | int | None, float | int | None] | None:
    """Return the bounds of an output, None for an open end, or raise InvalidInput."""
    if bounding is not None and bounding not in BOUNDING:
        raise InvalidInput(
            f"bounding is {quoted(bounding)}; it must be 'truncated' (the law given the bounds), "
            "'inflated' (values beyond a bound are set to it) or None"
        )
    if (bounds is None) != (bounding is None):
        raise InvalidInput(
            f"bounds is {quoted(bounds)} and bounding is {quoted(bounding)}; give both or neither, "
            "for example bounds=(0, 1), bounding='inflated'"
        )
    if bounds is None:
        return None
    try:
        low, high = (_end(end, sign, whole) for end, sign in zip(bounds, (-1, 1), strict=True))
    except (TypeError, ValueError):
        low = high = math.nan
    if (low is None and high is None) or not (low is None or high is None or low < high):
        raise InvalidInput(
            f"bounds is {quoted(bounds)}; it must be two {'whole ' if whole else ''}numbers, the "
            "lower first; None leaves an end open, for example (0, None)"
        )
    return low, high


def _end(end: Any, sign: int, whole: bool) -> float | int | None:
    if end is None or (is_number(end) and end == sign * math.inf):
        return None
    if not (is_number(end) and math.isfinite(end)) or (whole and end != int(end)):
        raise ValueError
    return int(end) if whole else float(end)
