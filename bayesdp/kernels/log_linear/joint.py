r"""A joint move of a log-linear model's coordinates u and its latent table x, whose levels stay.

With levels U (`bayesdp.kernels.log_linear.levels`) in place of x, the posterior of (u, U) is that
of u ~ prior, U uniform, and Pr[released | x(u, U)]. Hamiltonian Monte Carlo moves u along a path of
a smooth stand-in for it, which for given U is a function of u alone; so the path is reversible and
keeps volumes, and accepting its end by the exact ratio keeps the posterior.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import guarded
from bayesdp.kernels.log_linear.coefficients import near_coefficients
from bayesdp.kernels.log_linear.levels import counts_at, levels_of
from bayesdp.kernels.log_linear.likelihood import (
    dot,
    log_prior,
    rates_at,
    solve,
    solve_transposed,
    steps,
    to_columns,
)
from bayesdp.kernels.log_linear.moves import COEFFICIENTS, count, law, law_of_all, slope


@guarded
def _near(model, released, u, residual, total, reference, sd, eta, rates, upward):
    """Smooth stand-in for log Pr[released, u | levels], and its gradient.

    A count is taken for its expectation and its residual at the reference rates, which depends on
    its level alone, growing as the square root of the rate.
    """
    log_whole = rates_at(model, u, eta, rates)
    if not log_whole < 30.0:
        return -np.inf
    y, each = np.zeros(released.observed.shape[0]), np.empty(eta.size)
    size = 1.0 if model.poisson else float(total)
    for c in range(eta.size):
        each[c] = residual[c] * math.sqrt(rates[c] / reference[c])
        for j in range(released.places.shape[1]):
            y[released.places[c, j]] += size * rates[c] + each[c]
    log_density = log_prior(model, u, sd)
    slopes = np.empty(y.size)
    if released.kind == COEFFICIENTS:
        log_density += near_coefficients(released, y, slopes)
    else:
        for k in range(y.size):
            log_density += law(released, k, y[k])
            slopes[k] = slope(released, k, y[k])
    whole = 0.0
    for c in range(eta.size):
        towards = 0.0
        for j in range(released.places.shape[1]):
            towards += slopes[released.places[c, j]]
        each[c] = (size * rates[c] + each[c] / 2) * towards
        whole += each[c]
    if not model.poisson:
        each -= whole * rates
    to_columns(model, eta, each)
    for p in range(u.size):
        upward[p] = dot(model.columns[p], each) - (u[p] - model.mean[p]) / (sd[p] * sd[p])
    return log_density


@guarded
def joint(model, released, u, x, y, reference, sd, lower, step):
    """Move u and x together, whose levels stay; returns the acceptance probability.

    The path is Hamilton's for the smooth stand-in; whether its end is taken, for the exact law.
    Returns the probability that the path's own error leaves, too.
    """
    size, total, fixed = u.size, x.sum(), not model.poisson
    eta, rates, levels = np.empty(x.size), np.empty(x.size), np.empty(x.size)
    upward, new, q = np.empty(size), u.copy(), np.empty(size)
    x_new, y_new = np.empty_like(x), np.empty_like(y)
    rates_at(model, u, eta, rates)
    if not levels_of(x, eta, rates, fixed, model.known, levels):
        return 0.0, -1.0
    if not counts_at(levels, np.log(reference), reference, fixed, total, model.known, x_new):
        return 0.0, -1.0
    residual = x_new - reference * (total if fixed else 1.0)
    ratio = -law_of_all(released, y) - log_prior(model, u, sd)
    energy = _near(model, released, new, residual, total, reference, sd, eta, rates, upward)
    solve(lower, upward)
    for p in range(size):
        q[p] = np.random.standard_normal()
    kinetic = (q * q).sum() / 2
    end = energy
    for _ in range(steps(step)):
        q += step / 2 * upward
        move = q.copy()
        solve_transposed(lower, move)
        new += step * move
        end = _near(model, released, new, residual, total, reference, sd, eta, rates, upward)
        if not end > energy - 1000:
            return 0.0, 0.0
        solve(lower, upward)
        q += step / 2 * upward
    change = kinetic - (q * q).sum() / 2
    smooth = math.exp(min(0.0, end - energy + change))
    if not counts_at(levels, eta, rates, fixed, total, model.known, x_new):
        return 0.0, smooth
    count(released, x_new, y_new)
    ratio += law_of_all(released, y_new) + log_prior(model, new, sd) + change
    accepted = math.exp(min(0.0, ratio)) if ratio > -1000 else 0.0
    if np.random.random() < accepted:
        u[:] = new
        x[:] = x_new
        y[:] = y_new
    return accepted, smooth
