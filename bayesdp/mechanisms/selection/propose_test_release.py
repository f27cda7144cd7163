r"""Propose-test-release: a quantile with noise that fits these data, or a refusal.

Public edges cut the line into k cells, 0 to k - 1; the end cells also hold what is beyond the
bounds. Q(x) is the cell of the r-th smallest of n records, r = ceil(q n). A record may move it by
k - 1 cells, but of most data sets by far fewer. So the curator proposes b, the largest such move;
the mechanism tests, privately, how many records keep the data from one where b is wrong; and it
releases Q with noise that b suffices for, or refuses (Dwork and Lei 2009). Neighbours differ in one
record that is replaced, so that n is public.

The distance
------------
Write x_1 <= ... <= x_n for the records' cells in order, x_i = 0 for i < 1, and x_i = k - 1 for
i > n. To replace one record is to move Q anywhere from x_{r-1} to x_{r+1}, and no further: the
local sensitivity is LS(x) = max(x_r - x_{r-1}, x_{r+1} - x_r). Let D(x) be the least number of
records that must be replaced until LS exceeds b. Then

    D(x) = min { j - i - 1 : 0 <= i <= r <= j <= n + 1, i < j, x_j - x_i > b }.

No more are needed: put the j - i - 1 records between the two on x_i or x_j, so that r or r - 1 are
at x_i or below, as i <= r <= j and i < j allow; all others are at x_j or above. And no fewer are
enough. Let y differ from x in m records, with y_s <= u and y_{s+1} >= v, v - u > b, s = r or r - 1:
s of y's records are up to u, and n - s from v on. Let x have i records up to u, and j - 1 below v.
Of x's records y keeps none between u and v, at most min(i, s) up to u and at most min(n + 1 - j,
n - s) from v on, so that

    m >= n - min(i, s) - min(n + 1 - j, n - s) = j' - i' - 1,  i' = min(i, s), j' = max(j, s + 1),

and i' and j' are among those of the minimum. (Nissim, Raskhodnikova and Smith 2007 have these
windows.) The best i for a cell c = x_i is the largest, and the best j for it the smallest, so that
with F(c) records in cells up to c

    D(x) = min over c = 0, ..., k - 2 - b of max(r, F(c + b) + 1) - min(r, F(c)) - 1.

As a number of replacements, D moves by at most 1 between neighbours; and LS(x) > b if and only if
D(x) = 0.

The release
-----------
With discrete Laplace noise Z of scale 1 / e_1 and Y of scale b / e_2, independent, and a threshold
T >= 1, the output is

    the cell Q(x) + Y, cut off at 0 and k - 1, if D(x) + Z >= T;    refused otherwise.

Privacy. Let x and x' be neighbours, e = e_1 + e_2, and delta = Pr[Z >= T] = exp(-e_1 T) / (1 +
exp(-e_1)).

* |Q(x) - Q(x')| <= b. D differs by at most 1, so the test's result costs e_1, and Q + Y given the
  same result costs e_2: pure (e, 0). A refusal costs e_1 alone.
* |Q(x) - Q(x')| > b. Then LS(x) > b and LS(x') > b: D(x) = D(x') = 0. The test has the same law for
  both, a refusal is equally probable, and all else has probability delta, under either. So no event
  differs by more than delta: (0, delta).

One is (e, 0), the other (0, delta), never both at once: an output is (e, delta)-DP, and, as of c
independent copies a pair is in the same case in all, delta(epsilon) of c copies is at most the
larger of that of c copies of a pure e and 1 - (1 - delta)^c.

For m quantiles, each tested and released by itself, let s of them be in the second case. Which of
their c copies pass has the same law under both, and some do with probability d_s = 1 -
(1 - delta)^(s c). If none does, what is left is the m - s others, independent of that and pure. If
some do, a cell of theirs has probabilities that differ by a factor exp((k - 1) e_2 / b) at most, as
Q does by k - 1. The divergence is convex in the pair of laws, so that

    delta(epsilon) <= max over s of  d_s delta*(epsilon) + (1 - d_s) delta_{m-s}(epsilon),

delta_j of j c copies of a pure e, and delta* of m c copies of a pure max(e, (k - 1) e_2 / b). That
is `profile`; with delta* <= 1 it has what was said of m = 1.

A refusal is an output like another: it is in the law, says that D is probably small, and costs the
same. The promise is for any b and T, chosen without the data. Proposing b after looking at the
data, or proposing again after a refusal without paying again, is beyond it.

The law has no rounding in it but that of `logp`: D and r are integers, and a probability of up to
three decimals, such as 0.1, stands for that decimal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, check_share
from bayesdp.core.axis import check_edges
from bayesdp.core.fields import declared
from bayesdp.core.outputs import WholeNumbers
from bayesdp.core.outputs.several import Several
from bayesdp.core.quantile_views import REFUSED
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.selection.candidates import Pair
from bayesdp.mechanisms.selection.quantiles import (
    CellMechanism,
    as_decimal,
    check_probabilities,
)
from bayesdp.privacy.composition import left, shared, total
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours, replace_one_alone
from bayesdp.privacy.profile import Profile, pure_profile, round_up

Integers = NDArray[np.int64]
_ABOVE = 1 + 1e-9  # how `profile` rounds, so that a calibrated promise is kept


def _check_cost(name: str, value: Any) -> float:
    return check_epsilon(value, name)


def _check_edges(_: str, value: Any) -> tuple[float, ...]:
    return check_edges("value", value)


class Read(NamedTuple):
    """Cell and distance that a test and a release read of data, integers. Confidential."""

    cell: Integers
    distance: Integers


@dataclass(frozen=True, slots=True)
class ProposeTestReleaseMechanism(CellMechanism):
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

    edges: tuple[float, ...] = declared(_check_edges)
    proposal: int = declared(check_at_least_one)
    n: int = declared(check_at_least_one)
    test_epsilon: float = declared(_check_cost)
    noise_epsilon: float = declared(_check_cost)
    threshold: int = declared(check_at_least_one)
    probabilities: tuple[float, ...] = declared(check_probabilities, default=(0.5,))

    name: ClassVar[str] = "propose_test_release"
    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    source: ClassVar[str] = (
        "bayesdp.mechanisms.selection.propose_test_release; Dwork and Lei (2009)"
    )

    def __post_init__(self) -> None:
        super(ProposeTestReleaseMechanism, self).__post_init__()
        if not self.proposal <= self.k - 2:
            raise InvalidInput(
                f"proposal is {self.proposal} with {self.k} cells; it must be from 1 to "
                f"{self.k - 2}, as no record moves a quantile by more than {self.k - 1} cells"
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
            `edges`, `proposal`, `n` and `probabilities`.

        Raises
        ------
        InvalidInput
            If an argument is out of its range, or the threshold is more than n, so that the test is
            unlikely to be passed whatever the data.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        share = check_share("test_share", test_share)
        build = partial(cls, **parameters)
        times = len(build(test_epsilon=1, noise_epsilon=1, threshold=1).probabilities)
        times *= check_at_least_one("copies", copies)
        if delta == 0:
            raise InvalidInput(
                "delta is 0; whatever the threshold, a quantile that isn't stable may pass the "
                "test: ask for a positive delta, such as 1e-6"
            )
        one = shared(epsilon, times)
        costs = share * one, left(one, [share * one])
        made = build(test_epsilon=costs[0], noise_epsilon=costs[1], threshold=1)
        guess = math.log(times / delta) / costs[0] - math.log1p(math.exp(-costs[0])) / costs[0]
        threshold = max(1, math.floor(guess) - 1)
        while times * made.passing_at(threshold) * _ABOVE > delta:
            threshold += 1
        if threshold > made.n:
            raise InvalidInput(
                f"the threshold of {len(made.probabilities)} tests that keep epsilon = "
                f"{quoted(epsilon)} and delta = {quoted(delta)} is {threshold}, more than n = "
                f"{made.n}, so that they are unlikely to be passed whatever the data: ask for "
                "fewer quantiles or copies, or for a larger epsilon, delta or test_share"
            )
        return build(test_epsilon=costs[0], noise_epsilon=costs[1], threshold=threshold)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Rank r = ceil(q n) of each quantile among the n records, from 1."""
        return tuple(math.ceil(as_decimal(q) * self.n) for q in self.probabilities)

    @property
    def test(self) -> DiscreteLaplaceMechanism:
        """Noise on a distance, which a record moves by 1."""
        return _noise(self.test_epsilon, 1, None, self.n)

    @property
    def noise(self) -> DiscreteLaplaceMechanism:
        """Noise on a cell, which a record moves by the proposal, at most, where it is right."""
        return _noise(self.noise_epsilon, self.proposal, self.k - 1, self.n)

    def passing_at(self, distance: int) -> float:
        """Probability that noise makes up for so many records, rounded up; from 1."""
        return round_up(math.exp(float(self.test.noise.log_upper(distance))))

    @property
    def passing(self) -> float:
        """Probability, rounded up, that a quantile passes which a record moves too far."""
        return self.passing_at(self.threshold)

    def read(self, counts: Integers, rank: int) -> Read:
        """Return the cell of the record of that rank, and the distance of the data.

        Parameters
        ----------
        counts : ndarray of int, shape (..., k)
            Of n records in all.
        rank : int
            From 1 to n.

        Returns
        -------
        Read
            Integers of shape (...).
        """
        up_to = counts.cumsum(axis=-1)
        low = np.minimum(rank, up_to[..., : self.k - 1 - self.proposal])
        high = np.maximum(rank, up_to[..., self.proposal : self.k - 1] + 1)
        return Read((up_to < rank).sum(axis=-1), (high - low - 1).min(axis=-1))

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
        m, times, each = len(self.probabilities), check_at_least_one("copies", copies), self._each
        unstable = math.log1p(-self.passing)
        furthest = up(Fraction(self.k - 1) / Fraction(self.noise.scale))
        whole = pure_profile(max(each, furthest), m * times)
        stable = [pure_profile(each, (m - s) * times) for s in range(m)]

        def divergence(at: float) -> float:
            most, rests = whole.divergence(at), [one.divergence(at) for one in stable]
            some = [-math.expm1(s * times * unstable) for s in range(m + 1)]
            return max(d * most + (1 - d) * rest for d, rest in zip(some, [*rests, 0], strict=True))

        return Profile(divergence, whole.pure_epsilon)

    @property
    def _each(self) -> float:
        """Pure epsilon of a quantile that no neighbour moves by more than the bound."""
        return total([self.test_epsilon, self.noise_epsilon])

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, with what a refusal costs."""
        return (
            *super(ProposeTestReleaseMechanism, self).assumptions(relation),
            "A refusal is charged like any other output; another proposal is another release.",
        )

    # What is drawn, and with what probability.

    def draw(self, statistic: Integers, copies: int) -> Integers:
        """Test and release, exactly; returns positions in 0..k-1 or -1, shape (copies, ..., m)."""
        drawn = []
        for rank in self.ranks:
            found = self.read(statistic, rank)
            passed = self.test.draw(found.distance, copies) >= self.threshold
            drawn.append(np.where(passed, self.noise.draw(found.cell, copies), REFUSED))
        return np.stack(drawn, axis=-1)

    def _law(self) -> Callable[[Any, Integers], NDArray[np.float64]]:
        """The log law, a function of outputs and counts."""
        return partial(_log_law, self, self.test.noise, self.noise)

    # What is written down, and what an audit tries.

    @property
    def space(self) -> Several:
        """One cell for each quantile, or -1."""
        what = "the position of a cell, or -1 for a refusal, integers"
        cell = WholeNumbers(REFUSED, self.k - 1, "cell", what)
        return Several(cell, len(self.probabilities), "quantile", "quantiles", shown=self._by_edges)

    def pairs(self) -> list[Pair]:
        """Neighbouring counts of both cases, for each quantile.

        A record moves the quantile from one end to the other; or by the bound, and the distance by
        1, from 0 or from just below the threshold.
        """
        pairs, (b, end) = [], (self.proposal, self.k - 1)
        for rank in dict.fromkeys(self.ranks):
            moves = [({0: rank, end: self.n - rank}, end)]
            for near in sorted({0, min(self.threshold - 1, self.n - rank)}):
                moves.append(({0: rank, b: near, b + 1: self.n - rank - near}, b))
            for counts, to in moves:
                one = np.zeros(self.k, dtype=np.int64)
                np.add.at(one, [*counts], [*counts.values()])
                other = one.copy()
                other[0] -= 1
                other[to] += 1
                pairs.append((one, other))
        return pairs


def _log_law(
    mechanism: ProposeTestReleaseMechanism,
    test: Any,
    noise: DiscreteLaplaceMechanism,
    output: Any,
    counts: Integers,
) -> NDArray[np.float64]:
    """Log Pr[output | counts] of all quantiles together."""
    z, law = np.asarray(output), []
    for place, rank in enumerate(mechanism.ranks):
        found = mechanism.read(counts, rank)
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
