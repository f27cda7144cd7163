"""Conflict of outputs with a model: does noise explain them? One rule for every model.

However far the outputs are from any possible statistic, a posterior exists, and models compute it:
it concentrates on the nearest statistics. But such large noise is next to impossible: more likely
the release isn't what the model says, is at another scale, or is of other records. With

    D = sum over the numbers of -log (density of their noise / its largest),

for the least noise that leads from a possible statistic to the outputs, D is at most a gamma
variable whose shape is the number of numbers, if the release is what it says: each number adds
d / scale for Laplace noise, which is exponential, and d^2 / (2 scale^2) for Gaussian noise, which
is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayesdp.core.shared_sums import Counted, contradiction
from bayesdp.core.views import NoiseView, view_of
from bayesdp.release import Part
from bayesdp.warned import warn_about

Floats = NDArray[np.float64]

_IMPOSSIBLE = 1e-9  # probability of noise so large


@dataclass(frozen=True)
class Noise:
    """The least noise that explains some outputs, by which a conflict is judged.

    Attributes
    ----------
    needed : float
        D, see the module's docstring, or a lower bound on it.
    numbers : int
        How many numbers got noise.
    contradiction : str, optional
        Which outputs contradict each other whatever the statistic is; see
        `bayesdp.core.shared_sums`.
    """

    needed: float
    numbers: int
    contradiction: str | None = None


def noise_from(
    parts: Sequence[Part], low: ArrayLike, high: ArrayLike, total: float | None = None
) -> Iterator[Noise]:
    """Compute the least noise on numbers between two ends; empty if no release has noise.

    All copies are of one statistic, so that they may contradict each other too: the nearest is the
    median of copies with Laplace noise, weighted by 1 / scale, and the mean of those with Gaussian
    noise, weighted by 1 / scale^2, within the ends. Where a mechanism's own bounds don't hold all
    that lies between the ends, a copy at a bound may be of a statistic beyond it, and each is
    looked at alone.

    Parameters
    ----------
    parts : sequence of Part
        Parts of releases of the same records.
    low, high : array_like
        Ends of a number, or of each number of a vector; infinite where there is none.
    total : float, optional
        The vector's known sum.
    """
    together: dict[bool, list[tuple[Floats, float, float]]] = {True: [], False: []}
    for part in parts:
        if (noise := view_of(part.mechanism, NoiseView)) is None:
            continue
        cell = noise.cell
        outputs = np.array(part.outputs, dtype=np.float64)
        laplace = cell.noise.laplace
        alone = _each_alone(outputs, cell.scale, laplace, low, high, total)
        first, last = cell.bounds or (None, None)
        below = -math.inf if first is None else float(first)
        above = math.inf if last is None else float(last)
        if np.all(np.asarray(low) >= below) and np.all(np.asarray(high) <= above):
            together[laplace].append((outputs, float(cell.scale), alone))
        else:
            yield Noise(alone, outputs.size)
    for laplace, each_of in together.items():
        if each_of:
            outputs = np.concatenate([each for each, _, _ in each_of])
            scales = np.repeat(
                [scale for _, scale, _ in each_of], [len(each) for each, _, _ in each_of]
            )
            alone = sum(needed for _, _, needed in each_of)
            needed = noise_of_copies(outputs, scales, laplace, low, high).needed
            yield Noise(max(alone, needed), outputs.size)


def noise_of_copies(
    outputs: Floats, scales: Floats, laplace: bool, low: ArrayLike, high: ArrayLike
) -> Noise:
    """The least noise on copies of one statistic between two ends.

    Parameters
    ----------
    outputs : ndarray, shape (copies, ...)
    scales : ndarray, shape (copies,)
    laplace : bool
        Whether noise is Laplace, or else Gaussian.
    low, high : array_like
        Ends of a number, or of each number of a vector; infinite where there is none.
    """
    weight = (1 / scales if laplace else 1 / scales**2).reshape(-1, *[1] * (outputs.ndim - 1))
    return Noise(_of_one_statistic(outputs, weight, laplace, low, high), outputs.size)


def _each_alone(
    outputs: Floats, scale: float, laplace: bool, low: ArrayLike, high: ArrayLike,
    total: float | None,
) -> float:  # fmt: skip
    """The least noise of copies, each with a statistic of its own."""
    nearest = np.clip(outputs, low, high)
    gap = 0.0 if total is None else np.abs(nearest.sum(axis=-1) - total)
    away = np.abs(outputs - nearest)
    if laplace:
        return float((away.sum() + np.sum(gap)) / scale)
    # the gap is shared by all numbers
    shared = np.sum(np.square(gap)) / max(outputs.shape[-1], 1)
    return float((np.square(away).sum() + shared) / (2 * scale**2))


def _of_one_statistic(
    outputs: Floats, weight: Floats, laplace: bool, low: ArrayLike, high: ArrayLike
) -> float:
    """Least noise of copies, shape (copies, ...), from one statistic, the nearest to all.

    Weights are 1 / scale of Laplace noise, 1 / scale^2 of Gaussian noise, 0 of what isn't there.
    """
    weight = np.broadcast_to(weight, outputs.shape)
    if laplace:
        order = np.argsort(outputs, axis=0)
        sorted_weight = np.take_along_axis(weight, order, axis=0)
        half = (sorted_weight.cumsum(axis=0) >= weight.sum(axis=0) / 2).argmax(axis=0)
        middle = np.take_along_axis(np.sort(outputs, axis=0), half[None], axis=0)
    else:
        whole = np.maximum(weight.sum(axis=0, keepdims=True), 1e-300)
        middle = (weight * outputs).sum(axis=0, keepdims=True) / whole
    away = np.abs(outputs - np.clip(middle, low, high))
    return float((weight * away).sum() if laplace else (weight * away**2).sum() / 2)


def noise_from_marginals(
    observed: Floats,
    rate: Floats,
    gaussian: NDArray[np.bool_],
    marginals: Sequence[NDArray[np.int64]],
    high: float,
    total: float | None,
    shared: Sequence[Counted] = (),
) -> Noise:
    """The least noise on a table's marginals, whose counts aren't negative and have one total.

    A lower bound is the larger of what the counts need, each by itself, and what the marginals'
    totals need: k numbers that miss their total by d need at least d / scale, or
    d^2 / (2 k scale^2) where noise is Gaussian.

    Parameters
    ----------
    observed, rate : ndarray, shape (numbers, copies)
        Released counts and, of noise on them, 1 / scale or 1 / (2 scale^2); 0 where there is none.
    gaussian : ndarray of bool, shape (numbers, copies)
    marginals : sequence of ndarray of int
        Indices of each marginal's numbers.
    high : float
        The largest possible count, or inf.
    total : float, optional
        The number of records, where it is known.
    shared : sequence of Counted
        The marginals by their columns, whose sums over what they share are compared.
    """
    counts, totals = 0.0, 0.0
    ends = (0.0, high) if total is None else (total, total)
    for laplace in (True, False):
        weight = np.where(gaussian != laplace, rate if laplace else 2 * rate, 0.0)
        counts += _of_one_statistic(observed.T, weight.T, laplace, 0.0, high)
        sums = np.concatenate([observed[each].sum(axis=0) for each in marginals])
        # All numbers of a marginal have noise of one scale in a copy, or some have none.
        least = [weight[each].min(axis=0) / (1 if laplace else len(each)) for each in marginals]
        totals += _of_one_statistic(sums, np.concatenate(least), laplace, *ends)
    return Noise(max(counts, totals), int((rate > 0).sum()), contradiction(shared))


def noise_from_moments(
    matrices: Floats, scales: Floats, gaussian: NDArray[np.bool_]
) -> Iterable[Noise]:
    """Compute the least noise on matrices of moments, which are positive semi-definite without it.

    The nearest such matrix is as far as the root of the sum of the squares of the negative
    eigenvalues, where entries beside the diagonal count twice.

    Parameters
    ----------
    matrices : ndarray, shape (copies, d, d)
        Symmetric matrices of noisy moments.
    scales, gaussian : ndarray, shape (copies,)
        Scale of each copy's noise, and whether it is Gaussian.
    """
    d = matrices.shape[-1]
    for matrix, scale, normal in zip(matrices, scales, gaussian, strict=True):
        negative = np.minimum(np.linalg.eigvalsh(matrix), 0.0)
        away = math.sqrt(float(negative @ negative) / 2) / float(scale)
        yield Noise(away**2 / 2 if normal else away, d * (d + 1) // 2)


def warn_of_conflict(noises: Iterable[Noise], stacklevel: int) -> str | None:
    """Describe the conflict, as a warning too; None where there is none."""
    conflict = conflict_in(list(noises))
    if conflict is not None:
        warn_about(conflict, "conflict", stacklevel=stacklevel + 1)
    return conflict


def conflict_in(noises: Sequence[Noise]) -> str | None:
    """Describe the conflict where noise hardly explains the outputs; None where it does."""
    for each in noises:
        if each.contradiction is not None:
            return each.contradiction
    needed = sum(each.needed for each in noises)
    numbers = sum(each.numbers for each in noises)
    if not numbers or stats.gamma.sf(needed, numbers) >= _IMPOSSIBLE:
        return None
    return (
        "noise hardly explains what was released: given the nearest possible statistic, the "
        f"outputs are e^-{needed:.3g} times as likely as outputs without noise, which happens for "
        f"noise on {numbers} number{'s' if numbers > 1 else ''} with a probability below "
        f"{_IMPOSSIBLE:g}; check whether the release is of other numbers, of other records or at "
        "another scale"
    )
