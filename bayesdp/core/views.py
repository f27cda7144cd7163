r"""Views: what a mechanism's outputs tell of a latent statistic, and so which models can read them.

A mechanism offers a view for every kind of statistic that it may have randomised, in its property
`views`; a model asks for the kinds that it reads, by `view_of`, and never for a mechanism. A view
holds laws up to constants where it says so, and nothing confidential.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ends = tuple[float, float]


class View:
    """A mechanism's law as the outputs tell of one kind of statistic; the base of all kinds."""


AnyView = TypeVar("AnyView", bound=View)


def view_of(mechanism: Any, kind: type[AnyView]) -> AnyView | None:
    """The view of this kind that the mechanism offers, or None."""
    return next((view for view in getattr(mechanism, "views", ()) if isinstance(view, kind)), None)


@dataclass(frozen=True)
class CountView(View):
    """The law of outputs given a count of ones among n records.

    Attributes
    ----------
    logp : callable
        Of outputs, counts x and n, which broadcast: log Pr[output | x ones of n].
    check : callable
        Of n: raises InvalidInput unless a count of n records may have been randomised.
    """

    logp: Callable[[Any, Integers, int], Floats]
    check: Callable[[int], Any]


@dataclass(frozen=True)
class Integer:
    """The law of outputs given one latent integer, and where the integer may be.

    Attributes
    ----------
    reached : callable
        The smallest and the largest integer that the outputs can come from, of those within two
        ends, if one looks so many times as far as usual.
    logp : callable
        log Pr[all outputs | x], of an array of integers x.
    weight : int
        How many such integers there are, each with outputs of its own.
    """

    reached: Callable[[Ends, float], Ends]
    logp: Callable[[Integers], Floats]
    weight: int = 1


@dataclass(frozen=True)
class IntegersView(View):
    """The law of outputs given integers, each of which was randomised by itself.

    Attributes
    ----------
    shape : tuple of int
        The statistic's: () or (k,).
    each : callable
        Of the outputs: one `Integer` for each, in order.
    complete : bool
        Whether they count all records, or events, so that their sum is n.
    """

    shape: tuple[int, ...]
    each: Callable[[Sequence[Any]], list[Integer]]
    complete: bool = False


@dataclass(frozen=True)
class FixedTotalView(View):
    """The law of synthetic counts by area whose total is fixed, which ties the areas together.

    Without the total each is negative binomial given its area's events x, with the shape
    `shapes` + x and the chance `chances`; the law doesn't change if all chances are multiplied by
    one number.

    Attributes
    ----------
    shapes, chances : ndarray, shape (k,)
        0 in areas where no event can be.
    total : int
        Of each copy.
    each : callable
        Of the outputs, a factor of the chances, and how far below the log of its largest a law
        is negligible: one `Integer` for each area.
    """

    shapes: Floats
    chances: Floats
    total: int
    each: Callable[[Sequence[Any], float, float], list[Integer]]


@dataclass(frozen=True)
class NoiseView(View):
    """Outputs that are a number, or a vector, plus independent noise of one law.

    Attributes
    ----------
    shape : tuple of int
        The statistic's: () or (k,).
    cell : mechanism
        Of the same noise on a single number (`bayesdp.mechanisms.noise.additive.AdditiveNoise`).
    """

    shape: tuple[int, ...]
    cell: Any


@dataclass(frozen=True)
class ExactView(View):
    """Outputs that are the statistic itself.

    Attributes
    ----------
    shape : tuple of int
    whole : bool
        Whether the statistic is made of integers.
    hidden : int
        The largest integer that is shown as 0; 0 where none is hidden.
    """

    shape: tuple[int, ...]
    whole: bool
    hidden: int


@dataclass(frozen=True)
class TableView(View):
    """The law of outputs given counts of categories, by the mechanism's `logp` alone.

    Attributes
    ----------
    cells : int
        Categories.
    zeros : int
        Structural zeros among them, where no record can be.
    """

    cells: int
    zeros: int


@dataclass(frozen=True)
class ProductTable(TableView):
    """The law of a table's outputs where, given n, it is a product over the categories.

    Attributes
    ----------
    law : callable
        Of a category's outputs, its number i, its counts x and possible numbers n of records: the
        log law of all outputs at x, and the rest of it, a constant for each output, at each n.
    """

    law: Callable[[NDArray[Any], int, Integers, Integers], tuple[Floats, Any]]


@dataclass(frozen=True)
class MixtureTable(TableView):
    """The law of a table's output where it is a mixture of products over the categories.

    Attributes
    ----------
    tables : callable
        Of an output, the largest count n, and how rare an output may be (-log of its law): of
        each category an array of logs, shape (n + 1, points), and the log of a common factor.
    prior : tuple of float
        Of the Dirichlet law that is drawn from.
    size : int
        Records of a copy.
    """

    tables: Callable[[Any, int, int], tuple[list[Floats], float]]
    prior: tuple[float, ...]
    size: int


@dataclass(frozen=True)
class AnswersView(View):
    """Outputs that are one answer a record, given its category.

    Attributes
    ----------
    n : int
        Records.
    matrix : ndarray, shape (k, answers)
        Pr[answer | category].
    """

    n: int
    matrix: Floats

    @property
    def k(self) -> int:
        """Categories."""
        return len(self.matrix)


@dataclass(frozen=True)
class GraphView(View):
    """The law of outputs given a hidden graph.

    Attributes
    ----------
    evidence : callable
        Of an output: `bayesdp.networks.evidence.Evidence`; InvalidInput where its law can't be
        followed.
    """

    evidence: Callable[[Any], Any]


@dataclass(frozen=True)
class DyadsView(GraphView):
    """The law of outputs given a hidden graph whose dyads were randomised one by one."""
