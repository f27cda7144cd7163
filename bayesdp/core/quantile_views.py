"""View of mechanisms that release, for each of some quantiles, a cell of a grid, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayesdp.core.views import Floats, Integers, View

REFUSED = -1
"""What stands for a cell where a quantile isn't released."""


@dataclass(frozen=True)
class QuantilesView(View):
    """Outputs that are one cell for each quantile, drawn given the counts of records by cell.

    A cell is `REFUSED` where the mechanism may refuse, and has.

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
