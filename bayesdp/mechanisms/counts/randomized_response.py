"""Randomized response: every record is answered independently, truly or not.

A record of category i is released as category j with probability Pr[j | i], one row of a public
matrix (Warner 1965; several categories: Kairouz, Oh and Viswanath 2016). No one needs to be
trusted with the records: each may be randomised where it arises, which is local privacy
(Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith 2011).

Privacy. Let two data sets of n records differ in record r, of category i in one and i' in the
other. The answers are independent and all others have the same laws, so for a set S of outputs,
given the others' answers, Pr[S] - exp(epsilon) Pr'[S] is at most the hockey-stick divergence of
row i from row i', and so is the average over them. It is attained by events of answer r alone. So
the profile, under replace-one, is for every n

    delta(epsilon) = max over i, i' of sum_j (Pr[j | i] - exp(epsilon) Pr[j | i'])^+,

and the pure epsilon is the largest log(Pr[j | i] / Pr[j | i']): inf where an answer is possible for
one category and impossible for another. Independent copies of the whole release multiply the
ratios: M times the pure epsilon, attained where all copies answer j. At delta > 0, M copies at
delta / M each have M times the epsilon, which holds and may be more than needed.

All answers are released, so n is: there are no add/remove neighbours.

The draw takes a uniform integer below the row's sum of weights and looks up whose it is: integers
only, so that the law is the stated one exactly.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_one_statistic
from bayesdp.core.outputs.answers import Answers
from bayesdp.core.views import AnswersView, RecordsView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts import response_matrix
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.privacy.composition import repeated
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, replace_one_alone
from bayesdp.privacy.profile import Profile, repeated_profile

Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class RandomizedResponseMechanism(Mechanism):
    """Release each of n records as category j, with probability in proportion to `weights[i][j]`.

    The statistic is the records themselves, integers from 0 to k - 1, shape (..., n); an output
    has the same shape. A single response is n = 1: an array of one record.

    Parameters
    ----------
    weights : tuple of tuples of int
        k rows of k weights, at least 0; row i is the law of the answer of category i. Each row
        sums to between 1 and 2^62. Public. `binary`, `kary` and `of` make the mechanism from an
        epsilon or from probabilities.
    n : int
        Number of records, at least 1. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The module's docstring proves the profile.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> survey = bdp.mechanisms.RandomizedResponseMechanism.of((0.75, 0.75), n=1000)    # Warner's
    >>> round(survey.epsilon(), 4)
    1.0986
    """

    weights: Any
    n: int = 1

    name: ClassVar[str] = "randomized_response"
    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    log_concave: ClassVar[bool] = False
    source: ClassVar[str] = "bayesdp.mechanisms.counts.randomized_response; Warner (1965)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", response_matrix.check_weights(self.weights))
        object.__setattr__(self, "n", check_at_least_one("n", self.n))

    @classmethod
    def binary(cls, epsilon: float, n: int = 1) -> RandomizedResponseMechanism:
        """Make the response of two categories, truth exp(epsilon) times as likely as a lie."""
        return cls.calibrate(epsilon=epsilon, n=n)

    @classmethod
    def kary(cls, epsilon: float, k: int, n: int = 1) -> RandomizedResponseMechanism:
        """Make the response of k categories, truth exp(epsilon) times as likely as any lie."""
        return cls.calibrate(epsilon=epsilon, categories=k, n=n)

    @classmethod
    def calibrate(
        cls, *, epsilon: float, categories: int = 2, n: int = 1, copies: int = 1
    ) -> RandomizedResponseMechanism:
        """Make the symmetric response whose `copies` copies cost at most `epsilon`.

        The odds of the truth against any other answer are exp(epsilon / copies), rounded down by
        less than one part in 2^60, or 2^62 where they would exceed it.
        """
        categories = check_at_least_one("categories", categories)
        if categories < 2:
            raise InvalidInput(
                "categories is 1; it must be at least 2, since a record of one category needs no "
                "release"
            )
        epsilon, copies = check_epsilon(epsilon), check_at_least_one("copies", copies)
        share = epsilon / copies
        while True:
            made = cls(response_matrix.weights_within(share, categories), n)
            if repeated(made.epsilon(), copies) <= epsilon:
                return made
            share = math.nextafter(share, 0.0)

    @classmethod
    def of(cls, probabilities: Any, n: int = 1) -> RandomizedResponseMechanism:
        """Make the response with these probabilities, exactly.

        Parameters
        ----------
        probabilities : matrix, or pair of numbers
            Row i is the law of category i's answer; floats are taken as the binary fractions that
            they are, and each row must sum to exactly 1. For two categories, a pair: the
            probabilities that 0 is answered 0 and that 1 is answered 1.
        n : int
            Number of records.
        """
        return cls(response_matrix.weights_of(probabilities), n)

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.weights)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Probabilities Pr[j | i] as floats; shape (k, k)."""
        return response_matrix.probabilities_of(self.weights)

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return replace-one, the only relation of its promise; raise if another is asked for."""
        return replace_one_alone(
            neighbours,
            ", but every record's answer is released, so their number shows; randomized response "
            "promises under 'replace_one' alone",
        )

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies: tight for one, else by basic composition."""
        self.relation(neighbours)
        one, copies = response_matrix.profile(self.weights), check_at_least_one("copies", copies)
        if copies == 1:
            return one

        def inverse(delta: float) -> float:
            # Rounded down, so that the shares add up to delta at most.
            return repeated(one.epsilon(math.nextafter(delta / copies, 0.0)), copies)

        return dataclasses.replace(repeated_profile(one, copies), inverse=inverse)

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        about = "The promise is about one record's category: each is randomised on its own."
        return PUBLIC_N, about, COMPUTATIONAL

    def check_statistic(self, statistic: Any) -> NDArray[Any]:
        """Return the n records as an array if they are categories, else raise."""
        records = response_matrix.check_records(statistic, self.k, self.n)
        check_one_statistic(records.shape, (self.n,))
        return records

    def check_statistics(self, statistic: Any) -> NDArray[Any]:
        """Return the records of several releases, shape (..., n), or raise InvalidInput."""
        return response_matrix.check_records(statistic, self.k, self.n)

    def draw(self, statistic: NDArray[Any], copies: int) -> NDArray[Any]:
        """Randomise every record, exactly, from the secure generator.

        Answers have shape (copies, ..., n) and type int8, or int64 for more than 128 categories.
        """
        answers = response_matrix.answers(self.weights, statistic.ravel(), copies)
        return answers.reshape(copies, *statistic.shape)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], summed over the records; -inf if an answer is no category.

        Both have shape (..., n), and broadcast.
        """
        z, records = np.asarray(output), response_matrix.check_records(statistic, self.k, self.n)
        inside = (z >= 0) & (z < self.k) & (z == np.floor(z))
        with np.errstate(divide="ignore"):
            table = np.log(self.matrix)
        law = table[records, np.where(inside, z, 0).astype(np.int64)]
        return np.asarray(np.where(inside, law, -np.inf).sum(axis=-1))

    @property
    def views(self) -> tuple[View, ...]:
        """View of each record's answer, given its category."""
        return AnswersView(self.n, self.matrix), RecordsView()

    def pairs(self) -> list[Pair]:
        """Pairs whose first record is of either of two categories, all others of category 0.

        All pairs of categories are there except those that only relabel another's answers.
        """
        others = [0] * (self.n - 1)
        return [
            (np.array([i, *others]), np.array([j, *others]))
            for i, j in response_matrix.unlike_rows(self.weights)
        ]

    def nearby(self, pair: Pair, generator: np.random.Generator) -> Pair:
        """Draw other neighbours for an audit's search: any record, of any two categories."""
        one = np.array(pair[0])
        other = one.copy()
        where = generator.integers(self.n)
        one[where], other[where] = generator.choice(self.k, 2, replace=False)
        return one, other

    @property
    def space(self) -> Answers:
        """Answers of the n records, in their order."""
        return Answers(self.n, self.k)
