"""Checks of the censored beta mechanism's arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.privacy.neighbours import Neighbours

_LARGEST_BITS = 32
_MOST_RECORDS = 1 << 33  # up to which the prefix sums are exact


def check_records(data: Any) -> NDArray[np.float64]:
    """Return records as an array of floats if all are strictly between 0 and 1, else raise."""
    values = np.asarray(data)
    if np.ma.is_masked(data):
        raise InvalidInput("data has masked records; drop or impute them by a public rule")
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        raise InvalidInput("data must be one column of numbers, of a numeric type")
    check_number(values.size)
    values = values.astype(np.float64)
    if not np.all((values > 0) & (values < 1)):
        raise InvalidInput(
            "data has records that are missing, or, once rescaled from the bounds, at 0 or 1, or "
            "outside; a beta density needs them strictly between: give wider bounds, chosen "
            "without the data, such as bounds=(-0.005, 1.005)"
        )
    return values


def check_number(n: int) -> None:
    """Raise InvalidInput if there are too many records; having none is allowed."""
    if n > _MOST_RECORDS:
        raise InvalidInput(
            f"data has more than {_MOST_RECORDS} records, up to which sums are exact; release "
            "parts that were chosen without looking at the records"
        )


def check_some(data: Any) -> NDArray[np.float64]:
    """Check records where there must be at least one; see `check_records`."""
    records = check_records(data)
    if records.size == 0:
        raise InvalidInput("data is empty; there is nothing to release")
    return records


def check_interval(interval: Any) -> tuple[float, float]:
    """Return two floats if they are finite and in order, else raise InvalidInput."""
    low, high = _ends(interval)
    if not low < high:
        raise InvalidInput(
            f"interval is {quoted(interval)}; it must be two finite numbers, the lower first, "
            "for example (-2, 2)"
        )
    return low, high


def _ends(pair: Any) -> tuple[float, float]:
    """Return two finite numbers in order as floats; NaN for anything else."""
    try:
        low, high = (float(v) if is_number(v) else math.nan for v in pair)
    except (TypeError, ValueError):  # not a pair
        return math.nan, math.nan
    return (low, high) if low < high and math.isfinite(high - low) else (math.nan, math.nan)


def check_bounds(bounds: Any) -> tuple[float, float]:
    """Return the records' public bounds as two floats, the lower first, else raise."""
    low, high = _ends(bounds)
    if not low < high or math.nextafter(low, high) == high:
        raise InvalidInput(
            f"bounds is {quoted(bounds)}; it must be two finite numbers, the lower first, chosen "
            "without the data, for example (0, 500_000)"
        )
    return low, high


def check_moderate_prior(prior: Any, name: str, law: str = "beta") -> tuple[float, float]:
    """Return two positive numbers if the prior's logarithms stay moderate, else raise."""
    first, second = check_prior(prior, name, law)
    if max(first, second) > 1e6:
        raise InvalidInput(f"{name} is {quoted(prior)}; its numbers must be at most 1e6")
    return first, second


def check_prior_lambda(prior: Any) -> tuple[float, float]:
    """Return (smallest, shape) of a Pareto prior if the grid can start there, else raise."""
    smallest, shape = check_moderate_prior(prior, "prior_lambda", "Pareto")
    if smallest < 1e-6:
        raise InvalidInput(
            f"prior_lambda is {quoted(prior)}; its first number, the smallest lambda, must be at "
            "least 1e-6"
        )
    return smallest, shape


def check_largest(largest: Any, smallest: float) -> float:
    """Return the end of the grid as a float if it is after its start, else raise."""
    checked = as_float(largest)
    if not smallest < checked <= 1e6:
        raise InvalidInput(
            f"largest is {quoted(largest)}; it must be a number above the smallest lambda, the "
            "first of prior_lambda, and at most 1e6"
        )
    return checked


def check_bits(grid: Any) -> tuple[int, int]:
    """Return the log2 of a grid's numbers of cells as two ints, or raise InvalidInput."""
    allowed = range(_LARGEST_BITS + 1)
    if (
        not isinstance(grid, Sequence)
        or len(grid) != 2
        or any(isinstance(v, bool) or not isinstance(v, Integral) for v in grid)
        or any(v not in allowed for v in grid)
    ):
        raise InvalidInput(
            f"grid is {quoted(grid)}; it must be two whole numbers from 0 to {_LARGEST_BITS}, the "
            "log2 of the numbers of cells along phi and log lambda"
        )
    return int(grid[0]), int(grid[1])


def risky_pairs(
    neighbours: Neighbours, n: int | None
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Pairs of neighbouring records that differ in one near 0, near 1 or of a usual value."""
    usual = np.full(4 if n is None else max(n - 1, 0), 0.3)
    some = [np.append(usual, y) for y in (1e-9, 1 - 1e-9, 0.5)]
    if neighbours == Neighbours.ADD_REMOVE:
        return [(usual, each) for each in some]
    return [(some[0], some[1]), (some[1], some[2]), (some[2], some[0])]
