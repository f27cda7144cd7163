r"""The likelihood of a log-linear model's coordinates, from a latent table or with it summed out.

    log rate of cell c = sum_p u_p columns[p, c],    u_p ~ Normal(mean_p, sd_p^2),

sd_p fixed, or one tau ~ HalfNormal(scale) a term.

In a logistic model cells come in pairs, of a binary response's 0 and 1 where all else is alike.
The columns give log odds as they stand, the difference within a pair, and rates so that those of a
pair have a sum that doesn't depend on the odds:

    log rate of c = (what the columns give c) - log(1 + odds of its pair),

so that a pair's frequency and its odds have separate priors, and known counts of pairs carry no
information about the odds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bayesdp.kernels.compiling import guarded, guarded_inlined
from bayesdp.kernels.log_linear.coefficients import log_factorial
from bayesdp.kernels.log_linear.moves import ANSWERS, law

LONGEST = 32  # leapfrog steps
MOST = 1e9  # a rate that no table has


class Model(NamedTuple):
    """A log-linear model: arrays that kernels take.

    Attributes
    ----------
    columns : ndarray, shape (P, C)
    mean, sd : ndarray, shape (P,)
        Means and sds of the coordinates' priors; sd only where it is fixed.
    owners : ndarray of int64, shape (P,)
        Number of the tau that is a coordinate's sd; -1 where the sd is fixed.
    scales : ndarray, shape (T,)
        Scales of the half-normal priors of tau.
    poisson : bool
        Whether counts are independent and Poisson with these rates; if not, rates are normalised.
    summed : bool
        Whether the table is summed out.
    free : bool
        Whether the table's total is unknown.
    log_sizes : ndarray
        log n! Pr[n], where the rates are normalised.
    known : ndarray
        log k!.
    pairs : ndarray of int64, shape (pairs, 2)
        The cells of 0 and of 1 that a logistic model has the odds of; without rows, none.
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
    pairs: Any


@guarded
def dot(a, b):
    """Dot product, in four sums, since the order of a single one can't be changed."""
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


@guarded
def rates_at(model, u, eta, rates):
    """Set log rates and rates; return the log of their sum before they are normalised."""
    eta[:] = 0.0
    for p in range(u.size):
        for c in range(eta.size):
            eta[c] += u[p] * model.columns[p, c]
    for i in range(model.pairs.shape[0]):
        zero, one = model.pairs[i, 0], model.pairs[i, 1]
        log_odds = eta[one] - eta[zero]
        taken = max(log_odds, 0.0) + math.log1p(math.exp(-abs(log_odds)))
        eta[zero] -= taken
        eta[one] -= taken
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


@guarded
def to_columns(model, eta, slopes):
    """Convert slopes in the log rates to slopes in what the columns give, in place."""
    for i in range(model.pairs.shape[0]):
        zero, one = model.pairs[i, 0], model.pairs[i, 1]
        taken = (slopes[zero] + slopes[one]) / (1.0 + math.exp(eta[zero] - eta[one]))
        slopes[zero] += taken
        slopes[one] -= taken


@guarded_inlined
def _rise(released, k, eta, x, known):
    """Log of the term of x + 1 over that of x, which falls in x."""
    ratio = eta + log_factorial(x, known) - log_factorial(x + 1, known)
    return ratio + law(released, k, x + 1) - law(released, k, x)


@guarded
def _mode(released, k, eta, start, known):
    """Find the first x from which terms fall, by steps from `start` that double, then halve."""
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


@guarded
def summed_cell(released, k, eta, start, known):
    """Log sum_x exp(x eta - log x! + law(x)), the mean of x, and the mode, sought from `start`.

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


@guarded
def summed_answers(released, rates, slopes):
    """Log Pr[answers | rates], records' true cells summed out; sets its slopes in log rates."""
    log_chance = 0.0
    slopes[:] = 0.0
    for a in range(released.starts.size - 1):
        count, chance = released.observed[a, 0], 0.0
        for i in range(released.starts[a], released.starts[a + 1]):
            chance += released.weights[i] * rates[released.cells[i]]
        if not chance > 0.0:
            return -np.inf
        log_chance += count * math.log(chance)
        for i in range(released.starts[a], released.starts[a + 1]):
            c = released.cells[i]
            slopes[c] += count / chance * released.weights[i] * rates[c]
    return log_chance


@guarded
def log_likelihood(model, released, u, x, sums, total, modes, eta, rates, gradient):
    """Log Pr[x | u], or log Pr[released | u] with x summed out; sets its gradient."""
    log_whole = rates_at(model, u, eta, rates)
    slopes, log_chance, paired = np.empty(eta.size), 0.0, model.pairs.shape[0] > 0
    if model.summed and released.kind == ANSWERS:
        log_chance = summed_answers(released, rates, slopes)
        if not model.poisson:
            slopes -= slopes.sum() * rates
    elif model.summed:
        for c in range(eta.size):
            if not rates[c] < MOST:
                return -np.inf
            one, mean, modes[c] = summed_cell(
                released, released.places[c, 0], eta[c], modes[c], model.known
            )
            log_chance += one - rates[c]
            slopes[c] = mean - rates[c]
    else:
        weight = 1.0 if model.poisson else float(total)
        if paired:
            log_chance = -math.exp(log_whole) if model.poisson else 0.0
        else:
            log_chance = -math.exp(log_whole) if model.poisson else -total * log_whole
        for c in range(eta.size):
            slopes[c] = -weight * rates[c]
            if paired:
                slopes[c] += x[c]
                log_chance += x[c] * eta[c]
    if paired:
        to_columns(model, eta, slopes)
    for p in range(u.size):
        gradient[p] = dot(model.columns[p], slopes)
        if not model.summed and not paired:
            gradient[p] += sums[p]
            log_chance += u[p] * sums[p]
    return log_chance


@guarded
def factor(matrix, precision, lower):
    """Factor matrix + diag(precision) by Cholesky."""
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            left = matrix[i, j] + (precision[i] if i == j else 0.0)
            for k in range(j):
                left -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(max(left, 1e-12)) if i == j else left / lower[j, j]


@guarded
def solve(lower, b):
    """Solve for b := lower^-1 b."""
    for i in range(b.size):
        for k in range(i):
            b[i] -= lower[i, k] * b[k]
        b[i] /= lower[i, i]


@guarded
def solve_transposed(lower, b):
    """Solve for b := lower'^-1 b."""
    for i in range(b.size - 1, -1, -1):
        b[i] /= lower[i, i]
        for k in range(i):
            b[k] -= lower[i, k] * b[i]


@guarded
def log_prior(model, u, sd):
    """Log Pr[u | sd] without its constant."""
    log_density = 0.0
    for p in range(u.size):
        gap = (u[p] - model.mean[p]) / sd[p]
        log_density -= gap * gap / 2 + math.log(sd[p])
    return log_density


@guarded
def steps(step):
    """Draw the number of steps of a path in which a normal law forgets its start."""
    return min(LONGEST, 1 + int((0.5 + np.random.random()) * math.pi / 2 / step))
