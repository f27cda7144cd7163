"""Views of what was released given the sum of positive records, or given a noisy one."""

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
    n : int or None
        Number of records, where it is public.
    bounds : tuple of two floats
        Public bounds within which all records lie, or were moved to.
    clip : bool
        Whether records beyond the bounds were moved to the nearest one.
    shape : float
        Shape of the gamma law that the outputs were drawn under.
    scale : callable
        Function of n: relative change of the sum over which the law of one output varies.
    law : callable
        Function of the outputs, an array of sums within n times the bounds, and n: log p(all
        outputs | sum).
    statistic : callable
        Function of n and a sum: the mechanism's statistic.
    """

    n: int | None
    bounds: Ends
    clip: bool
    shape: float
    scale: Callable[[int], float]
    law: Callable[[Sequence[Any], Floats, int], Floats]
    statistic: Callable[[int, float], Any]


@dataclass(frozen=True)
class NoisySumView(PositiveSumView):
    """Copies that were drawn given a noisy sum of positive records.

    Attributes
    ----------
    n : int
        Number of records, which is public.
    prior : tuple of two floats
        Shape and rate of the gamma prior of the rate that they were drawn under.
    noise : Cell
        Noise on the sum.
    """

    n: int
    prior: tuple[float, float]
    noise: Cell


@dataclass(frozen=True)
class GivenSumView(PositiveSumView):
    """Outputs that were drawn given the sum of positive records itself.

    Attributes
    ----------
    n : int
        Number of records, which is public.
    log_kernel : callable
        Function of a module that has `log` and `log1p`, NumPy or PyTensor's `tensor`, of the
        outputs and of a sum: log p(all outputs | sum), up to a constant.
    """

    n: int
    log_kernel: Callable[[Any, Sequence[Any], Any], Any]
