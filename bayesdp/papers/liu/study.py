r"""The experiments of Liu (2016), sections 5.1 to 5.3: copies by SBS, many replicates at once.

Each replicate is n confidential records, their sufficient statistic with Laplace noise of its own
for each of m copies, kept in its range by `inflated` or `truncated` bounding, a posterior draw, and
a synthetic data set of n records, of which its estimate q and variance v are kept:

- binary: x ~ Binomial(n, p), noise of scale m / epsilon on x, which is discrete as
  `bayesdp.mechanisms.noise.laplace` has it (at these scales nobody could tell), theta ~ Beta(1 + s,
  1 + n - s), z ~ Binomial(n, theta); q = z / n and v = q (1 - q) / n.
- Gaussian, sd 1 known: noise of scale w m / (n epsilon) on the mean, w the distance of the bounds,
  theta ~ N(mean*, 1 / n), and records N(theta, 1), bounded; q their mean and v = s^2 / n.
- Gaussian, sd unknown: as above, with a share of epsilon for the mean and the rest for the
  variance, of sensitivity w^2 / n, and the posterior of `bayesdp.mechanisms.families.gaussian`.

The scales are the published ones. With `truncated` bounding they cost more than epsilon: see
`bayesdp.mechanisms.noise.pure`.

Means and variances of many bounded records
-------------------------------------------
From `_MANY` records on, a copy's mean and s^2 are not computed from records. With M and m_k the
mean and central moments of one record given theta and sigma, in closed form, the mean has variance
m_2 / n and skewness g = m_3 / (m_2^(3/2) sqrt(n)), s^2 has mean m_2 and variance m_4 / n -
m_2^2 (n - 3) / (n (n - 1)), and their covariance is m_3 / n, exactly. They are drawn as a normal
pair with these moments, the mean with Cornish and Fisher's correction Z + g (Z^2 - 1) / 6, which
leaves an error of order 1 / n: at n = 100 its distribution function is off by less than 0.002.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayesdp.mechanisms.conjugate.truncated_normal import truncated_normal

Floats = NDArray[np.float64]

_MANY = 100  # records, from which their moments are enough
_FAR = 40.0  # standard deviations, beyond which a normal law has nothing left
_NARROW = 2.0**-60  # of the bounds' distance: a standard deviation that leaves records alike
_BLOCK = 1 << 17  # numbers in a temporary array


@dataclass(frozen=True, slots=True)
class Design:
    """Design: one setting of the experiments.

    Attributes
    ----------
    n, copies : int
        Confidential records, and records in a copy; copies.
    epsilon : float
        Of all copies together, as published.
    bounding : {"inflated", "truncated"}
    p : float or None
        Of binary records; None: they are N(mean, 1).
    bounds : tuple of two floats or None
        Of normal records.
    share : float or None
        Of epsilon, for the mean, where the records' sd is unknown; None: it is known.
    mean : float
        Of normal records; the paper's is 0.
    """

    n: int
    copies: int
    epsilon: float
    bounding: str = "inflated"
    p: float | None = None
    bounds: tuple[float, float] | None = None
    share: float | None = None
    mean: float = 0.0

    @property
    def truth(self) -> float:
        """True value of what is estimated."""
        return self.mean if self.p is None else self.p

    @property
    def scales(self) -> tuple[float, ...]:
        """The published scales of the noise, one a number of the statistic."""
        each = self.copies / self.epsilon
        if self.bounds is None:
            return (each,)
        width = self.bounds[1] - self.bounds[0]
        if self.share is None:
            return (each * width / self.n,)
        of_mean, of_variance = each / self.share, each / (1 - self.share)
        return (of_mean * width / self.n, of_variance * width**2 / self.n)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates of replicates, each field of shape (replicates,).

    Attributes
    ----------
    original, original_variance : ndarray
        q and v of the confidential records.
    mean, within, between : ndarray
        Mean of the copies' q, mean of their v, and the variance of their q with divisor m - 1
        (0 of a single copy).
    """

    original: Floats
    original_variance: Floats
    mean: Floats
    within: Floats
    between: Floats


