r"""The synthesizers that Hu, Williams and Savitsky (2025) compare, under their published names.

All except the perturbed histogram draw (phi, lambda) from a posterior, and then beta records:

- Unweighted: no weights, no clipping.
- Weighted: weights fitted to the data so that the records' Lipschitz bounds are near
  factor epsilon / 2 (`bayesdp.papers.hu.weights`).
- Weighted-e: of these weights, those of the riskiest records set to 0 until the largest bound is at
  most epsilon / 2.
- Censor_w: Weighted's weights, and each weighted log density clipped to [-epsilon/2, epsilon/2].
- Censor_uw: no weights, clipped (`bayesdp.synthesis.censored_beta`).
- PH: a histogram of cells of equal width, perturbed under replace-one.

What they promise
-----------------
Censor_uw and PH are proved, Censor_uw under add/remove-one and PH under replace-one: not the same
promise at the same epsilon. The others promise nothing. The paper calls Unweighted, Weighted and
Weighted-e asymptotically private, at twice the largest Lipschitz bound seen on the data at hand,
which other data exceed; and Censor_w private at epsilon. That clipping bounds each record's term
doesn't help: with one more record, the weights of all others change too. A new record whose bound
is twice the largest, where the least is near 0, halves every other record's linear risk
(Delta_i - min) / (max - min), and so changes all n terms of the sum. On 2000 records clipped at 2,
one more record near 0 changed the log density by hundreds, where epsilon = 4 was claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayesdp.checks import as_float, check_at_least_one, keep, plain
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.censored.inputs import check_some
from bayesdp.mechanisms.counts.histogram import PerturbedHistogramMechanism
from bayesdp.mechanisms.randomness import generator
from bayesdp.papers.hu.weights import (
    Floats,
    fitted_weights,
    pseudo_draws,
    record_lipschitz,
    reweighted,
)
from bayesdp.privacy.guarantee import Guarantee, Strength, check_epsilon
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.synthesis.censored_beta import CensoredBetaSynthesizer

_SOURCE = "Hu, Williams and Savitsky (2025)"
_FITTED = (
    "False in general: the weights were fitted to all of the data, so that one record more changes "
    "every record's term."
)
_SEEN = (
    "False in general: the Lipschitz bound is the largest seen on these data and draws, and other "
    "data exceed it."
)


@dataclass(frozen=True, eq=False, repr=False)
class FittedComparator:
    """Comparator fitted to confidential records, and confidential itself.

    Attributes
    ----------
    name : str
        The published name.
    guarantee : Guarantee
        The promise; its strength is `Strength.AS_PUBLISHED` where it is known to be false.
    weights : ndarray, shape (n,)
        Each record's weight.
    draws : ndarray, shape (count, 2)
        Draws of (phi, lambda).
    bounds : ndarray, shape (n,)
        Each record's Lipschitz bound over the draws, after weighting and clipping.
    interval : tuple of two floats or None
        Interval to which weighted log densities are clipped.
    removed : int
        Number of records whose weight Weighted-e set to 0.
    """

    name: str
    guarantee: Guarantee
    weights: Floats
    draws: Floats
    bounds: Floats
    interval: tuple[float, float] | None = None
    removed: int = 0

    @property
    def lipschitz(self) -> float:
        """The largest of the records' Lipschitz bounds."""
        return float(self.bounds.max())

    @property
    def censored(self) -> int:
        """Number of records whose weighted log density is clipped at one draw or more."""
        if self.interval is None:
            return 0
        return int(np.count_nonzero(self.bounds >= self.interval[1]))

    def synthetic(self, size: int) -> Floats:
        """Draw `size` records from the first draw, each kept strictly between 0 and 1."""
        phi, lam = self.draws[0]
        records = generator().beta(lam * phi, lam * (1 - phi), check_at_least_one("size", size))
        return np.clip(records, 2.0**-1022, 1 - 2.0**-53)

    def __repr__(self) -> str:
        return f"FittedComparator({self.name}, confidential)"


