r"""Clipped beta log-likelihoods summed over sorted records: O(log n) a parameter.

For shapes a = lambda phi and b = lambda (1 - phi), a record y has the log density

    g(y) = A t1(y) + B t2(y) - C,   t1 = log y, t2 = log(1 - y), A = a - 1, B = b - 1,

and C = log Beta(a, b). Its derivative A / y - B / (1 - y) changes sign at most once, at
A / (A + B), so g rises, falls, or does either once, and {g >= level} is an interval of y (a
hill: A or B positive and the other not negative) or the complement of one (a bowl). Of sorted
records it therefore holds a range, found by binary search, and a sum over a range is a difference
of prefix sums. These are kept of every 2^k-th record, and the few records since are added.

Exact sums
----------
`fixed_logs` computes t1 and t2 from additions, multiplications and divisions alone, which IEEE
754 rounds in one way, so they are functions of y wherever and however the loop around it is
compiled, and truncates them to multiples of 2^-50. Their sums are then sums of integers, kept
in two halves: exact for up to 2^33 records.

Each is within 2^-43 of the true logarithm: the series is cut where its rest is below 2^-60; its
sum, at most 0.35, is rounded by less than 2^-51; k log 2 by less than 2^-60, in two parts, of which
the larger is exact; their sum by 2^-44, as it is below 2^10; truncation adds 2^-50.

Cutoffs
-------
How far may rounding carry a record between two cutoffs beyond their levels? Write g* for the curve
of A, B, C with true logarithms, which rises or falls on either side of its turn. With
L = lambda + 2 >= |A| + |B|, an exact A t1 + B t2 - C is within 2^-43 L of g*, and one rounded three
times, as bisection sees it, within 2^-43 L + 3 * 2^-53 (745 L + |C|) < 0.82 * 2^-41 L, where
|C| <= lambda + 40 on a grid of at most 2^32 cells in phi whose lambda is at least 10^-6; the turn
itself, rounded, displaces g* by less than 2^-47 L. A record past the cutoff for a level has g* at
least the cutoff's, whose rounded value is at least the level; so it falls short by less than
(0.82 + 0.25 + 0.02) 2^-41 L, and likewise from above: by less than 2^-40 L.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import kernel

FRACTION_BITS = 50
HALF = 30
_UNIT = 2.0**-FRACTION_BITS
_LN2_HIGH = 6.93147180369123816490e-01  # 33 bits, so that its products with exponents are exact
_LN2_LOW = 1.90821492927058770002e-10
_ROOT_HALF = math.sqrt(0.5)
_TOP = 1 - 2.0**-53
_TOP_BITS = int(np.float64(_TOP).view(np.int64))


@kernel
def _series(s):
    """2 artanh(s) for |s| <= 0.1716."""
    z = s * s
    p = 1.0 / 23.0
    for k in range(10, 0, -1):
        p = p * z + 1.0 / (2 * k + 1)
    return 2.0 * (s + s * (z * p))


@kernel
def _log(y):
    m, k = math.frexp(y)
    if m < _ROOT_HALF:
        m, k = 2.0 * m, k - 1
    return k * _LN2_HIGH + (k * _LN2_LOW + _series((m - 1.0) / (m + 1.0)))


@kernel
def fixed_logs(y):
    """Compute log y and log(1 - y) in units of 2^-50, for a float y in (0, 1)."""
    t2 = _series(-y / (2.0 - y)) if y < 0.25 else _log(1.0 - y)
    return np.int64(_log(y) * 2.0**FRACTION_BITS), np.int64(t2 * 2.0**FRACTION_BITS)


@kernel
def _add(y, total):
    """Add the halves of a record's t1, then of t2."""
    t1, t2 = fixed_logs(y)
    total[0] += t1 >> HALF
    total[1] += t1 & ((1 << HALF) - 1)
    total[2] += t2 >> HALF
    total[3] += t2 & ((1 << HALF) - 1)


@kernel
def add_sums(y, before, total, sums, shift):
    """Add records to `total`, of `before` others, and keep it in row i after i 2^shift of all."""
    for i in range(y.size):
        _add(y[i], total)
        if (before + i + 1) & ((1 << shift) - 1) == 0:
            sums[(before + i + 1) >> shift] = total


