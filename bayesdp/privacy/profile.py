"""Privacy profiles: how delta depends on epsilon, exactly, and always on the safe side.

The profile of a mechanism is the hockey-stick divergence of its worst neighbours,

    delta(epsilon) = max over D, D' of sup_S Pr[M(D) in S] - exp(epsilon) Pr[M(D') in S],

which decreases and is convex in exp(epsilon). Nothing here knows a family or a mechanism.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesdp.checks import as_float, check_delta, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.composition import repeated, total

SMALLEST = math.nextafter(0.0, 1.0)
"""What a positive delta too small for a float is rounded up to."""
_SAFE = 1 + 2e-10  # the tests find errors below 2e-12, and 2e-11 can be met at a million records
_LOWER = 1 - 2.0**-49  # log ratios are off by a few units of the last digit: all, near the pure end
_PLD_POINTS = 250
_LARGEST = 1e100  # beyond it no root is looked for
_NEGLIGIBLE = 1e-20  # a delta that a loss distribution takes for an infinite loss
_FURTHEST = 1e5  # epsilon beyond which all that is left of one counts as an infinite loss
_ROUNDING = 1e-8  # in a delta, by which a point may seem to be above a line
_NOTHING = 40.0  # standard deviations, beyond which a normal density is 0 as a float
_STEP = 1 / 64  # of the double-exponential rule; a half of it changes no digit


@dataclass(frozen=True, slots=True)
class Profile:
    """A privacy profile, as the function delta(epsilon) and its two ends.

    Attributes
    ----------
    divergence : callable
        delta at a finite epsilon >= 0, with a relative error below 1e-10; or delta at an epsilon
        that is off by one part in 10^15, which matters where delta vanishes.
    pure_epsilon : float
        The smallest epsilon with delta(epsilon) = 0; inf if there is none.
    limit : float
        The limit of delta as epsilon grows: the largest probability of outputs that the
        neighbour can't give.
    why : str
        Why there is no better promise, in words; empty where there is nothing to explain.
    inverse : callable, optional
        epsilon at a positive delta, where it is found otherwise than as a root of `divergence`.
    losses : callable, optional
        The `loss_distribution.LossDistribution` of a dominating pair, the same in both directions,
        where it is known itself: its composition has no errors of a grid through the profile.
    event : callable, optional
        The event of dp_accounting that has at least this profile, where one is known that is nearer
        than what `pure_epsilon` implies.
    """

    divergence: Callable[[float], float]
    pure_epsilon: float
    limit: float = 0.0
    why: str = ""
    inverse: Callable[[float], float] | None = None
    losses: Callable[[], Any] | None = None
    event: Callable[[], Any] | None = None

    def delta(self, epsilon: float) -> float:
        """The tight delta at epsilon in [0, inf], rounded up."""
        epsilon = check_profile_epsilon(epsilon)
        if epsilon >= self.pure_epsilon:
            return round_up(self.limit)
        return max(SMALLEST, round_up(self.divergence(epsilon * _LOWER)))

    def epsilon(self, delta: float) -> float:
        """The tight epsilon at delta in [0, 1), rounded up; inf where no epsilon is enough."""
        delta = check_delta(delta)
        if delta == 0:
            return self.pure_epsilon
        if delta < round_up(self.limit):
            return math.inf
        if self.inverse is not None:
            return min(self.pure_epsilon, self.inverse(delta))
        return smallest_satisfying(
            self.delta,
            delta,
            start=min(1.0, self.pure_epsilon),
            largest=self.pure_epsilon,
        )

    def pld(self, interval: float | None = None) -> Any:
        """A dominating privacy loss distribution, for composition: one of dp_accounting.

        delta is evaluated at up to 251 epsilons from 0 to where it is within 1e-20 of its limit, or
        to the pure epsilon; neighbours are symmetric, so that
        delta(-epsilon) = 1 - exp(-epsilon) + exp(-epsilon) delta(epsilon) gives as many more.
        The largest profile through these points is linear in exp(epsilon) between them (Doroshenko
        et al. 2022, "connect the dots"); the mass beyond the last counts as an infinite loss.

        Parameters
        ----------
        interval : float, optional
            Step of the grid of losses, for use with other distributions of dp_accounting; by
            default it is chosen so that all points are neighbours on the grid.

        Returns
        -------
        dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        """
        last = self._last_epsilon()
        if interval is None:
            interval = last / _PLD_POINTS or 1.0
        elif not is_number(interval) or not 0 < interval < math.inf:
            raise InvalidInput(f"interval is {quoted(interval)}; it must be a positive number")
        steps = max(1, math.ceil(last / interval))
        places = np.unique(np.linspace(0, steps, min(steps, _PLD_POINTS) + 1).astype(np.int64))
        # Raised once more, as differences of these numbers are taken.
        deltas = np.array([min(1.0, self.delta(k * interval) * (1 + 1e-9)) for k in places])
        return symmetric_pld(interval, places, np.maximum.accumulate(deltas[::-1])[::-1])

    def _last_epsilon(self) -> float:
        """Find the epsilon beyond which nothing is left of the profile: pure epsilon, or nearly."""
        if self.limit >= 1:
            return 0.0
        high, largest = min(1e-3, self.pure_epsilon), min(_FURTHEST, self.pure_epsilon)
        enough = round_up(self.limit) * (1 + 1e-9) + _NEGLIGIBLE
        while high < largest and self.delta(high) > enough:
            high = min(1.25 * high, largest)
        return high


def symmetric_pld(interval: float, places: NDArray[np.int64], deltas: NDArray[np.float64]) -> Any:
    """The loss distribution of `Profile.pld`, from its points.

    Parameters
    ----------
    interval : float
        Step of the grid of losses.
    places : ndarray of int
        Epsilons in units of `interval`, ascending from 0.
    deltas : ndarray
        Upper bounds of the profile at those epsilons.
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    minus = np.exp(-places * interval)
    mirrored = -np.expm1(-places * interval) + minus * deltas
    places = np.concatenate([-places[:0:-1], places])
    deltas = np.concatenate([mirrored[:0:-1], deltas])
    kept = _convex(np.asarray(places * interval, dtype=np.float64), deltas)
    falling = np.maximum.accumulate(deltas[kept][::-1])[::-1]
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(interval, places[kept], falling)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def _convex(epsilons: NDArray[np.float64], deltas: NDArray[np.float64]) -> list[int]:
    """Positions of the points of a profile that are below all lines between the others.

    A profile is convex in exp(epsilon), and so below such a line, but the bounds on it needn't be:
    that of a sum of costs is 1 up to one of them, which no profile with a smaller delta can be.
    """
    kept: list[int] = []
    for k, (end, last) in enumerate(zip(epsilons, deltas, strict=True)):
        while len(kept) > 1:
            i, j = kept[-2:]
            first, middle = epsilons[i], epsilons[j]
            share = np.exp(middle - end) * np.expm1(first - middle) / np.expm1(first - end)
            if deltas[j] <= deltas[i] + share * (last - deltas[i]) + _ROUNDING:
                break
            kept.pop()
        kept.append(k)
    return kept


