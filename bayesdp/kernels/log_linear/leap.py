r"""Far moves of one coordinate, to regions that paths of small steps seldom reach.

Where noise alone could explain a released count, the likelihood stays at a positive value however
small the rate, so that the posterior has a plateau as wide as the prior beside a mode whose width
the release determines. An independence Metropolis-Hastings move proposes a value from

    q = Normal(prior's mean, prior's sd) / 2 + Normal(centre, spread) / 2,

of which the first covers the plateau and the second the mode; whether a value is taken depends on
the exact ratio, whatever centre and spread are. `leap` keeps the latent table, or has it summed
out; `leap_with_table` takes the table along, whose levels stay
(`bayesdp.kernels.log_linear.joint`), since a table with records has no small rates.

Values with a rate above `most` are neither proposed nor left, which keeps the posterior too: there
the likelihood is nearly 0, and takes long to sum.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import guarded, guarded_inlined
from bayesdp.kernels.log_linear.levels import counts_at, levels_of
from bayesdp.kernels.log_linear.likelihood import log_likelihood, rates_at
from bayesdp.kernels.log_linear.moves import count, law_of_all


@guarded_inlined
def _log_normal(value, mean, sd):
    """Log-density of a normal, up to a constant."""
    gap = (value - mean) / sd
    return -gap * gap / 2 - math.log(sd)


@guarded_inlined
def _log_proposal(value, mean, sd, centre, spread):
    one, other = _log_normal(value, mean, sd), _log_normal(value, centre, spread)
    return max(one, other) + math.log1p(math.exp(-abs(one - other)))


@guarded
def _proposed(model, u, sd, tuning):
    """Propose a coordinate and its new value; return them and the log ratio's gain.

    Half of the proposals are of the first coordinate where counts are Poisson, which is their
    common rate.
    """
    p = 0 if model.poisson and np.random.random() < 0.5 else np.random.randint(u.size)
    mean, centre, spread = model.mean[p], tuning.centre[p], tuning.spread[p]
    new = mean + sd[p] * np.random.standard_normal()
    if np.random.random() < 0.5:
        new = centre + spread * np.random.standard_normal()
    ratio = _log_normal(new, mean, sd[p]) - _log_normal(u[p], mean, sd[p])
    ratio += _log_proposal(u[p], mean, sd[p], centre, spread)
    return p, new, ratio - _log_proposal(new, mean, sd[p], centre, spread)


@guarded
def _decided(ratio, moving, record):
    """Decide whether a proposal is accepted; record its probability."""
    record[3] = math.exp(min(0.0, ratio)) if ratio > -1000 else 0.0
    return np.random.random() < record[3] and moving


@guarded
def leap(model, released, tuning, u, x, sums, total, modes, sd, here, moving, record):
    """Move a coordinate of u given all else; return the log-likelihood of the u that is kept.

    `here` is that of the u that comes in. Where not `moving`, u stays whatever is proposed. Sets
    the coordinate, its old and its new value, and the chance that the new one is taken. Other
    parameters are as in `bayesdp.kernels.log_linear.chain`.
    """
    p, new, ratio = _proposed(model, u, sd, tuning)
    record[0], record[1], record[2], record[3] = p, u[p], new, 0.0
    eta, rates, gradient = np.empty(x.size), np.empty(x.size), np.empty(u.size)
    rates_at(model, u, eta, rates)
    within = rates.max() <= tuning.most
    u[p] = new
    rates_at(model, u, eta, rates)
    if within and rates.max() <= tuning.most:
        there = log_likelihood(model, released, u, x, sums, total, modes, eta, rates, gradient)
        if _decided(ratio + there - here, moving, record):
            return there
    u[p] = record[1]
    return here


@guarded
def leaps_from(model, released, tuning, draws, sds, leaps, seed):
    """Propose leaps from draws of u, shape (draws, P), the table summed out; none is made.

    Returns shape (draws, leaps, 4): coordinate, old and new value, and the chance that it is taken.
    """
    np.random.seed(seed)
    cells = model.columns.shape[1]
    x, modes = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    eta, rates, size = np.empty(cells), np.empty(cells), draws.shape[1]
    sums, gradient, found = np.zeros(size), np.empty(size), np.empty((len(draws), leaps, 4))
    for i in range(len(draws)):
        u, sd = draws[i].copy(), sds[i]
        here = log_likelihood(model, released, u, x, sums, 0, modes, eta, rates, gradient)
        for j in range(leaps):
            record = found[i, j]
            leap(model, released, tuning, u, x, sums, 0, modes, sd, here, False, record)
    return found


@guarded
def leap_with_table(model, released, tuning, u, x, y, sd, moving, record):
    """Move a coordinate of u and the table together; x and y are changed in place."""
    p, new, ratio = _proposed(model, u, sd, tuning)
    record[0], record[1], record[2], record[3] = p, u[p], new, 0.0
    total, fixed = x.sum(), not model.poisson
    eta, rates, levels = np.empty(x.size), np.empty(x.size), np.empty(x.size)
    x_new, y_new = np.empty_like(x), np.empty_like(y)
    rates_at(model, u, eta, rates)
    if not levels_of(x, eta, rates, fixed, model.known, levels) or rates.max() > tuning.most:
        return
    u[p] = new
    rates_at(model, u, eta, rates)
    if rates.max() <= tuning.most and counts_at(
        levels, eta, rates, fixed, total, model.known, x_new
    ):
        count(released, x_new, y_new)
        ratio += law_of_all(released, y_new) - law_of_all(released, y)
        if _decided(ratio, moving, record):
            x[:] = x_new
            y[:] = y_new
            return
    u[p] = record[1]
