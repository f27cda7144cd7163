"""Factors and inverses of small positive definite matrices, in kernels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel

Floats = NDArray[np.float64]


@kernel
def factor(matrix: Floats, size: int) -> float:
    """Factor in place of the lower half by Cholesky; the log determinant of the first `size`.

    The last pivot of all is taken as 0 where it rounds to less.
    """
    whole, log_det = matrix.shape[0], 0.0
    for j in range(whole):
        for i in range(j, whole):
            entry = matrix[i, j]
            for c in range(j):
                entry -= matrix[i, c] * matrix[j, c]
            if i == j:
                if j < size and not entry > 0.0:
                    return -np.inf
                matrix[j, j] = math.sqrt(max(entry, 0.0))
                if j < size:
                    log_det += 2 * math.log(matrix[j, j])
            else:
                matrix[i, j] = entry / matrix[j, j]
    return log_det


@kernel
def inverse_of(lower: Floats, size: int) -> Floats:
    """Invert a matrix from its factor."""
    root, inverse = np.zeros((size, size)), np.zeros((size, size))
    for j in range(size):
        root[j, j] = 1 / lower[j, j]
        for i in range(j + 1, size):
            entry = 0.0
            for c in range(j, i):
                entry -= lower[i, c] * root[c, j]
            root[i, j] = entry / lower[i, i]
    for i in range(size):
        for j in range(i + 1):
            entry = 0.0
            for c in range(i, size):
                entry += root[c, i] * root[c, j]
            inverse[i, j] = inverse[j, i] = entry
    return inverse
