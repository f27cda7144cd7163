r"""Views: what a mechanism's outputs tell of a latent statistic, and so which models can read them.

A mechanism offers a view for every kind of statistic that it may have randomised, in its property
`views`; a model asks for the kinds that it reads, by `view_of`, and never for a mechanism. A view
holds laws up to constants where it says so, and nothing confidential.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ends = tuple[float, float]


class View:
    """A mechanism's law as the outputs tell of one kind of statistic; the base of all kinds."""


AnyView = TypeVar("AnyView", bound=View)


def view_of(mechanism: Any, kind: type[AnyView]) -> AnyView | None:
    """The view of this kind that the mechanism offers, or None.

    Parameters
    ----------
    mechanism : Mechanism
    kind : type of View
    """
    return next((view for view in getattr(mechanism, "views", ()) if isinstance(view, kind)), None)


@dataclass(frozen=True)
class IntractableView(View):
    """A law of outputs given one kind of statistic that can't be followed.

    Attributes
    ----------
    kind : type of View
        Of the view that is missing for it.
    why : str
        A sentence, with the way out.
    """

    kind: type[View]
    why: str


def check_tractable(mechanism: Any, kind: type[View]) -> None:
    """Raise InvalidInput where the mechanism says that its law is intractable for a kind."""
    for view in getattr(mechanism, "views", ()):
        if isinstance(view, IntractableView) and issubclass(view.kind, kind):
            raise InvalidInput(view.why)


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


class Cell(Protocol):
    """Protocol of noise on a single number, on a lattice, perhaps kept within bounds."""

    def __hash__(self) -> int:
        """Its hash: noise is a frozen value."""

    @property
    def scale(self) -> float:
        """Scale of the noise, in the number's unit."""

    @property
    def step(self) -> float:
        """Distance between the lattice's points."""

    @property
    def whole(self) -> bool:
        """True if the number is an integer."""

    @property
    def noise(self) -> Any:
        """Law of the noise in steps, a `bayesdp.mechanisms.noise.laws.Noise`."""

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """Ends that outputs are kept between; None of one that is open."""

    @property
    def ends(self) -> tuple[int | None, int | None]:
        """The first and the last lattice point within the bounds, in steps."""

    @property
    def bounding(self) -> str | None:
        """Way to keep outputs within the bounds: "truncated", "inflated" or None."""

    @property
    def log_concave(self) -> bool:
        """True if the law is log-concave in an integer, for every output."""

    def logp(self, output: Any, statistic: Any) -> Floats:
        """Log Pr[output | number], vectorised over both."""


@dataclass(frozen=True)
class NoiseView(View):
    """Outputs that are a number, or a vector, plus independent noise of one law.

    Attributes
    ----------
    shape : tuple of int
        The statistic's: () or (k,).
    cell : Cell
        Of the same noise on a single number.
    """

    shape: tuple[int, ...]
    cell: Cell


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
    """The law of outputs given a hidden graph whose dyads were randomised one by one.

    Attributes
    ----------
    evidence : callable
        As of `GraphView`.
    """


@dataclass(frozen=True)
class MeanLaw:
    """Law of some outputs given the mean of normal records with a known sd.

    Attributes
    ----------
    scale : float
        On which it varies with the mean.
    logp : callable
        Of an array of means within the records' bounds: log p(all outputs | mean).
    """

    scale: float
    logp: Callable[[Floats], Floats]


@dataclass(frozen=True)
class NormalView(View):
    """The law of outputs given the mean of normal records, or that and their variance.

    Attributes
    ----------
    n : int
        Records.
    bounds : tuple of two floats
        Within which they all are.
    sd : float or None
        Theirs, where it is known; None where the law depends on their variance too.
    statistic : callable
        Of a mean and a variance with divisor n - 1: what the mechanism takes of such records.
    law : callable
        Of the outputs, where sd is known: a `MeanLaw`.
    """

    n: int
    bounds: Ends
    sd: float | None
    statistic: Callable[[float, float], Any]
    law: Callable[[Sequence[Any]], MeanLaw]


