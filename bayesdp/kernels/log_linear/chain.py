r"""The chain of a log-linear model's coordinates u, scales tau and latent table x.

An iteration is a sweep over x given u (`bayesdp.kernels.log_linear.moves`); Hamiltonian Monte Carlo
for u given x and tau; a slice sampler for each tau given u; joint moves of u and x
(`bayesdp.kernels.log_linear.joint`); and leaps of single coordinates of u
(`bayesdp.kernels.log_linear.leap`). Given x, steps of u are as small as a table determines it;
jointly, as large as the noise allows. Where each cell has noise of its own and Poisson counts, x is
summed out instead, and u moves given the release.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bayesdp.kernels.compiling import guarded
from bayesdp.kernels.log_linear.coefficients import log_factorial, sweep_coefficients
from bayesdp.kernels.log_linear.joint import joint
from bayesdp.kernels.log_linear.leap import leap, leap_with_table
from bayesdp.kernels.log_linear.likelihood import (
    factor,
    log_likelihood,
    log_prior,
    rates_at,
    solve,
    solve_transposed,
    steps,
)
from bayesdp.kernels.log_linear.moves import COEFFICIENTS, count, law_of_all, sweep

_TARGET = 0.9  # acceptance; with less, some trajectories run into where rates explode


class Tuning(NamedTuple):
    """Tuning of a chain's moves: any values leave the posterior as it is.

    Attributes
    ----------
    full, seen, noise : ndarray, shape (P, P)
        Information on u in the table; in the release; and in the release if each count were its
        expectation and noise alone.
    reference : ndarray, shape (C,)
        The cells' rates there.
    widths : ndarray of int64, shape (4, C)
    centre, spread : ndarray, shape (P,)
        Approximate centre and standard deviation of the coordinates given the release.
    most : float
        The largest rate that leaps go to.
    """

    full: Any
    seen: Any
    noise: Any
    reference: Any
    widths: Any
    centre: Any = np.zeros(0)
    spread: Any = np.zeros(0)
    most: float = np.inf


@guarded
def _log_density_of_scale(phi, degrees, squares, scale):
    """Log-density of log tau."""
    spread = math.exp(2 * phi)
    return (1 - degrees) * phi - squares / (2 * spread) - spread / (2 * scale * scale)


@guarded
def slice_scale(tau, degrees, squares, scale):
    """Draw tau given the squares of its coordinates: a step of a slice sampler for its log."""
    at = math.log(tau)
    level = _log_density_of_scale(at, degrees, squares, scale) - np.random.exponential()
    low = at - np.random.random()
    high = low + 1.0
    while _log_density_of_scale(low, degrees, squares, scale) > level:
        low -= 1.0
    while _log_density_of_scale(high, degrees, squares, scale) > level:
        high += 1.0
    while True:
        new = low + np.random.random() * (high - low)
        if _log_density_of_scale(new, degrees, squares, scale) >= level:
            return math.exp(new)
        if new < at:
            low = new
        else:
            high = new


@guarded
def _spread(model, tau, sd, precision):
    """Set the coordinates' prior sd and precision."""
    for p in range(sd.size):
        sd[p] = tau[model.owners[p]] if model.owners[p] >= 0 else model.sd[p]
        precision[p] = 1 / (sd[p] * sd[p])


@guarded
def hamiltonian(model, released, u, x, sums, total, modes, sd, lower, step):
    """Move u given everything else, in coordinates where its law is nearly standard normal.

    Returns the acceptance probability and the log-likelihood of the u that is kept.
    """
    size = u.size
    eta, rates = np.empty(x.size), np.empty(x.size)
    gradient, new, q = np.empty(size), u.copy(), np.empty(size)
    here = log_likelihood(model, released, u, x, sums, total, modes, eta, rates, gradient)
    energy = here + log_prior(model, u, sd)
    upward = gradient - (u - model.mean) / (sd * sd)
    solve(lower, upward)
    for p in range(size):
        q[p] = np.random.standard_normal()
        energy -= q[p] * q[p] / 2
    there, end = here, energy
    for _ in range(steps(step)):
        q += step / 2 * upward
        move = q.copy()
        solve_transposed(lower, move)
        new += step * move
        there = log_likelihood(model, released, new, x, sums, total, modes, eta, rates, gradient)
        upward = gradient - (new - model.mean) / (sd * sd)
        solve(lower, upward)
        q += step / 2 * upward
        end = there + log_prior(model, new, sd) - (q * q).sum() / 2
        if not end > energy - 1000:  # also where it isn't a number
            return 0.0, here
    accepted = math.exp(min(0.0, end - energy))
    if np.random.random() < accepted:
        u[:] = new
        return accepted, there
    return accepted, here