def of_a_function(what: str) -> Profile:
    """The profile of a non-constant function of the data, released exactly: no promise at all."""
    return Profile(
        lambda epsilon: 1.0,
        math.inf,
        limit=1.0,
        why=f"The {what} is a function of the data: two neighbours where it differs are told "
        "apart with certainty.",
    )


def hockey_stick(log_p: ArrayLike, log_q: ArrayLike, epsilon: float) -> float:
    """Hockey-stick divergence, sup_S p(S) - exp(epsilon) q(S), of two laws on one finite set.

    sum of p max(0, 1 - exp(epsilon + log q - log p)), whose terms are positive: nothing
    cancels, and the result keeps its digits however small it is.

    Parameters
    ----------
    log_p, log_q : array_like
        Log probabilities of the same outputs; -inf where an output is impossible.
    epsilon : float
        At least 0; inf counts the outputs impossible under q alone.
    """
    log_p, log_q = np.broadcast_arrays(np.asarray(log_p, float), np.asarray(log_q, float))
    singular = log_q == -np.inf
    alone = float(np.sum(np.exp(log_p[singular])))
    both = ~singular & (log_p > -np.inf)
    return alone + expected_excess(log_p[both], log_p[both] - log_q[both], epsilon)


def expected_excess(log_p: NDArray[Any], log_ratio: NDArray[Any], epsilon: float) -> float:
    """Hockey-stick divergence from log p and log(p / q), where the log ratio has more digits."""
    above = log_ratio > epsilon
    return -float(np.sum(np.exp(log_p[above]) * np.expm1(epsilon - log_ratio[above])))


