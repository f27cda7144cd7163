r"""Views: what a mechanism's outputs tell of a latent statistic, and so which models can read them.

A mechanism offers a view for every kind of statistic that it may have randomised, in its property
`views`; a model asks for the kinds that it reads, by `view_of`, and never for a mechanism. A view
holds laws up to constants where it says so, and nothing confidential.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput

if TYPE_CHECKING:
    from bayesdp.core.table_choice import Chosen

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ends = tuple[float, float]


class View:
    """Base of views: the law of a mechanism's outputs given one kind of statistic."""


AnyView = TypeVar("AnyView", bound=View)


def view_of(mechanism: Any, kind: type[AnyView]) -> AnyView | None:
    """Return the view of this kind that the mechanism offers, or None.

    Parameters
    ----------
    mechanism : Mechanism
    kind : type of View
    """
    return next((view for view in getattr(mechanism, "views", ()) if isinstance(view, kind)), None)


@dataclass(frozen=True)
class IntractableView(View):
    """Notice that the law of outputs given one kind of statistic is intractable.

    Attributes
    ----------
    kind : type of View
        The kind of view that is missing.
    why : str
        One sentence that says why, and the way out.
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
        Function of outputs, counts x and n, which broadcast: log Pr[output | x ones of n].
    check : callable
        Function of n that raises InvalidInput unless a count of n records may have been randomised.
    """

    logp: Callable[[Any, Integers, int], Floats]
    check: Callable[[int], Any]


@dataclass(frozen=True)
class Integer:
    """The law of outputs given one latent integer, and the range where the integer may lie.

    Attributes
    ----------
    reached : callable
        Function of two ends and a factor: the smallest and the largest integer within the ends that
        the outputs can come from, where the search goes that factor further than usual.
    logp : callable
        Function of an array of integers x: log Pr[all outputs | x].
    weight : int
        Number of such integers, each with outputs of its own.
    """

    reached: Callable[[Ends, float], Ends]
    logp: Callable[[Integers], Floats]
    weight: int = 1


@dataclass(frozen=True)
class IntegersView(View):
    """The law of outputs given integers, each of which was randomised independently.

    Attributes
    ----------
    shape : tuple of int
        Shape of the statistic: () or (k,).
    each : callable
        Function of the outputs: one `Integer` for each integer, in order.
    complete : bool
        Whether they count all records, or events, so that their sum is n.
    """

    shape: tuple[int, ...]
    each: Callable[[Sequence[Any]], list[Integer]]
    complete: bool = False


@dataclass(frozen=True)
class DrawnEventsView(IntegersView):
    """The law of synthetic counts by area, each negative binomial given its area's events x.

    Attributes
    ----------
    shape, each, complete
        As for `IntegersView`.
    shapes, chances : ndarray, shape (k,)
        An output has shape `shapes` + x and probability `chances`, both 0 where no event can be.
    """

    shapes: Floats = field(kw_only=True)
    chances: Floats = field(kw_only=True)


@dataclass(frozen=True)
class FixedTotalView(View):
    """The law of synthetic counts by area whose total is fixed, which ties the areas together.

    Without the total, each count is negative binomial given its area's events x, with shape
    `shapes` + x and probability `chances`; the law given the total doesn't change if all `chances`
    are multiplied by one number.

    Attributes
    ----------
    shapes, chances : ndarray, shape (k,)
        Parameters of each area; 0 in areas where no event can be.
    total : int
        Sum of the counts of each copy.
    each : callable
        Function of the outputs, a factor by which to multiply the chances, and how far below its
        maximum a log law is negligible: one `Integer` for each area.
    """

    shapes: Floats
    chances: Floats
    total: int
    each: Callable[[Sequence[Any], float, float], list[Integer]]


