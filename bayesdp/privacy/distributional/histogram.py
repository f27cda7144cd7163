r"""Truncated histograms: exact counts of a random sample, but those below a threshold k shown as 0.

A sample of a population, whose size the adversary is unsure of, protects who is in it (Groce 2014,
section 6.2): given that an individual is in the sample, in bin j, the histogram is that of the
others plus 1 in bin j. The simulator releases the others' histogram. Let M be the others in bin j
and R those elsewhere. The others' own bins depend on M through R alone, so it is enough to compare
(M + 1 or 0, R) with (M or 0, R), where 0 stands for what is below k.

Where every individual is in the sample independently of the rest, M and R are independent, and R
says nothing: what counts is M + 1 against M, and the ratio of their probabilities, Pr[M = t - 1] /
Pr[M = t], grows in t where M is binomial or Poisson. Up to k it grows too, as the law is
log-concave: 0 stands for the smallest. So the worst events are {at least t} for t >= k, and
{at most t} for t >= k - 1, and with e = exp(epsilon)

    delta = largest of  Pr[M >= t - 1] - e Pr[M >= t],  t >= k,
                   and  Pr[M <= t] - e Pr[M <= t - 1],  t >= k - 1,

over all bins too. That is exact: no smaller delta has this simulator.

Poisson, M ~ Po(m) for any m up to the whole sample's mean: the derivative of the first in m is
Pr[M = t - 2] (1 - e m / (t - 1)), so it is largest at m = (t - 1) / e, and the second at m = e t;
both then fall in t, being at most exp(-(t - 1) (epsilon - 1 + 1 / e)) and
exp(-t (e - 1 - epsilon)).

Binomial, M ~ Bin(K, p) for K individuals of the bin, any number up to the population: for each K
the worst t has the last ratio above e, and from some K on Chernoff's bound, which falls in K, is
below the largest delta that was found.

Groce's Theorem 6.5 says (3 epsilon, 3 delta) for k above C log(1 / delta) / epsilon^2, C unknown,
and his proof takes the others for a sample of the whole population, the individual included.

An adversary who knows whether each of L individuals is in the sample knows up to L of the bin; the
rest then reaches k from k - L on, which is as a threshold of k - L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import check_at_least_one, check_below, check_delta
from bayesdp.errors import InvalidInput
from bayesdp.privacy.distributional.guarantee import (
    DistributionalGuarantee,
    LawClass,
    check_known_records,
)
from bayesdp.privacy.distributional.sample_sizes import (
    BinomialSize,
    FixedMinusLaplace,
    PoissonSize,
    SampleSize,
)
from bayesdp.privacy.guarantee import Strength, check_epsilon

_RELATIVE = 1e-9  # of a tail probability: above its error
_BLOCK = 1 << 12


@dataclass(frozen=True)
class TruncatedHistogram:
    """A histogram of a sample, exact except that counts below a threshold are shown as 0.

    Parameters
    ----------
    threshold : int
        k, at least 1: smaller counts are shown as 0.
    size : BinomialSize, PoissonSize or FixedMinusLaplace
        How the sample was drawn, as far as the adversary knows.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    threshold: int
    size: SampleSize

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_at_least_one("threshold", self.threshold))
        if not isinstance(self.size, BinomialSize | PoissonSize | FixedMinusLaplace):
            raise InvalidInput(
                f"size is a {type(self.size).__name__}; it must be a BinomialSize, PoissonSize or "
                "FixedMinusLaplace of bdp.distributional"
            )

    @classmethod
    def calibrate(
        cls, size: SampleSize, *, epsilon: float, delta: float, known_records: int = 0
    ) -> TruncatedHistogram:
        """The smallest threshold that keeps (epsilon, delta), for any bins.

        Raises
        ------
        InvalidInput
            If no threshold does, e.g. where epsilon is below that of the discarded records.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        low, high, most = 0, 1, size.largest
        while cls(high, size).delta(epsilon, known_records=known_records) > delta:
            low, high = high, 2 * high
            if low > most:
                raise InvalidInput(
                    f"delta is {delta}, which no threshold keeps at epsilon = {epsilon}; ask for "
                    "more, or take a sample whose size is less certain"
                )
        while high - low > 1:
            middle = (low + high) // 2
            kept = cls(middle, size).delta(epsilon, known_records=known_records) <= delta
            low, high = (low, middle) if kept else (middle, high)
        return cls(high, size)

    def delta(self, epsilon: float, *, known_records: int = 0) -> float:
        """The smallest delta at `epsilon` over all bins, rounded up."""
        epsilon = check_below("epsilon", epsilon, 700)
        known = check_known_records(known_records)
        size, least = self.size, self.threshold - known
        if isinstance(size, FixedMinusLaplace):
            if known:
                raise InvalidInput(
                    f"known_records is {known}, but the bound for discarded records holds only "
                    "against an adversary who knows none; give 0, or take a BinomialSize"
                )
            return size.delta(self.threshold, float(epsilon))
        if isinstance(size, BinomialSize) and known > size.population - 1:
            raise InvalidInput(
                f"known_records is {known}, but there are {size.population} individuals, one of "
                f"them to be protected; give at most {size.population - 1}"
            )
        if least < 1:
            return 1.0
        if isinstance(size, PoissonSize):
            smallest = _poisson(least, size.mean, float(epsilon))
        else:
            others = size.population - 1 - known
            smallest = _binomial(least, others, size.rate, float(epsilon))
        return min(1.0, smallest)

    def guarantee(self, epsilon: float, *, known_records: int = 0) -> DistributionalGuarantee:
        """Return the promise at `epsilon`, with the smallest delta.

        Notes
        -----
        Release the counts with ``bdp.publish(ExactStatisticMechanism(promise, dimension=...,
        whole=True, threshold=...), counts)``; the bins must have been chosen without looking at the
        sample.
        """
        epsilon = check_below("epsilon", epsilon, 700)
        searched = isinstance(self.size, FixedMinusLaplace)
        return DistributionalGuarantee(
            epsilon,
            self.delta(epsilon, known_records=known_records),
            f"{self.size.in_words}; given that the individual is in it; the adversary knows of at "
            f"most {known_records} others whether they are",
            LawClass.of("sample", threshold=self.threshold, **self.size.as_data),
            known_records=known_records,
            strength=Strength.CONDITIONAL if searched else Strength.PROVED,
            assumptions=(
                "The bins were chosen without looking at the sample.",
                "Nothing else tells the size of the sample.",
                *(("The worst proportion of a bin was found by a search.",) if searched else ()),
            ),
            source="bayesdp.privacy.distributional.histogram; Groce (2014), Theorem 6.5",
        )

    def counts(self, histogram: Any) -> NDArray[np.int64]:
        """Replace the counts below the threshold by 0, as they are shown."""
        counts = np.asarray(histogram)
        if counts.dtype.kind not in "iu" or np.any(counts < 0):
            raise InvalidInput(
                "histogram must hold whole numbers, at least 0; its values aren't shown here"
            )
        return np.where(counts < self.threshold, 0, counts).astype(np.int64)


def _poisson(k: int, mean: float, epsilon: float) -> float:
    """The largest delta of M + 1 against M, M ~ Po(m), over m in [0, mean]; see the module."""
    e, worst, start = math.exp(epsilon), 0.0, k
    while True:
        t = np.arange(start, start + 1024, dtype=np.float64)
        m = np.minimum((t - 1) / e, mean)
        more = _at_least(t - 1, m)
        first = more - e * _at_least(t, m) + _RELATIVE * more
        u = t - 1
        m = np.minimum(e * u, mean)
        fewer = special.pdtr(u, m)
        second = fewer - e * np.where(u > 0, special.pdtr(u - 1, m), 0.0) + _RELATIVE * fewer
        worst = max(worst, float(first.max()), float(second.max()))
        start += 1024
        beyond = math.exp(-(start - 1) * (epsilon + math.expm1(-epsilon)))
        if max(beyond, math.exp(-(start - 1) * (math.expm1(epsilon) - epsilon))) <= worst:
            return worst
        # Neither is above Pr[M >= t - 1], of which from here on the largest is that of the mean.
        rest = float(_at_least(np.array([start - 1.0]), np.array([mean]))[0])
        if rest <= max(worst, 1e-300):
            return max(worst, rest)


def _at_least(t: NDArray[np.float64], m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability that Po(m) is at least t."""
    return np.where(t <= 0, 1.0, special.pdtrc(np.maximum(t - 1, 0), m))


