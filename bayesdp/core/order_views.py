"""View of mechanisms that release order statistics of a column, or their means, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayesdp.core.views import Floats, Integers, View

REFUSED = -1
"""What stands for a position where a statistic isn't released."""


@dataclass(frozen=True)
class OrderStatisticsView(View):
    """Outputs that tell of means of order statistics, given the counts of records by cell.

    Each of m statistics is the mean of the sample between two of its quantiles, which for equal
    probabilities is a quantile.

    Attributes
    ----------
    edges : tuple of float
        The k + 1 edges of the cells; records beyond an end are counted in the cell there.
    windows : tuple of pairs of float
        Probabilities of the two quantiles, for each of the m statistics.
    n : int or None
        Number of records, where it is public.
    logp : callable
        Function of outputs and counts, shape (..., k): log Pr[output | counts].
    values : callable
        Function of outputs: what they say that the statistics are, in the records' unit, shape
        (..., m); NaN where a mechanism may refuse, and has.
    """

    edges: tuple[float, ...]
    windows: tuple[tuple[float, float], ...]
    n: int | None
    logp: Callable[[Any, Integers], Floats]
    values: Callable[[Any], Floats]
