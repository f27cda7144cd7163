r"""Sums over a lattice of integers by few points, for functions smooth on the noise's scale.

A sum over K consecutive integers is the integral of a discrete measure, whose orthogonal
polynomials are those of Gram. So J <= K points within them, with positive weights, sum polynomials
of degree 2 J - 1 exactly (Golub and Welsch 1969): the eigenvalues of the Jacobi matrix, whose
entries beside the diagonal are j sqrt((K^2 - j^2) / (4 (4 j^2 - 1))). With J = K they are the
integers.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.core.views import Cell

Floats = NDArray[np.float64]

_POINTS = 8  # of a piece
_PIECE = {True: 3.0, False: 1.5}  # length of a piece, in scales of Laplace or Gaussian noise
_REACH = {True: 32.0, False: 8.0}  # in scales: all but 1e-13 of the noise


def noisy_integers(cell: Cell, n: int, least: int) -> tuple[Floats, Floats]:
    """Points and log weights of the law of a noisy integer, where it counts as `least` or more.

    The mean of a function is its sum over the points, each times its weight, where it is smooth on
    the noise's scale and on the integer's own. The points need not be integers.

    Parameters
    ----------
    cell : Cell
        Noise on the integer, of step 1.
    n : int
    least : int
        A noisy integer below it counts as it.
    """
    scale = float(cell.noise.scale)
    reach = math.ceil(_REACH[cell.noise.laplace] * scale)
    start, last = max(least + 1, n - reach), n + reach
    points, logs = [np.array([float(least)])], [cell.noise.log_upper(np.array([n - least]))]
    while start <= last:
        length = max(_POINTS, min(round(_PIECE[cell.noise.laplace] * scale), start))
        end = min(start + length, last + 1, n if start < n else math.inf)
        at, weights = sum_rule(int(end) - start)
        points.append(start + at)
        logs.append(np.log(weights) + cell.noise.log_pmf(start + at - n))
        start = int(end)
    return np.concatenate(points), np.concatenate(logs)


@lru_cache(maxsize=64)
def sum_rule(count: int) -> tuple[Floats, Floats]:
    """Points within [0, count - 1] and weights that stand for a sum over its integers."""
    j = np.arange(1, min(count, _POINTS))
    beside = j * np.sqrt((count**2 - j**2) / (4.0 * (4 * j**2 - 1)))
    points, vectors = scipy.linalg.eigh_tridiagonal(np.zeros(j.size + 1), beside)
    return np.asarray(points + (count - 1) / 2), np.asarray(count * vectors[0] ** 2)
