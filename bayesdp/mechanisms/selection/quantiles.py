r"""Private quantiles: for each, choose the cell of a public grid where it lies.

Public edges cut the line into k cells; the end cells also hold what is beyond the bounds. Let B_i
be the number of records below cell i, n = B_k the number of all, and q = a / b, in lowest terms,
the quantile's probability. The target rank q n is in cell i if B_i <= q n <= B_{i+1}. The utility
is minus the distance of the two, times b, so that it is an integer:

    u_i = -max(0, b B_i - a n, a n - b B_{i+1}).

A choice by it costs epsilon (`bayesdp.mechanisms.selection.candidates`), at the rate epsilon /
(2 s), where s is the most that a record changes any u_i.

*Add/remove-one*: s = max(a, b - a), which is b max(q, 1 - q). The target q n moves, too, with the
confidential n. Add a record in cell r. Then b B_i - a n changes by b - a if r < i, else by -a;
and a n - b B_{i+1} by a - b if r <= i, else by a. A maximum moves by no more than its terms do,
and each of these moves by a or b - a.

*Replace-one*: s = b. Now n stays; B_i and B_{i+1} move by at most 1, so the terms by at most b.

Neither is loose, nor is the factor 2: u_i falls by s in cells on one side of the target and rises
by s in others, at once. Say q >= 1/2, with a t records in the second cell and (b - a) t - 1 in the
last, of n = b t - 1. All empty cells between are a below the best, 0. One record more in the last
cell makes them the best, and takes the first cell, which is far behind, down by a. Its probability
then falls by a factor that goes to exp(epsilon) as the number of cells grows. For q < 1/2 it is the
same from the other end. The first cell is chosen so rarely that an audit by draws takes t = 1.

Several quantiles are as many choices given the same counts, each at a share of epsilon: basic
composition. They may come out of order.

The law has no rounding in it but that of `logp`: utilities are integers, and a probability of up to
three decimals, such as 0.1, stands for that decimal and not for the nearest binary fraction. The
choice is by the exponential mechanism (Smith 2011, section 3, on a grid instead of the gaps
between records), or permute-and-flip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import (
    check_at_least_one,
    check_flag,
    check_one_of,
    check_one_statistic,
    check_quantile_levels,
)
from bayesdp.core.axis import check_edges
from bayesdp.core.fields import later
from bayesdp.core.order_views import OrderStatisticsView
from bayesdp.core.outputs import WholeNumbers, structured
from bayesdp.core.outputs.several import Several
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.selection.candidates import Pair, Selection
from bayesdp.mechanisms.selection.exponential import ExponentialMechanism
from bayesdp.mechanisms.selection.permute_and_flip import PermuteAndFlipMechanism
from bayesdp.mechanisms.selection.utilities import chosen_law
from bayesdp.privacy.composition import shared
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_neighbours

Integers = NDArray[np.int64]
LogLaw = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Log-probability of each candidate, from the exponents of all."""
CHOICES: dict[str, type[Selection]] = {
    "exponential": ExponentialMechanism,
    "permute_and_flip": PermuteAndFlipMechanism,
}
_DECIMALS = 1000  # largest denominator of a probability
_MOST = 10**12  # records, so that utilities are 64-bit integers
_OF_BLOCKS = (
    "Here a record is the estimate from a block of other records, which are what is protected; the "
    "number of blocks is public.",
    "The estimator is a function of its block's records alone, and keeps and writes nothing.",
)
_FAR = 40  # multiple of b records behind which a cell is hardly ever chosen


