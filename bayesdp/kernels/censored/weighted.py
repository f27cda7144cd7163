r"""Clipped sums over weighted records: every record is visited.

The sums and the bound are derived in `bayesdp.mechanisms.censored.sums`. A curve is the row (A, B,
C) of the log density A t1 + B t2 - C.
"""

from __future__ import annotations

import numpy as np

from bayesdp.kernels.compiling import kernel

HALF = 30
CHUNK = 1024


@kernel
def weighted_parts(t1, t2, w, curve, low, high, scale):
    """Sum trunc(scale * clipped term) over the records, in two halves."""
    a, b, c = curve[0], curve[1], curve[2]
    upper, lower = np.int64(0), np.int64(0)
    for i in range(t1.size):
        v = w[i] * (a * t1[i] + b * t2[i] - c)
        q = np.int64(min(max(v, low), high) * scale)
        upper += q >> HALF
        lower += q & ((1 << HALF) - 1)
    return upper, lower


@kernel
def weighted_sums(t1, t2, w, curves, low, high, values, clipped):
    """Add sums, rounded, and numbers of clipped records to `values` and `clipped`, one a curve."""
    for k in range(len(curves)):
        a, b, c = curves[k]
        total, outside = values[k], 0
        for i in range(t1.size):
            v = w[i] * (a * t1[i] + b * t2[i] - c)
            total += min(max(v, low), high)
            outside += v < low or v > high
        values[k] = total
        clipped[k] += outside


@kernel
def weighted_bounds(t1, t2, w, curves, planes, low, high, sums):
    """Add to `sums` those at the centre and the corners, then those that bound them at the corners.

    `curves` has those of the centre and of the corners, shape (blocks, 5, 3), and `planes` the
    centre's tangent plane at the corners, shape (blocks, 4, 3); `sums` has shape (9, blocks).
    """
    n, blocks = t1.size, len(curves)
    corner = np.ascontiguousarray(curves.transpose(1, 2, 0))  # so that blocks are innermost
    plane = np.ascontiguousarray(planes.transpose(1, 2, 0))
    centre, chunk = np.empty(blocks), np.empty((9, blocks))
    for start in range(0, n, CHUNK):
        chunk[:] = 0.0
        for i in range(start, min(start + CHUNK, n)):
            x1, x2, x = t1[i], t2[i], w[i]
            for k in range(blocks):
                v = x * (corner[0, 0, k] * x1 + corner[0, 1, k] * x2 - corner[0, 2, k])
                centre[k] = v
                chunk[0, k] += min(max(v, low), high)
            for m in range(4):
                for k in range(blocks):
                    v = corner[1 + m, 0, k] * x1 + corner[1 + m, 1, k] * x2 - corner[1 + m, 2, k]
                    chunk[1 + m, k] += min(max(x * v, low), high)
                    u = plane[m, 0, k] * x1 + plane[m, 1, k] * x2 - plane[m, 2, k]
                    chunk[5 + m, k] += high if centre[k] >= high else max(x * u, low)
        sums += chunk
