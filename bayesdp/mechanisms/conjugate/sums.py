"""Sums of the bounded numbers that normal and gamma conjugate releases are of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.count import column_of

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism


def sum_of(release: ConjugateMechanism, data: Any, low: float) -> float:
    """Sum n records in [low, R], correctly rounded; `low` is -R or 0."""
    R = float(release.R or 0)
    first = "-R" if low else "0"
    values = column_of(data, f"numbers from {low} to {R}").astype(np.float64)
    if not np.all((values >= low) & (values <= R)):
        raise InvalidInput(
            f"data has values that aren't numbers in [{first}, R] = [{low}, {R}]; choose R without "
            f"looking at the data, and clip what exceeds it, for example with data.clip({first}, R)"
        )
    if values.size != release.n:
        raise InvalidInput(
            f"data has another number of records than the mechanism's n = {release.n}"
        )
    return math.fsum(values)


def check_sums(release: ConjugateMechanism, statistic: Any, low: float) -> NDArray[np.float64]:
    """Return the sum or sums as floats if n records in [low, R] can have them, else raise."""
    sums, R, n = np.asarray(statistic), float(release.R or 0), release.n
    if sums.dtype.kind not in "iuf":
        raise InvalidInput(
            f"the statistic has type {sums.dtype}; it must be the sum of the records, a number; "
            "release.statistic(data) makes it"
        )
    if not np.all((sums >= n * low) & (sums <= n * R)):
        raise InvalidInput(
            f"the statistic isn't a sum of n = {n} records in [{low}, {R}], which is from "
            f"{n * low} to {n * R}; check R, and that it is the sum, not the mean"
        )
    return sums.astype(np.float64)


def check_one_sum(release: ConjugateMechanism, statistic: Any, low: float) -> NDArray[np.float64]:
    """Return the sum if it is that of one release alone, else raise InvalidInput."""
    checked = check_sums(release, statistic, low)
    if checked.ndim > 0:
        raise InvalidInput("the statistic is an array of several; release one at a time")
    return checked
