r"""Gaussian noise, exactly: for integer statistics, and for real ones on a fine lattice.

Integer noise of scale s has Pr[k] proportional to exp(-k^2 / (2 s^2)): the discrete Gaussian of
Canonne, Kamath and Steinke (2020). A real statistic is first rounded to the lattice g Z
(`bayesdp.mechanisms.noise.lattice`), with s = scale / g, and no floating-point noise is added.
What is promised is proved in `bayesdp.mechanisms.noise.gaussian_profiles`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from bayesdp.checks import check_at_least_one
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.gaussian_profiles import gaussian_profile
from bayesdp.mechanisms.noise.laws import GaussianNoise
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile


def _profile(
    mechanism: AdditiveNoise, *, copies: int = 1, neighbours: Neighbours | None = None
) -> Profile:
    """Privacy profile of `copies` independent copies: `gaussian_profile`."""
    return gaussian_profile(
        GaussianNoise(mechanism.noise.scale),
        mechanism.moved(neighbours),
        mechanism.dimension or 1,
        check_at_least_one("copies", copies),
        mechanism.width if mechanism.bounding == "truncated" else None,
    )


def _rho(
    mechanism: AdditiveNoise, *, copies: int = 1, neighbours: Neighbours | None = None
) -> float | None:
    """The zCDP parameter of `copies` copies: sensitivity^2 / (2 scale^2) each, rounded up.

    For a truncated law it is that of its pure epsilon, epsilon^2 / 2 (Bun and Steinke 2016); None
    where an end is open, so that it has none.
    """
    copies = check_at_least_one("copies", copies)
    if mechanism.bounding == "truncated":
        ratio = _profile(mechanism, neighbours=neighbours).pure_epsilon
        if ratio == math.inf:
            return None
    else:
        ratio = mechanism.moved(neighbours) / float(mechanism.noise.scale)
    return math.nextafter(copies * ratio * ratio / 2 * (1 + 2.0**-50), math.inf)


@dataclass(frozen=True, slots=True)
class GaussianMechanism(AdditiveNoise):
    """Release x + Gaussian noise for a real statistic x, on a lattice.

    Parameters
    ----------
    scale : float
        sigma, the noise's standard deviation, in the statistic's unit.
    sensitivity : float
        Largest distance of neighbours' statistics in L2 norm, under `neighbours`.
    neighbours : Neighbours
        The relation that the sensitivity is stated under.
    dimension : int, optional
        Length of a vector statistic; None for scalars.
    bounds : tuple of two floats, optional
        Bounds of each component of an output; None leaves an end open.
    bounding : {"truncated", "inflated"}, optional
        How outputs are kept within the bounds: by the law given the bounds, for statistics within
        them; or by setting values beyond a bound to it.
    n : int, optional
        Number of records, where it is public: not under add/remove-one.
    granularity : float, optional
        Step of the lattice, a power of two; by default 2^-20 of the smaller of scale and
        sensitivity or finer, with at most 2^40 steps to a scale. The statistic is rounded to it.
        Where it isn't finer than the sensitivity, the last digit of a sum may move the rounded
        statistic by a whole step, which is charged, with a warning.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Warns
    -----
    UserWarning
        If `granularity` is at least the sensitivity.

    Notes
    -----
    The profile is the continuous Gaussian's (Balle and Wang 2018), with the sensitivity rounded up
    to the lattice (for a vector, by up to sqrt(dimension) steps) and a scale shorter by 2 parts in
    10^12 at the default granularity; see `bayesdp.mechanisms.noise.gaussian_profiles`.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.GaussianMechanism.calibrate(  # of the mean of 100 numbers in [-1, 1]
    ...     epsilon=1.0, delta=1e-6, sensitivity=0.02, neighbours="replace_one", n=100
    ... )
    >>> round(noise.scale, 4)
    0.0845
    """

    scale: float
    sensitivity: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    dimension: int | None = None
    bounds: tuple[float | None, float | None] | None = None
    bounding: str | None = None
    n: int | None = None
    granularity: float = None  # type: ignore[assignment]

    name: ClassVar[str] = "gaussian"
    norm: ClassVar[str] = "L2"
    law: ClassVar[type[GaussianNoise]] = GaussianNoise
    source: ClassVar[str] = (
        "bayesdp.mechanisms.noise.gaussian_profiles; Canonne, Kamath and Steinke (2020)"
    )
    profile = _profile
    rho = _rho


@dataclass(frozen=True, slots=True)
class DiscreteGaussianMechanism(AdditiveNoise):
    """Release x + discrete Gaussian noise for an integer statistic x.

    Parameters
    ----------
    scale : float
        sigma: Pr[noise = k] is proportional to exp(-k^2 / (2 sigma^2)).
    sensitivity : float
        Largest distance of neighbours' statistics in L2 norm, under `neighbours`; whole
        for a scalar.
    neighbours, dimension, bounding, n
        As for `GaussianMechanism`.
    bounds : tuple of two ints, optional
        Bounds of each component of an output; None leaves an end open.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The profile of one copy of a scalar is exact; the others are bounds, proved in
    `bayesdp.mechanisms.noise.gaussian_profiles`.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.DiscreteGaussianMechanism.calibrate(
    ...     epsilon=1.0, delta=1e-6, sensitivity=1
    ... )
    >>> print(noise.guarantee(delta=1e-6))
    epsilon = 1, delta = 1e-06 (add_remove, proved)
    """

    scale: float
    sensitivity: float = 1.0
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    dimension: int | None = None
    bounds: tuple[int | None, int | None] | None = None
    bounding: str | None = None
    n: int | None = None

    name: ClassVar[str] = "discrete_gaussian"
    norm: ClassVar[str] = "L2"
    law: ClassVar[type[GaussianNoise]] = GaussianNoise
    source: ClassVar[str] = (
        "bayesdp.mechanisms.noise.gaussian_profiles; Canonne, Kamath and Steinke (2020)"
    )
    profile = _profile
    rho = _rho
