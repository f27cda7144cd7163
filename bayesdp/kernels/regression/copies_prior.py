"""Density of the moments of all columns of a table, some of which a regression leaves out.

The first columns are the predictors and the response; their moments have the density of
`bayesdp.kernels.regression.moments`. Those left out are regressed, each on all columns before it,
and their parameters integrate out too. The coordinates are those of
`bayesdp.kernels.regression.coordinates`.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.regression.coordinates import Frame, moments_at
from bayesdp.kernels.regression.factors import Floats, factor
from bayesdp.kernels.regression.moments import Prior, moments_density

Whole = tuple[Frame, Prior, Floats]
"""The frame of all columns, the priors of the chosen ones, and (m0, k, a, b) of the others."""


@kernel
def sums_density(u: Floats, n: float, whole: Whole) -> tuple[float, Floats]:
    """Log density of the coordinates u given n, and the sums, squares and products there."""
    frame, prior, other = whole
    base = frame[1]
    mean, root, own = moments_at(u, frame, False)
    d, chosen = mean.size, prior[0].size
    scatter, sums, place = np.empty((d, d)), np.empty(2 * d + d * (d - 1) // 2), 2 * d
    for i in range(d):
        for j in range(i + 1):
            entry = 0.0
            for c in range(j + 1):
                entry += root[i, c] * root[j, c]
            scatter[i, j] = scatter[j, i] = n * entry
    for i in range(d):
        sums[i] = n * mean[i]
        sums[d + i] = scatter[i, i] + n * mean[i] * mean[i]
        for j in range(i + 1, d):
            sums[place] = scatter[i, j] + n * mean[i] * mean[j]
            place += 1
    nothing = np.empty((2 * chosen + chosen * (chosen - 1) // 2, 0))
    seen = (nothing, np.empty(0), np.empty(0, dtype=np.bool_), 0.0)
    part = scatter[:chosen, :chosen].copy()
    total = moments_density(n, mean[:chosen].copy(), part, seen, prior)[0]
    power = n - d - 2
    total += (power * d / 2 + d + d * (d + 1) / 2) * math.log(n) + d * math.log(2.0)
    for i in range(d):  # as in `latent_density`
        total += (power + d + 2) * math.log(base[i, i]) + (power + d) * math.log(own[i, i])
        total -= max(-u[d + i], 0.0) + math.log1p(math.exp(-abs(u[d + i])))
    m0, k, a, b = other[0], other[1], other[2], other[3]
    for j in range(chosen, d):
        total += (n - 1) / 2 * math.log(math.pi) - math.log(n) / 2 - n / 2 * math.log(2 * math.pi)
        total -= j / 2 * math.log(math.pi) + math.lgamma((n - 1 - j) / 2)
        total += math.lgamma(a + n / 2) - math.lgamma(a) + a * math.log(b)
        matrix = np.empty((j + 2, j + 2))
        matrix[0, 0] = n
        for i in range(j + 1):
            matrix[i + 1, 0] = n * mean[i]
            for c in range(i + 1):
                matrix[i + 1, c + 1] = scatter[i, c] + n * mean[i] * mean[c]
        for i in range(j + 1):
            matrix[i, i] += k
            matrix[j + 1, i] += k * m0
            matrix[j + 1, j + 1] += k * m0 * m0
        total += ((j + 1) * math.log(k) - factor(matrix, j + 1)) / 2
        total -= (a + n / 2) * math.log(b + matrix[j + 1, j + 1] ** 2 / 2)
    return total, sums
