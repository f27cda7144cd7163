r"""Exact draws from log-concave laws on the integers, at a cost that doesn't grow with their width.

Let f be log-concave on 0, 1, ..., M its mode, and w, on one side, such that f(M + w) <= f(M) / 2.
Then f(M + j w + r) <= f(M) / 2^j, so this is a rejection sampler (Devroye 1986, section VII.2):
a side and a remainder r are uniform below the two sides' w together, j counts fair coins before
the first head, and k is kept with probability c 2^j f(k) / f(M). Proposals are bits. The mode is
found in floating point, so it may be one off where two values are nearly as likely; c = 1 - 2^-10
leaves more room than that takes. Comparisons are those of
`bayesdp.mechanisms.draws.exact_comparison`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.exact_comparison import below_probability
from bayesdp.mechanisms.randomness import random_words, uniform_below

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LogLaw = Callable[[Integers, Any], Floats]

_HALF = -0.6932  # a little below log(1 / 2)
KEPT = 1 - 2.0**-10
"""c: what the largest probability of being kept leaves for the errors of the mode."""


def log_concave_draws(
    log_law: LogLaw,
    log_ratio: Callable[[int, int], Any],
    mode: Integers,
    largest: Integers,
    curvature: Floats,
) -> Integers:
    """Draw independently from several log-concave laws on 0, ..., largest, one of each, exactly.

    Parameters
    ----------
    log_law : callable
        Function of integers k and places i, arrays of one shape: log f_i(k), up to a constant that
        depends on i, with an error below 2^-32.
    log_ratio : callable
        Function of a place i and an integer k: an interval around log(f_i(k) / f_i(mode[i])) in
        mpmath's interval arithmetic at its present precision; called for few elements.
    mode : ndarray of int64, shape (count,)
        Modes of the laws, or nearly so.
    largest : ndarray of int64, shape (count,)
        The ends of their supports; below 2^62.
    curvature : ndarray, shape (count,)
        About how much the logarithm bends at the mode; only the speed depends on it.

    Returns
    -------
    ndarray of int64, shape (count,)
    """
    top = log_law(mode, np.arange(mode.size))
    guess = 1.2 / np.sqrt(np.maximum(curvature, 1e-30))
    guess = np.ceil(np.minimum(guess, 2.0**40)).astype(np.int64)
    above = widths(log_law, mode, top, np.minimum(guess, largest - mode + 1), largest - mode + 1, 1)
    below = widths(log_law, mode, top, np.minimum(guess, mode), mode, -1)
    drawn = np.empty_like(mode)
    pending = np.arange(mode.size)
    while pending.size:
        up, down, start = above[pending], below[pending], mode[pending]
        r = uniform_below((up + down).astype(np.uint64)).astype(np.int64)
        j = coins(pending.size)
        far = np.where(r < up, start + j * (1.0 * up) + r, start - 1 - j * (1.0 * down) - (r - up))
        possible = np.flatnonzero((far >= 0) & (far <= largest[pending]))
        i, j, r, start = pending[possible], j[possible], r[possible], start[possible]
        up, down = up[possible], down[possible]
        k = np.where(r < up, start + j * up + r, start - 1 - j * down - (r - up))
        log_p = log_law(k, i) - top[i] + (j * np.log(2.0) + np.log(KEPT))

        def exactly(place: int, i: Any = i, j: Any = j, k: Any = k) -> Callable[[], Any]:
            return lambda: (
                log_ratio(int(i[place]), int(k[place])) + log_of(KEPT * 2.0 ** int(j[place]))
            )

        kept = below_probability(log_p, exactly)
        drawn[i[kept]] = k[kept]
        pending = np.delete(pending, possible[kept])
    return drawn


def widths(
    log_law: LogLaw, mode: Integers, top: Floats, guess: Integers, most: Integers, sign: int
) -> Integers:
    """Distance from the mode at which the law has halved, up to twice that; at most `most`."""
    width = guess.copy()
    short = np.flatnonzero(width < most)
    while short.size:
        gap = log_law(mode[short] + sign * width[short], short) - top[short]
        short = short[gap > _HALF]
        width[short] = np.minimum(2 * width[short], most[short])
        short = short[width[short] < most[short]]
    return np.asarray(width)


def coins(count: int) -> Integers:
    """Draw numbers of tails before the first head: trailing zeros of random words."""
    number = np.zeros(count, dtype=np.int64)
    running = np.arange(count)
    while running.size:
        words = random_words(running.size)
        lowest = words & (~words + np.uint64(1))
        zero = lowest == 0
        number[running] += np.where(zero, 64, np.log2(np.where(zero, 1, lowest)).astype(np.int64))
        running = running[zero]
    return number


def log_of(value: float) -> Any:
    """Interval around the logarithm of a float."""
    from mpmath import iv  # type: ignore[import-untyped]

    return iv.log(iv.mpf(value))
