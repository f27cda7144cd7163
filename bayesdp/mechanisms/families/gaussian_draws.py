"""Copies of normal records from noisy moments: the posterior's parameters, then the records."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.conjugate.truncated_normal import truncated_normal
from bayesdp.mechanisms.families.base import NoisyStatistic
from bayesdp.mechanisms.randomness import generator

Floats = NDArray[np.float64]

_NARROW = 2.0**-60  # of the bounds' distance: a standard deviation that leaves records alike


class NormalFamily(Protocol):
    """Protocol of normal records: their bounds, their standard deviation and its prior."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Public ends of the records."""

    @property
    def middle(self) -> float:
        """Point within the bounds from which sums are taken where n is confidential."""

    @property
    def sd(self) -> float | None:
        """Standard deviation of the records, where it is known."""

    @property
    def prior(self) -> tuple[float, ...] | None:
        """Parameters of the prior, None where it is flat."""


def drawn(family: NormalFamily, noisy: NDArray[Any], mechanism: NoisyStatistic) -> Floats:
    """Draw sorted records within the bounds; `size` takes the place of the noisy numbers' axis."""
    n, mean, variance = moments(family, noisy, mechanism.n)
    rng = generator()
    if family.sd is not None:
        theta, tau = mean_posterior(family, n, mean)
        centre, sd = rng.normal(theta, tau), np.full(theta.shape, family.sd)
    else:
        centre, sd = _centre_and_sd(family, n, mean, variance, rng)
    return records_around(family, centre, sd, mechanism.size, mechanism.bounding)


def records_around(
    family: NormalFamily, centre: Floats, sd: Floats, size: int, bounding: str
) -> Floats:
    """Draw `size` sorted records within the bounds around each centre, along a last axis."""
    rng = generator()
    shape = (*centre.shape, size)
    around: Any = centre[..., None]
    spread: Any = sd[..., None]
    low, high = family.bounds
    if bounding == "truncated":
        half, middle = (high - low) / 2, low + (high - low) / 2
        spread = np.maximum(spread, _NARROW * (high - low))
        around = np.broadcast_to(around - middle, shape)
        records = middle + truncated_normal(around, spread, half, rng.uniform(size=shape))
    else:
        records = rng.normal(around, spread, size=shape)
    return np.sort(np.clip(records, low, high), axis=-1)


def moments(
    family: NormalFamily, noisy: NDArray[Any], public: int | None
) -> tuple[Floats, Floats, Floats]:
    """Moments n, mean and variance that noisy numbers stand for, moved into their ranges.

    Where the standard deviation is known, the variance is 0 and isn't used.
    """
    known = family.sd is not None
    if public is not None:
        mean = noisy[..., 0]
        variance = np.zeros(mean.shape) if known else noisy[..., 1]
        return np.full(mean.shape, float(public)), mean, variance
    low, high = family.bounds
    n = np.maximum(noisy[..., 0].astype(np.float64), 1.0 if known else 2.0)
    offset = noisy[..., 1] / n
    mean = np.clip(family.middle + offset, low, high)
    if known:
        return n, mean, np.zeros(mean.shape)
    squares = noisy[..., 2] - n * (mean - family.middle) ** 2
    largest = np.floor(n * n / 4) / (n * (n - 1)) * (high - low) ** 2
    return n, mean, np.clip(squares / (n - 1), 0.0, largest)


def mean_posterior(family: NormalFamily, n: Any, mean: Any) -> tuple[Floats, Floats]:
    """Posterior mean and standard deviation of theta, where the records' sd is known."""
    sd = float(family.sd or 0)
    precision = np.asarray(n / sd**2, dtype=np.float64)
    if family.prior is None:
        return np.asarray(mean), 1 / np.sqrt(precision)
    m0, s0 = family.prior
    whole = precision + s0**-2
    return np.asarray((precision * mean + m0 * s0**-2) / whole), 1 / np.sqrt(whole)


def _centre_and_sd(
    family: NormalFamily, n: Floats, mean: Floats, variance: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw theta and sigma, where both are unknown."""
    squares = (n - 1) * variance
    if family.prior is None:
        shape, scale, centre, weight = (n - 1) / 2, squares / 2, mean, n
    else:
        m0, k, a, b = family.prior
        weight = k + n
        shape, centre = a + n / 2, (k * m0 + n * mean) / weight
        scale = b + (squares + k * n / weight * (mean - m0) ** 2) / 2
    # A gamma variable of shape 1/2 may round to 0: then the records are as wide as can be.
    gamma = np.maximum(rng.standard_gamma(shape), 2.0**-1000)
    sd = np.sqrt(scale / gamma)
    return rng.normal(centre, sd / np.sqrt(weight)), sd
