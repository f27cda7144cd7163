"""View of mechanisms that choose, for each of some quantiles, the cell of a grid where it lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayesdp.core.views import Floats, Integers, View


@dataclass(frozen=True)
class QuantilesView(View):
    """Outputs that are one cell for each quantile, chosen given the counts of records by cell.

    Attributes
    ----------
    edges : tuple of float
        The k + 1 edges of the cells; records beyond an end are counted in the cell there.
    probabilities : tuple of float
        Probability of each of the m quantiles.
    n : int or None
        Number of records, where it is public.
    logp : callable
        Function of outputs, shape (..., m), and counts, shape (..., k): log Pr[output | counts].
    """

    edges: tuple[float, ...]
    probabilities: tuple[float, ...]
    n: int | None
    logp: Callable[[Any, Integers], Floats]
