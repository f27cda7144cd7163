r"""Exact beta-binomial draws at a cost that doesn't grow with their size.

The law f(k) of BetaBinomial(m, a, b) is in proportion to

    Gamma(a + k) Gamma(b + m - k) / (k! (m - k)!).

Where a, b >= 1 it is log-concave, since (m - k) (a + k) / ((k + 1) (b + m - k - 1)) decreases in
k, and `bayesdp.mechanisms.draws.log_concave` draws from it.

Where a < 1, think of Polya's urn: the first unit of the first colour is drawn at T, with

    Pr[T > t] = prod_{i < t} (b + i) / (a + b + i),

and what follows is BetaBinomial(m - T, a + 1, b + T - 1). T comes from one uniform number by
bisection. The same for b < 1.

Uniform numbers are compared with probabilities by `bayesdp.mechanisms.draws.exact_comparison`, so
no probability is ever rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.exact_comparison import Uniform, compared, log_gamma
from bayesdp.mechanisms.draws.log_concave import log_concave_draws
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.mechanisms.randomness import random_words

LARGEST_SIZE = 2**38
"""Up to here, the mode found in floating point is at most one off and nearly as likely."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Parameters = Callable[[int], tuple[Fraction, Fraction]]

_BLOCK = 1 << 15  # draws made at once, so that temporary arrays stay in the cache


def beta_binomial_draws(size: Integers, a: Floats, b: Floats, exact: Parameters) -> Integers:
    """Draw independently, element i from BetaBinomial(size[i], *exact(i)), exactly.

    Parameters
    ----------
    size : ndarray of int64, shape (count,)
        Number of trials, from 0 to `LARGEST_SIZE`.
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
    counts, left = np.zeros_like(size), size.copy()
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
        counts[rare] += np.where(some, 1, 0) if colour == 0 else others
        more[colour, rare] += some
        more[1 - colour, rare] += others
        left[rare] -= others + some
    rest = np.flatnonzero(left > 0)
    counts[rest] += _log_concave(
        left[rest],
        a[rest] + more[0, rest],
        b[rest] + more[1, rest],
        lambda i: now(int(rest[i])),
    )
    return counts


def _log_concave(size: Integers, a: Floats, b: Floats, exact: Parameters) -> Integers:
    """Beta-binomial draws where a and b are at least 1."""
    mode = _mode(size, a, b)
    curvature = (a + b - 2) / ((mode + 1.0) * (b + size - mode))

    def log_law(k: Integers, i: Any) -> Floats:
        return beta_binomial_logpmf(k, size[i], a[i], b[i])

    def log_ratio(i: int, k: int) -> Any:
        return _log_ratio(int(size[i]), k, int(mode[i]), exact(i))

    return log_concave_draws(log_law, log_ratio, mode, size, curvature)


def _mode(size: Integers, a: Floats, b: Floats) -> Integers:
    """Mode of the law, or nearly so."""
    weight = a + b - 2
    crossing = (size * (a - 1) - (b - 1)) / np.where(weight > 0, weight, 1.0)
    return np.asarray(np.clip(np.floor(crossing) + 1, 0, size), dtype=np.int64)


def _first_success(size: Integers, a: Floats, b: Floats, exact: Parameters) -> Integers:
    """Draw the time of the first unit of the colour that starts with a; size + 1 if never."""
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


def _log_ratio(size: int, k: int, mode: int, parameters: tuple[Fraction, Fraction]) -> Any:
    """Interval around log(f(k) / f(mode))."""
    a, b = parameters
    here, there = (
        log_gamma(a + x) + log_gamma(b + size - x)
        - log_gamma(Fraction(x + 1)) - log_gamma(Fraction(size - x + 1))
        for x in (k, mode)
    )  # fmt: skip
    return here - there


def _log_none(t: int, parameters: tuple[Fraction, Fraction]) -> Any:
    """Interval around log Pr[T > t]."""
    a, b = parameters
    return log_gamma(b + t) - log_gamma(b) + log_gamma(a + b) - log_gamma(a + b + t)
