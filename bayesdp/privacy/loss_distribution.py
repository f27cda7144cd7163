r"""Optimal composition: the law of the sum of privacy losses, accurate however small delta is.

A release is *dominated* by a pair of laws P, Q if its delta(epsilon) is nowhere above theirs.
With Z = log dP/dQ under P, and the mass of Z = inf where Q has none,

    delta(epsilon) = Pr[Z = inf] + E[max(0, 1 - exp(epsilon - Z)); Z < inf],

and releases in sequence, each chosen given the outputs of those before among the ones that a
pair dominates, are dominated by the product of their pairs, whose loss is the sum (Zhu, Dong
and Wang 2022, Theorem 10). Every (epsilon, delta)-DP release is dominated by one pair: Z is inf
with probability delta, and else epsilon or -epsilon with odds exp(epsilon) to 1 (Kairouz, Oh
and Viswanath 2015).

*A grid of losses.* A mass m at a loss z between grid points a < b is split into two, at a and
b, so that their sum is m and their sum weighted by exp(-loss) is m exp(-z). Under Q's law the
two outcomes had the probability of the one: merging them gives the old pair back, so the new
pair dominates it (Doroshenko et al. 2022, "connect the dots", for one mass at a time).

*Tilting.* Let p be the law of a finite loss on the grid, M = sum p(z) exp(theta z), and
p'(z) = p(z) exp(theta z) / M. Tilted laws convolve to the tilted convolution, whose M is the
product. So with theta >= 0,

    E[max(0, 1 - exp(epsilon - Z)); Z < inf]
        = M exp(-theta epsilon) sum over z > epsilon of p'(z) w(z - epsilon),
    w(x) = exp(-theta x) (1 - exp(-x)) <= theta^theta / (1 + theta)^(1 + theta).

With theta at the best order of the Renyi bound (`conversions`), p' has most of its mass near
epsilon, and all terms are of one size: what Fourier's transform loses to rounding is small
beside the sum, where plain convolution can't see a delta below 1e-13. If p' as computed is
wrong by at most tau in total (1-norm), tails left out included, the sum is wrong by at most
tau max w; that is added.

*Rounding.* A transform of length N has a relative error below 7 u log2(N) in the 2-norm, with
u = 2^-53 (Higham 2002, Theorem 24.2, with exact twiddles to u). A convolution takes three, and the
1-norm is at most sqrt(N) times the 2-norm; `_convolve` adds four times that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, optimize, special

from bayesdp.privacy.profile import round_up, smallest_satisfying

_U = 2.0**-53
_TRIM = 1e-17  # tilted mass that each end of a single law may lose
_SPREAD = 1e-4  # share of the variance that splitting on the grid may add
_POINTS = (2**14, 2**20)  # of the grid of the sum, at least and at most
_TILTS = 8  # of delta at most, until it changes no more
_ALIKE = 1e-12  # share of a loss by which rounding may take it off a lattice
_DIRECT = 128  # up to this length, sums of products are faster than transforms

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """The law of one release's privacy loss, in one direction, for a dominating pair.

    Attributes
    ----------
    losses, masses : array of float
        The finite losses and their probabilities under P.
    infinite : float
        The probability of an infinite loss.
    """

    losses: Floats
    masses: Floats
    infinite: float


Parts = Sequence[tuple[LossDistribution, int]]
"""Laws, and how many times each is taken."""


def of_promise(epsilon: float, delta: float) -> LossDistribution:
    """The dominating pair of every (epsilon, delta)-DP release, the same in both directions."""
    masses = (1 - delta) * special.expit(np.array([-epsilon, epsilon]))
    return LossDistribution(np.array([-epsilon, epsilon]), masses, delta)


def of_pld(pld: Any) -> tuple[LossDistribution, LossDistribution]:
    """Convert both directions of a dp_accounting PrivacyLossDistribution, pessimistic ones only."""
    # Its losses and probabilities have no public name, and its delta(epsilon) is only good to
    # 1e-16, which is not enough for the product of many.
    both = []
    for pmf in (pld._pmf_remove, pld._pmf_add):
        if not pmf._pessimistic_estimate:
            raise ValueError("an optimistic estimate is no bound")
        dense = pmf.to_dense_pmf()
        masses = np.asarray(dense._probs, dtype=np.float64)
        losses = (dense._lower_loss + np.arange(masses.size)) * dense._discretization
        here = masses > 0
        both.append(LossDistribution(losses[here], masses[here], float(dense._infinity_mass)))
    return both[0], both[1]


def composed_epsilon(parts: Parts, delta: float) -> float:
    """The smallest epsilon of the product of pairs, each taken `count` times, rounded up.

    Parameters
    ----------
    parts : sequence of (LossDistribution, count)
    delta : float
        Positive.

    Returns
    -------
    float
        inf where delta is no more than the probability of an infinite loss.
    """
    infinite, parts = _finite(parts)
    if infinite >= delta:
        return math.inf
    if not parts:
        return 0.0
    theta, guess = _best_tilt(parts, delta - infinite)
    tilted = _Tilted.sum_of(parts, theta, _grid(parts, theta))

    def delta_at(epsilon: float) -> float:
        return min(1.0, infinite + tilted.delta(epsilon))

    epsilon = smallest_satisfying(delta_at, delta, start=max(guess, 1e-12))
    return epsilon + _lost(parts)


def composed_delta(parts: Parts, epsilon: float) -> float:
    """The smallest delta of the product of pairs at epsilon, each taken `count` times, rounded up.

    The inverse of `composed_epsilon`: any tilt gives a bound, and the one that it takes at a delta
    is looked for where that delta is met, from the Renyi bound on it.
    """
    infinite, parts = _finite(parts)
    if infinite >= 1 or not parts:
        return min(1.0, infinite)
    epsilon = max(epsilon - _lost(parts), 0.0)
    if epsilon >= math.fsum(count * float(np.max(law.losses)) for law, count in parts):
        return infinite
    asked, delta = max(_renyi_delta(parts, epsilon), math.ulp(0.0)), 1.0
    for _ in range(_TILTS):
        theta, _ = _best_tilt(parts, asked)
        found = _Tilted.sum_of(parts, theta, _grid(parts, theta)).delta(epsilon)
        delta, near = min(delta, found), found > asked * (1 - 1e-6)
        if near:
            break
        asked = max(found, math.ulp(0.0))
    return min(1.0, infinite + delta)


def _finite(parts: Parts) -> tuple[float, Parts]:
    """The probability of an infinite loss of all together, and the parts that have any loss."""
    if any(law.infinite >= 1 or not np.all(np.isfinite(law.losses)) for law, _ in parts):
        return math.inf, []
    survival = math.fsum(count * math.log1p(-law.infinite) for law, count in parts)
    infinite = -math.expm1(survival) * (1 + 1e-13) if survival else 0.0
    return infinite, [(law, count) for law, count in parts if np.any(law.losses)]


def _lost(parts: Parts) -> float:
    """Upper bound on what rounding may have taken from all losses together."""
    furthest = math.fsum(count * float(np.max(np.abs(law.losses))) for law, count in parts)
    return 8 * _U * furthest


@dataclass(frozen=True, slots=True)
class _Tilted:
    """A tilted law on the multiples of a step: its first multiple, masses, log M and tau."""

    first: int
    masses: Floats
    log_m: float
    tau: float
    step: float
    theta: float

    @classmethod
    def of(cls, law: LossDistribution, theta: float, step: float) -> _Tilted:
        """Split a law's masses on the grid, and tilt it."""
        below = np.floor(law.losses / step)
        past = law.losses - below * step
        below, past = np.where(past >= step, below + 1, below), np.where(past >= step, 0, past)
        past = np.clip(past, 0, step)  # `composed_epsilon` adds what is lost to rounding here
        up = law.masses * np.expm1(-past) / np.expm1(-step)
        down = law.masses * np.exp(-past) * np.expm1(past - step) / np.expm1(-step)
        first = int(below.min())
        place = (below - first).astype(np.int64)
        masses = np.bincount(place, down, place.max() + 2)
        masses += np.bincount(place + 1, up, place.max() + 2)
        masses = np.trim_zeros(masses, "b")
        last = first + masses.size - 1
        masses *= np.exp(theta * step * (np.arange(masses.size) - (masses.size - 1)))
        m = float(masses.sum())
        tau = 16 * _U * (1 + theta * step * masses.size)
        log_m = math.log(m) + theta * step * last
        return cls(first, masses / m, log_m, tau, step, theta)._trimmed(_TRIM)

    @classmethod
    def sum_of(cls, parts: Parts, theta: float, step: float) -> _Tilted:
        """The tilted law of the sum, by convolutions of laws of like length."""
        laws = [cls.of(law, theta, step)._times(count) for law, count in parts]
        while len(laws) > 1:
            laws.sort(key=lambda law: (law.masses.size, law.first, law.log_m))
            pairs = zip(laws[::2], laws[1::2], strict=False)
            laws = [a._plus(b) for a, b in pairs] + (laws[-1:] if len(laws) % 2 else [])
        return laws[0]

    def delta(self, epsilon: float) -> float:
        """The part of delta(epsilon) that is due to finite losses, with its error added."""
        start = max(math.floor(epsilon / self.step) - self.first, 0)
        above = (self.first + np.arange(start, max(start, self.masses.size))) * self.step - epsilon
        gap = np.maximum(above, 0.0)
        seen = float(np.sum(self.masses[start:] * np.exp(-self.theta * gap) * -np.expm1(-gap)))
        log_scale = self.log_m - self.theta * epsilon
        log_scale += 16 * _U * (abs(self.log_m) + self.theta * epsilon)
        if log_scale > 700:
            return 1.0
        return round_up((seen + self.tau * math.exp(_log_most(self.theta))) * math.exp(log_scale))

    def _plus(self, other: _Tilted) -> _Tilted:
        masses, error = _convolve(self.masses, other.masses)
        tau = self.tau + other.tau + self.tau * other.tau + error
        log_m = self.log_m + other.log_m
        first = self.first + other.first
        return _Tilted(first, masses, log_m, tau, self.step, self.theta)._trimmed(error)

    def _times(self, count: int) -> _Tilted:
        """The law of the sum of `count`, by repeated squaring."""
        power, result = self, None
        while count:
            if count & 1:
                result = power if result is None else result._plus(power)
            count >>= 1
            if count:
                power = power._plus(power)
        return self if result is None else result

    def _trimmed(self, mass: float) -> _Tilted:
        """Trim a mass from either end of the law, where there is no more than rounding errors."""
        low = int(np.searchsorted(np.cumsum(self.masses), mass))
        high = int(np.searchsorted(np.cumsum(self.masses[::-1]), mass))
        kept = self.masses[low : self.masses.size - high]
        tau = self.tau + 2 * mass
        return _Tilted(self.first + low, kept, self.log_m, tau, self.step, self.theta)


