r"""Kernel of copies that were drawn from laws chosen by a graph's statistics.

Law k of a choice is taken with probability exp(b_k + a_k . s(x)) / C(x), C(x) the sum over all
laws, and makes copy j exp(l_jk) times as likely as the law that suits it best. So

    log L(x)  =  sum_j log( sum_k exp(b_k + a_k . s(x) + l_jk) / C(x) ),

the logarithm of a weighted mean of numbers up to 1. All copies of a choice share the weights: a
graph costs one exponential for each law.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import leaf

_TINY = 1e-250  # sums of weights below this are added up anew, by their logarithms


class Choices(NamedTuple):
    """Choices of laws by statistics, as arrays for kernels.

    Attributes
    ----------
    first : ndarray of int64, shape (choices + 1,)
        Where the laws of each choice begin.
    coordinate : ndarray of int64, shape (choices, width)
        Numbers of the statistics that a choice depends on; 0 beyond them.
    slope : ndarray of float, shape (laws, width)
        a_k; 0 beyond the choice's statistics.
    base : ndarray of float, shape (laws,)
        b_k.
    copies : ndarray of int64, shape (choices,)
        Number of copies of each choice.
    log_likelihood, likelihood : ndarray of float
        l_jk, at most 0, and exp(l_jk): of each choice, of each copy, of each law, in this order.
    """

    first: NDArray[np.int64]
    coordinate: NDArray[np.int64]
    slope: NDArray[np.float64]
    base: NDArray[np.float64]
    copies: NDArray[np.int64]
    log_likelihood: NDArray[np.float64]
    likelihood: NDArray[np.float64]


@leaf
def log_choices(choices: Any, statistics: Any, room: Any) -> Any:
    """Log-likelihood of the copies of all choices, never above zero.

    `room`, shape (laws,), is for the kernel's own use.
    """
    value, start = 0.0, 0
    for c in range(len(choices.copies)):
        begin, end = choices.first[c], choices.first[c + 1]
        top, total = -np.inf, 0.0
        for k in range(begin, end):
            power = choices.base[k]
            for t in range(choices.slope.shape[1]):
                power += choices.slope[k, t] * statistics[choices.coordinate[c, t]]
            room[k] = power
            top = max(top, power)
        for k in range(begin, end):
            room[k] = math.exp(room[k] - top)
            total += room[k]
        for _ in range(choices.copies[c]):
            likely = 0.0
            for k in range(begin, end):
                likely += room[k] * choices.likelihood[start + k - begin]
            if likely < _TINY:
                value += _log_likely(choices, statistics, c, start) - top
            else:
                value += math.log(likely)
            value -= math.log(total)
            start += end - begin
    return min(value, 0.0)


@leaf
def _log_likely(choices: Any, statistics: Any, c: Any, start: Any) -> Any:
    """Logarithm of the sum of exp(power + log-likelihood) over the laws of a choice, for a copy."""
    top, total = -np.inf, 0.0
    for k in range(choices.first[c], choices.first[c + 1]):
        power = choices.base[k] + choices.log_likelihood[start + k - choices.first[c]]
        for t in range(choices.slope.shape[1]):
            power += choices.slope[k, t] * statistics[choices.coordinate[c, t]]
        if power > top:
            total = total * math.exp(top - power) + 1.0
            top = power
        else:
            total += math.exp(power - top)
    return top + math.log(total)
