r"""Posteriors where the number n of records is unknown: a mixture over its possible values.

With prior probabilities pi_n, and p(z | n) the probability of the outputs if there are n records,

    p(theta | z)  ~  sum over n of pi_n p(z | n) p(theta | z, n).

Both vary little from one n to the next, so that they are computed at few of them. Between two of
these log p(z | n) is a line, and p(theta | z, n) a mixture of both ends', with weights that are
linear in n. An interval is halved until

- its line is within 0.004 of log p(z | n) at its middle, and so a quarter of that in its halves;
- from its middle to its ends the posterior's mean moves by at most 0.15 standard deviations of the
  whole posterior, which adds less than 0.4% to its variance, and by half of one given n, so that
  no gaps show;
- there the posterior's standard deviation changes by at most 10%.

Numbers whose share is below exp(-40) aren't looked at, which takes p(z | n) to have one peak.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput

Floats = NDArray[np.float64]

_STARTS = 9  # numbers that are looked at first
_OFF = 0.004  # of log p(z | n) at the middle of an interval
_MOVED = (0.15, 0.5)  # standard deviations, of the whole posterior and given n
_WIDER = 0.1  # of the logarithm of the standard deviation given n
_FAR = 40.0  # log of what is negligible beside the largest


class Impossible(InvalidInput):
    """Outputs have probability zero under a model with this number of records."""


class Posterior(Protocol):
    """Posterior given a number of records, made from a finite mixture and the log evidence."""

    @property
    def mixture(self) -> Any:
        """The posterior, which has a `mean` and an `sd`, and can be `joined`."""

    @property
    def log_evidence(self) -> float:
        """Log of the outputs' probability, or density."""


Made = TypeVar("Made", bound=Posterior)


def over_sizes(sizes: Sequence[tuple[int, float]], given: Callable[[int], Made]) -> Made:
    """Compute the posterior under a prior on the number of records; see the module's docstring.

    Parameters
    ----------
    sizes : sequence of tuples
        Possible numbers of records and their prior probabilities.
    given : callable
        Function of a number of records: the posterior, or Impossible raised.

    Raises
    ------
    InvalidInput
        If the outputs have probability zero whatever the number is.
    """
    if len(sizes) == 1:
        return given(sizes[0][0])
    law = _Sizes(sizes, given)
    law.refine()
    places, shares, log_evidence = law.shares()
    each = [one for place in places[shares > 0] if (one := law.found[place])]
    mixtures = [one.mixture for one in each]
    mixture = type(mixtures[0]).joined(shares[shares > 0], mixtures)
    return type(each[0])(mixture, log_evidence)  # type: ignore[call-arg]


class _Sizes(Generic[Made]):
    """Posteriors at some of the possible numbers of records, by their places in a sorted array.

    Attributes
    ----------
    numbers, log_prior : ndarray, shape (sizes,)
    found : dict of int to posterior
        None where a number is impossible.
    moments : dict of int to ndarray, shape (2, parameters)
        Means and standard deviations of those that are possible.
    """

    def __init__(self, sizes: Sequence[tuple[int, float]], given: Callable[[int], Made]) -> None:
        numbers, prior = zip(*sorted(sizes), strict=True)
        self.numbers, self.log_prior = np.array(numbers), np.log(prior)
        self.given = given
        self.found: dict[int, Made | None] = {}
        self.moments: dict[int, Floats] = {}
        self.far = _FAR + float(np.ptp(self.log_prior))

    def refine(self) -> None:
        """Look at as many numbers as matter.

        Raises
        ------
        Impossible
            If all are.
        """
        last = self.numbers.size - 1
        starts = np.unique(np.linspace(0, last, _STARTS).astype(np.int64)).tolist()
        refused = [self._look(place) for place in starts]
        intervals = list(itertools.pairwise(starts))
        while intervals:
            best = max((one.log_evidence for one in self.found.values() if one), default=None)
            threes = [
                (low, (low + high) // 2, high)
                for low, high in intervals
                if self._matters(low, high, best)
            ]
            refused += [self._look(middle) for _, middle, _ in threes]
            whole = self._sd()
            intervals = [
                half
                for three in threes
                if not self._alike(three, whole)
                for half in itertools.pairwise(three)
            ]
        if not any(self.found.values()):
            raise next(error for error in refused if error is not None)

    def shares(self) -> tuple[NDArray[np.int64], Floats, float]:
        """Places of possible numbers, the weights of their posteriors, and the log evidence."""
        places = np.array(sorted(place for place, one in self.found.items() if one))
        logs = [one.log_evidence for place in places if (one := self.found[place])]
        at, every = self.numbers[places], slice(places[0], places[-1] + 1)
        numbers = self.numbers[every]
        logs = self.log_prior[every] + np.interp(numbers, at, logs)
        weights = np.exp(logs - logs.max())
        # Each number's weight is shared between its neighbours.
        where = np.interp(numbers, at, np.arange(at.size))
        left = np.minimum(where.astype(np.int64), max(at.size - 2, 0))
        right = where - left
        shares = np.bincount(left, weights * (1 - right), at.size)
        shares += np.bincount(np.minimum(left + 1, at.size - 1), weights * right, at.size)
        return places, shares / shares.sum(), float(logs.max() + math.log(weights.sum()))

    def _look(self, place: int) -> Impossible | None:
        try:
            one = self.given(int(self.numbers[place]))
        except Impossible as error:
            self.found[place] = None
            return error
        self.found[place] = one
        self.moments[place] = np.stack(
            [np.atleast_1d(one.mixture.mean()), np.atleast_1d(one.mixture.sd())]
        )
        return None

    def _matters(self, low: int, high: int, best: float | None) -> bool:
        """Return True unless there is nothing between two places, or it is negligible."""
        if high - low < 2 or best is None:
            return high - low > 1
        ends = [one.log_evidence for place in (low, high) if (one := self.found[place])]
        return bool(ends) and max(ends) >= best - self.far

    def _alike(self, three: tuple[int, int, int], whole: Floats) -> bool:
        """Return True if what is between two places follows from these and their middle."""
        first, second, third = (self.found[place] for place in three)
        if first is None or second is None or third is None:
            return False
        start, middle, stop = self.numbers[list(three)]
        share = (middle - start) / (stop - start)
        line = (1 - share) * first.log_evidence + share * third.log_evidence
        if abs(second.log_evidence - line) > _OFF:
            return False
        means, sds = np.stack([self.moments[place] for place in three], axis=1)
        moved = np.abs(np.diff(means, axis=0))
        most = np.minimum(_MOVED[0] * whole, _MOVED[1] * sds.min(axis=0))
        return bool(
            np.all(moved <= most) and np.all(np.abs(np.diff(np.log(sds), axis=0)) <= _WIDER)
        )

    def _sd(self) -> Floats:
        """Standard deviations of the whole posterior, as far as it is known."""
        if not any(self.found.values()):
            return np.zeros(1)
        places, shares, _ = self.shares()
        means, sds = np.stack([self.moments[place] for place in places], axis=1)
        centre = shares @ means
        return np.asarray(np.sqrt(shares @ (sds**2 + (means - centre) ** 2)))
