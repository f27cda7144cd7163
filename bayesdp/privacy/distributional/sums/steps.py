r"""Privacy profiles of a sum from a log-concave density against itself shifted, by convolution.

A density that is at least q_j / h on the j-th of C cells of width h, in one coordinate, is
sum_j q_j parts a record h (J + U), J = j with probability in proportion to q_j and U uniform, and
the rest something else. Of k records of the first kind the sum is h (J_1 + ... + J_k) plus an
independent sum of uniform numbers, so that adding it is processing after the fact: the divergence
between the sum and itself moved by c cells is at most that between the whole number
J_1 + ... + J_k and itself moved by c. Nothing of the discretisation is left out, and the bound is
on the safe side. A shift by c + f cells, 0 < f < 1, is no worse than the worse of c and c + 1: with
one of the uniform numbers left in, the density is constant on cells, and the divergence is f parts
that of c + 1 and 1 - f parts that of c.

The q_j are log-concave; so is their convolution; so the best set is a half-line, as in
`sums.shift`, and the largest shift the worst. The two directions are the two tails.

The convolution is a discrete Fourier transform of the law tilted to have its mean where the
half-line ends, so that the tail keeps its digits. Added to the result are what wraps round, by
Chernoff's bound, and what is rounded: each output of a fast transform of L numbers is the end of a
tree of log2 L steps, and so off by at most about 6 log2 L eps times the sum of its inputs' moduli.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.errors import EngineFailed

_EPS = 2.0**-52
_HALF = 12.0  # standard deviations on either side
_REACH = 2.5  # of which the end of a half-line may be from the centre
_FLOOR = 1e-300  # below, doubles lose their digits
_SHORT = 2000  # values
_APART = 6.0  # standard deviations
_LEAST = 0.02  # of the range: no half-line is sought that ends further left


@dataclass(frozen=True)
class _Tilted:
    """The tail of a sum of `count` steps around one value.

    Attributes
    ----------
    first : int
        The first value tabulated.
    law : ndarray
        exp(tilt (j - centre)) Pr[sum = j] / scale, shape (L,).
    tilt, log_scale, centre, width : float
        The tilt, negative for a left tail; log of scale; the tilted law's mean and standard
        deviation.
    error : float
        Bound on the absolute error of each element of `law`.
    relative : float
        Bound on the relative error of Pr[sum = j] that is due to the rounding of the q_j.
    start : int
        Where sums over the left tail begin.
    log_rest : float
        Log of a bound on Pr[sum < start].
    """

    first: int
    law: NDArray[np.float64]
    tilt: float
    log_scale: float
    centre: float
    width: float
    error: float
    relative: float
    start: int
    log_rest: float


def steps_delta(epsilon: float, steps: tuple[float, ...], cells: int, count: int) -> float:
    """Delta at epsilon of a sum of steps against itself shifted, the larger of both directions.

    Parameters
    ----------
    epsilon : float
        Positive.
    steps : tuple of float
        q_j, log-concave and positive, shape (C,); their sum doesn't matter.
    cells : int
        By how many cells the law is shifted.
    count : int
        k.
    """
    length = count * (len(steps) - 1) + 1
    if count == 0 or cells >= length:
        return 1.0
    if length <= _SHORT:
        return _directly(epsilon, steps, cells, count)
    if cells > _APART * _moments(np.array(steps))[1] * math.sqrt(count):
        return 1.0  # hardly less, and no one tilt would show both laws
    backwards = steps[::-1]
    left = _left(epsilon, steps, cells, count)
    return left if backwards == steps else max(left, _left(epsilon, backwards, cells, count))


def _directly(epsilon: float, steps: tuple[float, ...], cells: int, count: int) -> float:
    """Convolve by adding products, all positive, so that every element keeps its digits."""
    law, q = np.ones(1), np.array(steps) / math.fsum(steps)
    for _ in range(count):
        law = np.convolve(law, q)
    one = np.concatenate([law, np.zeros(cells)])
    other = np.concatenate([np.zeros(cells), law])
    slack, factor = 16 * _EPS * (count + len(law)), math.exp(min(epsilon, 700.0))
    left = np.sum(np.maximum(one * (1 + slack) - factor * other * (1 - slack), 0.0))
    right = np.sum(np.maximum(other * (1 + slack) - factor * one * (1 - slack), 0.0))
    return min(1.0, max(_FLOOR, float(max(left, right))))


def _left(epsilon: float, steps: tuple[float, ...], cells: int, count: int) -> float:
    """Largest Pr[sum <= t] - exp(epsilon) Pr[sum + cells <= t], at the best t."""
    place = _gaussian_place(epsilon, steps, cells, count)
    least = math.ceil(_LEAST * count * (len(steps) - 1))
    for _ in range(100):
        tilted = _tail(steps, cells, count, place)
        end, known = _end(tilted, epsilon, cells)
        if known:
            return _difference(tilted, epsilon, cells, end)
        if place == least and end < place:  # it ends further left: the tail up to here is enough
            return _difference(tilted, math.inf, cells, end)
        place = max(least, end)
    raise EngineFailed("the end of the best half-line wasn't found; use a UniformPart of the law")


def _gaussian_place(epsilon: float, steps: tuple[float, ...], cells: int, count: int) -> int:
    """Find the place where a normal law's ratio would be epsilon, on a grid of deviations."""
    mean, sd = _moments(np.array(steps))
    sd *= math.sqrt(count)
    z = epsilon * sd / cells - cells / (2 * sd)
    place = count * mean - max(0.0, math.floor(z)) * sd
    return max(int(place), math.ceil(_LEAST * count * (len(steps) - 1)))


