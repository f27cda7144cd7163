"""View of copies that were drawn given the noisy sum of positive records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.core.views import Cell, Ends, Floats, View


@dataclass(frozen=True)
class PositiveSumView(View):
    """The law of outputs given the sum of n positive records.

    Attributes
    ----------
    n : int
        Number of records.
    bounds : tuple of two floats
        Public bounds within which all records lie, or were moved to.
    clip : bool
        Whether records beyond the bounds were moved to the nearest one.
    shape : float
        Shape of the gamma law that the copies' records were drawn from.
    prior : tuple of two floats
        Shape and rate of the gamma prior of the rate that they were drawn under.
    noise : Cell
        Noise on the sum that they were drawn given.
    scale : float
        Relative change of the sum over which the law varies.
    law : callable
        Function of the outputs and an array of sums within n times the bounds: log p(all outputs |
        sum).
    """

    n: int
    bounds: Ends
    clip: bool
    shape: float
    prior: tuple[float, float]
    noise: Cell
    scale: float
    law: Callable[[Sequence[Any], Floats], Floats]