def _convolve(one: Floats, other: Floats) -> tuple[Floats, float]:
    """A convolution of two laws, and a bound on its error in the 1-norm."""
    shorter, size = min(one.size, other.size), one.size + other.size - 1
    if shorter <= _DIRECT:
        return np.convolve(one, other), 2 * (shorter + 2) * _U
    n = fft.next_fast_len(size, real=True)
    product = fft.irfft(fft.rfft(one, n) * fft.rfft(other, n), n)[:size]
    norm = max(float(np.linalg.norm(one)), float(np.linalg.norm(other)))
    error = 4 * 3 * 7 * _U * math.log2(n) * math.sqrt(n) * norm
    return np.maximum(product, 0.0), error


def _log_most(theta: float) -> float:
    """Logarithm of the largest w: theta^theta / (1 + theta)^(1 + theta)."""
    return -math.log1p(theta) - theta * math.log1p(1 / theta)


def _best_tilt(parts: Parts, delta: float) -> tuple[float, float]:
    """The order alpha - 1 of the best Renyi bound on epsilon at delta, and that bound."""
    log_moment = _log_moments(parts)

    def bound(log_theta: float) -> float:
        theta = math.exp(log_theta)
        return (log_moment(theta) + _log_most(theta) - math.log(delta)) / theta

    return _least(parts, bound)


