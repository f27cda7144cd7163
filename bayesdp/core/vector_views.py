"""Views of vectors: of released ones given the mean of real vectors, or with noise on each part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.core.views import Cell, Floats, Integer, View


@dataclass(frozen=True)
class NormalVectorView(View):
    """The law of outputs whose means are normal around a linear function of the records' mean.

    Given the mean x of n records, the mean vector of one output is N(slope x + offset, spread), and
    what else is in an output doesn't depend on x.

    Attributes
    ----------
    n : int
        Number of records.
    ends : tuple of d floats
        Column j of all records lies in [-ends[j], ends[j]].
    covariance : ndarray, shape (d, d)
        Covariance matrix of the records, which is known.
    columns : tuple of str
        Names of the columns.
    slope : ndarray, shape (d, d)
        Invertible.
    offset : ndarray, shape (d,)
    spread : ndarray, shape (d, d)
    means : callable
        Function of the outputs: the mean vector of each, shape (outputs, d).
    log_rest : callable
        Function of the outputs: log p(all outputs | x) less the log density of their means.
    statistic : callable
        Function of a mean, shape (d,): the mechanism's statistic of such records.
    """

    n: int
    ends: tuple[float, ...]
    covariance: Floats
    columns: tuple[str, ...]
    slope: Floats
    offset: Floats
    spread: Floats
    means: Callable[[Sequence[Any]], Floats]
    log_rest: Callable[[Sequence[Any]], float]
    statistic: Callable[[Floats], Any]


@dataclass(frozen=True)
class SeparateNoiseView(View):
    """Outputs that are a vector plus independent noise, of each component its own.

    It is for a user's own model of the vector: the components may be any function of one hidden
    thing, as a graph, so that no model of counts reads them as such.

    Attributes
    ----------
    cells : tuple of Cell
        The noise of each component.
    each : callable
        Function of the outputs: the law of each component as an integer.
    """

    cells: tuple[Cell, ...]
    each: Callable[[Sequence[Any]], list[Integer]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the statistic."""
        return (len(self.cells),)
