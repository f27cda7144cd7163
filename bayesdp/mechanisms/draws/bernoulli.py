r"""Exact Bernoulli draws with probability a float or exp(-gamma), on which samplers are built.

A float is a binary fraction, so a uniform U is compared with it bit by bit, 64 at a time.

For exp(-gamma), a uniform U is compared with p = exp(-gamma), or a rational multiple of it. Its
first 64 bits and a floating-point p settle the comparison unless U lies within the error of p,
about once in 10^11 draws; then further bits of U, and p by correctly rounded decimal arithmetic
with more and more digits, settle it. So the probability of the outcome is p itself, and nearly all
the work is vectorised.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import random_words

_SLACK = 2.0**-38  # relative, times 1 + gamma: far above the errors of gamma and of exp
_BITS = 64


def bernoulli_float(p: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Draw independent booleans, element i true with probability p[i] in [0, 1), exactly."""
    words = random_words(p.size)
    scaled = p * 2.0**_BITS  # exact, and so are its whole part and the rest
    whole = np.floor(scaled)
    true = np.asarray(words < whole.astype(np.uint64))
    undecided = np.flatnonzero((words == whole.astype(np.uint64)) & (scaled > whole))
    if undecided.size:
        true[undecided] = bernoulli_float(scaled[undecided] - whole[undecided])
    return true


def bernoulli_exp(
    gamma: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    ratios: Sequence[Fraction] | None = None,
) -> NDArray[np.bool_]:
    """Draw independent booleans, element i true with probability ratios[i] exp(-exact(i)), exactly.

    Parameters
    ----------
    gamma : ndarray, shape (k,)
        Floating-point values of the exponents, at least 0, with an absolute error of at most
        2^-40 (1 + gamma).
    exact : callable
        The exact exponent of element i, a Fraction at least 0; called for few elements.
    ratios : sequence of Fraction, optional
        Positive, from 2^-1000 to 2^1000, such that all probabilities are at most 1. Default: ones.

    Returns
    -------
    ndarray of bool, shape (k,)
    """
    words = random_words(gamma.size)
    log_p = -gamma if ratios is None else np.array([_log(each) for each in ratios]) - gamma
    p = np.exp(log_p)
    slack = _SLACK * (1 + gamma) * p
    u = words * 2.0**-_BITS
    true = u + 2.0**-_BITS <= p - slack
    # Equality matters where p underflows: the word 0 alone is then undecided.
    for i in np.flatnonzero(~true & (u <= p + slack)):
        ratio = Fraction(1) if ratios is None else ratios[int(i)]
        true[i] = _decide(int(words[i]), exact(int(i)), ratio)
    return true


def _log(ratio: Fraction) -> float:
    """Log of a ratio whose terms are in the range of a float."""
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _decide(word: int, gamma: Fraction, ratio: Fraction = Fraction(1)) -> bool:
    """Decide if U < ratio exp(-gamma), where U's first 64 bits are `word` and the rest is drawn."""
    bits, digits = _BITS, 40
    while True:
        low, high = _scaled_exponential(gamma, bits, digits, ratio)
        if word + 1 <= low:
            return True
        if word >= high:
            return False
        word = word << _BITS | int(random_words(1)[0])
        bits, digits = bits + _BITS, digits + 20


def _scaled_exponential(
    gamma: Fraction, bits: int, digits: int, ratio: Fraction = Fraction(1)
) -> tuple[decimal.Decimal, decimal.Decimal]:
    """Bounds on 2^bits ratio exp(-gamma). Decimal's exp is correctly rounded: within one ulp."""
    scale, divisor = decimal.Decimal(ratio.numerator << bits), decimal.Decimal(ratio.denominator)
    down = _context(digits, decimal.ROUND_FLOOR)
    up = _context(digits, decimal.ROUND_CEILING)
    if gamma == 0:
        return down.divide(scale, divisor), up.divide(scale, divisor)
    top, bottom = decimal.Decimal(-gamma.numerator), decimal.Decimal(gamma.denominator)
    low = down.multiply(down.next_minus(down.exp(down.divide(top, bottom))), scale)
    high = up.multiply(up.next_plus(up.exp(up.divide(top, bottom))), scale)
    return down.divide(low, divisor), up.divide(high, divisor)


def _context(digits: int, rounding: str) -> decimal.Context:
    return decimal.Context(
        digits, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[decimal.InvalidOperation]
    )