def gaussian_divergence(shift: float, epsilon: float) -> float:
    """Hockey-stick divergence of N(shift, 1) from N(0, 1), the same in both directions.

    Phi(-x) - exp(epsilon) Phi(-x - shift) with x = epsilon / shift - shift / 2 (Balle and
    Wang 2018, Theorem 5). It increases in shift: N(s, 1) with s < shift is a contraction of
    N(shift, 1) plus noise, the same for both neighbours.
    """
    if shift == 0:
        return 0.0
    x = epsilon / shift - shift / 2
    if x > _NOTHING:
        return 0.0
    if x < 0 and shift > 1:  # no cancellation: the first term is more than 1.5 times the second,
        ratio = scipy.special.erfcx((x + shift) / math.sqrt(2))  # which is phi(x) by a Mills ratio
        return float(scipy.special.ndtr(-x) - math.exp(-x * x / 2) * ratio / 2)
    # Else phi(x) times the difference of two Mills ratios, as one integral of positive terms.
    y, weight = half_line(1 / (max(x, 0.0) + 1), 60 + 2 * abs(x))
    terms = -np.expm1(-shift * y) * np.exp(-x * y - y * y / 2) * weight
    return float(np.sum(terms)) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gaussian_profile(shift: float) -> Profile:
    """The profile of N(shift, 1) and N(0, 1): a Gaussian mechanism's, and that of mu-GDP."""
    return Profile(
        lambda epsilon: gaussian_divergence(shift, epsilon),
        math.inf if shift else 0.0,
        why="Normal laws with different means have an unbounded density ratio.",
    )


