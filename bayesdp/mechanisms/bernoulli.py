r"""Exact Bernoulli draws of probability exp(-gamma): what exact samplers of noise are made of.

A uniform U is compared with p = exp(-gamma). Its first 64 bits and a floating-point p settle
the comparison unless U lies within the error of p, about once in 10^11 draws; then further bits
of U, and p by correctly rounded decimal arithmetic with more and more digits, settle it. So
the probability of the outcome is exp(-gamma) itself, and nearly all the work is vectorised.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import random_words

_SLACK = 2.0**-38  # relative, times 1 + gamma: far above the errors of gamma and of exp
_BITS = 64


def bernoulli_exp(
    gamma: NDArray[np.float64], exact: Callable[[int], Fraction]
) -> NDArray[np.bool_]:
    """Independent draws, element i true with probability exp(-exact(i)), exactly.

    Parameters
    ----------
    gamma : ndarray, shape (k,)
        Floating-point values of the exponents, at least 0, with an absolute error of at most
        2^-40 (1 + gamma).
    exact : callable
        The exact exponent of element i, a Fraction at least 0; called for few elements.

    Returns
    -------
    ndarray of bool, shape (k,)
    """
    words = random_words(gamma.size)
    p = np.exp(-gamma)
    slack = _SLACK * (1 + gamma) * p
    u = words * 2.0**-_BITS
    true = u + 2.0**-_BITS <= p - slack
    # Equality matters where p underflows: the word 0 alone is then undecided.
    for i in np.flatnonzero(~true & (u <= p + slack)):
        true[i] = _decide(int(words[i]), exact(int(i)))
    return true


def _decide(word: int, gamma: Fraction) -> bool:
    """Whether U < exp(-gamma), where U's first 64 bits are `word` and the rest is drawn."""
    bits, digits = _BITS, 40
    while True:
        low, high = _scaled_exponential(gamma, bits, digits)
        if word + 1 <= low:
            return True
        if word >= high:
            return False
        word = word << _BITS | int(random_words(1)[0])
        bits, digits = bits + _BITS, digits + 20


def _scaled_exponential(
    gamma: Fraction, bits: int, digits: int
) -> tuple[decimal.Decimal, decimal.Decimal]:
    """Bounds on 2^bits exp(-gamma). Decimal's exp is correctly rounded, so within one ulp."""
    scale = decimal.Decimal(1 << bits)
    if gamma == 0:
        return scale, scale
    down = _context(digits, decimal.ROUND_FLOOR)
    up = _context(digits, decimal.ROUND_CEILING)
    top, bottom = decimal.Decimal(-gamma.numerator), decimal.Decimal(gamma.denominator)
    low = down.multiply(down.next_minus(down.exp(down.divide(top, bottom))), scale)
    high = up.multiply(up.next_plus(up.exp(up.divide(top, bottom))), scale)
    return low, high


def _context(digits: int, rounding: str) -> decimal.Context:
    return decimal.Context(
        digits, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[decimal.InvalidOperation]
    )
