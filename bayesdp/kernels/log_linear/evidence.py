"""Kernels of the likelihoods that a log-linear model's evidence sums.

Derived in `bayesdp.engines.log_linear.evidence`.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import guarded
from bayesdp.kernels.log_linear.likelihood import log_likelihood
from bayesdp.kernels.log_linear.moves import law

_CUT = 45.0  # below the log of a largest term: 3e-20 of it


@guarded
def log_likelihoods(model, released, points):
    """Log Pr[released | u] at points, shape (points, coordinates): up to the law's constant.

    The model's counts are Poisson and summed out.
    """
    cells = released.places.shape[0]
    logs = np.empty(points.shape[0])
    x, modes = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    eta, rates = np.empty(cells), np.empty(cells)
    sums, gradient = np.zeros(points.shape[1]), np.empty(points.shape[1])
    for s in range(points.shape[0]):
        logs[s] = log_likelihood(
            model, released, points[s], x, sums, 0, modes, eta, rates, gradient
        )
    return logs


@guarded
def laws_of_cells(released, largest):
    """Log laws of each cell's number at the counts 0 to `largest`, shape (cells, counts)."""
    cells = released.places.shape[0]
    laws = np.empty((cells, largest + 1))
    for c in range(cells):
        for x in range(largest + 1):
            laws[c, x] = law(released, released.places[c, 0], x)
    return laws


@guarded
def _term(laws, known, c, x, slope):
    return laws[c, x] - known[x] + x * slope


@guarded
def _window(laws, known, c, slope, mode, low, high):
    """Find the mode within [low, high], from `mode`, and the ends of the range that matters."""
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


@guarded
def log_likelihoods_of_totals(etas, laws, lows, highs, known, log_sizes, room):
    """Log Pr[released | p] at log probabilities of cells, where totals have a law.

    Parameters
    ----------
    etas : ndarray, shape (points, cells)
    laws : ndarray, shape (cells, counts)
    lows, highs : ndarray of int64, shape (cells,)
        Counts between which a cell's law isn't zero.
    known : ndarray, shape (counts,) or longer
        Logs of the counts' factorials.
    log_sizes : ndarray, shape (counts,)
        Log law of the total, each with that of its factorial.
    room : ndarray, shape (2, counts)
        Work space.
    """
    cells, most = laws.shape[0], laws.shape[1] - 1
    logs = np.empty(etas.shape[0])
    modes, ends = lows.copy(), np.empty((cells, 2), dtype=np.int64)
    least = 0
    while log_sizes[least] == -np.inf:
        least += 1
    for s in range(etas.shape[0]):
        eta = etas[s]
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
        logs[s] = -np.inf
        for k in range(size):
            n = start + k
            if room[side, k] > 0 and log_sizes[n] > -np.inf:
                one = math.log(room[side, k]) + scale - tilt * n + log_sizes[n]
                above = max(logs[s], one)
                logs[s] = above + math.log(math.exp(logs[s] - above) + math.exp(one - above))
    return logs