@kernel
def sums_to(table, i):
    """Sum the terms of the first i records."""
    y, sums, shift = table
    total = sums[i >> shift].copy()
    for k in range(i >> shift << shift, i):
        _add(y[k], total)
    return total


@kernel
def logs(y):
    """Compute log y and log(1 - y) of records, as floats that depend on the record alone."""
    t1, t2 = np.empty(y.size), np.empty(y.size)
    for i in range(y.size):
        first, second = fixed_logs(y[i])
        t1[i], t2[i] = first * _UNIT, second * _UNIT
    return t1, t2


@kernel
def _curve(a, b, c):
    """A, B, C of the curve g, whether it is a hill (1.0) or a bowl (-1.0), and where it turns."""
    p, q = a - 1.0, b - 1.0
    if p >= 0 and q <= 0:
        return p, q, c, 1.0, _TOP  # rises all the way
    if p <= 0 and q >= 0:
        return p, q, c, -1.0, _TOP  # falls all the way
    return p, q, c, 1.0 if p > 0 else -1.0, min(max(p / (p + q), 5e-324), _TOP)


@kernel
def log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@kernel
def log_betas(a, b):
    """Logarithms of the beta function, elementwise on arrays."""
    values = np.empty(a.size)
    for k in range(a.size):
        values[k] = log_beta(a[k], b[k])
    return values


@kernel
def _reached(curve, level, y):
    """Return True if a hill is above the level, or a bowl below it, at y; up to rounding."""
    t1, t2 = fixed_logs(y)
    return curve[3] * (curve[0] * (t1 * _UNIT) + curve[1] * (t2 * _UNIT) - curve[2] - level) >= 0


@kernel
def _cutoffs(curve, level):
    """Find the floats [x, w) where a hill is above the level or a bowl below it, without data."""
    turn = np.float64(curve[4]).view(np.int64)
    first, last = np.int64(1), turn + 1
    while first < last:
        middle = (first + last) >> 1
        if _reached(curve, level, np.int64(middle).view(np.float64)):
            last = middle
        else:
            first = middle + 1
    x, first, last = first, turn + 1, np.int64(_TOP_BITS + 1)
    while first < last:
        middle = (first + last) >> 1
        if _reached(curve, level, np.int64(middle).view(np.float64)):
            first = middle + 1
        else:
            last = middle
    return np.int64(x).view(np.float64), np.int64(first).view(np.float64)


@kernel
def clipped_parts(table, phi, lam, low, high):
    """Parts of the clipped sum at (phi, lambda), with records classified by the cutoffs alone.

    Returns (A, B, C) and the numbers of records at `low`, at `high` and between, with the four
    sums over those between.
    """
    a, b = lam * phi, lam * (1.0 - phi)
    curve, y = _curve(a, b, log_beta(a, b)), table[0]
    hill = curve[3] > 0
    x0, w0 = _cutoffs(curve, low if hill else high)
    x1, w1 = _cutoffs(curve, high if hill else low)
    i0, j0 = np.searchsorted(y, x0), np.searchsorted(y, w0)
    i1, j1 = np.searchsorted(y, max(x0, x1)), np.searchsorted(y, min(w0, w1))
    core, around = j1 - i1, y.size - (j0 - i0)
    parts = np.empty(7, dtype=np.int64)
    parts[0], parts[1] = (around, core) if hill else (core, around)
    parts[2] = (i1 - i0) + (j0 - j1)
    parts[3:] = sums_to(table, i1) - sums_to(table, i0)
    parts[3:] += sums_to(table, j0) - sums_to(table, j1)
    return curve[:3], parts


@kernel
def _range_sum(table, curve, i, j):
    """Sum of g over the records i, ..., j - 1, rounded."""
    if j <= i:
        return 0.0
    d = sums_to(table, j) - sums_to(table, i)
    t1 = (d[0] * 2.0**HALF + d[1]) * _UNIT
    t2 = (d[2] * 2.0**HALF + d[3]) * _UNIT
    return curve[0] * t1 + curve[1] * t2 - curve[2] * (j - i)