@dataclass(frozen=True)
class NormalCopiesView(NormalView):
    """Copies of normal records, drawn around a posterior's draw given noisy moments.

    Attributes
    ----------
    family : Gaussian
        With the records' bounds and the prior that copies are drawn under.
    size : int
        Records a copy.
    parts : tuple of Cell
        Noise on the mean and, where sd isn't known, on the variance.
    bounding : {"inflated", "truncated"}
        How noisy moments and synthetic records are kept in their range.
    """

    family: Any
    size: int
    parts: tuple[Cell, ...]
    bounding: str

    @property
    def largest_variance(self) -> float:
        """Largest variance of records within the bounds, where sd isn't known."""
        bounds: Any = self.parts[1].bounds
        return float(bounds[1])


@dataclass(frozen=True)
class MomentsView(View):
    """Outputs that are the noisy sums of columns, of their squares and of their products.

    Columns are rescaled by their bounds to [-1, 1]. An output's numbers are n, where it isn't
    public, the sums, those of squares, and those of products of pairs in order.

    Attributes
    ----------
    bounds : mapping of str to tuple of two floats
        Of each column, in order.
    n : int or None
        Records, where public.
    size : Cell or None
        Noise on n, where it isn't.
    moment : Cell
        Noise on any other number.
    """

    bounds: Mapping[str, Ends]
    n: int | None
    size: Cell | None
    moment: Cell


@dataclass(frozen=True)
class CoefficientsView(View):
    """Outputs that are the noisy coefficients of a penalised regression, the intercept first.

    Columns are rescaled by their bounds to [-1, 1].

    Attributes
    ----------
    loss : {"linear", "logistic"}
    bounds : mapping of str to tuple of two floats
        Of each column.
    predictors : tuple of str
    response : str
    penalty : float
        What the sum of squared coefficients costs.
    n : int
        Records.
    coefficient : Cell
        Noise on any of them.
    """

    loss: str
    bounds: Mapping[str, Ends]
    predictors: tuple[str, ...]
    response: str
    penalty: float
    n: int
    coefficient: Cell


@dataclass(frozen=True)
class MarginalsView(View):
    """Outputs that are noisy counts of marginals of a table.

    Attributes
    ----------
    axes : tuple of `bayesdp.mechanisms.counts.cells.Axis`
        The table's columns.
    possible : ndarray of bool
        Cells that aren't structural zeros; the table's shape.
    marginals : tuple of tuple of str
        Columns of each.
    places : tuple of tuple of int
        Axes of each.
    statistic : callable
        Of the whole table's counts: all marginals' counts.
    count : Cell
        Noise on any of them.
    """

    axes: tuple[Any, ...]
    possible: NDArray[np.bool_]
    marginals: tuple[tuple[str, ...], ...]
    places: tuple[tuple[int, ...], ...]
    statistic: Callable[[Any], Any]
    count: Cell


@dataclass(frozen=True)
class DrawnCountsView(View):
    """Counts of synthetic records drawn from a Dirichlet posterior's draw.

    Given counts x of categories an output is Dirichlet-multinomial(size, alpha + x).

    Attributes
    ----------
    alpha : ndarray, shape (k,)
        The prior; 0 of a structural zero.
    size : int
        Records of a copy.
    counts : callable
        Of the outputs: their counts of categories, shape (copies, k).
    """

    alpha: Floats
    size: int
    counts: Callable[[Sequence[Any]], Floats]


@dataclass(frozen=True)
class ChoiceView(View):
    """Outputs that are a candidate, chosen with probability in proportion to exp(rate utility).

    Attributes
    ----------
    k : int
        Candidates.
    rate : float
    """

    k: int
    rate: float


@dataclass(frozen=True)
class RecordsView(View):
    """Outputs that are synthetic records, or from which some can be drawn.

    Attributes
    ----------
    drawn_by : str, optional
        The call that draws records from counts that were released; None where outputs are records.
    """

    drawn_by: str | None = None
