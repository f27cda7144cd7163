r"""Three categories: their probabilities' triangle, cut into equal triangles, and a copy given one.

The probabilities that are at least `low` make a triangle with the corners (1 - 2 low, low, low) and
so on. Lines parallel to its sides, at `bins` equal steps, cut it into bins^2 triangles, each as
large as the others. A copy given that theta is uniform in the triangle T with corners p, q, r has

    Pr[z | T] = size! / (z_1! z_2! z_3!) * 2 int_0^1 int_0^1 s prod_i theta_i(s, t)^{z_i} ds dt,
    theta(s, t) = p + s (q - p) + s t (r - q).

The integrand is a polynomial of degree size + 1 in s and size in t, and positive: Gauss and
Legendre's rule with size / 2 + 1 points or more each way has no error but rounding.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.randomness import generator

Floats = NDArray[np.float64]

_LARGEST = 1000
"""Records of a copy up to which its law is worked out."""
_BLOCK = 1 << 21  # numbers in a temporary array


def triangles(low: float, bins: int) -> Floats:
    """Corners of all triangular cells, shape (bins^2, 3, 3): cell, corner, category."""
    steps = []
    for i in range(bins):
        for j in range(bins - i):
            a = np.array([i, j, bins - i - j])
            here = a + np.array([[0, 0, 0], [1, 0, -1], [0, 1, -1]])
            steps.append(here)
            if i + j < bins - 1:  # beside it, the other way up
                steps.append(a + np.array([[1, 0, -1], [0, 1, -1], [1, 1, -2]]))
    return np.asarray(low + (1 - 3 * low) * np.array(steps) / bins, dtype=np.float64)


def points_in(corners: Floats) -> Floats:
    """Draw a uniform point in each triangle, shape (triangles, 3), from the secure generator."""
    weights = generator().dirichlet(np.ones(3), size=len(corners))
    theta = np.einsum("tc,tck->tk", weights, corners)
    return np.asarray(theta / theta.sum(axis=1, keepdims=True))


def log_given_triangle(output: Any, size: int, corners: Floats) -> Floats:
    """Log Pr[output | theta uniform in each triangle]; the outputs' axes, then the triangles.

    Raises
    ------
    InvalidInput
        If `output` isn't counts of three categories, or `size` is too large.
    """
    z = np.asarray(output)
    if z.ndim == 0 or z.shape[-1] != 3:
        raise InvalidInput(f"output has shape {z.shape}; it must be (..., 3)")
    if size > _LARGEST:
        raise InvalidInput(
            f"size is {size}, but the law of a copy given its cell is computed up to {_LARGEST}; "
            "analyse each copy as data and combine the results with bdp.combine"
        )
    possible = np.all((z >= 0) & (z == np.floor(z)), axis=-1) & (z.sum(axis=-1) == size)
    logs = np.full((*z.shape[:-1], len(corners)), -np.inf)
    if not np.any(possible):
        return logs
    counts, place = np.unique(z[possible].astype(np.int64), axis=0, return_inverse=True)
    weights, where = _rule(size // 2 + 1 + size % 2)
    table = np.empty((len(counts), len(corners)))
    step = max(1, _BLOCK // len(weights))
    for c, corner in enumerate(corners):
        log_theta = np.log(where @ corner)
        for start in range(0, len(counts), step):
            some = slice(start, start + step)
            terms = counts[some] @ log_theta.T + weights
            table[some, c] = scipy.special.logsumexp(terms, axis=1)
    choose = scipy.special.gammaln(size + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    logs[possible] = (table + choose[:, None])[np.ravel(place)]
    return logs


@lru_cache(maxsize=8)
def _rule(points: int) -> tuple[Floats, Floats]:
    """Quadrature rule of a triangle: log weights of points, and the points by corners p, q, r."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    s, t = np.meshgrid((1 + nodes) / 2, (1 + nodes) / 2, indexing="ij")
    both = np.log(weights / 2)[:, None] + np.log(weights / 2) + np.log(2 * s)
    return both.ravel(), np.stack([1 - s, s * (1 - t), s * t], axis=-1).reshape(-1, 3)
