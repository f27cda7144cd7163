r"""The law of a logistic regression's released coefficients given a latent table, and its moves.

A table x has the minimiser w(x) of sum_c x_c log(1 + exp(-s_c'w)) + penalty / 2 ||w||^2, with s_c
the cell's predictors, an intercept among them, times 1 or -1 for its response. The release is z =
w(x) + Gaussian noise. Newton's method finds w(x) to within 1e-9, negligible relative to the noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.kernels.log_linear.coefficients import minimise

Floats = NDArray[np.float64]


def information(released: Any, rates: Floats, weighted: Floats) -> tuple[Floats, Floats, Floats]:
    """Approximate information about coordinates, that given noise alone, and the log law's slope.

    Parameters
    ----------
    released : Released
    rates : ndarray, shape (cells,)
    weighted : ndarray, shape (cells, coordinates)
        Derivatives of the rates.
    """
    s, copies = released.design, len(released.table)
    w = released.table.mean(axis=0)
    minimise(s, released.penalty, rates, w)
    chance = special.expit(-s @ w)
    pulls = s * chance[:, None]
    curvature = (s * (rates * chance * (1 - chance))[:, None]).T @ s
    curvature += released.penalty * np.eye(w.size)
    moved = np.linalg.solve(curvature, pulls.T @ weighted)
    each = np.linalg.solve(curvature, pulls.T)
    noise = np.eye(w.size) / (released.precision * copies)
    spread = (each * rates) @ each.T + noise
    weights = np.linalg.solve(spread, moved)
    seen = moved.T @ weights
    gap = released.table.mean(axis=0) - w
    told = moved.T @ moved * (released.precision * copies)
    return (seen + seen.T) / 2, told, weights.T @ gap