def simulate(design: Design, replicates: int, rng: np.random.Generator) -> Estimates:
    """Simulate the estimates of a design."""
    draw = _binary if design.bounds is None else _normal
    numbers = design.copies * (design.n if draw is _normal and design.n < _MANY else 1)
    block = max(1, _BLOCK // numbers)
    parts = []
    for start in range(0, replicates, block):
        original, variance, q, v = draw(design, min(block, replicates - start), rng)
        between = q.var(axis=0, ddof=1) if design.copies > 1 else np.zeros(original.shape)
        parts.append((original, variance, q.mean(axis=0), v.mean(axis=0), between))
    return Estimates(*(np.concatenate(part) for part in zip(*parts, strict=True)))


Drawn = tuple[Floats, Floats, Floats, Floats]


def _binary(design: Design, replicates: int, rng: np.random.Generator) -> Drawn:
    n = design.n
    ones = rng.binomial(n, design.truth, replicates)
    z = binary_copies(design, ones, rng)
    return (*_proportion(ones, n), *_proportion(z, n))


def _proportion(ones: NDArray[np.int64], n: int) -> tuple[Floats, Floats]:
    q = ones / n
    return q, q * (1 - q) / n


def binary_copies(
    design: Design, ones: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw synthetic numbers of ones, shape (copies, replicates)."""
    n = design.n
    s = noisy(ones, design, 0, (0, n), rng, whole=True)
    return np.asarray(rng.binomial(n, rng.beta(1 + s, 1 + n - s)))


def _normal(design: Design, replicates: int, rng: np.random.Generator) -> Drawn:
    n = design.n
    centre, one = np.full(replicates, design.mean), np.ones(replicates)
    mean, s2 = summaries(centre, one, n, bounds_of(design), True, rng)
    q, copy_s2 = normal_copies(design, mean, s2, rng)
    known = s2 if design.share is not None else one
    return mean, known / n, q, copy_s2 / n


def normal_copies(
    design: Design, mean: Floats, s2: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw means and variances of synthetic records, shape (copies, replicates) each."""
    n, (low, high) = design.n, bounds_of(design)
    centre = noisy(mean, design, 0, (low, high), rng)
    if design.share is None:
        sigma = np.ones(centre.shape)
    else:
        largest = n // 2 * ((n + 1) // 2) / (n * (n - 1)) * (high - low) ** 2
        variance = noisy(np.minimum(s2, largest), design, 1, (0.0, largest), rng)
        sigma = np.sqrt((n - 1) * variance / 2 / rng.standard_gamma((n - 1) / 2, centre.shape))
    theta = rng.normal(centre, sigma / math.sqrt(n))
    return summaries(theta, sigma, n, (low, high), design.bounding == "truncated", rng)


def bounds_of(design: Design) -> tuple[float, float]:
    """Bounds of normal records; infinite where there are none."""
    return design.bounds or (-math.inf, math.inf)


def noisy(
    statistic: NDArray[np.generic],
    design: Design,
    number: int,
    ends: tuple[float, float],
    rng: np.random.Generator,
    *,
    whole: bool = False,
) -> Floats:
    """Draw a number of the statistic with Laplace noise, bounded, shape (copies, replicates).

    Truncated noise is an exponential variable, conditioned to what is left of the range on the side
    drawn; its whole part is geometric, so that of integers is discrete Laplace.
    """
    x = np.asarray(statistic, dtype=np.float64)
    shape, scale, (low, high) = (design.copies, *x.shape), design.scales[number], ends
    rounded: Callable[[Floats], Floats] = np.floor if whole else np.asarray
    if design.bounding == "inflated":
        up, down = (rounded(scale * rng.standard_exponential(shape)) for _ in range(2))
        return np.asarray(np.clip(x + up - down, low, high))
    step = 1.0 if whole else 0.0  # downwards from x itself, upwards from x + 1
    below = -np.expm1((low - x - step) / scale)
    above = -np.expm1((x - high) / scale)
    rises = rng.random(shape) * (below + math.exp(-step / scale) * above) >= below
    mass = np.where(rises, above, below)
    away = rounded(-scale * np.log1p(-rng.random(shape) * mass))
    return np.asarray(np.clip(np.where(rises, x + step + away, x - away), low, high))


def summaries(
    theta: Floats,
    sigma: Floats,
    n: int,
    bounds: tuple[float, float],
    truncated: bool,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Draw mean and s^2 of n bounded records N(theta, sigma^2), for each theta and sigma."""
    if n < _MANY:
        return _of_records(theta, sigma, n, bounds, truncated, rng)
    mean, m2, m3, m4 = bounded_moments(theta, sigma, bounds, truncated)
    z, other = rng.standard_normal((2, *theta.shape))
    varies = m2 > 0
    spread = np.sqrt(np.where(varies, m2, 1.0))
    skewness = m3 / spread**3 / math.sqrt(n)
    q = mean + np.where(varies, spread, 0.0) / math.sqrt(n) * (z + skewness * (z * z - 1) / 6)
    of_s2 = np.sqrt(np.maximum(m4 / n - m2**2 * (n - 3) / (n * (n - 1)), 0.0))
    along = m3 / n / np.where(varies, spread / math.sqrt(n), 1.0)  # covariance over the mean's sd
    across = np.sqrt(np.maximum(of_s2**2 - along**2, 0.0))
    return np.clip(q, *bounds), np.maximum(m2 + along * z + across * other, 0.0)


def _of_records(
    theta: Floats,
    sigma: Floats,
    n: int,
    bounds: tuple[float, float],
    truncated: bool,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    low, high = bounds
    around, shape = theta[..., None], (*theta.shape, n)
    if truncated:
        half, middle = (high - low) / 2, (low + high) / 2
        spread: Any = np.maximum(sigma, _NARROW * (high - low))[..., None]
        offset = np.broadcast_to(around - middle, shape)
        records = middle + truncated_normal(offset, spread, half, rng.random(shape))
    else:
        records = np.clip(rng.normal(around, sigma[..., None], shape), low, high)
    return records.mean(axis=-1), records.var(axis=-1, ddof=1)


def bounded_moments(
    theta: ArrayLike, sigma: ArrayLike, bounds: tuple[float, float], truncated: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean and second to fourth central moments of a record N(theta, sigma^2), bounded.

    Theta is within the bounds, or not many sigma beyond. In standard units, with ends a and b, the
    integral J_k of u^k over [a, b] is (k - 1) J_(k-2) + a^(k-1) phi(a) - b^(k-1) phi(b).
    """
    theta = np.asarray(theta, dtype=np.float64)
    sd = np.maximum(sigma, _NARROW * (bounds[1] - bounds[0]))
    a, b = (np.clip((end - theta) / sd, -_FAR, _FAR) for end in bounds)
    left, right = special.ndtr(a), special.ndtr(-b)
    at_a, at_b = (np.exp(-end * end / 2) / math.sqrt(2 * math.pi) for end in (a, b))
    j = [1 - left - right, at_a - at_b]
    for k in (2, 3, 4):
        j.append((k - 1) * j[k - 2] + a ** (k - 1) * at_a - b ** (k - 1) * at_b)
    if truncated:
        e1, e2, e3, e4 = (each / j[0] for each in j[1:])
    else:
        e1, e2, e3, e4 = (each + a**k * left + b**k * right for k, each in enumerate(j[1:], 1))
    m2 = np.maximum(e2 - e1**2, 0.0)
    m3 = e3 - 3 * e1 * e2 + 2 * e1**3
    m4 = np.maximum(e4 - 4 * e1 * e3 + 6 * e1**2 * e2 - 3 * e1**4, m2**2)
    return theta + sd * e1, sd**2 * m2, sd**3 * m3, sd**4 * m4
