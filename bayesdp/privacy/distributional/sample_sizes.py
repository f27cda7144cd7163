r"""Laws of a sample's size, as far as an adversary knows how the sample was drawn.

Records that are discarded from a sample of n: D = max(0, ceil(Laplace(1 / epsilon) + log(1 / delta)
/ epsilon)) of them, at random (Groce 2014, section 6.2). The release is the histogram of what is
left, and the simulator's that of the n - 1 others, of which D are discarded too. With q the law of
D, s = n - D records left, m of them in the bin of the protected one and a proportion p of the
population there, the two worlds give (m, s) the probabilities

    q(n - s) [s / n Bin(m - 1; s - 1, p) + (1 - s / n) Bin(m; s, p)]
    and   q(n - 1 - s) Bin(m; s, p).

What is compared is (m, s - m) where m is shown, and s - m alone where it isn't: the others' bins
depend on m through it alone. The sums are computed over all but 1e-25 of either, which is added.
Records are independent: a sample of a large population.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_at_least, check_below, is_number, keep, plain
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.guarantee import check_epsilon

Floats = NDArray[np.float64]

_LEFT_OUT = 1e-25
_SPACING = 0.1  # of tried counts: of their logarithms, and in standard deviations near a threshold
_FAR = 6.0  # standard deviations from a threshold
_BELOW = 6.0  # of the least count's logarithm, below the first peak's
_ZOOMS, _FINER = 4, 9  # of a peak: times, and points each time
_HIGH, _FLAT = 0.9, 1e-6  # of the worst delta: what a peak reaches, and how far it stands out


@dataclass(frozen=True, slots=True)
class BinomialSize:
    """A Bernoulli sample: each of a population's individuals is in it with probability `rate`.

    Parameters
    ----------
    population : int
        At least 2.
    rate : float
        In (0, 1).
    """

    population: int
    rate: float

    def __post_init__(self) -> None:
        plain(self)
        keep(self, population=check_at_least("population", self.population, 2))
        if not is_number(self.rate) or not 0 < self.rate < 1:
            raise InvalidInput(
                f"rate is {quoted(self.rate)}; it must be a number above 0 and below 1 (with 1 all "
                "are in the sample, and its counts are certain)"
            )

    @property
    def in_words(self) -> str:
        """Describe the sampling in words, for the reader of a report."""
        return (
            f"a sample of a population of {self.population}, each in it independently with "
            f"probability {self.rate}"
        )

    @property
    def as_data(self) -> dict[str, Any]:
        """Public parameters of the sampling, as data."""
        return {"size": "binomial", "population": self.population, "rate": self.rate}

    @property
    def largest(self) -> int:
        """The largest number of records there can be, or one that is hardly ever reached."""
        return self.population


@dataclass(frozen=True, slots=True)
class PoissonSize:
    """A sample of Poisson size from a large population.

    Parameters
    ----------
    mean : float
        The expected size, positive and finite; overstating it is on the safe side.
    """

    mean: float

    def __post_init__(self) -> None:
        plain(self)
        if not is_number(self.mean) or not 0 < self.mean < math.inf:
            raise InvalidInput(f"mean is {quoted(self.mean)}; it must be a positive finite number")

    @property
    def in_words(self) -> str:
        """Describe the sampling in words, for the reader of a report."""
        return f"independent records, whose number is Poisson with mean {self.mean}"

    @property
    def as_data(self) -> dict[str, Any]:
        """Public parameters of the sampling, as data."""
        return {"size": "poisson", "mean": self.mean}

    @property
    def largest(self) -> int:
        """The largest number of records there can be, or one that is hardly ever reached."""
        return math.ceil(self.mean + 40 * math.sqrt(self.mean) + 1000)


@dataclass(frozen=True, slots=True)
class FixedMinusLaplace:
    """A sample of known size, of which a random number of records is discarded.

    Parameters
    ----------
    n : int
        Number of records before any is discarded, at least 2.
    epsilon, discard_delta : float
        Parameters of the law of the number discarded: positive, and in (0, 1).
    """

    n: int
    epsilon: float
    discard_delta: float

    def __post_init__(self) -> None:
        plain(self)
        keep(self, n=check_at_least("n", self.n, 2), epsilon=check_epsilon(self.epsilon))
        if not is_number(self.discard_delta) or not 0 < self.discard_delta < 1:
            raise InvalidInput(
                f"discard_delta is {quoted(self.discard_delta)}; it must be a number above 0 and "
                "below 1"
            )

    @property
    def in_words(self) -> str:
        """Describe the sampling in words, for the reader of a report."""
        return (
            f"{self.n} independent records, of which max(0, ceil(Laplace(1 / {self.epsilon}) + "
            f"log(1 / {self.discard_delta}) / {self.epsilon})) are discarded at random"
        )

    @property
    def as_data(self) -> dict[str, Any]:
        """Public parameters of the sampling, as data."""
        return {
            "size": "fixed_minus_laplace",
            "n": self.n,
            "epsilon": self.epsilon,
            "discard_delta": self.discard_delta,
        }

    @property
    def largest(self) -> int:
        """The largest number of records there can be, or one that is hardly ever reached."""
        return self.n

    def discarded(self) -> Floats:
        """Law of the number D of discarded records, from d = 0 on; all but 1e-19 of it."""
        shift = -math.log(self.discard_delta) / self.epsilon
        last = min(self.n, math.ceil(shift + 45 / self.epsilon))
        x = np.arange(last + 1) - shift
        rate = self.epsilon
        below = np.where(x < 0, np.exp(np.minimum(rate * x, 0)) / 2, 0.0)
        above = np.where(x >= 0, np.exp(-rate * np.maximum(x, 0)) / 2, 0.0)
        law = np.empty(last + 1)
        law[0] = below[0] if x[0] < 0 else 1 - above[0]
        both = (x[1:] < 0, x[:-1] >= 0)
        law[1:] = np.where(
            both[0],
            below[1:] - below[:-1],
            np.where(both[1], above[:-1] - above[1:], 1 - above[1:] - below[:-1]),
        )
        if last == self.n:
            law[-1] = max(0.0, 1 - math.fsum(law[:-1]))
        return law

    def delta(self, threshold: int, epsilon: float) -> float:
        """The largest delta over a grid of proportions, and near its peaks.

        There may be several. Where a count just above the threshold is told from a smaller one, the
        peak is near threshold / exp(epsilon) records, since with fewer others in the bin the
        protected one makes such a count that much more probable; where all counts are shown, it is
        at many. A proportion of 0, at which delta is the limit of those above, is the worst where
        single records are shown: nobody else is in the bin, so that one record there is the
        protected one.
        """
        threshold = check_at_least("threshold", threshold, 0)
        epsilon = check_below("epsilon", epsilon, 700)
        few = max(threshold, 1)
        near = few + math.sqrt(few) * np.arange(-_FAR, _FAR + 1, _SPACING)
        least = math.log(few) - epsilon - _BELOW
        logs = np.arange(least, math.log(self.n), _SPACING)
        logs = np.append(np.r_[logs, np.log(near[near > 0])], math.log(self.n))
        logs = np.unique(logs[logs <= math.log(self.n)])

        def at(log: float) -> float:
            return self.delta_at(threshold, epsilon, min(math.exp(log) / self.n, 1.0))

        deltas = np.array([at(log) for log in logs])
        worst = max(self.delta_at(threshold, epsilon, 0.0), float(deltas.max()))
        around = np.r_[-np.inf, deltas, -np.inf]
        rises = np.c_[deltas - around[:-2], deltas - around[2:]]
        stands_out = (rises.min(axis=1) >= 0) & (rises.max(axis=1) > _FLAT * worst)
        peaks = stands_out & (deltas >= _HIGH * worst)
        for k in np.flatnonzero(peaks).tolist():
            between = (logs[max(k - 1, 0)], logs[min(k + 1, logs.size - 1)])
            worst = max(worst, _peak(at, *between))
        return min(1.0, worst)

    def delta_at(self, threshold: int, epsilon: float, proportion: float) -> float:
        """The delta of a bin with that proportion of the population, in [0, 1]; rounded up."""
        from scipy import special

        threshold = check_at_least("threshold", threshold, 0)
        q, n, epsilon = self.discarded(), self.n, check_below("epsilon", epsilon, 700)
        p = as_float(proportion)
        if not 0 <= p <= 1:
            raise InvalidInput(f"proportion is {quoted(proportion)}; it must be from 0 to 1")
        s = np.arange(n - q.size, n + 1)  # left over in either world
        s = s[s >= 0]
        real = np.where(n - s < q.size, q[np.minimum(n - s, q.size - 1)], 0.0)
        others = n - 1 - s
        simulated: Floats = np.where(others >= 0, q[np.clip(others, 0, q.size - 1)], 0.0)
        if q.size == n + 1 and n >= 1:  # all n - 1 others are discarded from there on
            simulated[s == 0] += q[-1]
        # By Chernoff's and Bernstein's bounds no more than that is left out on either side.
        nats = -math.log(_LEFT_OUT)
        low = s[0] * p - math.sqrt(2 * nats * s[0] * p)
        high = n * p + nats / 3 + math.sqrt(nats * nats / 9 + 2 * nats * n * p)
        m = np.arange(max(0, int(low) - 2), min(n, int(high) + 2) + 1)[:, None]

        def law(x: Any, size: Any) -> Floats:
            inside = (x >= 0) & (x <= size)
            x, size = np.where(inside, x, 0), np.broadcast_to(np.maximum(size, 0), x.shape)
            logs = special.xlogy(x, p) + special.xlog1py(size - x, -p)
            logs += special.gammaln(size + 1) - special.gammaln(x + 1)
            logs -= special.gammaln(size - x + 1)
            return np.where(inside, np.exp(logs), 0.0)

        grid = np.broadcast_to(m, (m.size, s.size))
        same = law(grid, s)
        one = real * (s / n * law(grid - 1, s - 1) + (1 - s / n) * same)
        other = simulated * same
        left = max(0.0, 1 - one.sum(), 1 - other.sum())
        shown = m[:, 0] >= threshold
        rest = (s - grid)[~shown].ravel()
        rest = rest - rest.min() if rest.size else rest
        hidden = [
            np.bincount(rest, weights=each[~shown].ravel()) if rest.size else np.zeros(1)
            for each in (one, other)
        ]
        e = math.exp(epsilon)
        both = []
        for a, b, x, y in ((one, other, *hidden), (other, one, *hidden[::-1])):
            excess = np.maximum(a[shown] - e * b[shown], 0).sum() + np.maximum(x - e * y, 0).sum()
            both.append(float(excess))
        return float(max(both) * (1 + 1e-9) + left)


def _peak(function: Callable[[float], float], low: float, high: float) -> float:
    """The largest value found between two places, by finer and finer grids around the largest."""
    found = 0.0
    for _ in range(_ZOOMS):
        places = np.linspace(low, high, _FINER)
        values = [function(place) for place in places]
        best = int(np.argmax(values))
        found = max(found, values[best])
        low, high = places[max(best - 1, 0)], places[min(best + 1, _FINER - 1)]
    return found


SampleSize = BinomialSize | PoissonSize | FixedMinusLaplace
