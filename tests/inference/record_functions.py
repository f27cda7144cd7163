"""Record models that several tests share: compiled once a process."""

import numba
import numpy as np

from bayesdp.engines.draws import import_arviz

LIMIT = 4.9  # standard errors: false alarm 1e-6 a number


@numba.njit
def weigh(rng, theta):
    whole = 0.0
    for j in range(theta.size):
        theta[j] = rng.standard_gamma(theta[j])
        whole += theta[j]
    for j in range(theta.size):
        theta[j] /= whole


@numba.njit
def start(rng, theta):
    for j in range(theta.size):
        theta[j] = 1.0
    weigh(rng, theta)


@numba.njit
def categories_given(rng, records, theta):
    for j in range(theta.size):
        theta[j] = 1.0
    for i in range(len(records)):
        theta[int(records[i, 0])] += 1
    weigh(rng, theta)


@numba.njit
def counts_given(rng, counts, theta):
    for j in range(theta.size):
        theta[j] = 1.0 + counts[j]
    weigh(rng, theta)


@numba.njit
def category(rng, theta, out):
    u, j = rng.random(), 0
    while j < theta.size - 1 and u >= theta[j]:
        u -= theta[j]
        j += 1
    out[0] = j


@numba.njit
def itself(record, out):
    out[0] = record[0]


@numba.njit
def one_of_three(record, out):
    for j in range(3):
        out[j] = 1.0 if record[0] == j else 0.0


@numba.njit
def chances(theta, out):
    for j in range(theta.size):
        out[j] = theta[j]


@numba.njit
def normal_start(rng, theta):
    theta[0] = rng.normal(0.0, 1.0)


@numba.njit
def normal_given(rng, records, theta):
    weight = 1.0 + len(records)
    theta[0] = rng.normal(records.sum() / weight, weight**-0.5)


@numba.njit
def normal(rng, theta, out):
    out[0] = rng.normal(theta[0], 1.0)


def standard_errors(draws, mean):
    """How many Monte Carlo standard errors the draws' mean, (chains, draws), is off."""
    ess = float(import_arviz().ess({"x": draws}, method="mean")["x"])
    assert ess > 200
    return abs(draws.mean() - mean) / (draws.std() / np.sqrt(ess))