class CellMechanism(Mechanism):
    """Base of mechanisms that release order statistics, or their means, given counts by cell."""

    __slots__ = ()
    if TYPE_CHECKING:
        edges: tuple[float, ...]

    @property
    def windows(self) -> tuple[tuple[float, float], ...]:
        """Probabilities of the quantiles that each statistic is the mean between."""
        raise NotImplementedError

    def values(self, outputs: Any) -> NDArray[np.float64]:
        """The statistics that outputs say, in the records' unit, shape (..., m); NaN if refused."""
        raise NotImplementedError

    def _law(self) -> Callable[[Any, Integers], NDArray[np.float64]]:
        """The log law, a function of outputs and counts."""
        raise NotImplementedError

    @property
    def k(self) -> int:
        """Number of cells."""
        return len(self.edges) - 1

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, with the rule for records beyond the edges."""
        return (
            *super().assumptions(relation),
            "Records beyond the outer edges are counted in the cell there, whatever they are.",
        )

    def check_statistic(self, statistic: Any) -> Integers:
        """Return one data set's counts by cell as integers, or raise InvalidInput."""
        counts = self.check_statistics(statistic)
        check_one_statistic(counts.shape, (self.k,))
        return counts

    def check_statistics(self, statistic: Any) -> Integers:
        """Return counts by cell, shape (..., k), as integers, or raise InvalidInput."""
        return check_counts(statistic, self.k, self.n)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; -inf where there is no such output.

        Parameters
        ----------
        output : array_like of int
            Of the shape that the class describes; `REFUSED` where a mechanism may refuse.
        statistic : array_like of int, shape (..., k)
            Counts of records; all axes but the last broadcast with the output's.
        """
        return self._law()(output, self.check_statistics(statistic))

    @property
    def views(self) -> tuple[OrderStatisticsView, ...]:
        """View of statistics that are released, or refused, given counts of records."""
        law = self._law()
        return (OrderStatisticsView(self.edges, self.windows, self.n, law, self.values),)


class QuantileCells(CellMechanism):
    """Base of mechanisms that release, for each of some quantiles, the position of a cell."""

    __slots__ = ()
    if TYPE_CHECKING:
        probabilities: tuple[float, ...]

    @property
    def windows(self) -> tuple[tuple[float, float], ...]:
        """Probability of each quantile, twice."""
        return tuple((q, q) for q in self.probabilities)

    def values(self, outputs: Any) -> NDArray[np.float64]:
        """Middles of the cells, shape (..., m); NaN where there is none."""
        place, edges = np.asarray(outputs), np.array(self.edges)
        middles = (edges[:-1] + edges[1:]) / 2
        return np.where(place < 0, np.nan, middles[np.maximum(place, 0)])

    def _by_edges(self, output: Any) -> NDArray[Any]:
        return shown_by_edges(self.edges, self.probabilities, self.check_output(output))


@dataclass(frozen=True, slots=True)
class QuantileMechanism(QuantileCells):
    """Choose, for each of some quantiles, the cell of a public grid where it lies.

    The statistic is the number of records in each of the k cells, shape (..., k); an output has a
    cell's position for each quantile, shape (m,). A cell is chosen by its distance, in records,
    from the quantile's rank.

    Parameters
    ----------
    epsilon : float
        Cost of an output, all its quantiles together, under `neighbours`, positive. Each gets an
        equal share.
    edges : sequence of float
        The k + 1 edges of the cells, finite and increasing, three or more. Public. The first and
        the last cell also hold the records beyond the edges.
    probabilities : sequence of float
        Probability of each of the m quantiles, between 0 and 1, each once; decimals with at most
        three digits. Default: the quartiles.
    neighbours : Neighbours or str
        "add_remove" (default) or "replace_one".
    n : int or None
        Number of records, at least 1, where it is public: under "replace_one" alone.
    choice : {"exponential", "permute_and_flip"}
        How a cell is chosen.
    of_blocks : bool
        Whether the n records are one estimate for each of n blocks of other records, which the
        promise is about (`bayesdp.synthesis.subsample_aggregate`).

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or two contradict each other.

    Notes
    -----
    This module's docstring proves the epsilon.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> median = bdp.mechanisms.QuantileMechanism(1.0, (0, 20, 40, 60, 80), probabilities=(0.5,))
    >>> chosen = median.release([30, 41, 22, 7])
    >>> [round(float(median.logp((cell,), [30, 41, 22, 7])), 1) for cell in range(4)]
    [-20.0, -0.0, -21.0, -43.0]
    """

    epsilon: float = field()  # type: ignore[assignment]  # a parameter, not the profile's
    edges: tuple[float, ...]
    probabilities: tuple[float, ...] = (0.25, 0.5, 0.75)
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    n: int | None = None
    choice: str = "exponential"
    of_blocks: bool = later(False)

    name: ClassVar[str] = "quantiles"
    pure: ClassVar[bool] = True
    source: ClassVar[str] = "bayesdp.mechanisms.selection.quantiles; Smith (2011), section 3"

    def __post_init__(self) -> None:
        check_one_of("choice", self.choice, tuple(CHOICES))
        checked: dict[str, Any] = {
            "epsilon": check_epsilon(self.epsilon),
            "edges": check_edges("value", self.edges),
            "probabilities": check_probabilities("probabilities", self.probabilities),
            "neighbours": check_neighbours(self.neighbours),
            "n": None if self.n is None else check_at_least_one("n", self.n),
            "of_blocks": check_flag("of_blocks", self.of_blocks),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.of_blocks and self.n is None:
            raise InvalidInput(
                "n is None, but of_blocks is True; give the number of blocks, which is public"
            )
        if self.k < 2:
            raise InvalidInput("edges has two numbers, so that all records are in one cell")
        self._ways()  # whose own checks raise

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        """Probability of each quantile, as the decimal that it stands for."""
        return tuple(map(as_decimal, self.probabilities))

    def _ways(self) -> list[Selection]:
        """The choice of a cell for each quantile."""
        share = shared(self.epsilon, len(self.probabilities))
        relation, made = self.neighbours, CHOICES[self.choice]
        return [
            made(share, _sensitivity(q, relation), self.k, False, self.n, relation)
            for q in self.fractions
        ]

    def _law(self) -> Callable[[Any, Integers], NDArray[np.float64]]:
        """The log law, a function of outputs and counts."""
        ways = self._ways()
        rates = [(q, float(way.rate)) for q, way in zip(self.fractions, ways, strict=True)]
        return partial(_log_law, ways[0].log_law, rates)

    def pure_epsilon(self) -> float:
        """Pure epsilon of one output under `neighbours`."""
        return self.epsilon

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise; of blocks, with what it asks of the estimator."""
        own = super(QuantileMechanism, self).assumptions(relation)
        if not self.of_blocks:
            return own
        return (*(each for each in own if each != PUBLIC_N), *_OF_BLOCKS)

    def draw(self, statistic: Integers, copies: int) -> Integers:
        """Choose cells exactly; returns positions in 0..k-1, shape (copies, ..., m)."""
        chosen = [
            way.draw(utilities(statistic, q), copies)
            for q, way in zip(self.fractions, self._ways(), strict=True)
        ]
        return np.stack(chosen, axis=-1)

    @property
    def space(self) -> Several:
        """One cell for each quantile."""
        cell = WholeNumbers(0, self.k - 1, "cell", "the position of a cell, an integer")
        return Several(cell, len(self.probabilities), "quantile", "quantiles", shown=self._by_edges)

    def pairs(self) -> list[Pair]:
        """Neighbouring counts: those of each quantile that the module's docstring has."""
        pairs = []
        for q in self.fractions:
            up = q >= Fraction(1, 2)
            ways = self._moves(q if up else 1 - q)
            pairs += [way if up else (way[0][::-1], way[1][::-1]) for way in ways]
        return pairs

    def _moves(self, q: Fraction) -> list[Pair]:
        """Pairs where a probability of at least 1/2 loses most, by changes above the target."""
        if self.neighbours is Neighbours.ADD_REMOVE:
            a, b = q.numerator, q.denominator
            sizes = [(0, a * t, (b - a) * t - 1) for t in (1, _FAR)]
            return [(self._counts(one), self._counts((*one[:2], one[2] + 1))) for one in sizes]
        n = _FAR * q.denominator if self.n is None else self.n
        pairs = []
        for below in {int(q * n), min(int(q * n) + 1, n)} - {0}:
            one, other = (1, below - 1, n - below), (0, below - 1, n - below + 1)
            pairs.append((self._counts(one), self._counts(other)))
        return pairs

    def _counts(self, sizes: Sequence[int]) -> Integers:
        """Counts that are in the first, the second and the last cell alone."""
        counts = np.zeros(self.k, dtype=np.int64)
        np.add.at(counts, [0, min(1, self.k - 2), self.k - 1], sizes)
        return counts


