r"""Likelihood Pr[released | u] of a log-linear model, its table summed out, and u's prior.

Counts that are independent and Poisson sum out cell by cell (`log_likelihood`). With a known total,
where every cell has noise of its own with a log-concave law,

    Pr[z | u] = sum over n of Pr[n] n! [t^n] prod_c sum_x (p_c t)^x / x! Pr[z_c | x],

and the coefficient of t^n is a convolution over the cells. As in `bayesdp.engines.count_vectors`, a
factor e^(lambda x) in every term, which in the product depends on n alone, centres the terms so
that they add up to about n, and all of them can be cut to where they matter.

A term's effects with a scale of their own have, tau summed out of N(0, tau^2) and HalfNormal(s),

    p(u) = (2 pi)^(-d/2) sqrt(2 / pi) / s (q s^2)^((1 - d) / 4) K_((d - 1) / 2)(sqrt(q) / s)

with q the sum of squares of the term's d coordinates and K Bessel's function (the integral over
tau^2 is that of a generalised inverse Gaussian density).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.kernels.log_linear.evidence import (
    laws_of_cells,
    log_likelihoods,
    log_likelihoods_of_totals,
)
from bayesdp.kernels.log_linear.likelihood import Model
from bayesdp.kernels.log_linear.moves import Released, law_of_all

Floats = NDArray[np.float64]

_MOST_ROWS = 1 << 24  # numbers held at once


def summed_likelihood(model: Model, released: Released) -> Any:
    """Make a function of points, shape (points, coordinates): log Pr[released | u] + a constant.

    Parameters
    ----------
    model : Model
        A model whose counts are Poisson, or have a total with a law.
    released : Released
        One number for each cell; with a total, its noise has a log-concave law.
    """
    if model.poisson:
        return lambda points: log_likelihoods(model, released, points)
    likelihood = totals_likelihood(
        laws_of_cells(released, model.log_sizes.size - 1), model.log_sizes
    )
    step = max(1, _MOST_ROWS // model.columns.shape[1])

    def in_rows(points: Floats) -> Floats:
        blocks = np.split(points, range(step, len(points), step))
        return np.concatenate(
            [likelihood(special.log_softmax(rows @ model.columns, axis=1)) for rows in blocks]
        )

    return in_rows


def totals_likelihood(laws: Floats, log_sizes: Floats) -> Callable[[Floats], Floats]:
    """Make a function of cells' log probabilities, shape (points, cells): log Pr[released | p].

    Parameters
    ----------
    laws : ndarray, shape (cells, counts)
        Log law of each cell's outputs at the counts from 0, log-concave in them.
    log_sizes : ndarray, shape (counts,)
        Log probability of each total, plus the log of its factorial.
    """
    largest = log_sizes.size - 1
    known = special.gammaln(np.arange(largest + 2) + 1.0)
    finite = laws > -np.inf
    lows = finite.argmax(axis=1)
    highs = largest - finite[:, ::-1].argmax(axis=1)
    room = np.zeros((2, largest + 1))
    return lambda etas: np.asarray(
        log_likelihoods_of_totals(
            np.ascontiguousarray(etas), laws, lows, highs, known, log_sizes, room
        )
    )


def log_prior_density(model: Model, points: Floats) -> Floats:
    """Prior log-density at points, shape (points, coordinates), scales summed out."""
    fixed = model.owners < 0
    away = (points[:, fixed] - model.mean[fixed]) / model.sd[fixed]
    density = -np.sum(away**2, axis=1) / 2
    density -= np.sum(np.log(model.sd[fixed])) + fixed.sum() / 2 * math.log(2 * math.pi)
    for t, s in enumerate(model.scales):
        own = model.owners == t
        d = int(own.sum())
        q = np.maximum(np.sum((points[:, own] - model.mean[own]) ** 2, axis=1), 1e-300)
        at = np.sqrt(q) / s
        bessel = np.log(special.kve((d - 1) / 2, at)) - at
        density += bessel + (1 - d) / 4 * np.log(q * s**2)
        density += math.log(2 / math.pi) / 2 - d / 2 * math.log(2 * math.pi) - math.log(s)
    return np.asarray(density)


def log_law_at(released: Released, table: NDArray[np.int64]) -> float:
    """Log-law of the outputs at a table of the possible cells, without its constant."""
    sums = np.zeros(len(released.observed), dtype=np.int64)
    np.add.at(sums, released.places.ravel(), np.repeat(table, released.places.shape[1]))
    return float(law_of_all(released, sums))
