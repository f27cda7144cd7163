r"""Laplace noise, exactly: for integer statistics, and for real ones on a fine lattice.

Integer noise of scale t has Pr[k] = (1 - q) / (1 + q) q^|k|, q = exp(-1 / t): the geometric
mechanism (Ghosh, Roughgarden and Sundararajan 2009). A real statistic is first rounded to the
lattice g Z (`bayesdp.mechanisms.noise.lattice`), with t = scale / g, and no floating-point noise is
added (Dwork, McSherry, Nissim and Smith 2006 have the continuous mechanism, Mironov 2012 its leak).

epsilon = (L1 sensitivity in steps) / t for each copy, exactly, and with truncation what
`bayesdp.mechanisms.noise.pure` proves. One copy of a scalar has its whole exact profile; otherwise
delta(epsilon) is what follows from the pure epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from bayesdp.checks import check_at_least_one
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.laws import LaplaceNoise
from bayesdp.mechanisms.noise.pure import (
    laplace_divergence,
    laplace_losses,
    truncated_laplace,
    up,
)
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile, pure_profile

_MOST_LOSSES = 1 << 16  # of one release; beyond it a grid through the profile is as good


def laplace_profile(
    mechanism: AdditiveNoise, *, copies: int = 1, neighbours: Neighbours | None = None
) -> Profile:
    """The privacy profile of `copies` independent copies of Laplace noise.

    It is exact for one copy of a scalar without bounds. With inflated bounds it is the profile
    without them, which post-processing can only lower.
    """
    copies = check_at_least_one("copies", copies)
    steps, noise = int(mechanism.moved(neighbours)), LaplaceNoise(mechanism.noise.scale)
    d = mechanism.dimension or 1
    if mechanism.bounding == "truncated":
        epsilon = truncated_laplace(noise, steps, d, mechanism.width)
        return pure_profile(epsilon, copies, up(copies * Fraction(epsilon)))
    total = up(copies * steps / noise.scale)
    if copies == d == 1 and not math.isinf(total):
        exact = partial(laplace_losses, noise, steps) if 0 < steps <= _MOST_LOSSES else None
        event = partial(_event, noise, steps) if steps else None
        return Profile(
            lambda at: laplace_divergence(noise, steps, at), total, losses=exact, event=event
        )
    return pure_profile(up(steps / noise.scale), copies, total)


def _event(noise: LaplaceNoise, steps: int) -> Any:
    """The event of dp_accounting that is this law: noise on a lattice is discrete."""
    from dp_accounting.dp_event import DiscreteLaplaceDpEvent

    return DiscreteLaplaceDpEvent(noise_parameter=up(1 / noise.scale), sensitivity=steps)


@dataclass(frozen=True, slots=True)
class LaplaceMechanism(AdditiveNoise):
    """Release x + Laplace noise for a real statistic x, on a lattice.

    Parameters
    ----------
    scale : float
        b, in the statistic's unit: the noise has density exp(-|z| / b) / (2 b), nearly.
    sensitivity : float
        Largest distance of neighbours' statistics in L1 norm, under `neighbours`.
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
    epsilon = sensitivity / scale for each copy, with the sensitivity rounded up to the lattice (for
    a vector, by up to one more step for each component).

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.LaplaceMechanism.calibrate(  # of the mean of 100 numbers in [-1, 1]
    ...     epsilon=0.5, sensitivity=0.02, neighbours="replace_one", n=100
    ... )
    >>> round(noise.scale, 6)
    0.04
    """

    scale: float
    sensitivity: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    dimension: int | None = None
    bounds: tuple[float | None, float | None] | None = None
    bounding: str | None = None
    n: int | None = None
    granularity: float = None  # type: ignore[assignment]

    name: ClassVar[str] = "laplace"
    norm: ClassVar[str] = "L1"
    law: ClassVar[type[LaplaceNoise]] = LaplaceNoise
    source: ClassVar[str] = (
        "bayesdp.mechanisms.noise.laplace; Dwork, McSherry, Nissim and Smith (2006)"
    )
    profile = laplace_profile


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceMechanism(AdditiveNoise):
    """Release x + discrete Laplace noise for an integer statistic x: the geometric mechanism.

    Parameters
    ----------
    scale : float
        t: Pr[noise = k] is proportional to exp(-|k| / t).
    sensitivity : float
        Largest distance of neighbours' statistics in L1 norm, under `neighbours`; whole.
    neighbours, dimension, bounding, n
        As for `LaplaceMechanism`.
    bounds : tuple of two ints, optional
        Bounds of each component of an output; None leaves an end open.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    epsilon = sensitivity / scale for each copy.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=1.0, sensitivity=1)
    >>> round(float(noise.logp(1040, 1041)), 4)
    -1.7719
    """

    scale: float
    sensitivity: float = 1.0
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    dimension: int | None = None
    bounds: tuple[int | None, int | None] | None = None
    bounding: str | None = None
    n: int | None = None

    name: ClassVar[str] = "discrete_laplace"
    norm: ClassVar[str] = "L1"
    law: ClassVar[type[LaplaceNoise]] = LaplaceNoise
    source: ClassVar[str] = (
        "bayesdp.mechanisms.noise.laplace; Ghosh, Roughgarden and Sundararajan (2009)"
    )
    profile = laplace_profile
