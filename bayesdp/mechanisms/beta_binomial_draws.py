r"""Exact beta-binomial draws at a cost that doesn't grow with their size.

The law f(k) of BetaBinomial(m, a, b) is in proportion to

    Gamma(a + k) Gamma(b + m - k) / (k! (m - k)!).

Where a, b >= 1 it is log-concave, since (m - k) (a + k) / ((k + 1) (b + m - k - 1)) decreases in
k. Let M be its mode and w, on one side, such that f(M + w) <= f(M) / 2. Then
f(M + j w + r) <= f(M) / 2^j, so this is a rejection sampler (Devroye 1986, section VII.2):
a side and a remainder r are uniform below the two sides' w together, j counts fair coins before
the first head, and k is kept with probability c 2^j f(k) / f(M). Proposals are bits. The mode is
found in floating point, so it may be one off where two values are nearly as likely; c = 1 - 2^-10
leaves more room than that takes.

Where a < 1, think of Polya's urn: the first unit of the first colour is drawn at T, with

    Pr[T > t] = prod_{i < t} (b + i) / (a + b + i),

and what follows is BetaBinomial(m - T, a + 1, b + T - 1). T comes from one uniform number by
bisection. The same for b < 1.

Uniform numbers are compared with probabilities by `bayesdp.mechanisms.exact_comparison`, so no
probability is ever rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.exact_comparison import Uniform, below_probability, compared, log_gamma
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.mechanisms.randomness import random_words, uniform_below

LARGEST_SIZE = 2**38
"""Up to here, the mode found in floating point is at most one off and nearly as likely."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Parameters = Callable[[int], tuple[Fraction, Fraction]]

_BLOCK = 1 << 15  # draws made at once, so that temporary arrays stay in the cache
_HALF = -0.6932  # a little below log(1 / 2)
_KEPT = 1 - 2.0**-10  # c


