r"""One posterior draw from the sum of Bernoulli records: its average-case divergence.

Given the record, the draw is a mixture over B ~ Binomial(N, theta), N = n - 1, of
f_s = Beta(a + s, b + n - s): P1 of s = B + 1 and P0 of s = B. With x = t / (1 - t), the two
properties that `average_search` asks for are

(i) f_{s+1}(t) / f_s(t) = x (b + N - s) / (a + s), which increases in t;
(ii) g_s(t) = t^(a+s) (1 - t)^(b+N-s) / ((a + s) B(a + s, b + n - s)), so that
     g_{s+1} / g_s = x (b + N - s) / (a + s + 1), which decreases in s.

*The crossing.* The ratio P1(t) / P0(t) of densities is the mean of (i) under the law proportional
to the binomial times f_s(t). It increases in t from 0 to infinity, so one t* has the ratio
gamma = exp(epsilon), and delta(theta) = Pr1[> t*] - gamma Pr0[> t*], which is positive for every
epsilon: no pure epsilon holds, whatever theta in (0, 1) or prior (Zheng 2015, Theorem 6.20; at
theta = 0 or 1 too). That law increases in theta (in likelihood ratio) and (i) decreases in s, so
the ratio decreases in theta, and t* increases.

*A piece.* Where a <= theta <= b, therefore, t_a <= t*(theta) <= t_b. The probability of s - 1
among N - 1 records is s / (N theta) times that of s among N, and the probability of s is
(N - s) / (N (1 - theta)) times it, so

    r = E[s] / (N - E[s]) (1 - theta) / theta

where s has the law proportional to g_s times that of B. As g_s is x^s times what doesn't depend
on t, this law increases with t, and so does r. With rise = Pr0[> t_a] at b - Pr0[> t_b] at a,
which is at least P0(t) at b less P0(t) at a for t = t*(theta), the three bounds become

    delta(a) + max(0, r(a, t_b) - gamma) rise
    delta(b) + max(0, gamma - r(b, t_a)) rise
    Pr1[> t_a] at b - gamma Pr0[> t_b] at a.

*Digits.* Pr[> t | s] is that at the least s plus a sum of g: positive terms, none of them a
difference, so that the tails keep their relative error however small they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayesdp.mechanisms.conjugate.average_search import binomial_weights, worse_direction
from bayesdp.mechanisms.laws import beta_log_kernel

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

Floats = NDArray[np.float64]

_ERROR = 1e-11  # relative, of the tails and of r
_DROPPED = 1e-290  # the weights outside the window, and tails too small for a float
_KNOWN = 1e-270  # a smaller mean of g gives no r
_FLOOR = 1e-250
_DIRECT_FROM = 500.0  # log odds beyond which 1 - p would leave the range of a float


def worst_draw(
    release: ConjugateMechanism, epsilon: float, low: float, high: float
) -> tuple[float, float]:
    """Bounds on the conditional delta over [low, high], in the worse direction."""
    a, b = release.prior
    sides = [
        (PosteriorDraw(release.n, a, b, epsilon), low, high),
        (PosteriorDraw(release.n, b, a, epsilon), 1 - high, 1 - low),
    ]
    return worse_direction(sides, _FLOOR)


@dataclass(frozen=True, slots=True)
class DrawPoint:
    """A draw's divergence at one theta: the law of the other records' sums, log odds, delta."""

    theta: float
    sums: Floats
    weights: Floats
    crossing: float
    delta: float
    tails: tuple[float, float]


@dataclass(frozen=True, slots=True)
class PosteriorDraw:
    """Posterior draws given B + 1 ones and given B, under the prior Beta(a, b)."""

    n: int
    a: float
    b: float
    epsilon: float

    def points(self, thetas: list[float]) -> list[DrawPoint]:
        """The crossing and delta at each theta."""
        return [self._point(theta) for theta in thetas]

    def bound(self, left: DrawPoint, right: DrawPoint) -> float:
        """The least of the three bounds on a piece."""
        gamma = math.exp(self.epsilon)
        if left.theta == right.theta:
            with_one, without = left.tails
            return _above(with_one, gamma * without)
        _, low, rising, _ = self._tails(left, right.crossing)
        high_one, high, _, falling = self._tails(right, left.crossing)
        rise = max(high * (1 + _ERROR) - low * (1 - _ERROR), 0.0) + _DROPPED
        up = max(rising * (1 + _ERROR) - gamma, 0.0)
        down = max(gamma - falling * (1 - _ERROR), 0.0)
        at_left, at_right = (_above(p.tails[0], gamma * p.tails[1]) for p in (left, right))
        return min(at_left + up * rise, at_right + down * rise, _above(high_one, gamma * low))

    def _point(self, theta: float) -> DrawPoint:
        sums, weights = _window(self.n - 1, theta)
        crossing = self._crossing(sums, weights)
        point = DrawPoint(theta, sums, weights, crossing, 0.0, (0.0, 0.0))
        with_one, without, _, _ = self._tails(point, crossing)
        lost = math.exp(self.epsilon) * (without * (1 + _ERROR) + _DROPPED)
        delta = with_one * (1 - _ERROR) - lost
        return DrawPoint(theta, sums, weights, crossing, delta, (with_one, without))

    def _crossing(self, sums: Floats, weights: Floats) -> float:
        """Log odds of t*, where log(P1 / P0) is epsilon."""
        a, b, others = self.a, self.b, self.n - 1
        log_ratio = np.log(b + (others - sums)) - np.log(a + sums)
        low, high = self.epsilon - float(log_ratio[0]), self.epsilon - float(log_ratio[-1])
        if high - low < 1e-12 * (1 + abs(low)):
            return low
        start = (low + high) / 2
        with np.errstate(divide="ignore"):
            base = np.log(weights) + self._log_kernel(sums, start)

        def excess(y: float) -> float:
            terms = base + (y - start) * sums
            log_mean = special.logsumexp(terms + log_ratio) - special.logsumexp(terms)
            return y + float(log_mean) - self.epsilon

        if excess(low) >= 0 or excess(high) <= 0:  # by rounding, where one sum is all there is
            return low if excess(low) >= 0 else high
        root: float = optimize.brentq(excess, low, high, xtol=1e-13, rtol=1e-14)
        return root

    def _tails(self, point: DrawPoint, y: float) -> tuple[float, float, float, float]:
        """Tail probabilities Pr1 and Pr0 of log odds above y, and r from above and from below."""
        others = self.n - 1
        sums, weights = point.sums, point.weights
        p, q = special.expit(y), special.expit(-y)
        with np.errstate(under="ignore"):
            log_q = -np.logaddexp(0.0, y)
            g = np.exp(self._log_kernel(sums, y) - np.log(self.a + sums) - log_q)
        first = self.a + sums[0], self.b + (self.n - sums[0])
        least = special.betaincc(*first, p) if p < 0.5 else special.betainc(*first[::-1], q)
        tails = np.minimum(np.concatenate(([least], least + np.cumsum(g))), 1.0)
        with_one, without = float(weights @ tails[1:]), float(weights @ tails[:-1])
        mean = float(weights @ (g * (others - sums)))
        shifted = float(weights @ (g * sums))
        if others == 0 or mean * (1 - point.theta) <= _KNOWN or shifted * point.theta <= _KNOWN:
            return with_one, without, math.inf, 0.0
        ratio = shifted * (1 - point.theta) / (mean * point.theta)
        return with_one, without, ratio, ratio

    def _log_kernel(self, sums: Floats, y: float) -> Floats:
        """Log-density of the log odds y given each sum."""
        u, v = self.a + sums, self.b + (self.n - sums)
        if abs(y) < _DIRECT_FROM:
            return beta_log_kernel(special.expit(y), special.expit(-y), u, v)
        log_p, log_q = -np.logaddexp(0.0, -y), -np.logaddexp(0.0, y)
        return np.asarray(u * log_p + v * log_q - special.betaln(u, v))


def _above(with_one: float, without: float) -> float:
    return with_one * (1 + _ERROR) - without * (1 - _ERROR) + _DROPPED


def _window(others: int, theta: float) -> tuple[Floats, Floats]:
    """Sums of the other records and their probabilities; what is left out is below 1e-290.

    By Bernstein's inequality, Pr[|B - N theta| >= x] <= 2 exp(-x^2 / (2 (V + x / 3))), V the
    variance, which is at most 2 exp(-L) for x = sqrt(2 L V) + 2 L / 3.
    """
    if others == 0 or theta in (0.0, 1.0):
        return np.array([others * theta]), np.ones(1)
    mean, bound = others * theta, 670.0
    reach = math.sqrt(2 * bound * mean * (1 - theta)) + 2 * bound / 3
    first, last = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
    sums = np.arange(first, last + 1.0)
    return sums, binomial_weights(sums, others, theta)
