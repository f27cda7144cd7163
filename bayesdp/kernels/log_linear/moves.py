r"""Moves of a latent table given its rates and the release, in exact integers.

A table x of C cells has log probability sum_c (x_c eta_c - log x_c!) + h(sum x), and each of the K
released numbers k sees the sum y_k of some cells, each cell counted once in each of J marginals.

`sweep` changes a cell, or moves records between the corners of a box: with a set T of columns and
other categories there, the 2^|T| cells that have either, with alternating signs. Marginals without
a column of T stay as they are, since its two categories cancel, and in the others all corners are
apart. So small boxes move records about, and larger ones only between few counts. Every proposal
is as likely as its reverse.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bayesdp.kernels.compiling import guarded, guarded_inlined
from bayesdp.kernels.log_linear.coefficients import law_of_coefficients, log_factorial, minimise

NUMBERS, ANSWERS, COEFFICIENTS = 0, 1, 2


class Released(NamedTuple):
    """Released numbers, and the cells that they are of: arrays that kernels take.

    Attributes
    ----------
    places : ndarray of int64, shape (C, J)
        The released number that counts a cell, in each marginal.
    within : ndarray of bool, shape (J, D)
        Which columns each marginal has.
    levels : ndarray of int64, shape (C, D)
        Each cell's categories.
    sizes, strides : ndarray of int64, shape (D,)
        Numbers of categories; what a category adds to a cell's number in the whole table.
    numbers : ndarray of int64
        A cell's place among the C from its number in the whole table; -1 for structural zeros.
    observed : ndarray of float64, shape (K, copies)
    rate : ndarray of float64, shape (K, copies)
        0 where a number has fewer copies than others.
    gaussian : ndarray of bool, shape (K, copies)
        Of a number that counts y the law is -sum_m rate |z_m - y|, squared where it is Gaussian.
    first : ndarray of int64, shape (K,)
        The count that a row of the table starts with; counts outside it are impossible.
    table : ndarray of float64, shape (K, widest)
        Laws of another kind, which are added; empty where there are none.
    kind : int
        NUMBERS: the above. ANSWERS: records' own, whose true cells are summed out and never
        sampled. COEFFICIENTS: of a regression on the whole table
        (`bayesdp.engines.log_linear.coefficients`), copies in the rows of `table`.
    starts : ndarray of int64, shape (patterns + 1,)
        Of ANSWERS, each pattern of which was observed `observed[a, 0]` times: where its entries
        start in the next two.
    cells : ndarray of int64
    weights : ndarray of float64
        Pr[pattern | cell] of these cells.
    design : ndarray of float64, shape (C, coefficients)
        Of COEFFICIENTS: a cell's predictors times 1 or -1, its response.
    penalty, precision : float
        The regression's, and the noise's.
    """

    places: Any
    within: Any
    levels: Any
    sizes: Any
    strides: Any
    numbers: Any
    observed: Any
    rate: Any
    gaussian: Any
    first: Any
    table: Any
    kind: int = NUMBERS
    starts: Any = np.zeros(1, dtype=np.int64)
    cells: Any = np.zeros(0, dtype=np.int64)
    weights: Any = np.zeros(0)
    design: Any = np.zeros((0, 0))
    penalty: float = 0.0
    precision: float = 0.0


@guarded_inlined
def law(released, k, y):
    """Log Pr[released copies of count k | the count is y], up to a constant."""
    log_law = 0.0
    if released.table.shape[1] > 0:
        at = int(y) - released.first[k]
        if at < 0 or at >= released.table.shape[1]:
            return -np.inf
        log_law = released.table[k, at]
    for m in range(released.observed.shape[1]):
        gap = released.observed[k, m] - y
        log_law -= released.rate[k, m] * (gap * gap if released.gaussian[k, m] else abs(gap))
    return log_law


@guarded_inlined
def slope(released, k, y):
    """Approximate derivative of `law` at any number y; it guides moves, which are valid anyway."""
    derivative = 0.0
    if released.table.shape[1] > 0:
        near = math.floor(y)
        step = law(released, k, near + 1) - law(released, k, near)
        return step if abs(step) < 1e6 else 0.0
    for m in range(released.observed.shape[1]):
        gap = released.observed[k, m] - y
        derivative += released.rate[k, m] * (2 * gap if released.gaussian[k, m] else np.sign(gap))
    return derivative


@guarded
def count(released, x, y):
    """Set y to the sums of x that were released."""
    for k in range(y.size):
        y[k] = 0
    for c in range(x.size):
        for j in range(released.places.shape[1]):
            y[released.places[c, j]] += x[c]


@guarded
def law_of_all(released, y):
    if released.kind == COEFFICIENTS:
        w = released.table[0].copy()
        minimise(released.design, released.penalty, y, w)
        return law_of_coefficients(released.table, released.precision, w)
    log_law = 0.0
    for k in range(y.size):
        log_law += law(released, k, y[k])
    return log_law


@guarded_inlined
def _shift(released, x, y, eta, total, log_sizes, known, corners, r, delta):
    """Add delta to the first corner and its sign's to the others, if accepted.

    The first of `corners` are the box's, from the fifth on are its columns. Returns the total's
    change.
    """
    ratio = 0.0
    for i in range(1 << r):
        sign = -1 if (i ^ (i >> 1)) & 1 else 1
        c = corners[i]
        new = x[c] + sign * delta
        if new < 0:
            return 0
        ratio += sign * delta * eta[c] - log_factorial(new, known) + log_factorial(x[c], known)
    if r == 0 and log_sizes.size:
        if total + delta >= log_sizes.size or total + delta < 0:
            return 0
        ratio += log_sizes[total + delta] - log_sizes[total]
    for j in range(released.places.shape[1]):
        moved = True
        for t in range(r):
            moved = moved and released.within[j, corners[4 + t]]
        if moved:
            for i in range(1 << r):
                sign = -1 if (i ^ (i >> 1)) & 1 else 1
                k = released.places[corners[i], j]
                ratio += law(released, k, y[k] + sign * delta) - law(released, k, y[k])
    if not (ratio >= 0 or np.random.random() < math.exp(ratio)):
        return 0
    for j in range(released.places.shape[1]):
        moved = True
        for t in range(r):
            moved = moved and released.within[j, corners[4 + t]]
        for i in range(1 << r):
            sign = -1 if (i ^ (i >> 1)) & 1 else 1
            if moved:
                y[released.places[corners[i], j]] += sign * delta
            if j == 0:
                x[corners[i]] += sign * delta
    return delta if r == 0 else 0


@guarded_inlined
def _pair(released, x, y, eta, known, c, d, delta):
    """Move delta records from any cell d to any other c, if accepted."""
    if x[c] + delta < 0 or x[d] - delta < 0:
        return
    ratio = delta * (eta[c] - eta[d]) + log_factorial(x[c], known) + log_factorial(x[d], known)
    ratio -= log_factorial(x[c] + delta, known) + log_factorial(x[d] - delta, known)
    for j in range(released.places.shape[1]):
        k, other = released.places[c, j], released.places[d, j]
        if k != other:
            ratio += law(released, k, y[k] + delta) - law(released, k, y[k])
            ratio += law(released, other, y[other] - delta) - law(released, other, y[other])
    if ratio >= 0 or np.random.random() < math.exp(ratio):
        for j in range(released.places.shape[1]):
            y[released.places[c, j]] += delta
            y[released.places[d, j]] -= delta
        x[c] += delta
        x[d] -= delta


@guarded_inlined
def _amount(width):
    """Draw a change of at most `width`, of either sign."""
    delta = 1 + np.random.randint(max(1, width))
    return delta if np.random.random() < 0.5 else -delta


@guarded
def sweep(released, x, y, eta, total, free, log_sizes, known, widths, corners):
    """Sweep a table: as many moves of each kind as there are cells; returns the total.

    Parameters
    ----------
    released : Released
    x, y : ndarray of int64
        The table and its sums, changed in place.
    eta : ndarray
        Log rates; with `log_sizes`, log probabilities.
    total : int
        Sum of x.
    free : bool
        Whether it may change.
    log_sizes : ndarray
        h; empty for independent Poisson counts, whose h is 0.
    known : ndarray
        log k!.
    widths : ndarray of int64, shape (4, C)
        The largest change of a single cell, of a pair, and of a box with 1 or 2 columns.
    corners : ndarray of int64, shape (6,)
        Work space.
    """
    cells, columns = released.levels.shape
    for _ in range(cells):
        if free:
            c = np.random.randint(cells)
            corners[0] = c
            total += _shift(
                released, x, y, eta, total, log_sizes, known, corners, 0, _amount(widths[0, c])
            )
        c, d = np.random.randint(cells), np.random.randint(cells)
        if c != d:
            _pair(released, x, y, eta, known, c, d, _amount(min(widths[1, c], widths[1, d])))
        for r in range(1, 3):
            if r > columns:
                continue
            c = np.random.randint(cells)
            corners[0] = c
            made = 1
            for t in range(r):
                axis = np.random.randint(columns)
                if (t == 1 and axis == corners[4]) or released.sizes[axis] < 2:
                    made = 0
                    break
                corners[4 + t] = axis
                level = released.levels[c, axis]
                other = (level + 1 + np.random.randint(released.sizes[axis] - 1)) % (
                    released.sizes[axis]
                )
                step = (other - level) * released.strides[axis]
                for i in range(made):
                    place = 0
                    for a in range(columns):
                        place += released.levels[corners[i], a] * released.strides[a]
                    corners[made + i] = released.numbers[place + step]
                    if corners[made + i] < 0:
                        corners[0] = -1
                if corners[0] < 0:
                    made = 0
                    break
                made *= 2
            if made:
                width = widths[1 + r, corners[0]]
                for i in range(1, made):
                    width = min(width, widths[1 + r, corners[i]])
                _shift(released, x, y, eta, total, log_sizes, known, corners, r, _amount(width))
    return total
