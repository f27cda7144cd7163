r"""Likelihood Pr[released | u] of a log-linear model, its table summed out, and u's prior.

Counts that are independent and Poisson sum out cell by cell (`log_likelihood`). With a known total,
where every cell has noise of its own with a log-concave law,

    Pr[z | u] = sum over n of Pr[n] n! [t^n] prod_c sum_x (p_c t)^x / x! Pr[z_c | x],

and the coefficient of t^n is a convolution over the cells. As in `bayesdp.engines.count_vectors` a
factor e^(lambda x) in every term, which n alone sees, brings the terms near what n asks for, so
that all of them can be cut to where they matter.

A term's effects with a scale of their own have, tau summed out of N(0, tau^2) and HalfNormal(s),

    p(u) = (2 pi)^(-d/2) sqrt(2 / pi) / s (q s^2)^((1 - d) / 4) K_((d - 1) / 2)(sqrt(q) / s)

with q the sum of squares of the term's d coordinates and K Bessel's function (the integral over
tau^2 is that of a generalised inverse Gaussian density).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.compiling import kernel
from bayesdp.engines.log_linear_likelihood import Model, log_likelihood, rates_at
from bayesdp.engines.log_linear_moves import Released, law, law_of_all

Floats = NDArray[np.float64]

_CUT = 45.0  # below the log of a largest term: 3e-20 of it


@kernel
def log_likelihoods(model, released, points):
    """Log Pr[released | u] at points, shape (points, coordinates): up to the law's constant.

    The model's counts are Poisson and summed out.
    """
    cells = released.places.shape[0]
    found = np.empty(points.shape[0])
    x, modes = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    eta, rates = np.empty(cells), np.empty(cells)
    sums, gradient = np.zeros(points.shape[1]), np.empty(points.shape[1])
    for s in range(points.shape[0]):
        found[s] = log_likelihood(
            model, released, points[s], x, sums, 0, modes, eta, rates, gradient
        )
    return found


@kernel
def laws_of_cells(released, largest):
    """Log laws of each cell's number at the counts 0 to `largest`, shape (cells, counts)."""
    cells = released.places.shape[0]
    found = np.empty((cells, largest + 1))
    for c in range(cells):
        for x in range(largest + 1):
            found[c, x] = law(released, released.places[c, 0], x)
    return found


@kernel
def _term(laws, known, c, x, slope):
    return laws[c, x] - known[x] + x * slope


@kernel
def _window(laws, known, c, slope, mode, low, high):
    """Find the mode within [low, high], from `mode`, and the ends of what isn't negligible."""
    while mode < high and _term(laws, known, c, mode + 1, slope) > _term(
        laws, known, c, mode, slope
    ):
        mode += 1
    while mode > low and _term(laws, known, c, mode - 1, slope) > _term(
        laws, known, c, mode, slope
    ):
        mode -= 1
    top = _term(laws, known, c, mode, slope)
    first = last = mode
    while first > low and _term(laws, known, c, first - 1, slope) > top - _CUT:
        first -= 1
    while last < high and _term(laws, known, c, last + 1, slope) > top - _CUT:
        last += 1
    return mode, first, last