def beta_binomial_draws(size: Integers, a: Floats, b: Floats, exact: Parameters) -> Integers:
    """Independent draws, element i of BetaBinomial(size[i], *exact(i)), exactly.

    Parameters
    ----------
    size : ndarray of int64, shape (count,)
        From 0 to `LARGEST_SIZE`.
    a, b : ndarray, shape (count,)
        Positive; `exact` to a few units in the last place.
    exact : callable
        The parameters of element i as Fractions; called for few elements.

    Returns
    -------
    ndarray of int64, shape (count,)
    """
    drawn = np.empty_like(size)
    for start in range(0, size.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        drawn[block] = _draw(size[block], a[block], b[block], lambda i, s=start: exact(s + i))  # type: ignore[misc]
    return drawn


def _draw(size: Integers, a: Floats, b: Floats, exact: Parameters) -> Integers:
    found, left = np.zeros_like(size), size.copy()
    more = np.zeros((2, size.size), dtype=np.int64)  # units that the first draws put in

    def now(i: int) -> tuple[Fraction, Fraction]:
        one, other = exact(i)
        return one + int(more[0, i]), other + int(more[1, i])

    for colour, prior in enumerate((a, b)):
        rare = np.flatnonzero((prior + more[colour] < 1) & (left > 0))
        if not rare.size:
            continue

        def swapped(i: int, rare: Any = rare, colour: int = colour) -> tuple[Fraction, Fraction]:
            pair = now(int(rare[i]))
            return pair if colour == 0 else pair[::-1]

        both = (a[rare] + more[0, rare], b[rare] + more[1, rare])
        first = _first_success(left[rare], both[colour], both[1 - colour], swapped)
        some = first <= left[rare]
        # Before the first of this colour, all are of the other.
        others = np.where(some, first - 1, left[rare])
        found[rare] += np.where(some, 1, 0) if colour == 0 else others
        more[colour, rare] += some
        more[1 - colour, rare] += others
        left[rare] -= others + some
    rest = np.flatnonzero(left > 0)
    found[rest] += _log_concave(
        left[rest],
        a[rest] + more[0, rest],
        b[rest] + more[1, rest],
        lambda i: now(int(rest[i])),
    )
    return found


def _log_concave(size: Integers, a: Floats, b: Floats, exact: Parameters) -> Integers:
    """Draws where a and b are at least 1, by rejection from a staircase."""
    mode, top = _mode(size, a, b)
    above = _width(size, a, b, mode, top, size - mode + 1, 1)
    below = _width(size, a, b, mode, top, mode, -1)
    drawn = np.empty_like(size)
    pending = np.arange(size.size)
    while pending.size:
        up, down, m = above[pending], below[pending], size[pending]
        r = uniform_below((up + down).astype(np.uint64)).astype(np.int64)
        j = _coins(pending.size)
        # A step further than the size is impossible anyhow; no product may overflow.
        step = np.minimum(j, 64)
        k = np.where(
            r < up, mode[pending] + step * up + r, mode[pending] - 1 - step * down - (r - up)
        )
        possible = np.flatnonzero((k >= 0) & (k <= m) & (j <= 64))
        i = pending[possible]
        log_p = beta_binomial_logpmf(k[possible], size[i], a[i], b[i]) - top[i]
        log_p += j[possible] * np.log(2.0) + np.log(_KEPT)

        def exactly(
            place: int, i: Any = i, k: Any = k[possible], j: Any = j[possible]
        ) -> Callable[[], Any]:
            return lambda: _log_ratio(
                int(size[i[place]]),
                int(k[place]),
                int(mode[i[place]]),
                int(j[place]),
                exact(int(i[place])),
            )

        kept = possible[below_probability(log_p, exactly)]
        drawn[pending[kept]] = k[kept]
        pending = np.delete(pending, kept)
    return drawn


def _mode(size: Integers, a: Floats, b: Floats) -> tuple[Integers, Floats]:
    """Where the law is largest, or nearly so, and its logarithm there."""
    weight = a + b - 2
    crossing = (size * (a - 1) - (b - 1)) / np.where(weight > 0, weight, 1.0)
    mode = np.clip(np.floor(crossing) + 1, 0, size).astype(np.int64)
    return mode, beta_binomial_logpmf(mode, size, a, b)


def _width(
    size: Integers,
    a: Floats,
    b: Floats,
    mode: Integers,
    top: Floats,
    most: Integers,
    sign: int,
) -> Integers:
    """How far from the mode the law has halved, up to twice that; at most `most`."""
    curvature = (a + b - 2) / ((mode + 1.0) * (b + size - mode))
    guess = 1.2 / np.sqrt(np.maximum(curvature, 1e-30))
    width = np.minimum(np.ceil(np.minimum(guess, size + 1.0)).astype(np.int64), most)
    short = np.flatnonzero(width < most)
    while short.size:
        k = mode[short] + sign * width[short]
        gap = beta_binomial_logpmf(k, size[short], a[short], b[short]) - top[short]
        short = short[gap > _HALF]
        width[short] = np.minimum(2 * width[short], most[short])
        short = short[width[short] < most[short]]
    return np.asarray(width)


def _coins(count: int) -> Integers:
    """Numbers of tails before the first head: trailing zeros of random words."""
    number = np.zeros(count, dtype=np.int64)
    running = np.arange(count)
    while running.size:
        words = random_words(running.size)
        lowest = words & (~words + np.uint64(1))
        zero = lowest == 0
        number[running] += np.where(zero, 64, np.log2(np.where(zero, 1, lowest)).astype(np.int64))
        running = running[zero]
    return number


def _first_success(size: Integers, a: Floats, b: Floats, exact: Parameters) -> Integers:
    """When the first unit of the colour that starts with a is drawn; size + 1 where never."""
    words = random_words(size.size)
    low, high = np.zeros_like(size), size + 1  # T > low, T <= high
    unsure = np.zeros(size.size, dtype=bool)
    while (open_ := np.flatnonzero(high - low > 1)).size:
        middle = (low[open_] + high[open_]) // 2
        log_p = beta_binomial_logpmf(0, middle, a[open_], b[open_])
        later, undecided = compared(words[open_], log_p)
        unsure[open_] |= undecided
        low[open_] = np.where(later, middle, low[open_])
        high[open_] = np.where(later, high[open_], middle)
    for i in np.flatnonzero(unsure):
        high[i] = _first_success_exactly(int(words[i]), int(size[i]), exact(int(i)))
    return high


def _first_success_exactly(word: int, size: int, parameters: tuple[Fraction, Fraction]) -> int:
    number = Uniform(word)
    low, high = 0, size + 1
    while high - low > 1:
        middle = (low + high) // 2
        if number.below(lambda t=middle: _log_none(t, parameters)):  # type: ignore[misc]
            low = middle
        else:
            high = middle
    return high


def _log_ratio(size: int, k: int, mode: int, j: int, parameters: tuple[Fraction, Fraction]) -> Any:
    """An interval around log(c 2^j f(k) / f(mode))."""
    from mpmath import iv  # type: ignore[import-untyped]

    a, b = parameters
    here, there = (
        log_gamma(a + x) + log_gamma(b + size - x)
        - log_gamma(Fraction(x + 1)) - log_gamma(Fraction(size - x + 1))
        for x in (k, mode)
    )  # fmt: skip
    return here - there + j * iv.log(2) + iv.log(iv.mpf(_KEPT))


def _log_none(t: int, parameters: tuple[Fraction, Fraction]) -> Any:
    """An interval around log Pr[T > t]."""
    a, b = parameters
    return log_gamma(b + t) - log_gamma(b) + log_gamma(a + b) - log_gamma(a + b + t)