def _log_law(
    law: LogLaw, rates: Sequence[tuple[Fraction, float]], output: Any, counts: Integers
) -> NDArray[np.float64]:
    """Log Pr[output | counts] of one choice or several for each data set's counts."""
    # The best cell, which has the target, has utility 0.
    gamma = np.stack([-rate * utilities(counts, q) for q, rate in rates], axis=-2)
    return np.asarray(chosen_law(output, law(gamma)).sum(axis=-1))


def utilities(counts: Integers, q: Fraction) -> Integers:
    """Minus the distance of each cell's ranks from the target, times q's denominator.

    Parameters
    ----------
    counts : ndarray of int, shape (..., k)
    q : Fraction
        The quantile's probability.

    Returns
    -------
    ndarray of int, shape (..., k)
    """
    above = counts.cumsum(axis=-1)
    target, b = q.numerator * above[..., -1:], q.denominator
    distance = np.maximum(b * (above - counts) - target, target - b * above)
    return np.asarray(-np.maximum(0, distance))


def check_counts(statistic: Any, k: int, n: int | None) -> Integers:
    """Return numbers of records by cell, shape (..., k), as integers, or raise InvalidInput.

    Where n isn't None, they must add up to it.
    """
    counts = np.asarray(statistic)
    if counts.dtype.kind not in "iu" or counts.ndim == 0 or counts.shape[-1] != k:
        raise InvalidInput(
            f"the statistic has type {counts.dtype} and shape {counts.shape}; it must hold the "
            f"number of records in each of the {k} cells, integers, along its last axis"
        )
    if np.any(counts < 0) or np.any(counts > _MOST) or np.any(counts.sum(axis=-1) > _MOST):
        raise InvalidInput(
            f"the statistic has counts below 0, or more than {_MOST:,} records in all"
        )
    if n is not None and np.any(counts.sum(axis=-1) != n):
        raise InvalidInput(f"the statistic's counts don't add up to n = {n} records")
    return counts.astype(np.int64)


