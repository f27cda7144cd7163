"""Kernels of the populations that confidential records in (0, 1) come from, given two parameters.

A record is held as t1 = log x and t2 = log(1 - x). A population is a number, and its parameters
are eta = (g, h):

- `BETA`: x ~ Beta(lambda phi, lambda (1 - phi)), g = logit phi and h = log lambda;
- `LOGIT_NORMAL`: logit x ~ Normal(g, sigma), h = log sigma.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.censored.ordered import digamma, log_beta
from bayesdp.kernels.compiling import kernel

Floats = NDArray[np.float64]
BETA, LOGIT_NORMAL = 0, 1


@kernel
def _log_gamma_draw(shape: float, rng: Any) -> float:
    """Log of a gamma variable, which for small shapes is itself 0 in floating point."""
    if shape >= 1.0:
        return math.log(rng.standard_gamma(shape))
    return math.log(rng.standard_gamma(shape + 1.0)) + math.log1p(-rng.random()) / shape


@kernel
def draw_records(
    kind: int, t1: Floats, t2: Floats, first: int, last: int, eta: Floats, rng: Any
) -> None:
    """Draw records from first to last given the population's parameters."""
    if kind == LOGIT_NORMAL:
        sigma = math.exp(eta[1])
        for i in range(first, last):
            z = eta[0] + sigma * rng.standard_normal()
            tail = math.log1p(math.exp(-abs(z)))
            t1[i], t2[i] = min(z, 0.0) - tail, min(-z, 0.0) - tail
        return
    lam = math.exp(eta[1])
    a, b = lam / (1.0 + math.exp(-eta[0])), lam / (1.0 + math.exp(eta[0]))
    for i in range(first, last):
        x, y = _log_gamma_draw(a, rng), _log_gamma_draw(b, rng)
        whole = max(x, y) + math.log1p(math.exp(-abs(x - y)))
        t1[i], t2[i] = x - whole, y - whole


@kernel
def in_range(kind: int, g: float, h: float) -> bool:
    """True where nothing under- or overflows; the prior leaves less than 1e-12 beyond."""
    if kind == LOGIT_NORMAL:
        return abs(g) < 1e100 and abs(h) < 150.0
    return abs(g) < 300.0 and -300.0 < h < 50.0


@kernel
def log_prior_of_spread(kind: int, h: float, shape: float, rate: float) -> float:
    """Log density of h alone: of lambda ~ Gamma(shape, rate), or sigma^2 ~ InverseGamma of them."""
    if kind == LOGIT_NORMAL:
        return -2.0 * shape * h - rate * math.exp(-2.0 * h)
    return shape * h - rate * math.exp(h)


@kernel
def log_prior_of_eta(kind: int, g: float, h: float, prior: Floats) -> float:
    """Log density of (g, h), up to a constant.

    Beta: phi ~ Beta(p, q) and lambda ~ Gamma(shape, rate). Logit-normal: g given sigma is
    Normal(mean, sigma / sqrt(weight)), and sigma^2 ~ InverseGamma(shape, scale).
    """
    of_spread = log_prior_of_spread(kind, h, prior[2], prior[3])
    if kind == LOGIT_NORMAL:
        away, tau = g - prior[0], math.exp(-2.0 * h)
        return of_spread - h - 0.5 * prior[1] * tau * away * away  # type: ignore[no-any-return]
    tail = math.log1p(math.exp(-abs(g)))
    of_phi: float = prior[0] * (min(g, 0.0) - tail) + prior[1] * (min(-g, 0.0) - tail)
    return of_spread + of_phi


@kernel
def sums_of(kind: int, t1: Floats, t2: Floats, n: int) -> Any:
    """Two sufficient statistics of n records.

    Beta: the sums of log x and of log(1 - x). Logit-normal: the mean of logit x, and the sum of
    squared distances from it.
    """
    if kind == BETA:
        return t1[:n].sum(), t2[:n].sum()
    mean, squares = 0.0, 0.0
    for i in range(n):
        away = t1[i] - t2[i] - mean
        mean += away / (i + 1)
        squares += away * (t1[i] - t2[i] - mean)
    return mean, squares


@kernel
def log_of_records(kind: int, n: int, sums: Any, g: float, h: float) -> float:
    """Log density of n records, of which `sums_of` is given, up to a constant of these."""
    if kind == LOGIT_NORMAL:
        away, tau = sums[0] - g, math.exp(-2.0 * h)
        return -n * h - 0.5 * tau * (sums[1] + n * away * away)  # type: ignore[no-any-return]
    lam = math.exp(h)
    a, b = lam / (1.0 + math.exp(-g)), lam / (1.0 + math.exp(g))
    total: float = (a - 1.0) * sums[0] + (b - 1.0) * sums[1] - n * log_beta(a, b)
    return total


@kernel
def _trigamma(x: float) -> float:
    shift = 0.0
    while x < 12.0:
        shift += 1.0 / (x * x)
        x += 1.0
    z = 1.0 / (x * x)
    return shift + 1.0 / x + 0.5 * z + z / x * (1 / 6 - z * (1 / 30 - z / 42))


@kernel
def logit_moments(kind: int, g: float, h: float) -> Any:
    """Mean and standard deviation of a record's logit."""
    if kind == LOGIT_NORMAL:
        return g, math.exp(h)
    lam = math.exp(h)
    a, b = lam / (1.0 + math.exp(-g)), lam / (1.0 + math.exp(g))
    return digamma(a) - digamma(b), math.sqrt(_trigamma(a) + _trigamma(b))


@kernel
def log_precision_of(kind: int, h: float) -> float:
    """About the log lambda of beta variables as narrow as records, up to a constant."""
    return -2.0 * h if kind == LOGIT_NORMAL else h


@kernel
def carry_records(kind: int, old: Any, new: Any, n: int, eta: Floats, other: Floats) -> float:
    """Write to `new` the n records of `old`, carried from parameters eta to others.

    A record's logit stays as many standard deviations from its mean. Returns the log ratio of the
    logits' densities, new parameters and records over old, and of the map's Jacobian.
    """
    (t1, t2), (new1, new2) = old, new
    before, wide = logit_moments(kind, eta[0], eta[1])
    after, wider = logit_moments(kind, other[0], other[1])
    ratio, total = wider / wide, 0.0
    for i in range(n):
        z = after + ratio * (t1[i] - t2[i] - before)
        tail = math.log1p(math.exp(-abs(z)))
        new1[i], new2[i] = min(z, 0.0) - tail, min(-z, 0.0) - tail
        if kind == BETA:  # whose density is of x, not of its logit
            total += new1[i] + new2[i] - t1[i] - t2[i]
    total += log_of_records(kind, n, sums_of(kind, new1, new2, n), other[0], other[1])
    total -= log_of_records(kind, n, sums_of(kind, t1, t2, n), eta[0], eta[1])
    return total + n * math.log(ratio)