@lru_cache(maxsize=20)
def _tail(steps: tuple[float, ...], cells: int, count: int, place: int) -> _Tilted:
    q = np.array(steps) / math.fsum(steps)
    tilt = _tilt_to(q, place / count)
    weights, log_scale = _tilted(q, tilt, place / count)
    _, sd = _moments(weights)
    width = sd * math.sqrt(count)
    half = math.ceil(_HALF * width) + cells + 1
    size = 2 ** math.ceil(math.log2(max(2 * half + 1, len(q))))
    transform = np.fft.rfft(weights, size)
    power = np.exp(count * np.log(np.where(transform == 0, 1e-300, transform)))
    law = np.fft.irfft(power, size)
    first = place - size // 2
    law = np.roll(law, -(first % size))
    modulus = (2 * np.sum(np.abs(transform) ** (count - 1)) + 1) / size
    rounding = 6 * _EPS * math.log2(size) * (count + 1) * modulus + 6 * _EPS * count * modulus
    wrapped = sum(_outside(weights, count, place, width, size // 2, side) for side in (-1, 1))
    start = round(place - (_HALF - 1) * width)
    if tilt <= 0:  # left of the start tilting back weighs by less than there
        further = _outside(weights, count, place, width, place - start, -1)
        log_rest = count * log_scale - tilt * (start - place) + math.log(further)
    else:
        log_rest = math.log(_outside(q, count, place, width, place - start, -1))
    return _Tilted(first, law, tilt, count * log_scale, place, width, rounding + wrapped,
                   8 * _EPS * count, start, log_rest)  # fmt: skip


def _end(tilted: _Tilted, epsilon: float, cells: int) -> tuple[int, bool]:
    """The last j whose log ratio may exceed epsilon, and whether it is within reach."""
    low = round(tilted.centre - _REACH * tilted.width)
    high = round(tilted.centre + _REACH * tilted.width)
    j = np.arange(low, high + 1)
    here, there = (tilted.law[j - shift - tilted.first] for shift in (0, cells))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log((here + tilted.error) / np.maximum(there - tilted.error, 1e-300))
    ratio -= tilted.tilt * cells
    above = np.nonzero(ratio + 2 * tilted.relative > epsilon)[0]
    if len(above) == 0:
        return low, False
    if above[-1] == len(j) - 1:
        return high, False
    return int(j[above[-1]]), True


def _difference(tilted: _Tilted, epsilon: float, cells: int, end: int) -> float:
    """The difference of the two tails at `end` or before, every part of it rounded up."""
    j = np.arange(tilted.start, end + 1)
    weights = np.exp(-tilted.tilt * (j - tilted.centre))
    slack = 4 * tilted.relative + 4 * _EPS * len(j)
    terms = tilted.law[j - tilted.first] * (1 + slack) + tilted.error
    if not math.isinf(epsilon):
        there = tilted.law[j - cells - tilted.first] * (1 - slack) - tilted.error
        terms -= math.exp(epsilon + tilted.tilt * cells) * np.maximum(there, 0.0)
    total = math.exp(tilted.log_scale) * float(np.sum(weights * np.maximum(terms, 0.0)))
    # Whatever lies further left is part of the first tail.
    return min(1.0, max(_FLOOR, total + math.exp(min(0.0, tilted.log_rest))))


def _outside(
    weights: NDArray[np.float64], count: int, place: int, width: float, distance: float, side: int
) -> float:
    """Chernoff's bound on the sum's share further than `distance` from `place` on one side."""
    j = np.arange(len(weights)) - place / count
    best = 0.0
    for tau in (2.0, 4.0, 8.0, 12.0, 16.0):
        log_mgf = float(special.logsumexp(side * tau / width * j, b=weights))
        best = min(best, count * log_mgf - tau * distance / width)
    return max(_FLOOR, math.exp(best))


def _tilted(q: NDArray[np.float64], tilt: float, mean: float) -> tuple[NDArray[np.float64], float]:
    """The law in proportion to q exp(tilt (j - mean)), and the log of what it was divided by."""
    logs = np.log(q) + tilt * (np.arange(len(q)) - mean)
    log_scale = float(special.logsumexp(logs))
    return np.exp(logs - log_scale), log_scale


def _tilt_to(q: NDArray[np.float64], mean: float) -> float:
    """The tilt that gives the law this mean, nearly."""
    tilt = 0.0
    for _ in range(200):
        mean_here, sd = _moments(_tilted(q, tilt, mean)[0])
        step = (mean - mean_here) / sd**2
        tilt += max(-2 / sd, min(2 / sd, step))
        if abs(step) * sd < 1e-12:
            break
    return tilt


def _moments(weights: NDArray[np.float64]) -> tuple[float, float]:
    share = weights / weights.sum()
    j = np.arange(len(weights))
    mean = float(share @ j)
    return mean, math.sqrt(float(share @ (j - mean) ** 2))