@kernel
def _indices(y, curve, level):
    """Find the records [x, w) where a hill is above the level or a bowl below it, rounded."""
    turn = np.searchsorted(y, curve[4], side="right")
    first, last = 0, turn
    while first < last:
        middle = (first + last) >> 1
        if _reached(curve, level, y[middle]):
            last = middle
        else:
            first = middle + 1
    x, first, last = first, turn, y.size
    while first < last:
        middle = (first + last) >> 1
        if _reached(curve, level, y[middle]):
            first = middle + 1
        else:
            last = middle
    return x, first


@kernel
def clipped_sum(table, a, b, low, high):
    """The clipped sum and the number of clipped records, in floating point."""
    curve, y = _curve(a, b, log_beta(a, b)), table[0]
    hill = curve[3] > 0
    i0, j0 = _indices(y, curve, low if hill else high)
    i1, j1 = _indices(y, curve, high if hill else low)
    i1, j1 = max(i0, i1), min(j0, j1)
    core, around = j1 - i1, y.size - (j0 - i0)
    ends = low * around + high * core if hill else low * core + high * around
    between = _range_sum(table, curve, i0, i1) + _range_sum(table, curve, j1, j0)
    return ends + between, core + around


@kernel
def clipped_sums(table, phi, lam, low, high):
    """Clipped sums and numbers of clipped records at each point of two arrays."""
    values, clipped = np.empty(phi.size), np.empty(phi.size, dtype=np.int64)
    for k in range(phi.size):
        a, b = lam[k] * phi[k], lam[k] * (1.0 - phi[k])
        values[k], clipped[k] = clipped_sum(table, a, b, low, high)
    return values, clipped


@kernel
def digamma(x):
    shift = 0.0
    while x < 12.0:
        shift += 1.0 / x
        x += 1.0
    z = 1.0 / (x * x)
    tail = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132)))))
    return math.log(x) - 0.5 / x - tail - shift


@kernel
def _ranges(x, w, n, between):
    return ((x, w), (n, n)) if between else ((0, x), (w, n))


@kernel
def block_bounds(table, phi0, phi1, lam0, lam1, prior, low, high):
    """Upper bounds on prior and clipped sum over rectangles of (phi, lambda); guesses of the sum.

    `bayesdp.mechanisms.censored.grid` proves the bound. The guesses are the sums at the
    centre and at the four corners, lambda's ends first, shape (blocks, 5).
    """
    y, n = table[0], table[0].size
    bounds, guesses = np.empty(phi0.size), np.empty((phi0.size, 5))
    for k in range(phi0.size):
        phi, lam = 0.5 * (phi0[k] + phi1[k]), 0.5 * (lam0[k] + lam1[k])
        a, b = lam * phi, lam * (1.0 - phi)
        centre = _curve(a, b, log_beta(a, b))
        da, db = digamma(a) - digamma(lam), digamma(b) - digamma(lam)
        x, w = _indices(y, centre, high)
        not_high = _ranges(x, w, n, centre[3] < 0)
        others = not_high[0][1] - not_high[0][0] + not_high[1][1] - not_high[1][0]
        largest = -np.inf
        guesses[k, 0] = clipped_sum(table, a, b, low, high)[0]
        for corner in range(4):
            f = phi1[k] if corner & 2 else phi0[k]
            s = lam1[k] if corner & 1 else lam0[k]
            u, v = s * f, s * (1.0 - f)
            guesses[k, 1 + corner] = clipped_sum(table, u, v, low, high)[0]
            plane = _curve(u, v, centre[2] + da * (u - a) + db * (v - b))
            x, w = _indices(y, plane, low)
            total = prior[k, corner] + high * (n - others) + low * others
            for one in not_high:
                for other in _ranges(x, w, n, plane[3] > 0):
                    i, j = max(one[0], other[0]), min(one[1], other[1])
                    if j > i:
                        total += _range_sum(table, plane, i, j) - low * (j - i)
            largest = max(largest, total)
        bounds[k] = min(largest, n * high + prior[k].max())
    return bounds, guesses