def shown_by_edges(
    edges: Sequence[float], probabilities: Sequence[float], cells: Sequence[int]
) -> NDArray[Any]:
    """Show cells by their edges: a structured array of probability, from and to, shape (m,).

    Where a cell is negative, there is none, and the edges are NaN.
    """
    place, ends = np.array(cells), np.array(edges)
    sides = [np.where(place < 0, np.nan, ends[np.maximum(place, 0) + side]) for side in (0, 1)]
    shown = [np.array(probabilities), *sides]
    return structured(zip(("probability", "from", "to"), shown, strict=True))


def check_probabilities(name: str, given: Any) -> tuple[float, ...]:
    """Return probabilities of quantiles, with at most three decimals, or raise InvalidInput."""
    made = check_quantile_levels(name, given.tolist() if hasattr(given, "tolist") else given)
    if any(_DECIMALS % as_decimal(v).denominator for v in made):
        raise InvalidInput(
            f"{name} is {quoted(given)}; it must be probabilities with at most three decimals, for "
            "example (0.25, 0.5, 0.75)"
        )
    return made


def as_decimal(probability: float) -> Fraction:
    """Return a probability as the decimal that it stands for."""
    return Fraction(repr(probability))


def _sensitivity(q: Fraction, neighbours: Neighbours) -> int:
    """The most that a record changes a utility; the module's docstring proves it."""
    a, b = q.numerator, q.denominator
    return b if neighbours is Neighbours.REPLACE_ONE else max(a, b - a)
