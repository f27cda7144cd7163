r"""Propose-test-release: order statistics with noise that fits these data, or a refusal.

Public edges cut the line into k cells, 0 to k - 1; the end cells also hold what is beyond the
bounds. S(x) is the sum of the cells of n records from the a-th smallest to the b-th, w = b - a + 1
in number: for a = b = ceil(q n) a quantile's cell, and for more a trimmed mean's sum
(`bayesdp.mechanisms.selection.trimmed_mean`). A record may move it by k - 1, but of most data sets
by far less. So the curator proposes B, the largest such move; the mechanism tests, privately, how
many records keep the data from one where B is wrong; and it releases S with noise that B suffices
for, or refuses (Dwork and Lei 2009). Neighbours differ in one record that is replaced, so that n is
public.

The distance
------------
Write x_1 <= ... <= x_n for the records' cells in order, x_i = 0 for i < 1, and x_i = k - 1 for
i > n. To replace one record is to move S by at most x_{b+1} - x_a up, where one up to x_a becomes
k - 1, and by x_b - x_{a-1} down, where one from x_b on becomes 0, and no further: what leaves the
window is x_a at least, and what enters x_{b+1} at most. The local sensitivity is LS(x) =
max(x_{b+1} - x_a, x_b - x_{a-1}) <= k - 1. Let D(x) be the least number of records that must be
replaced until LS exceeds B. Then

    D(x) = min { j - i - w : 0 <= i <= a, b <= j <= n + 1, j - i >= w, x_j - x_i > B }.

No more are needed: let t = a - 1, or a if i = a, so that i <= t and t + w <= j. Of the j - i - 1
records between the two put t - i on x_i and j - t - w on x_j, j - i - w in all. Then t records are
up to x_i, and n + 1 - t - w are from x_j on, so that the ranks t and t + w are more than B apart:
a - 1 and b, or a and b + 1. And no fewer are enough. Let y differ from x in m records, with
y_t <= u and y_{t+w} >= v, v - u > B, t = a - 1 or a: t or more of y's records are up to u, and
n + 1 - t - w or more from v on. Let x have i records up to u, and j - 1 below v. Then
max(0, t - i) or more of y's are new up to u, and max(0, j - t - w) or more from v on, so that

    m >= max(0, t - i) + max(0, j - t - w) = j' - i' - w,  i' = min(i, t),  j' = max(j, t + w),

and i' and j' are among those of the minimum. (Nissim, Raskhodnikova and Smith 2007 have these
windows for the median.) The best i for a cell c = x_i is the largest, and the best j for it the
smallest, but that j - i >= w (i = a and j = b are one too near, and LS > B as it is), so that with
F(c) records in cells up to c

    D(x) = max(0, min over c = 0, ..., k - 2 - B of max(b, F(c + B) + 1) - min(a, F(c)) - w).

As a number of replacements, D moves by at most 1 between neighbours; and LS(x) > B if and only if
D(x) = 0.

The release
-----------
With discrete Laplace noise Z of scale 1 / e_1 and Y of scale B / e_2, independent, and a threshold
T >= 1, the output is

    S(x) + Y, cut off at 0 and w (k - 1), if D(x) + Z >= T;    refused otherwise.

Privacy. Let x and x' be neighbours, e = e_1 + e_2, and delta = Pr[Z >= T] = exp(-e_1 T) / (1 +
exp(-e_1)).

* |S(x) - S(x')| <= B. D differs by at most 1, so the test's result costs e_1, and S + Y given the
  same result costs e_2: pure (e, 0). A refusal costs e_1 alone.
* |S(x) - S(x')| > B. Then LS(x) > B and LS(x') > B: D(x) = D(x') = 0. The test has the same law for
  both, a refusal is equally probable, and all else has probability delta, under either. So no event
  differs by more than delta: (0, delta).

One is (e, 0), the other (0, delta), never both at once: an output is (e, delta)-DP, and, as of c
independent copies a pair is in the same case in all, delta(epsilon) of c copies is at most the
larger of that of c copies of a pure e and 1 - (1 - delta)^c.

For m statistics, each tested and released by itself, let s of them be in the second case. Which of
their c copies pass has the same law under both, and some do with probability d_s = 1 -
(1 - delta)^(s c). If none does, what is left is the m - s others, independent of that and pure. If
some do, a sum of theirs has probabilities that differ by a factor exp((k - 1) e_2 / B) at most, as
S does by k - 1. The divergence is convex in the pair of laws, so that

    delta(epsilon) <= max over s of  d_s delta*(epsilon) + (1 - d_s) delta_{m-s}(epsilon),

delta_j of j c copies of a pure e, and delta* of m c copies of a pure max(e, (k - 1) e_2 / B). That
is `profile`; with delta* <= 1 it has what was said of m = 1.

A refusal is an output like another: it is in the law, says that D is probably small, and costs the
same. The promise is for any B and T, chosen without the data. Proposing B after looking at the
data, or proposing again after a refusal without paying again, is beyond it.

The law has no rounding in it but that of `logp`: D and the ranks are integers, and a probability of
up to three decimals, such as 0.1, stands for that decimal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, check_share
from bayesdp.core.axis import check_edges
from bayesdp.core.fields import declared
from bayesdp.core.order_views import REFUSED
from bayesdp.core.outputs import WholeNumbers
from bayesdp.core.outputs.several import Several
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.selection.candidates import Pair
from bayesdp.mechanisms.selection.quantiles import (
    CellMechanism,
    QuantileCells,
    as_decimal,
    check_probabilities,
)
from bayesdp.privacy.composition import left, shared, total
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours, replace_one_alone
from bayesdp.privacy.profile import Profile, pure_profile, round_up

Integers = NDArray[np.int64]
_MOST = 2**52  # of a sum, beyond which the noise and its law aren't exact
_ABOVE = 1 + 1e-9  # how `profile` rounds, so that a calibrated promise is kept


def check_cost(name: str, value: Any) -> float:
    """Return a part of epsilon, or raise InvalidInput that names the field."""
    return check_epsilon(value, name)


def check_cells(_: str, value: Any) -> tuple[float, ...]:
    """Return the edges of cells, or raise InvalidInput."""
    return check_edges("value", value)


class Read(NamedTuple):
    """Cell, or sum of cells, and distance that are read of data, integers. Confidential."""

    cell: Integers
    distance: Integers


class TestedMechanism(CellMechanism):
    """Base of mechanisms that test a proposal for sums of order statistics, and release or refuse.

    A subclass declares the fields below, with `check_cost` and `check_cells`, and says which ranks
    its sums have.
    """

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def n(self) -> int: ...
        @property
        def proposal(self) -> int: ...
        @property
        def test_epsilon(self) -> float: ...
        @property
        def noise_epsilon(self) -> float: ...
        @property
        def threshold(self) -> int: ...

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    moved: ClassVar[str]
    """The statistic, for a message, as "a quantile"."""
    fewer: ClassVar[str]
    """Of which fewer are easier to release, for a message."""

    @property
    def width(self) -> int:
        """Number of order statistics in a sum, w."""
        raise NotImplementedError

    def reads(self, counts: Integers) -> list[Read]:
        """Read each sum, and its distance, of counts of shape (..., k)."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.proposal <= (most := self.k - 2):
            allowed = f"it must be from 1 to {most}" if most > 0 else "take 3 cells or more"
            raise InvalidInput(
                f"proposal is {self.proposal} with {self.k} cells; {allowed}, as no record moves "
                f"{self.moved} by more than {self.k - 1} cells"
            )
        if self.furthest > _MOST:
            raise InvalidInput(
                f"n is {self.n} with {self.k} cells, so that sums of positions may be more than "
                "2**52; take fewer cells"
            )
        _ = self.test, self.noise  # whose own checks raise

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: float,
        delta: float,
        copies: int = 1,
        test_share: float = 0.5,
        **parameters: Any,
    ) -> Self:
        """Make the mechanism with the smallest threshold whose copies keep (epsilon, delta).

        Parameters
        ----------
        epsilon, delta, copies
            The promise of all copies together; delta in (0, 1).
        test_share : float
            Share of epsilon that pays for the tests; the rest is for the noise.
        **parameters
            The mechanism's other fields, by name.

        Raises
        ------
        InvalidInput
            If an argument is out of its range, or the threshold is more than any distance, so that
            the test is unlikely to be passed whatever the data.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        share = check_share("test_share", test_share)
        made_by: Callable[..., Self] = cls
        build = partial(made_by, **parameters)
        times = len(build(test_epsilon=1, noise_epsilon=1, threshold=1).windows)
        times *= check_at_least_one("copies", copies)
        if delta == 0:
            raise InvalidInput(
                "delta is 0; whatever the threshold, a statistic that isn't stable may pass the "
                "test: ask for a positive delta, such as 1e-6"
            )
        one = shared(epsilon, times)
        costs = share * one, left(one, [share * one])
        made = build(test_epsilon=costs[0], noise_epsilon=costs[1], threshold=1)
        guess = math.log(times) - math.log(delta) - math.log1p(math.exp(-costs[0]))
        threshold = max(1, math.floor(guess / costs[0]) - 1)
        while times * made.passing_at(threshold) * _ABOVE > delta:
            threshold += 1
        if threshold > (most := made.n + 1 - made.width):
            trimmed, trim = (
                (f" - {made.width - 1} = {most}", "trim, ") if made.width > 1 else ("", "")
            )
            raise InvalidInput(
                f"the threshold of {len(made.windows)} tests that keep epsilon = "
                f"{quoted(epsilon)} and delta = {quoted(delta)} is {threshold}, more than n = "
                f"{made.n}{trimmed}, so that they are unlikely to be passed whatever the data: ask "
                f"for fewer {made.fewer}, or for a larger {trim}epsilon, delta or test_share"
            )
        return build(test_epsilon=costs[0], noise_epsilon=costs[1], threshold=threshold)

    @property
    def test(self) -> DiscreteLaplaceMechanism:
        """Noise on a distance, which a record moves by 1."""
        return _noise(self.test_epsilon, 1, None, self.n)

    @property
    def furthest(self) -> int:
        """The largest sum, w (k - 1)."""
        return self.width * (self.k - 1)

    @property
    def noise(self) -> DiscreteLaplaceMechanism:
        """Noise on a sum, which a record moves by the proposal, at most, where it is right."""
        return _noise(self.noise_epsilon, self.proposal, self.furthest, self.n)

    def passing_at(self, distance: int) -> float:
        """Probability that noise makes up for so many records, rounded up; from 1."""
        return round_up(math.exp(float(self.test.noise.log_upper(distance))))

    @property
    def passing(self) -> float:
        """Probability, rounded up, that a statistic passes which a record moves too far."""
        return self.passing_at(self.threshold)

    def read_window(self, counts: Integers, first: int, last: int) -> Read:
        """Return the sum of the cells of the records of these ranks, and the distance of the data.

        Parameters
        ----------
        counts : ndarray of int, shape (..., k)
            Of n records in all.
        first, last : int
            The ranks a and b, from 1 to n.

        Returns
        -------
        Read
            Integers of shape (...).
        """
        up_to, w = counts.cumsum(axis=-1), last - first + 1
        low = np.minimum(first, up_to[..., : self.k - 1 - self.proposal])
        high = np.maximum(last, up_to[..., self.proposal : self.k - 1] + 1)
        above = w - np.clip(up_to - (first - 1), 0, w)  # of the window's, beyond each cell
        distance = np.maximum(0, (high - low).min(axis=-1) - w)
        return Read(above.sum(axis=-1), distance)

    # What is promised.

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return replace-one, or raise InvalidInput if another relation is asked for."""
        return replace_one_alone(
            neighbours,
            "; propose-test-release promises under 'replace_one' alone, as the number of records "
            "is public",
        )

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """An upper bound of the privacy profile, which the module's docstring proves."""
        self.relation(neighbours)
        m, times, each = len(self.windows), check_at_least_one("copies", copies), self._each
        unstable = math.log1p(-self.passing)
        loss = up(Fraction(self.k - 1) / Fraction(self.noise.scale))  # of the furthest move
        whole = pure_profile(max(each, loss), m * times)
        stable = [pure_profile(each, (m - s) * times) for s in range(m)]

        def divergence(at: float) -> float:
            most, rests = whole.divergence(at), [one.divergence(at) for one in stable]
            some = [-math.expm1(s * times * unstable) for s in range(m + 1)]
            return max(d * most + (1 - d) * rest for d, rest in zip(some, [*rests, 0], strict=True))

        return Profile(divergence, whole.pure_epsilon)

    @property
    def _each(self) -> float:
        """Pure epsilon of a statistic that no neighbour moves by more than the bound."""
        return total([self.test_epsilon, self.noise_epsilon])

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, with what a refusal costs."""
        return (
            *super().assumptions(relation),
            "A refusal is charged like any other output; another proposal is another release.",
        )

    # What is drawn, and with what probability.

    def _drawn(self, counts: Integers, copies: int) -> Integers:
        """Test and release, exactly; returns sums or `REFUSED`, shape (copies, ..., m)."""
        drawn = []
        for found in self.reads(counts):
            passed = self.test.draw(found.distance, copies) >= self.threshold
            drawn.append(np.where(passed, self.noise.draw(found.cell, copies), REFUSED))
        return np.stack(drawn, axis=-1)

    def _law(self) -> Callable[[Any, Integers], NDArray[np.float64]]:
        """The log law, a function of sums, shape (..., m), and counts."""
        return partial(_log_law, self, self.test.noise, self.noise)

    # What an audit tries.

    def _pairs_of(self, first: int, last: int) -> list[Pair]:
        """Neighbouring counts of both cases, for the sum of these ranks.

        A record moves the sum by k - 1; or by the bound, and the distance by 1, from 0 or from just
        below the threshold.
        """
        pairs, (b, end) = [], (self.proposal, self.k - 1)
        moves = [({0: first, end: self.n - first}, end)]
        for near in sorted({0, min(self.threshold - 1, self.n - last)}):
            middle = last - first + near
            moves.append(({0: first, b: middle, b + 1: self.n - first - middle}, b))
        for counts, to in moves:
            one = np.zeros(self.k, dtype=np.int64)
            np.add.at(one, [*counts], [*counts.values()])
            other = one.copy()
            other[0] -= 1
            other[to] += 1
            pairs.append((one, other))
        return pairs


@dataclass(frozen=True, slots=True)
class ProposeTestReleaseMechanism(QuantileCells, TestedMechanism):
    """Test that no record moves a quantile by more than proposed; then release it, or refuse.

    The statistic is the number of records in each of the k cells, shape (..., k); an output has a
    noisy cell's position for each quantile, or -1 where it is refused, shape (m,).

    Parameters
    ----------
    edges : sequence of float
        The k + 1 edges of the cells, finite and increasing, four or more. Public. The first and
        the last cell also hold the records beyond the edges.
    proposal : int
        b, the most that a record is proposed to move a quantile, in cells: from 1 to k - 2.
        Chosen without the data.
    n : int
        Number of records. Public.
    test_epsilon : float
        Cost of each quantile's test.
    noise_epsilon : float
        Cost of each quantile's noise, of scale proposal / noise_epsilon cells.
    threshold : int
        The noisy number of records to a data set where the proposal is wrong that passes the test,
        at least 1.
    probabilities : sequence of float
        Probability of each of the m quantiles, between 0 and 1, each once; decimals with at most
        three digits. Default: the median.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    This module's docstring has the law, and proves the promise: (test_epsilon + noise_epsilon,
    `passing`) for a single quantile. It is stated where a record is replaced.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> made = bdp.mechanisms.ProposeTestReleaseMechanism.calibrate(
    ...     epsilon=2.0, delta=1e-6, edges=range(101), proposal=2, n=1000
    ... )
    >>> made.threshold, made.guarantee(delta=1e-6).delta
    (14, 1e-06)
    """

    edges: tuple[float, ...] = declared(check_cells)
    proposal: int = declared(check_at_least_one)
    n: int = declared(check_at_least_one)
    test_epsilon: float = declared(check_cost)
    noise_epsilon: float = declared(check_cost)
    threshold: int = declared(check_at_least_one)
    probabilities: tuple[float, ...] = declared(check_probabilities, default=(0.5,))

    name: ClassVar[str] = "propose_test_release"
    source: ClassVar[str] = (
        "bayesdp.mechanisms.selection.propose_test_release; Dwork and Lei (2009)"
    )
    moved: ClassVar[str] = "a quantile"
    fewer: ClassVar[str] = "quantiles or copies"

    @property
    def ranks(self) -> tuple[int, ...]:
        """Rank r = ceil(q n) of each quantile among the n records, from 1."""
        return tuple(math.ceil(as_decimal(q) * self.n) for q in self.probabilities)

    @property
    def width(self) -> int:
        """Number of order statistics in a quantile, 1."""
        return 1

    def read(self, counts: Integers, rank: int) -> Read:
        """Return the cell of the record of that rank, from 1 to n, and the distance of the data."""
        return self.read_window(counts, rank, rank)

    def reads(self, counts: Integers) -> list[Read]:
        """Read each quantile's cell, and its distance, of counts of shape (..., k)."""
        return [self.read(counts, rank) for rank in self.ranks]

    def draw(self, statistic: Integers, copies: int) -> Integers:
        """Test and release, exactly; returns positions in 0..k-1 or -1, shape (copies, ..., m)."""
        return self._drawn(statistic, copies)

    @property
    def space(self) -> Several:
        """One cell for each quantile, or -1."""
        what = "the position of a cell, or -1 for a refusal, integers"
        cell = WholeNumbers(REFUSED, self.k - 1, "cell", what)
        return Several(cell, len(self.probabilities), "quantile", "quantiles", shown=self._by_edges)

    def pairs(self) -> list[Pair]:
        """Neighbouring counts of both cases of the proof, for each quantile."""
        return [pair for rank in dict.fromkeys(self.ranks) for pair in self._pairs_of(rank, rank)]


def _log_law(
    mechanism: TestedMechanism,
    test: Any,
    noise: DiscreteLaplaceMechanism,
    output: Any,
    counts: Integers,
) -> NDArray[np.float64]:
    """Log Pr[output | counts] of all sums together."""
    z, law = np.asarray(output), []
    for place, found in enumerate(mechanism.reads(counts)):
        short = mechanism.threshold - found.distance
        passed = test.log_upper(short) + noise.logp(z[..., place], found.cell)
        law.append(np.where(z[..., place] == REFUSED, test.log_upper(1 - short), passed))
    return np.asarray(np.sum(law, axis=0))


@functools.lru_cache(maxsize=256)
def _noise(epsilon: float, moved: int, last: int | None, n: int) -> DiscreteLaplaceMechanism:
    """Noise of that cost on an integer that a record moves so far, cut off at 0 and `last`."""
    return DiscreteLaplaceMechanism(
        up(moved / Fraction(epsilon)),
        moved,
        Neighbours.REPLACE_ONE,
        bounds=None if last is None else (0, last),
        bounding=None if last is None else "inflated",
        n=n,
    )