class Cell(Protocol):
    """Protocol of noise on a single number, on a lattice and possibly kept within bounds."""

    def __hash__(self) -> int:
        """Hash of the noise, which is a frozen value."""

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
        """Ends that outputs are kept between; None for an open end, or without bounds."""

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
        Shape of the statistic: () or (k,).
    cell : Cell
        The same noise on a single number.
    """

    shape: tuple[int, ...]
    cell: Cell


@dataclass(frozen=True)
class ExactView(View):
    """Outputs that are the statistic itself.

    Attributes
    ----------
    shape : tuple of int
        Shape of the statistic: () or (k,).
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
        Number of categories.
    zeros : int
        Number of structural zeros among them, where no record can be.
    """

    cells: int
    zeros: int


@dataclass(frozen=True)
class ProductTable(TableView):
    """The law of a table's outputs where, given n, it is a product over the categories.

    Attributes
    ----------
    law : callable
        Function of a category's outputs, its number i, its counts x and possible numbers n of
        records. It returns the log law of all outputs at x, and the log of the constant factor of
        each output at each n.
    """

    law: Callable[[NDArray[Any], int, Integers, Integers], tuple[Floats, Any]]


@dataclass(frozen=True)
class MixtureTable(TableView):
    """The law of a table's output where it is a mixture of products over the categories.

    Attributes
    ----------
    tables : callable
        Function of an output, the largest count n, and how rare an output may be (-log of its law):
        an array of logs for each category, shape (n + 1, points), and the log of a common factor.
    prior : tuple of float
        Parameters of the Dirichlet prior that copies are drawn under.
    size : int
        Records of a copy.
    """

    tables: Callable[[Any, int, int], tuple[list[Floats], float]]
    prior: tuple[float, ...]
    size: int


@dataclass(frozen=True)
class AnswersView(View):
    """Outputs that are one answer for each record, given its category.

    Attributes
    ----------
    n : int
        Number of records.
    matrix : ndarray, shape (k, answers)
        Pr[answer | category].
    """

    n: int
    matrix: Floats

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.matrix)


@dataclass(frozen=True)
class GraphView(View):
    """The law of outputs given a hidden graph.

    Attributes
    ----------
    evidence : callable
        Function of an output: `bayesdp.networks.evidence.Evidence`; InvalidInput where its law is
        intractable.
    """

    evidence: Callable[[Any], Any]


@dataclass(frozen=True)
class DyadsView(GraphView):
    """The law of outputs given a hidden graph whose dyads were randomised one by one.

    Attributes
    ----------
    evidence : callable
        As for `GraphView`.
    """


@dataclass(frozen=True)
class MeanLaw:
    """Law of some outputs given the mean of normal records with a known sd.

    Attributes
    ----------
    scale : float
        Distance of means over which the law varies.
    logp : callable
        Function of an array of means within the records' bounds: log p(all outputs | mean).
    """

    scale: float
    logp: Callable[[Floats], Floats]


@dataclass(frozen=True)
class NormalView(View):
    """The law of outputs given the mean of normal records, or their mean and variance.

    Attributes
    ----------
    n : int or None
        Number of records, where it is public.
    bounds : tuple of two floats
        Bounds within which all records lie.
    sd : float or None
        Standard deviation of the records, where it is known; None where the law depends on
        their variance too.
    statistic : callable
        Function of n, a mean and a variance with divisor n - 1: the mechanism's statistic
        of such records.
    law : callable
        Function of the outputs and n, where sd is known: a `MeanLaw`.
    """

    n: int | None
    bounds: Ends
    sd: float | None
    statistic: Callable[[int, float, float], Any]
    law: Callable[[Sequence[Any], int], MeanLaw]


@dataclass(frozen=True)
class NormalCopiesView(NormalView):
    """Copies of normal records, drawn around a posterior's draw given noisy moments.

    Attributes
    ----------
    n : int
        Number of records, which is public.
    family : Gaussian
        The family, with the records' bounds and the prior that copies are drawn under.
    size : int
        Records of a copy.
    parts : tuple of Cell
        Noise on the mean and, where sd isn't known, on the variance.
    bounding : {"inflated", "truncated"}
        How noisy moments and synthetic records are kept in their range.
    """

    n: int
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
    public, the sums of columns, of their squares, and of the products of pairs of columns, in
    order.

    Attributes
    ----------
    bounds : mapping of str to tuple of two floats
        Bounds of each column, in order.
    n : int or None
        Number of records, where it is public.
    size : Cell or None
        Noise on n, where it isn't public.
    moment : Cell
        Noise on every other number.
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
        Bounds of each column.
    predictors : tuple of str
    response : str
    penalty : float
        Factor of the sum of squared coefficients in the objective.
    n : int
        Number of records.
    coefficient : Cell
        Noise on each coefficient.
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
        Columns of each marginal.
    places : tuple of tuple of int
        Axes of each marginal.
    statistic : callable
        Function of the whole table's counts: all marginals' counts.
    count : Cell
        Noise on each count.
    """

    axes: tuple[Any, ...]
    possible: NDArray[np.bool_]
    marginals: tuple[tuple[str, ...], ...]
    places: tuple[tuple[int, ...], ...]
    statistic: Callable[[Any], Any]
    count: Cell


@dataclass(frozen=True)
class Measured:
    """Noisy counts of one marginal of a table of records, within an output.

    Attributes
    ----------
    columns : tuple of int
        Places of the marginal's columns in the schema; the last one moves fastest.
    shape : tuple of int
        Numbers of cells, or of pools, that it counts of each column.
    cell : Cell
        Noise on each count.
    slice : slice
        Start and stop of the marginal's counts among an output's numbers.
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    cell: Cell
    slice: slice


@dataclass(frozen=True)
class MeasuredTableView(View):
    """Outputs that are noisy counts of marginals of a table of records with a schema.

    Attributes
    ----------
    schema : `bayesdp.Schema`
        Declaration of the table's columns.
    axes : mapping of str to int
        Number of cells of each column, by name, in the schema's order.
    measured : tuple of Measured
        The marginals, in the order of an output's numbers.
    pool : mapping of str to ndarray of int
        The pool of each cell, of the columns that marginals of several columns count by pools of
        neighbouring cells; a marginal of one column counts its cells.
    choice : callable, optional
        Function of an output: the `Chosen` by which the last of the marginals were chosen on
        confidential counts, whose law is part of the likelihood. None where there is no such.
    """

    schema: Any
    axes: Mapping[str, int]
    measured: tuple[Measured, ...]
    pool: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    choice: Callable[[Any], Chosen] | None = None


@dataclass(frozen=True)
class DrawnCountsView(View):
    """Counts of synthetic records drawn from a Dirichlet posterior's draw.

    Given counts x of categories, an output is Dirichlet-multinomial(size, alpha + x).

    Attributes
    ----------
    alpha : ndarray, shape (k,)
        Parameters of the prior; 0 for a structural zero.
    size : int
        Records of a copy.
    counts : callable
        Function of the outputs: their counts of categories, shape (copies, k).
    ones : bool
        Whether there are two categories and an output is the count of the first.
    """

    alpha: Floats
    size: int
    counts: Callable[[Sequence[Any]], Floats]
    ones: bool = False


@dataclass(frozen=True)
class ChoiceView(View):
    """Outputs that are a candidate, chosen with probability in proportion to exp(rate utility).

    Attributes
    ----------
    k : int
        Number of candidates.
    rate : float
        Factor of a utility in its exponent.
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
