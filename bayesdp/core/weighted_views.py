"""View of mechanisms that release noisy sums of survey weights, and of their squares, by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.core.axis import Axis
from bayesdp.core.views import Integer, View


@dataclass(frozen=True)
class WeightedSumsView(View):
    """Outputs that are, by cell, noisy sums of weights u and of u less its square.

    A weight u is a whole number of steps from 0 to `steps`, and its square U is counted in such
    steps, too: u^2 / steps, rounded up.

    Attributes
    ----------
    axes : tuple of Axis
        The columns whose k cells weights are added up by; the last one moves fastest.
    unit : float
        Weight of one step.
    steps : int
        Steps in the largest weight.
    scale : float
        Scale of the noise on each sum, in steps.
    laplace : bool
        Whether noise is Laplace, or else Gaussian.
    n : int or None
        Number of records, where it is public.
    most : int
        Largest number of records of a protected unit, such as a household.
    sums : callable
        Function of the outputs: the `Integer` of each sum of u, and then of each sum of u - U.
    """

    axes: tuple[Axis, ...]
    unit: float
    steps: int
    scale: float
    laplace: bool
    n: int | None
    most: int
    sums: Callable[[Sequence[Any]], list[Integer]]
