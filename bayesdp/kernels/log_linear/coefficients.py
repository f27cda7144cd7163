"""Kernels of a log-linear model's coefficients given its counts.

Derived in `bayesdp.engines.log_linear.coefficients`.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import guarded, guarded_inlined


@guarded_inlined
def log_factorial(x, known):
    """Log x!, from a table where it reaches."""
    return known[x] if x < known.size else math.lgamma(x + 1.0)


@guarded
def _objective(design, penalty, x, w):
    loss = 0.0
    for p in range(w.size):
        loss += penalty / 2 * w[p] * w[p]
    for c in range(x.size):
        if x[c] > 0:
            along = 0.0
            for p in range(w.size):
                along += design[c, p] * w[p]
            loss += x[c] * (max(-along, 0.0) + math.log1p(math.exp(-abs(along))))
    return loss


@guarded
def minimise(design, penalty, x, w):
    """Set w to the minimiser of table x, from where it is; return a factor of the curvature."""
    size = w.size
    lower, step = np.zeros((size, size)), np.empty(size)
    for _ in range(100):
        for p in range(size):
            step[p] = penalty * w[p]
            for q in range(p + 1):
                lower[p, q] = penalty if p == q else 0.0
        for c in range(x.size):
            if x[c] > 0:
                along = 0.0
                for p in range(size):
                    along += design[c, p] * w[p]
                chance = 1 / (1 + math.exp(along))
                weight = x[c] * chance * (1 - chance)
                for p in range(size):
                    step[p] -= x[c] * chance * design[c, p]
                    for q in range(p + 1):
                        lower[p, q] += weight * design[c, p] * design[c, q]
        for i in range(size):
            for j in range(i + 1):
                left = lower[i, j]
                for k in range(j):
                    left -= lower[i, k] * lower[j, k]
                lower[i, j] = math.sqrt(left) if i == j else left / lower[j, j]
            for k in range(i):
                step[i] -= lower[i, k] * step[k]
            step[i] /= lower[i, i]
        furthest = 0.0
        for i in range(size - 1, -1, -1):
            for k in range(i + 1, size):
                step[i] -= lower[k, i] * step[k]
            step[i] /= lower[i, i]
            furthest = max(furthest, abs(step[i]))
        for p in range(size):
            w[p] -= step[p]
        if furthest > 0.5:  # else Newton's steps are safe
            new = _objective(design, penalty, x, w)
            share = 1.0
            while share > 1e-6 and new > _objective(design, penalty, x, w + share * step):
                share /= 2
                for p in range(size):
                    w[p] += share * step[p]
                new = _objective(design, penalty, x, w)
        if furthest < 1e-9:
            break
    return lower


@guarded
def law_of_coefficients(observed, precision, w):
    """Log Pr[released | the table's minimiser], up to a constant."""
    log_law = 0.0
    for m in range(observed.shape[0]):
        for p in range(w.size):
            gap = observed[m, p] - w[p]
            log_law -= precision * gap * gap / 2
    return log_law


@guarded
def near_coefficients(released, y, slopes):
    """Log-law of coefficients at real counts y, and its slopes in them, which guide moves."""
    w, pull = released.table[0].copy(), np.zeros(released.table.shape[1])
    lower = minimise(released.design, released.penalty, y, w)
    for m in range(released.table.shape[0]):
        for p in range(w.size):
            pull[p] += released.precision * (released.table[m, p] - w[p])
    for i in range(w.size):
        for k in range(i):
            pull[i] -= lower[i, k] * pull[k]
        pull[i] /= lower[i, i]
    for i in range(w.size - 1, -1, -1):
        for k in range(i + 1, w.size):
            pull[i] -= lower[k, i] * pull[k]
        pull[i] /= lower[i, i]
    for c in range(y.size):
        along = toward = 0.0
        for p in range(w.size):
            along += released.design[c, p] * w[p]
            toward += released.design[c, p] * pull[p]
        slopes[c] = toward / (1 + math.exp(along))
    return law_of_coefficients(released.table, released.precision, w)


@guarded
def sweep_coefficients(released, x, y, eta, known, widths):
    """Move records between two cells, four times as often as there are cells.

    The table's total is unchanged. x and y, which are equal, are changed in place.
    """
    cells = x.size
    w = released.table[0].copy()
    minimise(released.design, released.penalty, x, w)
    here = law_of_coefficients(released.table, released.precision, w)
    new, there = w.copy(), 0.0
    for _ in range(4 * cells):
        c, d = np.random.randint(cells), np.random.randint(cells)
        if c == d:
            continue
        delta = 1 + np.random.randint(min(widths[1, c], widths[1, d]))
        if x[d] < delta:
            continue
        ratio = delta * (eta[c] - eta[d])
        ratio += log_factorial(x[c], known) + log_factorial(x[d], known)
        ratio -= log_factorial(x[c] + delta, known) + log_factorial(x[d] - delta, known)
        x[c] += delta
        x[d] -= delta
        for p in range(w.size):
            new[p] = w[p]
        minimise(released.design, released.penalty, x, new)
        there = law_of_coefficients(released.table, released.precision, new)
        ratio += there - here
        if ratio >= 0 or np.random.random() < math.exp(ratio):
            here = there
            for p in range(w.size):
                w[p] = new[p]
        else:
            x[c] -= delta
            x[d] += delta
    for c in range(cells):
        y[c] = x[c]
