r"""Exact draws of integer noise: no floating-point error in the law, only integers and bits.

Discrete Laplace of scale t: Pr[k] proportional to exp(-|k| / t). Discrete Gaussian of scale
sigma: Pr[k] proportional to exp(-k^2 / (2 sigma^2)). They are drawn as by Canonne, Kamath and
Steinke (2020, Algorithms 2 and 3), over whole arrays, with one change: a magnitude is split as
u + a v, where a is the largest power of two up to t (or 1), so that its weight is
exp(-u / t) exp(-a / t)^v. So u < a is a few uniform bits, kept with probability exp(-u / t),
v counts successes of probability exp(-a / t) before the first failure, t may be any rational,
and nothing is divided.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.bernoulli import bernoulli_exp
from bayesdp.mechanisms.randomness import random_words, uniform_below

LARGEST_SCALE = 2**50
"""Noise of this scale leaves 64 bits with a probability below exp(-4000)."""

Integers = NDArray[np.int64]
Pending = NDArray[np.intp]
_BLOCK = 1 << 15  # draws made at once, so that temporary arrays stay in the cache


def discrete_laplace(scale: Fraction, count: int) -> Integers:
    """Draw `count` independent integers with Pr[k] proportional to exp(-|k| / scale).

    Parameters
    ----------
    scale : Fraction
        Positive, at most `LARGEST_SCALE`.
    count : int

    Returns
    -------
    ndarray of int64, shape (count,)
    """
    step = 1 << max(int(scale).bit_length() - 1, 0)

    def below_step(pending: Pending) -> tuple[Integers, NDArray[np.bool_]]:
        u = (random_words(pending.size) & np.uint64(step - 1)).astype(np.int64)
        return u, bernoulli_exp(u / float(scale), lambda i: int(u[i]) / scale)

    def propose(pending: Pending) -> tuple[Integers, NDArray[np.bool_]]:
        k = _successes(step / scale, pending.size) * step
        if step > 1:
            k += redraw(pending.size, below_step)
        negative = random_words(pending.size) >= np.uint64(1 << 63)
        # Zero has one sign, or it would be drawn twice as often as it should.
        return np.where(negative, -k, k), ~(negative & (k == 0))

    return _in_blocks(propose, count)


def discrete_gaussian(scale: Fraction, count: int) -> Integers:
    """Draw `count` independent integers with Pr[k] proportional to exp(-k^2 / (2 scale^2)).

    A discrete Laplace k of scale t = floor(scale) + 1 is kept with probability exp(-(|k| - scale^2
    / t)^2 / (2 scale^2)); about 3 of 4 are.

    Parameters
    ----------
    scale : Fraction
        Positive, at most `LARGEST_SCALE`.
    count : int

    Returns
    -------
    ndarray of int64, shape (count,)
    """
    t, variance = int(scale) + 1, scale * scale
    centre = variance / t

    def propose(pending: Pending) -> tuple[Integers, NDArray[np.bool_]]:
        k = discrete_laplace(Fraction(t), pending.size)
        distance = np.abs(k) - float(centre)
        gamma = distance * distance / float(2 * variance)
        return k, bernoulli_exp(
            gamma, lambda i: (abs(int(k[i])) - variance / t) ** 2 / variance / 2
        )

    return _in_blocks(propose, count)


def uniform_within(
    below: Integers,
    above: Integers,
    gamma: Callable[[Integers], NDArray[np.float64]],
    exact: Callable[[int], Fraction],
) -> Integers:
    """Draw k in {-below, ..., above} with Pr[k] proportional to exp(-exact(k)), by rejection.

    A uniform k is kept with probability exp(-exact(k)): for noise that is wider than the
    interval, and so nearly flat on it.
    """
    width = (below + above).astype(np.uint64) + np.uint64(1)

    def propose(pending: Pending) -> tuple[Integers, NDArray[np.bool_]]:
        k = uniform_below(width[pending]).astype(np.int64) - below[pending]
        return k, bernoulli_exp(gamma(k), lambda i: exact(int(k[i])))

    return redraw(below.size, propose)


def redraw(
    count: int, propose: Callable[[Pending], tuple[Integers, NDArray[np.bool_]]]
) -> Integers:
    """Propose a draw for each place until it is accepted: the law of a draw given acceptance."""
    values = np.empty(count, dtype=np.int64)
    pending = np.arange(count)
    while pending.size:
        drawn, accepted = propose(pending)
        values[pending[accepted]] = drawn[accepted]
        pending = pending[~accepted]
    return values


def _successes(gamma: Fraction, count: int) -> Integers:
    """Draw numbers of successes of probability exp(-gamma) before a failure, `count` times."""
    number = np.zeros(count, dtype=np.int64)
    running = np.arange(count)
    while running.size:
        again = bernoulli_exp(np.full(running.size, float(gamma)), lambda i: gamma)
        running = running[again]
        number[running] += 1
    return number


def _in_blocks(
    propose: Callable[[Pending], tuple[Integers, NDArray[np.bool_]]], count: int
) -> Integers:
    sizes = [min(_BLOCK, count - start) for start in range(0, count, _BLOCK)]
    return np.concatenate([np.empty(0, np.int64), *(redraw(size, propose) for size in sizes)])
