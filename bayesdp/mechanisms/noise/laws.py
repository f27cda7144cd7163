r"""Laws of integer noise, discrete Laplace and discrete Gaussian, with tails and intervals.

Everything is a sum of positive terms or a ratio of such, so nothing cancels: log probabilities
keep 13 digits after the point, far into the tails.

Laplace, q = exp(-1 / t): sums are geometric series. Gaussian, f(x) = exp(-x^2 / (2 sigma^2)):
for sigma < 32 sums are taken term by term; above, by Euler and Maclaurin's formula, in the
variables u = m / sigma and h = 1 / sigma,

    sum_{j >= m} f(j) = integral_m^inf f + f(m)/2 - f'(m)/12 + f'''(m)/720 - f^(5)(m)/30240 + ...,

whose next term is below 1e-15 of the sum where u h <= 1/16; further out, term by term again, at
most 640 terms. The sum over all integers is Jacobi's theta function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesdp.mechanisms.draws.integer_noise import (
    Integers,
    discrete_gaussian,
    discrete_laplace,
    redraw,
    uniform_within,
)

Floats = NDArray[np.float64]
_DIRECT = 32.0  # smallest scale of a Gaussian that Euler and Maclaurin's formula serves
_NEGLIGIBLE = 9.0  # standard deviations: the sum beyond is below 1e-17 of the terms before
_STEEP = 1 / 16


class Noise(Protocol):
    """Integer noise that is symmetric about 0 and log-concave."""

    laplace: ClassVar[bool]
    """Whether it falls like exp(-|k| / scale), and not like exp(-k^2 / (2 scale^2))."""

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in steps of the lattice."""

    def log_pmf(self, k: ArrayLike) -> Floats:
        """Log Pr[k] of integers k."""

    def log_upper(self, m: ArrayLike) -> Floats:
        """Log Pr[noise >= m] of integers m, negative ones too."""

    def log_mass(self, below: ArrayLike, above: ArrayLike) -> Floats:
        """Log Pr[-below <= noise <= above] of integers >= 0, or inf."""

    def draw(self, count: int) -> Integers:
        """Draw `count` values of the noise, independently and exactly."""

    def draw_within(self, below: Integers, above: Integers) -> Integers:
        """Draw exactly from the noise given -below <= noise <= above, element by element."""


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Discrete Laplace noise: Pr[k] = (1 - q) / (1 + q) q^|k|, q = exp(-1 / scale)."""

    scale: Fraction

    laplace: ClassVar[bool] = True

    @property
    def _rate(self) -> float:
        return float(1 / self.scale)

    def log_pmf(self, k: ArrayLike) -> Floats:
        """Log Pr[k] = -|k| / scale + log tanh(1 / (2 scale))."""
        return np.asarray(-np.abs(_floats(k)) * self._rate + math.log(math.tanh(self._rate / 2)))

    def log_upper(self, m: ArrayLike) -> Floats:
        """Log Pr[noise >= m]: q^m / (1 + q) for m >= 0, and one minus that of 1 - m below."""
        x = _floats(m)
        inside = -np.where(x > 0, x, 1 - x) * self._rate - math.log1p(math.exp(-self._rate))
        return np.asarray(np.where(x > 0, inside, np.log1p(-np.exp(inside))))

    def log_mass(self, below: ArrayLike, above: ArrayLike) -> Floats:
        """Log of [(1 - q^(below + 1)) + q (1 - q^above)] / (1 + q), an interval's probability."""
        rate = self._rate
        lower, upper = (_floats(below) + 1) * rate, _floats(above) * rate
        mass = -np.expm1(-lower) - math.exp(-rate) * np.expm1(-upper)
        return np.asarray(np.log(mass) - math.log1p(math.exp(-rate)))

    def draw(self, count: int) -> Integers:
        """Draw by `discrete_laplace`."""
        return discrete_laplace(self.scale, count)

    def draw_within(self, below: Integers, above: Integers) -> Integers:
        """Draw within an interval by rejection; at least 1 in 4 proposals is kept.

        Proposals are uniform on an interval of at most scale + 1 points, accepted with an average
        probability above 1 - exp(-1); on a longer one they are the noise itself, which lies on an
        interval of w > scale steps from 0 with probability (1 - q^(w + 1)) / (1 + q) > (1 -
        exp(-1)) / 2.
        """
        rate = self._rate
        return _within(
            self,
            float(self.scale),
            below,
            above,
            lambda k: np.abs(k) * rate,
            lambda k: abs(k) / self.scale,
        )


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Discrete Gaussian noise: Pr[k] = exp(-k^2 / (2 scale^2)) / theta, theta the sum of all."""

    scale: Fraction

    laplace: ClassVar[bool] = False

    @property
    def _sd(self) -> float:
        return float(self.scale)

    @property
    def _log_theta(self) -> float:
        """Log of the sum of all terms: as they are, or by Poisson's summation formula."""
        j, sd = np.arange(1, 11), self._sd
        if sd < 0.5:
            return math.log1p(2 * float(np.sum(np.exp(-(j**2) / (2 * sd * sd)))))
        dual = 2 * float(np.sum(np.exp(-2 * (math.pi * sd * j) ** 2)))
        return math.log(math.sqrt(2 * math.pi) * sd) + math.log1p(dual)

    def log_pmf(self, k: ArrayLike) -> Floats:
        """Log Pr[k] = -k^2 / (2 scale^2) - log theta."""
        return np.asarray(-((_floats(k) / self._sd) ** 2) / 2 - self._log_theta)

    def log_upper(self, m: ArrayLike) -> Floats:
        """Log Pr[noise >= m]: f(m) times the sum of f(m + j) / f(m); one minus it for m <= 0."""
        x = _floats(m)
        far = np.where(x > 0, x, 1 - x)
        tail = self.log_pmf(far) + np.log(self._tail_ratio(far))
        return np.asarray(np.where(x > 0, tail, np.log1p(-np.exp(np.minimum(tail, 0.0)))))

    def log_mass(self, below: ArrayLike, above: ArrayLike) -> Floats:
        """Log of (1 + sum_{j <= below} f(j) + sum_{j <= above} f(j)) / theta, an interval's."""
        return np.asarray(np.log(1 + self.partial(below) + self.partial(above)) - self._log_theta)

    def partial(self, m: ArrayLike) -> Floats:
        """Sum of f(j) over j = 1..m, for m >= 0 or inf."""
        x, sd = np.minimum(_floats(m), np.ceil(40 * self._sd)), self._sd
        if sd < _DIRECT:
            j = np.arange(1, int(np.ceil(40 * sd)) + 1)
            table = np.concatenate([[0.0], np.cumsum(np.exp(-((j / sd) ** 2) / 2))])
            return np.asarray(table[x.astype(np.int64)])
        u = x / sd
        integral = sd * math.sqrt(math.pi / 2) * scipy.special.erf(u / math.sqrt(2))
        return np.asarray(
            integral + (np.expm1(-u * u / 2) + 2 * _corrections(u, 1 / sd) * np.exp(-u * u / 2)) / 2
        )

    def _tail_ratio(self, m: Floats) -> Floats:
        """Sum over j >= 0 of f(m + j) / f(m), m >= 1."""
        sd = self._sd
        u, ratio = m / sd, np.empty_like(m)
        smooth = (sd >= _DIRECT) & (u <= _STEEP * sd)
        near, far = u[smooth], u[~smooth]
        integral = sd * math.sqrt(math.pi / 2) * scipy.special.erfcx(near / math.sqrt(2))
        ratio[smooth] = integral + 0.5 - _corrections(near, 1 / sd)
        if far.size:
            least = float(far.min())
            terms = math.ceil(min(_NEGLIGIBLE * sd, 40 * sd / least)) + 1
            ratio[~smooth] = sum(np.exp(-(j / sd) * (far + j / sd / 2)) for j in range(terms))
        return ratio

    def draw(self, count: int) -> Integers:
        """Draw by `discrete_gaussian`."""
        return discrete_gaussian(self.scale, count)

    def draw_within(self, below: Integers, above: Integers) -> Integers:
        """Draw within an interval by rejection; at least 1 in 4 proposals is kept.

        Proposals are uniform on an interval of at most 2 scale + 1 points, accepted with an average
        probability above 1/2; on a longer one they are the noise itself, half of which is positive
        or 0, and most of that within 2 scale.
        """
        twice = float(2 * self.scale * self.scale)
        return _within(
            self,
            2 * self._sd,
            below,
            above,
            lambda k: k.astype(np.float64) ** 2 / twice,
            lambda k: Fraction(k * k) / self.scale**2 / 2,
        )


def _corrections(u: Floats, h: float) -> Floats:
    """Correction terms (f'/12 - f'''/720 + f^(5)/30240) / f at u = x / sigma, h = 1 / sigma."""
    first, third, fifth = -u * h, -(u**3 - 3 * u) * h**3, -(u**5 - 10 * u**3 + 15 * u) * h**5
    return np.asarray(first / 12 - third / 720 + fifth / 30240)


def _within(
    noise: Noise, flat: float, below: Integers, above: Integers, gamma: Any, exact: Any
) -> Integers:
    """Draw noise given its interval: uniform proposals on narrow ones, noise on wide ones."""
    values = np.empty(below.size, dtype=np.int64)
    narrow = below + above <= flat
    values[narrow] = uniform_within(below[narrow], above[narrow], gamma, exact)
    low, high = -below[~narrow], above[~narrow]

    def propose(pending: NDArray[np.intp]) -> tuple[Integers, NDArray[np.bool_]]:
        k = noise.draw(pending.size)
        return k, (low[pending] <= k) & (k <= high[pending])

    values[~narrow] = redraw(low.size, propose)
    return values


def _floats(k: ArrayLike) -> Floats:
    return np.asarray(k, dtype=np.float64)