def half_line(scale: float, furthest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights of the double-exponential rule for smooth integrands on (0, inf).

    y = scale exp(t - exp(-t)), t equally spaced (Takahasi and Mori 1974).

    Parameters
    ----------
    scale : float
        Typical size of the y at which the integrand matters.
    furthest : float
        A y beyond which the integrand is negligible.
    """
    last = max(4.0, math.log(furthest / scale) + 0.1)
    t = np.arange(-4.6, last, _STEP)
    y = scale * np.exp(t - np.exp(-t))
    return y, y * (1 + np.exp(-t)) * _STEP


def smallest_satisfying(
    function: Callable[[float], float],
    target: float,
    *,
    start: float = 1.0,
    least: float = 0.0,
    largest: float = math.inf,
) -> float:
    """The smallest x in [least, largest] with function(x) <= target, for a decreasing function.

    The returned x does satisfy the condition, and exceeds the root by about one part in 10^12.

    Parameters
    ----------
    function : callable
        Decreasing, from 0 to inf.
    target : float
        Positive.
    start : float
        A first guess, positive, within the range.
    least, largest : float
        Ends of the range; a finite `largest` is known to satisfy the condition.

    Returns
    -------
    float
        `least` if it satisfies the condition, and inf if none up to 1e100 does, nor `largest`.
    """

    def excess(x: float) -> float:
        value = function(x)
        if value <= target:  # a logarithm could round the difference away
            # Never 0: on a stretch where the function equals the target, its start is the root.
            return min(math.log(max(value, SMALLEST)) - math.log(target), -SMALLEST)
        return max(math.log(value) - math.log(target), SMALLEST)

    if excess(least) <= 0:
        return least
    low, high = least, start
    if excess(start) <= 0:
        while (half := high / 2) > low:
            if excess(half) > 0:
                low = half
            else:
                high = half
    else:
        while excess(high) > 0:
            if high >= largest:
                return largest
            low, high = high, min(2 * high, largest)
            if high > _LARGEST and math.isinf(largest):
                return math.inf
    root: float = scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-13, maxiter=500)
    step = 2.0**-52
    while function(root) > target:
        root = min(root * (1 + step), high)
        step *= 2
    return root


def round_up(delta: float) -> float:
    """A computed probability, raised above the error of its computation; at most 1, also if NaN."""
    return 0.0 if delta <= 0 else min(1.0, math.nextafter(delta * _SAFE, math.inf))


def check_profile_epsilon(epsilon: Any) -> float:
    """Return `epsilon` as a float if it is in [0, inf], else raise InvalidInput."""
    checked = as_float(epsilon)
    if not checked >= 0:
        raise InvalidInput(
            f"epsilon is {quoted(epsilon)}; it must be a number from 0 to inf "
            "(at 0, delta is the total variation between the worst neighbours)"
        )
    return checked


def repeated_profile(one: Profile, copies: int) -> Profile:
    """Bound the profile of `copies` independent copies by basic composition.

    Each keeps (epsilon / copies, delta / copies), and these add up (Dwork and Roth 2014, Theorem
    3.16): delta(epsilon) = copies * one.delta(epsilon / copies).
    """
    if copies == 1:
        return one
    return Profile(
        lambda epsilon: min(1.0, copies * one.delta(epsilon / copies)),
        repeated(one.pure_epsilon, copies),
        min(1.0, copies * one.limit),
        one.why,
    )


def shared_profile(one: Profile, copies: int, margin: float) -> Profile:
    """The profile of `repeated_profile`, whose epsilon is that of delta / copies, times copies.

    So no equation is solved twice. `margin` is a factor above 1 that covers the rounding.
    """

    def inverse(delta: float) -> float:
        share = math.nextafter(delta / copies, 0.0)  # copies of it are at most delta
        return one.epsilon(share) * copies * margin

    pure = one.pure_epsilon * copies * margin
    return dataclasses.replace(repeated_profile(one, copies), pure_epsilon=pure, inverse=inverse)


def pure_profile(epsilon: float, copies: int, whole: float | None = None) -> Profile:
    """Privacy profile of `copies` independent copies of any epsilon-DP mechanism.

    Every epsilon-DP pair of laws is a randomisation of Bernoulli(p) and Bernoulli(1 - p) with
    p = exp(epsilon) / (1 + exp(epsilon)), so its copies have at most the profile of the copies of
    those, which depends on a binomial count alone (Kairouz, Oh and Viswanath 2015, Theorem 3.3).

    Parameters
    ----------
    epsilon : float
        The epsilon of one copy, rounded up.
    copies : int
        Number of copies, at least 1.
    whole : float, optional
        The pure epsilon of all copies, rounded up, where it is known to be below copies * epsilon.
    """
    pure = repeated(epsilon, copies) if whole is None else whole
    return Profile(lambda at: composed_pure(epsilon, copies, at), pure)


def _binomial(k: Any, copies: int, epsilon: float) -> Any:
    """Probability of each count k from 0 to `copies`, of the log odds epsilon.

    A few copies need no `scipy.stats`, which takes longer to load than a release: up to 57 have
    binomial coefficients that are floating-point numbers.
    """
    p, q = scipy.special.expit(epsilon), scipy.special.expit(-epsilon)
    if copies <= 57:
        coefficients = np.array([math.comb(copies, int(each)) for each in k], dtype=np.float64)
        return coefficients * p**k * q ** (copies - k)
    return scipy.stats.binom.pmf(k, copies, p)


def composed_pure(epsilon: float, copies: int, at: float) -> float:
    """The profile of `pure_profile` at `at`; 1 where epsilon is inf.

    With k of the copies at 1, whose number is binomial, the log ratio is (2 k - copies) epsilon.
    """
    if math.isinf(epsilon):
        return 1.0
    k = np.arange(copies + 1)
    probability = _binomial(k, copies, epsilon)
    over = at * (1 - 2.0**-50) - (2 * k - copies) * epsilon
    return float(np.sum(probability * -np.expm1(np.minimum(over, 0.0))))


def after_pure(one: Profile, epsilon: float, copies: int) -> Profile:
    """Bound the profile of `copies` outputs of an epsilon-DP mechanism and of another's beside.

    The first has at most the profile of `pure_profile`'s binomial count, and a pair that dominates
    each of two mechanisms does so for both, the second adapted to the first's output or not (Zhu,
    Dong and Wang 2022, Theorem 10). With k of the copies at 1, the log ratio is (2 k - copies)
    epsilon, and so much less of `at` is left to the other; below 0, its profile is

        delta(-a) = 1 - exp(-a) + exp(-a) delta(a).

    Parameters
    ----------
    one : Profile
        The other's, the same whichever output of the first it follows, or the largest.
    epsilon : float
        Of one copy, rounded up.
    copies : int
    """
    k = np.arange(copies + 1)
    probability = _binomial(k, copies, epsilon)

    def left(at: float) -> float:
        return one.delta(at) if at >= 0 else -math.expm1(at) + math.exp(at) * one.delta(-at)

    def divergence(at: float) -> float:
        spent = (2 * k - copies) * epsilon
        each = at - spent - 2.0**-50 * (at + np.abs(spent))
        return float(probability @ [left(float(rest)) for rest in each])

    pure = one.pure_epsilon
    whole = pure if math.isinf(pure) else total([repeated(epsilon, copies), pure])
    return Profile(divergence, whole, one.limit, one.why)
