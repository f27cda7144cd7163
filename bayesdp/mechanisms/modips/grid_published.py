r"""Constants A and G V of Liu's Propositions 3 to 5, on a public grid, n public.

With pi_c(v) the posterior probability of cell c given a statistic v, one number,

    log pi_c(v) = R_c + A_c (v - o) - log sum_j exp(R_j + A_j (v - o))

is concave in v. So its least value is at an end of v's range, and its largest where its derivative
A_c - E[A | v] is 0, E[A | v] the mean under pi(v), which increases in v; of an integer v, at one of
the two next to that. The density is f = pi_c / V, and

    A = sup over v and c of |log f|,    G V = sup over v and c of pi_c(v).

Neither needs to be rounded up: what they are used for isn't proved to keep the claim, and where it
is, of SDD, the bound in use is the larger one.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.families.base import Family
from bayesdp.mechanisms.families.grids import GridModel
from bayesdp.mechanisms.randomness import generator
from bayesdp.mechanisms.selection.posterior_cells import published_cell

if TYPE_CHECKING:
    from bayesdp.mechanisms.modips.grid import ModipsGridMechanism

Floats = NDArray[np.float64]

_HALVINGS = 60


@lru_cache(maxsize=16)
def extremes(model: GridModel, family: Family, n: int) -> tuple[float, float]:
    """Constants A and G V of the propositions."""
    (number,) = family.numbers(n)
    low, high = float(number.low or 0), float(number.high or 0)
    slopes = np.array([float(cell[0]) for cell in model.coefficients])
    below, above = np.full(slopes.size, low), np.full(slopes.size, high)
    for _ in range(_HALVINGS):
        middle = below + (above - below) / 2
        rising = np.exp(_log_probabilities(model, middle)) @ slopes < slopes
        below, above = np.where(rising, middle, below), np.where(rising, above, middle)
    found = np.concatenate([below, above])
    if number.whole:
        found = np.concatenate([np.floor(found), np.ceil(found)])
    at_most = _log_probabilities(model, np.clip(found, low, high)).max()
    at_least = _log_probabilities(model, np.array([low, high])).min()
    log_width = math.log(model.width)
    return max(abs(at_most - log_width), abs(at_least - log_width)), math.exp(at_most)


def noise_scale(made: ModipsGridMechanism) -> float:
    """Scale of the Laplace noise of a count, or of log(N_c / N)."""
    bound, largest = extremes(made.model, made.family, made.n or 0)
    return (2 * bound if made.method == "sdd.mc" else made.samples * largest) / made.epsilon


def published_cells(
    made: ModipsGridMechanism, log_weights: Floats, copies: int
) -> NDArray[np.int64]:
    """Choose cells by SDD.MC or SPHC, each from its own histogram, shape (copies,)."""
    weights, scale = np.exp(log_weights - log_weights.max()), noise_scale(made)
    counts = generator().multinomial(made.samples, weights / weights.sum(), size=copies)
    logarithms = made.method == "sdd.mc"
    return np.array([published_cell(h, made.samples, scale, logarithms=logarithms) for h in counts])


def _log_probabilities(model: GridModel, v: Floats) -> Floats:
    """Log-probabilities log pi of the cells, shape (values, cells)."""
    u = model.log_weights(v[:, None])
    u -= u.max(axis=-1, keepdims=True)
    return np.asarray(u - np.log(np.exp(u).sum(axis=-1, keepdims=True)))
