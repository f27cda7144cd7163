r"""The likelihood of a log-linear model's coordinates, from a latent table or with it summed out.

    log rate of cell c = sum_p u_p columns[p, c],    u_p ~ Normal(mean_p, sd_p^2),

sd_p fixed, or one tau ~ HalfNormal(scale) a term.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bayesdp.engines.count_gibbs import inlined, kernel
from bayesdp.engines.log_linear_moves import law, log_factorial

LONGEST = 32  # leapfrog steps
MOST = 1e9  # a rate that no table has


class Model(NamedTuple):
    """A log-linear model: arrays that kernels take.

    Attributes
    ----------
    columns : ndarray, shape (P, C)
    mean, sd : ndarray, shape (P,)
        Of the coordinates' priors; sd where it is fixed.
    owners : ndarray of int64, shape (P,)
        Whose tau is a coordinate's sd; -1 where that is fixed.
    scales : ndarray, shape (T,)
        Of the half-normal priors of tau.
    poisson : bool
        Independent Poisson counts with these rates; else the rates are normalised.
    summed : bool
        Whether the table is summed out.
    free : bool
        Whether the table's total is unknown.
    log_sizes : ndarray
        log n! Pr[n], where the rates are normalised.
    known : ndarray
        log k!.
    """

    columns: Any
    mean: Any
    sd: Any
    owners: Any
    scales: Any
    poisson: bool
    summed: bool
    free: bool
    log_sizes: Any
    known: Any


@kernel
def dot(a, b):
    """The sum of products; in four parts, since the order of a single one can't be changed."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = a.size - a.size % 4
    for i in range(0, whole, 4):
        first += a[i] * b[i]
        second += a[i + 1] * b[i + 1]
        third += a[i + 2] * b[i + 2]
        fourth += a[i + 3] * b[i + 3]
    for i in range(whole, a.size):
        first += a[i] * b[i]
    return first + second + third + fourth


@kernel
def rates_at(model, u, eta, rates):
    """Set log rates and rates; returns the log of their sum before they are normalised."""
    eta[:] = 0.0
    for p in range(u.size):
        for c in range(eta.size):
            eta[c] += u[p] * model.columns[p, c]
    best = 0.0 if model.poisson else eta.max()
    whole = 0.0
    for c in range(eta.size):
        rates[c] = math.exp(eta[c] - best)
        whole += rates[c]
    log_whole = best + math.log(whole) if whole > 0 else -np.inf
    if not model.poisson:
        for c in range(eta.size):
            eta[c] -= log_whole
            rates[c] /= whole
    return log_whole


@inlined
def _rise(released, k, eta, x, known):
    """log of the term of x + 1 over that of x, which falls in x."""
    ratio = eta + log_factorial(x, known) - log_factorial(x + 1, known)
    return ratio + law(released, k, x + 1) - law(released, k, x)


@kernel
def _mode(released, k, eta, start, known):
    """The first x from which terms fall, by steps from `start` that double and then halve."""
    low, high, step = start, start, 1
    if _rise(released, k, eta, start, known) > 0:
        while _rise(released, k, eta, high, known) > 0:
            low, high, step = high, high + step, 2 * step
    else:
        while low >= 0 and _rise(released, k, eta, low, known) <= 0:
            low, high, step = low - step, low, 2 * step
        low = max(low, -1)
    while high - low > 1:
        middle = (low + high) // 2
        if _rise(released, k, eta, middle, known) > 0:
            low = middle
        else:
            high = middle
    return high


@kernel
def summed_cell(released, k, eta, start, known):
    """log sum_x exp(x eta - log x! + law(x)), the mean of x, and the mode, sought from `start`.

    The law is log-concave, so terms fall from the mode on faster than a geometric series.
    """
    mode = _mode(released, k, eta, start, known)
    top = mode * eta - log_factorial(mode, known) + law(released, k, mode)
    total, first = 1.0, 0.0
    for step in (1, -1):
        x, before = mode + step, 1.0
        while x >= 0:
            term = math.exp(x * eta - log_factorial(x, known) + law(released, k, x) - top)
            total += term
            first += (x - mode) * term
            ratio = term / before if before > 0 else 0.0
            if abs(x - mode) * term * ratio <= 1e-16 * total * (1 - ratio) ** 2:
                break
            before = term
            x += step
    return top + math.log(total), mode + first / total, mode


@kernel
def log_likelihood(model, released, u, x, sums, total, modes, eta, rates, gradient):
    """log Pr[x | u], or log Pr[released | u] with x summed out; sets its gradient."""
    log_whole = rates_at(model, u, eta, rates)
    found = 0.0
    if model.summed:
        for c in range(eta.size):
            if not rates[c] < MOST:
                return -np.inf
            one, mean, modes[c] = summed_cell(
                released, released.places[c, 0], eta[c], modes[c], model.known
            )
            found += one - rates[c]
            rates[c] -= mean
        weight = -1.0
    else:
        weight = 1.0 if model.poisson else float(total)
        found = -math.exp(log_whole) if model.poisson else -total * log_whole
    for p in range(u.size):
        slope = dot(model.columns[p], rates)
        if model.summed:
            gradient[p] = -slope
        else:
            gradient[p] = sums[p] - weight * slope
            found += u[p] * sums[p]
    return found


@kernel
def factor(matrix, precision, lower):
    """Cholesky's factor of matrix + diag(precision)."""
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            left = matrix[i, j] + (precision[i] if i == j else 0.0)
            for k in range(j):
                left -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(max(left, 1e-12)) if i == j else left / lower[j, j]


@kernel
def solve(lower, b):
    """b := lower^-1 b."""
    for i in range(b.size):
        for k in range(i):
            b[i] -= lower[i, k] * b[k]
        b[i] /= lower[i, i]


@kernel
def solve_transposed(lower, b):
    """b := lower'^-1 b."""
    for i in range(b.size - 1, -1, -1):
        b[i] /= lower[i, i]
        for k in range(i):
            b[k] -= lower[i, k] * b[i]


@kernel
def log_prior(model, u, sd):
    """log Pr[u | sd], but for its constant."""
    found = 0.0
    for p in range(u.size):
        gap = (u[p] - model.mean[p]) / sd[p]
        found -= gap * gap / 2 + math.log(sd[p])
    return found


@kernel
def steps(step):
    """Of a path to where a normal law has forgotten its start, with some chance."""
    return min(LONGEST, 1 + int((0.5 + np.random.random()) * math.pi / 2 / step))
