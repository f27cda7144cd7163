r"""Propose-test-release of a trimmed mean: the sum of a column's middle records, with noise.

Public edges cut a column into k equally wide cells, 0 to k - 1, and a record stands for the middle
of its cell. Of n records, in order, g = floor(trim n) are cut off at either end. What is released
is the sum of the other w = n - 2 g cells,

    S = x_a + ... + x_b,  a = g + 1,  b = n - g,

with noise, or a refusal: `bayesdp.mechanisms.selection.propose_test_release` has the test, the law
and the proof, of which this is the case of one sum, m = 1. In the records' unit the mean is
low + width (S / w + 1 / 2).

A record moves S by the distance of two order statistics that are w ranks apart, the quantiles of
trim and of 1 - trim, nearly. So that is what B must exceed, and by how much says how many records
the test has. Moving the g records at one end, which the mean doesn't see, to the bound there makes
a proposal wrong that is less than the distance of that bound from the window's other end: D <= g
unless x_a >= k - 1 - B and x_b <= B. So T must be well below g. The noise on the mean is of scale
B / (w e_2) cells, in the records' unit the same whatever the cells' width: narrow ones cost
nothing.

As records beyond the bounds are counted in the end cells, and trimmed there like any others, the
bounds matter little where fewer than g are beyond either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.core.fields import declared
from bayesdp.core.order_views import REFUSED
from bayesdp.core.outputs import WholeNumbers, structured
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.selection.candidates import Pair
from bayesdp.mechanisms.selection.propose_test_release import (
    Integers,
    Read,
    TestedMechanism,
    check_cells,
    check_cost,
)
from bayesdp.mechanisms.selection.quantiles import as_decimal

_DECIMALS = 1000  # largest denominator of `trim`


def check_trim(name: str, value: Any) -> float:
    """Return the share that is cut off at either end, or raise InvalidInput."""
    trim = float(value) if is_number(value) else 0.0
    if not (0 < trim < 0.5 and _DECIMALS % as_decimal(trim).denominator == 0):
        raise InvalidInput(
            f"{name} is {quoted(value)}; it must be the share of records to cut off at either end, "
            "more than 0 and less than 0.5, with at most three decimals, such as 0.1"
        )
    return trim


def check_equal_cells(name: str, value: Any) -> tuple[float, ...]:
    """Return the edges of equally wide cells, or raise InvalidInput."""
    edges = check_cells(name, value)
    widths = np.diff(edges)
    slack = 1e-6 * widths.mean() + 8 * np.spacing(np.abs(edges).max())
    if np.any(np.abs(widths - widths.mean()) > slack):
        raise InvalidInput(
            f"{name} is {quoted(value)}; the cells must be equally wide, as positions of cells are "
            "added up: give a number of cells, or edges such as range(101)"
        )
    return edges


@dataclass(frozen=True, slots=True)
class TrimmedMeanMechanism(TestedMechanism):
    """Test that no record moves a trimmed mean by more than proposed; then release it, or refuse.

    The statistic is the number of records in each of the k cells, shape (..., k); an output is the
    noisy sum of the cells' positions over the records that aren't cut off, an integer, or -1 where
    it is refused. It is shown as the mean, in the records' unit.

    Parameters
    ----------
    edges : sequence of float
        The k + 1 edges of the cells, finite, increasing and equally far apart, four or more.
        Public. The first and the last cell also hold the records beyond the edges.
    proposal : int
        B, the most that a record is proposed to move the sum, in cells: from 1 to k - 2. Chosen
        without the data.
    n : int
        Number of records. Public.
    test_epsilon : float
        Cost of the test.
    noise_epsilon : float
        Cost of the noise, of scale proposal / noise_epsilon cells on the sum.
    threshold : int
        The noisy number of records to a data set where the proposal is wrong that passes the test,
        at least 1.
    trim : float
        Share of the records that is cut off at either end, rounded down to whole records; a decimal
        of at most three digits between 0 and 0.5.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    `bayesdp.mechanisms.selection.propose_test_release` has the law, and proves the promise:
    (test_epsilon + noise_epsilon, `passing`). It is stated where a record is replaced.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> made = bdp.mechanisms.TrimmedMeanMechanism.calibrate(
    ...     epsilon=2.0, delta=1e-6, edges=range(101), proposal=40, n=1000
    ... )
    >>> made.cut, made.threshold, made.noise.scale / made.width  # of the mean, in cells
    (100, 14, 0.05)
    """

    edges: tuple[float, ...] = declared(check_equal_cells)
    proposal: int = declared(check_at_least_one)
    n: int = declared(check_at_least_one)
    test_epsilon: float = declared(check_cost)
    noise_epsilon: float = declared(check_cost)
    threshold: int = declared(check_at_least_one)
    trim: float = declared(check_trim, default=0.1)

    name: ClassVar[str] = "trimmed_mean"
    source: ClassVar[str] = (
        "bayesdp.mechanisms.selection.propose_test_release; Dwork and Lei (2009)"
    )
    moved: ClassVar[str] = "a trimmed mean's sum"
    fewer: ClassVar[str] = "copies"

    @property
    def cut(self) -> int:
        """Number of records that are cut off at either end, g = floor(trim n)."""
        return int(as_decimal(self.trim) * self.n)

    @property
    def width(self) -> int:
        """Number of records that are not cut off, w = n - 2 g."""
        return self.n - 2 * self.cut

    @property
    def windows(self) -> tuple[tuple[float, float], ...]:
        """Probabilities of the quantiles that the mean is between."""
        return ((self.trim, 1 - self.trim),)

    def values(self, outputs: Any) -> NDArray[np.float64]:
        """The trimmed means, in the records' unit, shape (..., 1); NaN where it is refused."""
        sums, (low, *_, high) = np.asarray(outputs)[..., None], self.edges
        means = low + (high - low) / self.k * (sums / self.width + 0.5)
        return np.where(sums == REFUSED, np.nan, means)

    def reads(self, counts: Integers) -> list[Read]:
        """Read the sum, and the distance, of counts of shape (..., k)."""
        return [self.read_window(counts, self.cut + 1, self.n - self.cut)]

    def draw(self, statistic: Integers, copies: int) -> Integers:
        """Test and release, exactly; returns sums or -1, shape (copies, ...)."""
        return self._drawn(statistic, copies)[..., 0]

    def _law(self) -> Callable[[Any, Integers], NDArray[np.float64]]:
        """The log law, a function of outputs and counts."""
        return partial(_log_law_of_one, super(TrimmedMeanMechanism, self)._law())

    @property
    def space(self) -> WholeNumbers:
        """A sum of positions, or -1."""
        what = "the sum of cells' positions, or -1 for a refusal, integers"
        return WholeNumbers(REFUSED, self.furthest, "sum", what, shown=self._as_mean)

    def _as_mean(self, output: Any) -> NDArray[Any]:
        return structured([("trimmed_mean", self.values(self.check_output(output)))])

    def pairs(self) -> list[Pair]:
        """Neighbouring counts of both cases of the proof."""
        return self._pairs_of(self.cut + 1, self.n - self.cut)


def _log_law_of_one(law: Callable[[Any, Integers], Any], output: Any, counts: Integers) -> Any:
    """Log Pr[output | counts] where an output is one sum."""
    return law(np.asarray(output)[..., None], counts)
