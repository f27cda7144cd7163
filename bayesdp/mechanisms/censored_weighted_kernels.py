r"""Clipped sums over weighted records: every record is visited.

The sums and the bound are derived in `bayesdp.mechanisms.censored_sums`. A curve is the row (A, B,
C) of the log density A t1 + B t2 - C.
"""

from __future__ import annotations

import numpy as np

from bayesdp.mechanisms.censored_kernels import kernel

HALF = 30
_CHUNK = 1024


@kernel
def weighted_parts(t1, t2, w, curve, low, high, scale):
    """The sum of trunc(scale * clipped term), in two halves."""
    a, b, c = curve[0], curve[1], curve[2]
    upper, lower = np.int64(0), np.int64(0)
    for i in range(t1.size):
        v = w[i] * (a * t1[i] + b * t2[i] - c)
        q = np.int64(min(max(v, low), high) * scale)
        upper += q >> HALF
        lower += q & ((1 << HALF) - 1)
    return upper, lower


@kernel
def weighted_sums(t1, t2, w, curves, low, high):
    """Sums and numbers of clipped records, one a curve, rounded."""
    values, clipped = np.empty(len(curves)), np.empty(len(curves), dtype=np.int64)
    for k in range(len(curves)):
        a, b, c = curves[k]
        total, outside = 0.0, 0
        for i in range(t1.size):
            v = w[i] * (a * t1[i] + b * t2[i] - c)
            total += min(max(v, low), high)
            outside += v < low or v > high
        values[k], clipped[k] = total, outside
    return values, clipped


@kernel
def weighted_bounds(t1, t2, w, curves, planes, prior, low, high):
    """Upper bounds on prior and sum, and the sums at the centre and the corners.

    `curves` has those of the centre and of the corners, shape (blocks, 5, 3), and `planes` the
    centre's tangent plane at the corners, shape (blocks, 4, 3).
    """
    n = t1.size
    bounds, guesses = np.empty(len(curves)), np.empty((len(curves), 5))
    term, sums, chunk = np.empty(9), np.empty(9), np.empty(9)
    for k in range(len(curves)):
        sums[:] = 0.0
        for start in range(0, n, _CHUNK):
            chunk[:] = 0.0
            for i in range(start, min(start + _CHUNK, n)):
                for m in range(5):
                    curve = curves[k, m]
                    term[m] = w[i] * (curve[0] * t1[i] + curve[1] * t2[i] - curve[2])
                at_high = term[0] >= high
                for m in range(4):
                    plane = planes[k, m]
                    v = w[i] * (plane[0] * t1[i] + plane[1] * t2[i] - plane[2])
                    term[5 + m] = high if at_high else max(v, low)
                for m in range(5):
                    chunk[m] += min(max(term[m], low), high)
                for m in range(5, 9):
                    chunk[m] += term[m]
            sums += chunk
        guesses[k] = sums[:5]
        bounds[k] = min((sums[5:] + prior[k]).max(), n * high + prior[k].max())
    return bounds, guesses
