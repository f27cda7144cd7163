r"""Places of the successes among many trials, drawn exactly, in time proportional to their number.

The number K of failures before the next success of probability p is drawn from a uniform U as

    K = floor(E / rate),   E = -log U,   rate = -log(1 - p):

K >= k if and only if U <= (1 - p)^k, which has that probability. U's first 64 bits and
floating-point logarithms leave E within a bound, and K is settled unless E / rate so bounded
meets a whole number; then further bits of U, and logarithms by decimal arithmetic rounded down
and up with more and more digits, settle it. So the law is that of p, the float as it is, and
nearly all the work is vectorised.

The bound. Let w be the first word. U lies from w / 2^64 to (w + 1) / 2^64, which moves E by
at most 1 / w. The word as a float, the logarithm, the rate and the quotient are each right to
a few units of 2^-53 of E + 1, and `_SLACK` allows a thousand.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import random_words

_SLACK = 2.0**-43
_BITS = 64
_BLOCK = 1 << 20  # successes drawn at once, to bound memory


def successes(trials: int, p: float) -> NDArray[np.int64]:
    """Draw the places of the successes among independent trials, from 0, in ascending order.

    Parameters
    ----------
    trials : int
        Number of trials, from 0 to 2^61.
    p : float
        Probability of a success, strictly between 0 and 1, taken as the binary fraction it is.

    Returns
    -------
    ndarray of int64
    """
    blocks = [np.empty(0, dtype=np.int64)]
    start = 0
    while start < trials:
        left = trials - start
        count = min(int(left * p + 4 * math.sqrt(left * p)) + 16, _BLOCK)
        steps = _failures(count, p, left) + 1
        # Past the last trial the sum may not fit in 64 bits: no more is summed than needed.
        reach = int(np.searchsorted(np.cumsum(steps, dtype=np.float64), 2.0 * left)) + 1
        places = start - 1 + np.cumsum(steps[:reach])
        blocks.append(places[places < trials])
        start = int(places[-1]) + 1
    return np.concatenate(blocks)


def _failures(count: int, p: float, most: int) -> NDArray[np.int64]:
    """Draw numbers of failures before a success, `count` times; at least `most` if beyond it."""
    words = random_words(count)
    cap = math.nextafter(float(most), math.inf)
    rate = -math.log1p(-p)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        exponent = -np.log(words * 2.0**-_BITS)
        slack = 1.0 / words + _SLACK * (1 + exponent)
        low = np.minimum(np.floor((exponent - slack) / rate), cap)
        high = np.minimum(np.floor((exponent + slack) / rate), cap)
    settled = low == high  # not where a word of 0 makes them NaN
    failures = np.where(settled, low, 0).astype(np.int64)
    for i in np.flatnonzero(~settled):
        failures[i] = _decide(int(words[i]), p, most)
    return failures


def _decide(word: int, p: float, most: int) -> int:
    """Compute the smaller of floor(-log U / rate) and `most`, U's first 64 bits being `word`."""
    bits, digits = _BITS, 40 + math.ceil(-math.log10(p))
    while True:
        if word:
            low, high = (min(most, k) for k in _bounds(word, bits, p, digits))
            if low == high:
                return low
        word = word << _BITS | int(random_words(1)[0])
        bits, digits = bits + _BITS, digits + 20


def _bounds(word: int, bits: int, p: float, digits: int) -> tuple[int, int]:
    """Bounds on floor(-log U / rate). Decimal's logarithm is correctly rounded: within one ulp."""
    down = decimal.Context(digits, decimal.ROUND_FLOOR)
    up = decimal.Context(digits, decimal.ROUND_CEILING)
    keep = 1 - Fraction(p)
    top, bottom = decimal.Decimal(keep.denominator), decimal.Decimal(keep.numerator)
    least_rate = down.next_minus(down.ln(down.divide(top, bottom)))
    largest_rate = up.next_plus(up.ln(up.divide(top, bottom)))
    whole = decimal.Decimal(1 << bits)
    least = down.next_minus(down.ln(down.divide(whole, decimal.Decimal(word + 1))))
    largest = up.next_plus(up.ln(up.divide(whole, decimal.Decimal(word))))
    return max(0, int(down.divide(least, largest_rate))), int(up.divide(largest, least_rate))