@kernel
def log_likelihoods_of_totals(model, released, points, laws, lows, highs, room):
    """Log Pr[released | u] at points where totals have the law `model.log_sizes`.

    Parameters
    ----------
    model : Model
    released : Released
    points : ndarray, shape (points, coordinates)
    laws : ndarray, shape (cells, counts)
    lows, highs : ndarray of int64, shape (cells,)
        Between which a cell's law isn't zero.
    room : ndarray, shape (2, counts)
        To work in.
    """
    cells, most = laws.shape[0], laws.shape[1] - 1
    found, known = np.empty(points.shape[0]), model.known
    eta, rates = np.empty(cells), np.empty(cells)
    modes, ends = lows.copy(), np.empty((cells, 2), dtype=np.int64)
    least = 0
    while model.log_sizes[least] == -np.inf:
        least += 1
    for s in range(points.shape[0]):
        rates_at(model, points[s], eta, rates)
        tilt, scale = math.log(max(float(most), 1.0)), 0.0
        for _ in range(50):
            mean = variance = 0.0
            for c in range(cells):
                slope = eta[c] + tilt
                modes[c], first, last = _window(laws, known, c, slope, modes[c], lows[c], highs[c])
                ends[c, 0], ends[c, 1] = first, last
                top = _term(laws, known, c, modes[c], slope)
                whole = away = square = 0.0
                for x in range(first, last + 1):
                    weight = math.exp(_term(laws, known, c, x, slope) - top)
                    whole += weight
                    away += weight * (x - modes[c])
                    square += weight * (x - modes[c]) ** 2
                mean += modes[c] + away / whole
                variance += square / whole - (away / whole) ** 2
            target = min(max(mean, float(least)), float(most))
            gap = target - mean
            if gap * gap <= 0.01 * variance + 1e-6:
                break
            tilt += min(max(gap / max(variance, 1e-3), -2.0), 2.0)
        size, start, side = 1, 0, 0
        room[0, 0], scale = 1.0, 0.0
        for c in range(cells):
            first, last = ends[c, 0], ends[c, 1]
            top = _term(laws, known, c, modes[c], eta[c] + tilt)
            scale += top
            reach = min(size + last - first, most + 1 - start - first)
            if reach <= 0:
                size = 0
                break
            for k in range(reach):
                room[1 - side, k] = 0.0
            for x in range(first, last + 1):
                weight = math.exp(_term(laws, known, c, x, eta[c] + tilt) - top)
                for k in range(min(size, reach - (x - first))):
                    room[1 - side, k + x - first] += weight * room[side, k]
            side, start = 1 - side, start + first
            best = 0.0
            for k in range(reach):
                best = max(best, room[side, k])
            if best == 0.0:
                size = 0
                break
            low, high = 0, reach - 1
            while room[side, low] < 1e-25 * best:
                low += 1
            while room[side, high] < 1e-25 * best:
                high -= 1
            size = high - low + 1
            for k in range(size):
                room[side, k] = room[side, k + low] / best
            start += low
            scale += math.log(best)
        found[s] = -np.inf
        for k in range(size):
            n = start + k
            if room[side, k] > 0 and model.log_sizes[n] > -np.inf:
                one = math.log(room[side, k]) + scale - tilt * n + model.log_sizes[n]
                above = max(found[s], one)
                found[s] = above + math.log(math.exp(found[s] - above) + math.exp(one - above))
    return found


def summed_likelihood(model: Model, released: Released) -> Any:
    """Make a function of points, shape (points, coordinates): log Pr[released | u] but a constant.

    Parameters
    ----------
    model : Model
        Whose counts are Poisson, or have a total with a law.
    released : Released
        A number a cell; with a total, of a log-concave law.
    """
    if model.poisson:
        return lambda points: log_likelihoods(model, released, points)
    largest = model.log_sizes.size - 1
    known = special.gammaln(np.arange(max(largest + 2, model.known.size)) + 1.0)
    model = model._replace(known=known)
    laws = laws_of_cells(released, largest)
    finite = laws > -np.inf
    lows = finite.argmax(axis=1)
    highs = largest - finite[:, ::-1].argmax(axis=1)
    room = np.zeros((2, largest + 1))
    return lambda points: log_likelihoods_of_totals(
        model, released, points, laws, lows, highs, room
    )


def log_prior_density(model: Model, points: Floats) -> Floats:
    """Prior log-density at points, shape (points, coordinates), scales summed out."""
    fixed = model.owners < 0
    away = (points[:, fixed] - model.mean[fixed]) / model.sd[fixed]
    found = -np.sum(away**2, axis=1) / 2
    found -= np.sum(np.log(model.sd[fixed])) + fixed.sum() / 2 * math.log(2 * math.pi)
    for t, s in enumerate(model.scales):
        own = model.owners == t
        d = int(own.sum())
        q = np.maximum(np.sum((points[:, own] - model.mean[own]) ** 2, axis=1), 1e-300)
        at = np.sqrt(q) / s
        bessel = np.log(special.kve((d - 1) / 2, at)) - at
        found += bessel + (1 - d) / 4 * np.log(q * s**2)
        found += math.log(2 / math.pi) / 2 - d / 2 * math.log(2 * math.pi) - math.log(s)
    return np.asarray(found)


def log_law_at(released: Released, table: NDArray[np.int64]) -> float:
    """Log-law of the outputs at a table of the possible cells, but for its constant."""
    sums = np.zeros(len(released.observed), dtype=np.int64)
    np.add.at(sums, released.places.ravel(), np.repeat(table, released.places.shape[1]))
    return float(law_of_all(released, sums))
