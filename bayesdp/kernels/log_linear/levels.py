r"""Tables at other rates that keep the levels of their counts.

A count is a quantile of its law, given its rate and its level U, which is uniform on (0, 1) where
the count has its law; `levels_of` draws levels of a table, each within its count's step of the
distribution function, and `counts_at` finds the table that has them at other rates. With a fixed
total the counts are binomial, one after the other, given the total of the rest. A count further
than 7 standard deviations from its expectation has no level, at either of the rates.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import guarded
from bayesdp.kernels.log_linear.coefficients import log_factorial


@guarded
def _range(mean, spread):
    """Find the range of counts beyond which the probability is less than 1e-10."""
    low = max(0, int(mean - 7 * spread) - 1)
    return low, int(mean + 7 * spread) + 25


@guarded
def _poisson_at(eta, rate, x, level, known):
    """Level of Poisson count x, uniform within its step; or, if x < 0, the count of a level.

    The other of the two comes back; -1 where it is beyond the range.
    """
    low, high = _range(rate, math.sqrt(rate))
    if x >= 0 and not low <= x <= high:
        return -1.0, -1
    term = math.exp(low * eta - rate - log_factorial(low, known))
    before = 0.0
    for k in range(low, high + 1):
        if k == x:
            return before + np.random.random() * term, k
        before += term
        if x < 0 and before >= level:
            return level, k
        term *= rate / (k + 1)
    return -1.0, -1


@guarded
def _binomial_at(n, p, x, level, known):
    """Level of binomial count x, uniform within its step; or, if x < 0, the count of a level."""
    if p >= 1.0 or n == 0:
        sure = n if p >= 1.0 else 0
        if x >= 0 and x != sure:
            return -1.0, -1
        return (np.random.random() if x >= 0 else level), sure
    low, high = _range(n * p, math.sqrt(n * p * (1 - p)))
    high = min(high, n)
    if (x >= 0 and not low <= x <= high) or low > high:
        return -1.0, -1
    term = log_factorial(n, known) - log_factorial(low, known) - log_factorial(n - low, known)
    term = math.exp(term + low * math.log(p) + (n - low) * math.log1p(-p))
    before = 0.0
    for k in range(low, high + 1):
        if k == x:
            return before + np.random.random() * term, k
        before += term
        if x < 0 and before >= level:
            return level, k
        term *= (n - k) / (k + 1) * p / (1 - p)
    return -1.0, -1


@guarded
def levels_of(x, eta, rates, fixed, known, levels):
    """Draw the counts' levels; False where one is too far out. With `fixed`, rates sum to 1."""
    left, rest = x.sum(), 1.0
    for c in range(x.size):
        if fixed:
            p = 1.0 if c == x.size - 1 else min(1.0, rates[c] / rest)
            levels[c], at = _binomial_at(left, p, x[c], 0.0, known)
            left, rest = left - x[c], max(rest - rates[c], 1e-300)
        else:
            levels[c], at = _poisson_at(eta[c], rates[c], x[c], 0.0, known)
        if at < 0:
            return False
    return True


@guarded
def counts_at(levels, eta, rates, fixed, total, known, x):
    """Set x to the counts that have these levels; False where one is too far out."""
    left, rest = total, 1.0
    for c in range(x.size):
        if fixed:
            p = 1.0 if c == x.size - 1 else min(1.0, rates[c] / rest)
            _, x[c] = _binomial_at(left, p, -1, levels[c], known)
            left, rest = left - x[c], max(rest - rates[c], 1e-300)
        else:
            _, x[c] = _poisson_at(eta[c], rates[c], -1, levels[c], known)
        if x[c] < 0:
            return False
    return True
