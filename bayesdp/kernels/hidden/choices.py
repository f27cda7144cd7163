r"""Kernel of copies that were drawn from laws chosen by a graph's statistics.

Law k of a choice is taken with probability exp(b_k + a_k . s(x)) / C(x), C(x) the sum over all
laws, and makes copy j exp(l_jk) times as likely as the law that suits it best. So

    log L(x)  =  sum_j log( sum_k exp(b_k + a_k . s(x) + l_jk) / C(x) ),

the logarithm of a weighted mean of numbers up to 1. All copies of a choice share the weights, and
where laws lie on a grid of slopes, a weight is a product of one factor for each statistic:

    exp(b_k + a_k . s)  =  exp(b_k + a_k . o)  prod_t exp(a_kt (s_t - o_t)),

so that a graph costs one exponential for each slope along each axis, and a few products for each
law. The origin o is where b_k + a_k . o varies least; far from it, where products underflow,
logarithms are added up instead.

Of a choice from a noisy histogram of N draws (`bayesdp.mechanisms.selection.histogram_law`), p_k is
the probability of a draw above, and f(p_k) takes its place:

    f(p)  =  E[max(n + e, 0)]  =  N p + a / (1 - a^2) (1 - (1 - a) p)^N,       n ~ Binomial(N, p),

Pr[e] = (1 - a) / (1 + a) a^|e|, as max(n + e, 0) = n + e + max(-n - e, 0), whose last part has the
mean a^(n + 1) / (1 - a^2). The law of the cell is E[w_k / W], and this is E[w_k] / E[W]: the two
differ by little, and `bayesdp.networks.hidden.reweighting` makes it good.
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
    origin : ndarray of float, shape (choices, width)
        o.
    begin : ndarray of int64, shape (choices, width + 1)
        Where the slopes along each of a choice's axes begin, and where the last ones end.
    slopes : ndarray of float
        Slopes along each axis, increasing; 0 alone beyond a choice's statistics.
    at : ndarray of int64, shape (laws, width)
        Numbers of a law's slopes among them.
    base : ndarray of float, shape (laws,)
        b_k + a_k . o, at most 0.
    weight : ndarray of float, shape (laws,)
        exp(base).
    copies : ndarray of int64, shape (choices,)
        Number of copies of each choice.
    draws : ndarray of int64, shape (choices,)
        N, of a choice from a noisy histogram; 0 for others.
    rate : ndarray of float, shape (choices,)
        -log a.
    log_likelihood, likelihood : ndarray of float
        l_jk, at most 0, and exp(l_jk): of each choice, of each copy, of each law, in this order.
    """

    first: NDArray[np.int64]
    coordinate: NDArray[np.int64]
    origin: NDArray[np.float64]
    begin: NDArray[np.int64]
    slopes: NDArray[np.float64]
    at: NDArray[np.int64]
    base: NDArray[np.float64]
    weight: NDArray[np.float64]
    copies: NDArray[np.int64]
    draws: NDArray[np.int64]
    rate: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    likelihood: NDArray[np.float64]


@leaf
def log_choices(choices: Any, statistics: Any, room: Any) -> Any:
    """Log-likelihood of the copies of all choices, never above zero.

    `room`, shape (laws + slopes,), is for the kernel's own use.
    """
    value, start, width = 0.0, 0, choices.at.shape[1]
    factor = room[len(choices.base) :]
    for c in range(len(choices.copies)):
        for t in range(width):
            away = statistics[choices.coordinate[c, t]] - choices.origin[c, t]
            low, high = choices.begin[c, t], choices.begin[c, t + 1]
            top = max(choices.slopes[low] * away, choices.slopes[high - 1] * away)
            for v in range(low, high):
                factor[v] = math.exp(choices.slopes[v] * away - top)
        begin, end = choices.first[c], choices.first[c + 1]
        total = 0.0
        for k in range(begin, end):
            weight = choices.weight[k]
            for t in range(width):
                weight *= factor[choices.at[k, t]]
            room[k] = weight
            total += weight
        if choices.draws[c] > 0:
            total = _counted(choices, statistics, c, room, total)
        for _ in range(choices.copies[c]):
            likely = 0.0
            for k in range(begin, end):
                likely += room[k] * choices.likelihood[start + k - begin]
            if likely < _TINY or total < _TINY:
                value += _log_sum(choices, statistics, c, start)
                value -= _log_sum(choices, statistics, c, -1)
            else:
                value += math.log(likely / total)
            start += end - begin
    return min(value, 0.0)


@leaf
def _counted(choices: Any, statistics: Any, c: Any, room: Any, total: Any) -> Any:
    """Put f in place of the weights of a choice from a histogram; return its sum.

    `f` is above `_TINY`, so that no copy's sum of these is added up anew.
    """
    draws, rate = choices.draws[c], choices.rate[c]
    empty = math.exp(-rate) / -math.expm1(-2.0 * rate)
    lost = math.expm1(-rate)
    log_total = _log_sum(choices, statistics, c, -1) if total < _TINY else 0.0
    found = 0.0
    for k in range(choices.first[c], choices.first[c + 1]):
        if total < _TINY:
            chance = math.exp(_log_weight(choices, statistics, c, k) - log_total)
        else:
            chance = room[k] / total
        room[k] = draws * chance + empty * math.exp(draws * math.log1p(lost * chance))
        found += room[k]
    return found


@leaf
def _log_sum(choices: Any, statistics: Any, c: Any, start: Any) -> Any:
    """Logarithm of the sum of all laws' weights, times the likelihoods that begin at `start`."""
    largest, total = -np.inf, 0.0
    begin = choices.first[c]
    for k in range(begin, choices.first[c + 1]):
        power = _log_weight(choices, statistics, c, k)
        if start >= 0:
            power += choices.log_likelihood[start + k - begin]
        if power > largest:
            total = total * math.exp(largest - power) + 1.0
            largest = power
        else:
            total += math.exp(power - largest)
    return largest + math.log(total)


@leaf
def _log_weight(choices: Any, statistics: Any, c: Any, k: Any) -> Any:
    """b_k + a_k . s, but for the same constant for all laws."""
    power = choices.base[k]
    for t in range(choices.at.shape[1]):
        away = statistics[choices.coordinate[c, t]] - choices.origin[c, t]
        power += choices.slopes[choices.at[k, t]] * away
    return power
