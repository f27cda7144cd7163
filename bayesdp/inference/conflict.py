"""Whether noise explains what was released: one rule for every model.

However far outputs are from any statistic that may be, a posterior exists, and models compute it:
the nearest statistics take it all. But noise that goes so far is next to impossible, and something
else than the model says was released, at another scale, or of other records. With

    D = sum over the numbers of -log (density of their noise / its largest),

of the least noise that leads from a possible statistic to the outputs, D is at most a gamma
variable whose shape is the number of numbers if the release is what it says: D / k is d / scale of
Laplace noise, whose size is exponential, and d^2 / (2 scale^2) of Gaussian noise, whose is less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.laws import LaplaceNoise
from bayesdp.release import Part

Floats = NDArray[np.float64]

_IMPOSSIBLE = 1e-9  # probability of noise so large


@dataclass(frozen=True)
class Noise:
    """The least noise that leads to some outputs.

    Attributes
    ----------
    needed : float
        D; see the module's docstring. A bound from below, if need be.
    numbers : int
        How many got noise.
    """

    needed: float
    numbers: int


def noise_from(
    part: Part, low: ArrayLike, high: ArrayLike, total: float | None = None
) -> Iterable[Noise]:
    """The least noise on numbers that lie between two ends; none if the release has no noise.

    Parameters
    ----------
    part : Part
    low, high : array_like
        A number's ends, or each of a vector's; inf where there is none.
    total : float, optional
        The vector's known sum.
    """
    mechanism: Any = part.mechanism
    if not isinstance(mechanism, AdditiveNoise):
        return
    outputs = np.array(part.outputs, dtype=np.float64)
    nearest = np.clip(outputs, low, high)
    gap = 0.0 if total is None else np.abs(nearest.sum(axis=-1) - total)
    away = np.abs(outputs - nearest)
    if isinstance(mechanism.noise, LaplaceNoise):
        needed = (away.sum() + np.sum(gap)) / mechanism.scale
    else:  # the gap is shared by all numbers
        shared = np.sum(np.square(gap)) / max(outputs.shape[-1], 1)
        needed = (np.square(away).sum() + shared) / (2 * mechanism.scale**2)
    yield Noise(float(needed), outputs.size)


def noise_from_moments(
    matrices: Floats, scales: Floats, gaussian: NDArray[np.bool_]
) -> Iterable[Noise]:
    """The least noise on matrices of moments, which are positive semi-definite without it.

    The nearest such matrix is as far as the root of the sum of the squares of the negative
    eigenvalues, where entries beside the diagonal count twice.

    Parameters
    ----------
    matrices : ndarray, shape (copies, d, d)
        Symmetric.
    scales, gaussian : ndarray, shape (copies,)
        Of each copy's noise.
    """
    d = matrices.shape[-1]
    for matrix, scale, normal in zip(matrices, scales, gaussian, strict=True):
        negative = np.minimum(np.linalg.eigvalsh(matrix), 0.0)
        away = math.sqrt(float(negative @ negative) / 2) / float(scale)
        yield Noise(away**2 / 2 if normal else away, d * (d + 1) // 2)


def conflict_in(noises: Sequence[Noise]) -> str | None:
    """What there is to say of outputs that noise hardly explains; None where it does."""
    needed = sum(each.needed for each in noises)
    numbers = sum(each.numbers for each in noises)
    if not numbers or stats.gamma.sf(needed, numbers) >= _IMPOSSIBLE:
        return None
    return (
        f"noise hardly explains what was released: the outputs are e^-{needed:.3g} times as likely "
        "from the nearest statistic that may be as outputs without noise, which noise on "
        f"{numbers} number{'s' if numbers > 1 else ''} leads to with a probability below "
        f"{_IMPOSSIBLE:g}; see whether the release is of other numbers, of other records or at "
        "another scale"
    )