@dataclass(frozen=True, eq=False, repr=False)
class HuComparators:
    """The paper's synthesizers on one set of confidential records in (0, 1), for comparison.

    They are for studies on public or simulated data: only `censor_uw` and `perturbed_histogram`
    promise anything. To release data with a promise, use `CensoredBetaSynthesizer` or
    `PerturbedHistogramMechanism`.

    Parameters
    ----------
    records : array_like
        Confidential records in (0, 1), at least one.
    count : int
        Number of draws of each posterior, over which Lipschitz bounds are maximised.
    method : {"linear", "softmax", "logistic"}
        The map from bounds to risks (`risks`).
    scale, shift : float
        c and g of `fitted_weights`.

    Examples
    --------
    >>> fitted = HuComparators([0.1, 0.3, 0.2]).weighted_e(4.0)
    >>> fitted.lipschitz <= 2.0, fitted.guarantee.strength.value
    (True, 'as_published')
    """

    records: Floats
    count: int = 1000
    method: str = "linear"
    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", check_some(self.records))
        plain(self)
        keep(self, count=check_at_least_one("count", self.count))
        # A wrong method, scale or shift fails here, not after minutes.
        fitted_weights(np.ones(1), method=self.method, scale=self.scale, shift=self.shift)

    @cached_property
    def unweighted(self) -> FittedComparator:
        """Fit Unweighted: the posterior itself."""
        return self._fit("Unweighted", np.ones(self.records.size))

    @cached_property
    def _first(self) -> FittedComparator:
        """Fit the posterior under the first step's weights."""
        options = {"scale": self.scale, "shift": self.shift}
        first = fitted_weights(self.unweighted.bounds, method=self.method, **options)
        return self._fit("first step", first)

    def weighted(self, epsilon: float, factor: float = 1.0) -> FittedComparator:
        """Fit Weighted, re-weighted to Lipschitz bounds near factor epsilon / 2.

        Parameters
        ----------
        epsilon : float
            Twice the target of the Lipschitz bounds.
        factor : float
            In (0, 1]; below 1 it scales all weights down.
        """
        share = as_float(factor)
        if not 0 < share <= 1:
            raise InvalidInput(
                f"factor is {quoted(factor)}; it must be a number above 0, at most 1"
            )
        target = share * check_epsilon(epsilon) / 2
        return self._fit("Weighted", reweighted(self._first.weights, self._first.bounds, target))

    def weighted_e(self, epsilon: float, factor: float = 1.0) -> FittedComparator:
        """Fit Weighted-e: weights of 0 until the largest Lipschitz bound is at most epsilon / 2.

        Repeatedly, the weights of the riskiest quarter of the records above epsilon / 2, at least
        one record, are set to 0, and the posterior is fitted again.
        """
        return self.truncated(self.weighted(epsilon, factor), epsilon)

    def truncated(self, fitted: FittedComparator, epsilon: float) -> FittedComparator:
        """Fit `weighted_e` from weights that have been fitted already."""
        epsilon, removed = check_epsilon(epsilon), 0
        limit = epsilon / 2
        while True:
            above = int(np.count_nonzero(fitted.bounds > limit))
            if not above:
                promise = _as_published(epsilon, _SEEN)
                return replace(fitted, name="Weighted-e", guarantee=promise, removed=removed)
            worst = np.argsort(fitted.bounds, kind="stable")[-math.ceil(above / 4) :]
            weights = fitted.weights.copy()
            weights[worst] = 0.0
            removed += worst.size
            fitted = self._fit("Weighted-e", weights)

    def censor_w(self, epsilon: float, factor: float = 1.0) -> FittedComparator:
        """Fit Censor_w: `weighted`'s weights, then clipping at epsilon / 2. Not private."""
        return self.clipped(self.weighted(epsilon, factor), epsilon)

    def clipped(self, fitted: FittedComparator, epsilon: float) -> FittedComparator:
        """Fit `censor_w` with weights that have been fitted already."""
        half = check_epsilon(epsilon) / 2
        return self._fit("Censor_w", fitted.weights, (-half, half))

    def censor_uw(self, epsilon: float) -> FittedComparator:
        """Fit Censor_uw: clipped, without weights, drawn exactly. One draw has the guarantee."""
        synthesizer = CensoredBetaSynthesizer(epsilon=check_epsilon(epsilon))
        law = synthesizer.pseudo_posterior(self.records).law
        draws, weights = law.drawn(self.count), np.ones(self.records.size)
        interval = law.low, law.high
        bounds = record_lipschitz(self.records, draws, weights, interval=interval)
        promise = synthesizer.guarantee()
        return FittedComparator("Censor_uw", promise, weights, draws, bounds, interval)

    def perturbed_histogram(
        self, epsilon: float, size: int, cells: int | None = None
    ) -> tuple[Floats, Guarantee]:
        """Draw PH: `size` records from a perturbed histogram of (0, 1), and return its guarantee.

        Parameters
        ----------
        epsilon : float
            Privacy cost under replace-one: Laplace noise of scale 2 / epsilon, on whole numbers.
        size : int
            Number of synthetic records; they cost nothing.
        cells : int, optional
            Number of cells of equal width; by default the square root of n, which is public,
            rounded.
        """
        n = self.records.size
        m = round(math.sqrt(n)) if cells is None else check_at_least_one("cells", cells)
        mechanism = PerturbedHistogramMechanism.calibrate(
            epsilon=epsilon, cells=m, neighbours=Neighbours.REPLACE_ONE, n=n
        )
        counts = np.bincount(np.minimum((self.records * m).astype(np.int64), m - 1), minlength=m)
        noisy = np.asarray(mechanism.release(counts), dtype=np.float64).ravel()
        shares = noisy / noisy.sum() if noisy.any() else np.full(m, 1 / m)
        source = generator()
        drawn = source.choice(m, check_at_least_one("size", size), p=shares)
        return (drawn + source.random(size)) / m, mechanism.guarantee()

    def _fit(
        self, name: str, weights: Floats, interval: tuple[float, float] | None = None
    ) -> FittedComparator:
        draws = pseudo_draws(self.records, weights, interval=interval, count=self.count)
        bounds = record_lipschitz(self.records, draws, weights, interval=interval)
        if interval is None:
            promise = _as_published(2 * float(bounds.max()), _SEEN)
        else:
            promise = _as_published(interval[1] - interval[0], _FITTED)
        return FittedComparator(name, promise, weights, draws, bounds, interval)

    def __repr__(self) -> str:
        return f"HuComparators({self.records.size} records, confidential)"


def _as_published(epsilon: float, why: str) -> Guarantee:
    return Guarantee(
        epsilon=epsilon,
        delta=0.0,
        neighbours=Neighbours.ADD_REMOVE,
        strength=Strength.AS_PUBLISHED,
        assumptions=(why,),
        source=_SOURCE,
    )
