r"""The beta-binomial mechanism: a synthetic count from a perturbed posterior predictive.

Given x ones among n confidential records, one copy is a draw

    p ~ Beta(a + x, b + n - x),    z ~ Binomial(size, p),

so z is beta-binomial, and only z is released (Abowd and Vilhuber 2008; Charest 2010, section
4.2). (a, b) is the mechanism's prior: public, and chosen for privacy, not for belief.

Privacy of one copy
-------------------
Write m = size, P(z | x, y) for the law given x ones and y = n - x zeros. From
B(u + 1, v) / B(u, v) = u / (u + v),

    P(z | x + 1, y) / P(z | x, y) = (a + x + z) / (a + x) * (N / (N + m)),  N = a + b + x + y,

and the same with (b, y, m - z) when a zero is added.

*Replace-one* (n fixed), a zero turned into a one: (x, y + 1) becomes (x + 1, y), and the
ratio is [(a + x + z) / (a + x)] [(b + y) / (b + y + m - z)]. It increases in z. Its maximum,
at z = m, is 1 + m / (a + x) <= 1 + m / a, attained at x = 0; its minimum, at z = 0, is the
inverse of 1 + m / (b + y) <= 1 + m / b, attained at y = 0. Both need only n >= 1, so

    epsilon = log(1 + m / min(a, b)),   exactly, for every n >= 1.

Zheng (2015, Theorem 6.13) prints a threshold on the prior that is larger by one; its
maximum sits at a data set that has no such neighbour.

*Adding a record* raises the probability of z by at most
(1 + m / (a + x)) N / (N + m) < 1 + m / a, approached as n grows with x = 0: the supremum over
all n is log(1 + m / min(a, b)). *Removing* one raises it by at most (N + m) / N with
N >= a + b, at z = 0 and n = 0: log(1 + m / (a + b)). The add/remove-one epsilon is thus the
same log(1 + m / min(a, b)), as a supremum over n, and it holds where n is confidential too.

Independent copies multiply the ratios at the same data sets, so M copies have M times the
epsilon, exactly.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_at_least_one
from bayesdp.core.outputs import FromRecords, WholeNumbers
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.count import Count, check_count, count_view, drawn_ones
from bayesdp.mechanisms.draws.polya import polya_urn
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_neighbours, check_unshown
from bayesdp.privacy.profile import Profile, pure_profile

_SAFE = 1 + 2.0**-50  # covers the rounding of log1p, the division and the products below


@dataclass(frozen=True, slots=True)
class BetaBinomialMechanism(Mechanism):
    """Release z ~ BetaBinomial(size, a + x, b + n - x) given x ones among n records.

    Parameters
    ----------
    n : int or None
        Number of confidential records, at least 1, where it is public; None where it
        is confidential. A public n has no add/remove neighbours.
    size : int
        Number of synthetic records in a copy, at least 1. Public.
    prior : tuple of two floats
        (a, b), positive. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The module's docstring proves the value of epsilon.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> made = bdp.mechanisms.BetaBinomialMechanism(n=100, size=100, prior=(58.2, 58.2))
    >>> print(made.guarantee())
    epsilon = 0.999975 (replace_one, proved)
    """

    n: int | None
    size: int
    prior: tuple[float, float]

    name: ClassVar[str] = "beta_binomial"
    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    source: ClassVar[str] = "bayesdp.mechanisms.counts.beta_binomial; Charest (2010), section 4.2"
    pure: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    """The law is log-concave in the number of ones, for any output and any n.

    Its log has first difference in x: log(1 + z / (a + x)) minus
    log(1 + (m - z) / (b + n - x - 1)), and both parts decrease in x.
    """

    def __post_init__(self) -> None:
        if self.n is not None:
            object.__setattr__(
                self, "n", check_at_least_one("n", self.n, "or None if confidential")
            )
        object.__setattr__(self, "size", check_at_least_one("size", self.size))
        object.__setattr__(self, "prior", check_prior(self.prior))

    @classmethod
    def calibrate(
        cls, *, n: int | None, size: int, epsilon: float, copies: int = 1
    ) -> BetaBinomialMechanism:
        """Make the mechanism of smallest symmetric prior whose `copies` copies cost `epsilon`.

        Both parameters are size / (exp(epsilon / copies) - 1), rounded up until the guarantee,
        which is itself rounded up, is at most `epsilon`.
        """
        epsilon, copies = check_epsilon(epsilon), check_at_least_one("copies", copies)
        share = epsilon / copies
        size = check_at_least_one("size", size)
        # exp(-t) / (1 - exp(-t)): the same number, without overflow; and never so small
        # that size / a overflows, which no epsilon below 690 asks for.
        a = size * max(math.exp(-share) / -math.expm1(-share), 1e-300)
        while (mechanism := cls(n, size, (a, a))).epsilon(copies=copies) > epsilon:
            a *= _SAFE
        return mechanism

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, replace-one by default.

        Raises
        ------
        InvalidInput
            If n is public and `neighbours` is add/remove: n differs between them and is
            released as it is. Or if the relation is not one of records.
        """
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        if relation not in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE):
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}; a count of records has 'replace_one' "
                "and 'add_remove'"
            )
        check_unshown(relation, self.n)
        return relation

    def pure_epsilon(self) -> float:
        """Exact epsilon of a copy under either relation, rounded up by one part in 10^15."""
        return math.log1p(self.size / min(self.prior)) * _SAFE

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""
        copies, ratio = check_at_least_one("copies", copies), self.size / min(self.prior)
        self.relation(neighbours)
        return pure_profile(self.pure_epsilon(), copies, copies * math.log1p(ratio) * _SAFE)

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        return ("The size of a copy was chosen without the data." if self.n is None else PUBLIC_N,)

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """Guarantee for the removal of a record: the supremum over n of the log ratio.

        It has epsilon = copies * log(1 + size / (a + b)); the addition of a record has the larger
        `epsilon`.
        """
        copies = check_at_least_one("copies", copies)
        added = self.guarantee(copies=copies, neighbours=Neighbours.ADD_REMOVE, delta=delta)
        epsilon = copies * math.log1p(self.size / sum(self.prior)) * _SAFE
        return dataclasses.replace(added, epsilon=epsilon)

    def check_statistics(self, statistic: Any) -> Count:
        """Return a Count of the mechanism's n, whose fields may be arrays, else raise."""
        return check_count(statistic, self.n)

    def draw(self, statistic: Count, copies: int) -> NDArray[np.int64]:
        """Draw synthetic numbers of ones, each in 0..size."""
        ones, zeros = np.broadcast_arrays(statistic.successes, statistic.failures)
        shape = (copies, *ones.shape)
        return polya_urn(
            np.broadcast_to(ones, shape), np.broadcast_to(zeros, shape), self.prior, self.size
        )

    def logp(self, output: Any, statistic: Count) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; -inf outside 0..size."""
        statistic = check_count(statistic, self.n)
        a, b = self.prior
        return beta_binomial_logpmf(
            output, self.size, a + statistic.successes, b + statistic.failures
        )

    @property
    def views(self) -> tuple[View, ...]:
        """Views: records, and their law given a count of ones, or counts of ones and of zeros."""
        return count_view(self), drawn_ones(self.prior, self.size), RecordsView()

    def pairs(self) -> list[tuple[Count, Count]]:
        """The pairs where the largest ratios are attained, for an audit to try.

        The first and the last replacement, at x = 0 and at x = n (the module's docstring);
        with a confidential n, at n = 1, where the same ratios are attained.
        """
        n = 1 if self.n is None else self.n
        ends = {0, n - 1}
        return [(Count(x, n), Count(x + 1, n)) for x in sorted(ends)]

    @property
    def space(self) -> WholeNumbers:
        """Numbers of ones, shown beside the numbers of records."""
        return ones_among(self.size, "ones", beside=(("records", self.size),))

    def check_statistic(self, statistic: Any) -> Count:
        """Return the statistic if it is a Count of the mechanism's n, else raise."""
        count = check_count(statistic, self.n)
        if np.ndim(count.successes) or np.ndim(count.n):
            raise InvalidInput("statistic is a Count of arrays; release one Count at a time")
        return count


def ones_among(size: int, column: str, **other: Any) -> WholeNumbers:
    """The space of numbers of ones among `size` synthetic records, shown with the ones first."""

    def shown(ones: int) -> NDArray[np.int8]:
        return np.repeat(np.array([1, 0], dtype=np.int8), [ones, size - ones])

    counted = FromRecords((), partial(_ones_of, size))
    return WholeNumbers(0, size, column, limit="size", shown=shown, counted=counted, **other)


def _ones_of(size: int, columns: Sequence[Any]) -> int:
    """Count the ones of a column of 0/1 records, or raise InvalidInput."""
    from bayesdp.core.outputs.counts import labels_of  # which loading a release doesn't need

    return int(labels_of(2, size, columns)[1])


def check_prior(prior: Any, name: str = "prior", law: str = "beta") -> tuple[float, float]:
    """Return a beta (or other) prior as two floats if both are positive and finite, else raise."""
    try:
        a, b = map(as_float, prior)
    except (TypeError, ValueError):  # not a pair
        a = b = math.nan
    if not (a > 0 and b > 0 and math.isfinite(a + b)):
        raise InvalidInput(
            f"{name} is {quoted(prior)}; it must be two positive finite numbers, the parameters "
            f"of a {law} distribution, for example (1, 1)"
        )
    return a, b
