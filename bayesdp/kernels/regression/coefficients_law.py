r"""The law of perturbed coefficients given the moments of records, and its gradient.

With A = X'X + l I of (1, predictors), and b = X'y, the coefficients are w = A^-1 b, and the log law
under Gaussian noise changes by v'dw, v = sum over copies of (z - w) / scale^2. As dw =
A^-1 (db - dA w), with q = A^-1 v it changes by q'db - q'dA w.
"""

from __future__ import annotations

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.regression.factors import Floats, factor, inverse_of


@kernel
def coefficients_law(
    n: float,
    mean: Floats,
    scatter: Floats,
    outputs: Floats,
    scale: Floats,
    penalty: float,
    at_mean: Floats,
    at_scatter: Floats,
) -> float:
    """Log p(outputs | moments) up to a constant; adds to its slopes in the mean and in W.

    The response is the last column. Where rounding leaves no coefficients, it is -inf.
    """
    d, y = mean.size, mean.size - 1
    matrix, b = np.empty((d, d)), np.empty(d)
    matrix[0, 0], b[0] = n + penalty, n * mean[y]
    for i in range(y):
        b[i + 1] = scatter[i, y] + n * mean[i] * mean[y]
        matrix[i + 1, 0] = matrix[0, i + 1] = n * mean[i]
        for j in range(y):
            matrix[i + 1, j + 1] = scatter[i, j] + n * mean[i] * mean[j]
        matrix[i + 1, i + 1] += penalty
    if factor(matrix, d) == -np.inf:
        return -np.inf
    inverse = inverse_of(matrix, d)
    w, v, q = np.zeros(d), np.zeros(d), np.zeros(d)
    total = 0.0
    for i in range(d):
        for j in range(d):
            w[i] += inverse[i, j] * b[j]
        for copy in range(outputs.shape[1]):
            away = (outputs[i, copy] - w[i]) / scale[copy]
            total -= away * away / 2
            v[i] += away / scale[copy]
    for i in range(d):
        for j in range(d):
            q[i] += inverse[i, j] * v[j]
    along, fitted = q[0], w[0]  # q and w along (1, means)
    for i in range(y):
        along += q[i + 1] * mean[i]
        fitted += w[i + 1] * mean[i]
    at_mean[y] += n * along
    for i in range(y):
        at_mean[i] += n * (q[i + 1] * (mean[y] - fitted) - along * w[i + 1])
        at_scatter[i, y] += q[i + 1] / 2
        at_scatter[y, i] += q[i + 1] / 2
        for j in range(y):
            at_scatter[i, j] -= (q[i + 1] * w[j + 1] + q[j + 1] * w[i + 1]) / 2
    return total