@guarded
def chain(
    model, released, tuning, u, tau, x, log_steps, warmup, draws, thin, joints, leaps, moving, seed
):
    """Iterate from u, tau and x, which are changed in place, as are the steps in warm-up.

    Parameters
    ----------
    model : Model
    released : Released
    tuning : Tuning
    u, tau : ndarray
    x : ndarray of int64
    log_steps : ndarray, shape (2,)
        Logs of the steps of `hamiltonian` and `joint`.
    warmup, draws, thin : int
        Iterations first, and a draw after every `thin` further ones.
    joints : int
        Joint proposals an iteration; where it is negative, x is known and stays.
    leaps : int
        Leaps of a coordinate an iteration: so many given the table, and as many with it.
    moving : bool
        Whether leaps that are accepted are made; they are recorded either way.
    seed : int

    Returns
    -------
    The kept u, tau, totals and log densities, shapes (draws, P), (draws, T), (draws,), (draws,);
    shape (draws, 3), mean acceptance probabilities of both and how many trajectories diverged; and
    of leaps, shape (draws, leaps, 4), their coordinate, old and new value, and the chance of it.
    """
    np.random.seed(seed)
    size, cells, terms = u.size, x.size, tau.size
    kept_u, kept_tau = np.empty((draws, size)), np.empty((draws, terms))
    kept_n, kept_lp, kept_rates = np.zeros(draws), np.empty(draws), np.zeros((draws, 3))
    sd, precision, sums = np.empty(size), np.empty(size), np.zeros(size)
    eta, rates = np.empty(cells), np.empty(cells)
    lower, seen = np.zeros((size, size)), np.zeros((size, size))
    y, modes = np.zeros(released.observed.shape[0], dtype=np.int64), x.copy()
    corners = np.zeros(6, dtype=np.int64)
    ways = 1 if model.summed else 2
    kept_leaps, unkept = np.zeros((draws, ways * leaps * thin, 4)), np.empty(4)
    count(released, x, y)
    total = x.sum()
    for n in range(warmup + draws * thin):
        if n == 0 or terms:
            _spread(model, tau, sd, precision)
            factor(tuning.seen if model.summed else tuning.full, precision, lower)
        if not model.summed and (n == 0 or joints >= 0):
            rates_at(model, u, eta, rates)
            if joints >= 0 and released.kind == COEFFICIENTS:
                sweep_coefficients(released, x, y, eta, model.known, tuning.widths)
            elif joints >= 0:
                total = sweep(
                    released, x, y, eta, total, model.free, model.log_sizes, model.known,
                    tuning.widths, corners,
                )  # fmt: skip
            for p in range(size):
                sums[p] = 0.0
                for c in range(cells):
                    sums[p] += model.columns[p, c] * x[c]
        moved, here = hamiltonian(
            model, released, u, x, sums, total, modes, sd, lower, math.exp(log_steps[0])
        )
        d, place = (n - warmup) // thin, ways * leaps * ((n - warmup) % thin)
        for i in range(leaps):
            record = kept_leaps[d, place + i] if n >= warmup else unkept
            here = leap(model, released, tuning, u, x, sums, total, modes, sd, here, moving, record)
        for t in range(terms):
            degrees, squares = 0, 0.0
            for p in range(size):
                if model.owners[p] == t:
                    degrees += 1
                    squares += (u[p] - model.mean[p]) ** 2
            for _ in range(3):  # cheap, and nearer to an independent draw
                tau[t] = slice_scale(tau[t], degrees, squares, model.scales[t])
        if terms:
            _spread(model, tau, sd, precision)
        joined = smooth = 0.0
        if joints > 0 and (n == 0 or terms):
            factor(tuning.noise, precision, seen)
        for _ in range(joints):
            one, other = joint(
                model, released, u, x, y, tuning.reference, sd, seen, math.exp(log_steps[1])
            )
            joined += one / joints
            smooth += (other if other >= 0 else 0.8) / joints
        if not model.summed and joints >= 0:
            for i in range(leaps):
                record = kept_leaps[d, place + leaps + i] if n >= warmup else unkept
                leap_with_table(model, released, tuning, u, x, y, sd, moving, record)
        total = x.sum()
        if n < warmup:
            pace = (1 + n) ** -0.6
            log_steps[0] = min(log_steps[0] + (moved - _TARGET) * pace, 0.0)
            log_steps[1] = min(log_steps[1] + (smooth - 0.8) * pace, 0.0)
            continue
        kept_rates[d, 0] += moved / thin
        kept_rates[d, 1] += joined / thin
        kept_rates[d, 2] += moved == 0.0  # the energy was off by 1000, or no number
        if (n - warmup) % thin == thin - 1:
            kept_u[d], kept_tau[d], kept_n[d] = u, tau, total
            kept_lp[d] = here + log_prior(model, u, sd)
            if not model.summed:
                kept_lp[d] = _log_joint(model, released, u, x, y, sd, eta, rates)
            for t in range(terms):
                kept_lp[d] -= (tau[t] / model.scales[t]) ** 2 / 2
    return kept_u, kept_tau, kept_n, kept_lp, kept_rates, kept_leaps


@guarded
def _log_joint(model, released, u, x, y, sd, eta, rates):
    """Log Pr[released, x, u | sd], up to a constant."""
    log_whole = rates_at(model, u, eta, rates)
    log_joint = law_of_all(released, y) + log_prior(model, u, sd)
    if model.poisson:
        log_joint -= math.exp(log_whole)
    else:
        log_joint += model.log_sizes[x.sum()]
    for c in range(x.size):
        log_joint += x[c] * eta[c] - log_factorial(x[c], model.known)
    return log_joint