def _renyi_delta(parts: Parts, epsilon: float) -> float:
    """The best Renyi bound on delta at epsilon."""
    log_moment = _log_moments(parts)

    def bound(log_theta: float) -> float:
        theta = math.exp(log_theta)
        return log_moment(theta) + _log_most(theta) - theta * epsilon

    return math.exp(min(0.0, _least(parts, bound)[1]))


def _log_moments(parts: Parts) -> Callable[[float], float]:
    """The logarithm of E[exp(theta Z)] of the sum of all losses, as a function of theta."""
    losses = np.concatenate([law.losses for law, _ in parts])
    with np.errstate(divide="ignore"):
        log_masses = np.log(np.concatenate([law.masses for law, _ in parts]))
    starts = np.cumsum([0, *(law.losses.size for law, _ in parts[:-1])])
    counts = np.array([count for _, count in parts], dtype=np.float64)

    def log_moment(theta: float) -> float:
        return float(np.dot(counts, np.logaddexp.reduceat(log_masses + theta * losses, starts)))

    return log_moment


def _least(parts: Parts, bound: Callable[[float], float]) -> tuple[float, float]:
    """The theta whose logarithm has the least bound, and that bound."""
    middle = -math.log(max(float(np.max(np.abs(law.losses))) for law, _ in parts))
    best = optimize.minimize_scalar(
        bound, bounds=(middle - 12, middle + 12), method="bounded", options={"xatol": 1e-3}
    )
    return math.exp(best.x), float(best.fun)


def _lattice(parts: Parts) -> float | None:
    """The step of a lattice that all losses are on, but for rounding; None if there is none."""
    losses = np.abs(np.concatenate([law.losses for law, _ in parts]))
    step = float(np.min(losses[losses > 0]))
    ratios = losses / step
    span = math.fsum(times * float(np.ptp(law.losses)) for law, times in parts)
    alike = np.all(np.abs(ratios - np.rint(ratios)) <= _ALIKE * ratios)
    return step if alike and span <= step * _POINTS[1] else None


def _grid(parts: Parts, theta: float) -> float:
    """A step on which splitting adds little to the variance of the sum.

    A split mass has a variance of at most a quarter of the step squared. Any step is valid.
    """
    if (exact := _lattice(parts)) is not None:
        return exact
    variance, span, count = 0.0, 0.0, 0
    for law, times in parts:
        weights = special.softmax(np.log(np.maximum(law.masses, 1e-300)) + theta * law.losses)
        mean = float(np.dot(weights, law.losses))
        variance += times * float(np.dot(weights, (law.losses - mean) ** 2))
        span += times * float(np.ptp(law.losses))
        count += times
    length = min(span, 20 * math.sqrt(variance) + max(float(np.ptp(a.losses)) for a, _ in parts))
    step = 2 * math.sqrt(_SPREAD * variance / count)
    return float(min(max(step, length / _POINTS[1]), length / _POINTS[0]))