def _binomial(k: int, others: int, p: float, epsilon: float) -> float:
    """The largest delta of M + 1 against M, M ~ Bin(K, p), over K in 0..others."""
    e, worst = math.exp(epsilon), 0.0
    a = e * p / (1 - p + e * p)  # the last ratio at most e is that of t = a (K + 1), upwards
    b = p / (p + e * (1 - p))  # and downwards
    start = max(k - 1, 0)  # with fewer, bin j is never shown
    while start <= others:
        K = np.arange(start, min(start + _BLOCK, others + 1), dtype=np.float64)
        t = np.maximum(k, np.floor(a * (K + 1)) + 1)
        more = _binomial_at_least(t - 1, K, p)
        first = more - e * _binomial_at_least(t, K, p) + _RELATIVE * more
        u = np.maximum(k - 1, np.ceil(b * (K + 1)) - 1)
        fewer = 1 - 0 * K if p == 0 else _binomial_at_most(u, K, p)
        second = fewer - e * _binomial_at_most(u - 1, K, p) + _RELATIVE * fewer
        worst = max(worst, float(first.max()), float(second.max()))
        start = int(K[-1]) + 1
        high, low = a - (1 - a) / start, b * (1 + 1 / start)
        if high > p > low and b * (start + 1) >= k - 1:
            exponent = start * min(_kl(high, p), _kl(low, p))
            if math.exp(-exponent) <= max(worst, 1e-300):
                break
    return worst


def _binomial_at_least(t: Any, K: Any, p: float) -> NDArray[np.float64]:
    inside = special.betainc(np.maximum(t, 1), np.maximum(K - t + 1, 1e-300), p)
    return np.where(t <= 0, 1.0, np.where(t > K, 0.0, inside))


def _binomial_at_most(t: Any, K: Any, p: float) -> NDArray[np.float64]:
    inside = special.betainc(np.maximum(K - t, 1e-300), np.maximum(t + 1, 1), 1 - p)
    return np.where(t < 0, 0.0, np.where(t >= K, 1.0, inside))


def _kl(x: float, p: float) -> float:
    """The divergence of Bernoulli(x) from Bernoulli(p)."""
    return float(special.rel_entr(x, p) + special.rel_entr(1 - x, 1 - p))
