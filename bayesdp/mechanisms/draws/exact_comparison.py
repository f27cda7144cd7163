"""Exact comparisons of uniform numbers with probabilities that are known in floating point.

U < p is settled by U's first 64 bits and a floating-point p, unless U lies within 2^-30 p of it,
far more than the error of p; then by further bits of U and interval arithmetic of growing
precision. So the probability of the outcome is p itself, and nearly all the work is vectorised.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import random_words

SLACK = 2.0**-30
"""Relative, of the comparison with a probability."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def below_probability(log_p: Floats, exactly: Callable[[int], Callable[[], Any]]) -> Bools:
    """Draw independent booleans, element i true with probability exp(log_p[i]), exactly.

    Parameters
    ----------
    log_p : ndarray, shape (count,)
        Logarithms of the probabilities, at most 0, with an error below 2^-31.
    exactly : callable
        For element i, a function of no argument that gives an interval around the logarithm in
        mpmath's interval arithmetic at its present precision.
    """
    words = random_words(log_p.size)
    true, undecided = compared(words, log_p)
    for i in np.flatnonzero(undecided):
        true[i] = Uniform(int(words[i])).below(exactly(int(i)))
    return true


def compared(words: NDArray[np.uint64], log_p: Floats) -> tuple[Bools, Bools]:
    """Compare U with p: where U < p for certain, and where 64 bits and a float don't decide."""
    p, u = np.exp(log_p), words * 2.0**-64
    # The sum covers the rounding of u too.
    true = u + 2.0**-52 * u + 2.0**-63 <= p * (1 - SLACK)
    return true, ~true & (u - 2.0**-52 * u <= p * (1 + SLACK))


class Uniform:
    """A uniform number on [0, 1) whose bits are drawn as they are needed."""

    def __init__(self, word: int) -> None:
        self.bits, self.word = 64, word

    def below(self, log_p: Callable[[], Any]) -> bool:
        """Return True if the uniform number is below the probability."""
        from mpmath import iv, mp  # type: ignore[import-untyped]

        precision, before = 128, iv.prec
        try:
            while True:
                iv.prec = precision
                p = iv.exp(log_p())
                with mp.workprec(precision + self.bits):
                    if mp.mpf(self.word + 1) <= mp.ldexp(mp.mpf(p.a), self.bits):
                        return True
                    if mp.mpf(self.word) >= mp.ldexp(mp.mpf(p.b), self.bits):
                        return False
                self.word = self.word << 64 | int(random_words(1)[0])
                self.bits, precision = self.bits + 64, precision + 64
        finally:
            iv.prec = before


def log_gamma(x: Fraction) -> Any:
    """Interval around log Gamma(x): Stirling's series, whose error is below its next term."""
    from mpmath import bernfrac, iv

    terms = iv.prec // 8
    product = iv.mpf(1)
    while x < 2 * terms:
        product *= iv.mpf(x.numerator) / x.denominator
        x += 1
    y = iv.mpf(x.numerator) / x.denominator
    total = (y - iv.mpf(1) / 2) * iv.log(y) - y + iv.log(2 * iv.pi) / 2 - iv.log(product)
    for j in range(1, terms + 2):
        top, bottom = bernfrac(2 * j)
        term = iv.mpf(top) / (bottom * 2 * j * (2 * j - 1)) / y ** (2 * j - 1)
        total += term if j <= terms else term * iv.mpf([-1, 1])
    return total
