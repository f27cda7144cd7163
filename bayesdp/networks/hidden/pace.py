r"""The pace of an annealed move: how many levels it has, and where they lie.

A graph carried along levels that are too far apart for the statistics to follow makes the move's
ratio noisy: with levels d apart by about d' V(c) d, where V(c) is the statistics' covariance at c.
With K levels at equal distances along the length

    Lambda(a, b)  =  integral of ( sum_t (b_t - a_t)^2 v_t(c) )^(1/2) along the line from a to b

that is Lambda^2 / K, the least for K levels (Crooks 2007). The variances v_t(c) = exp(alpha_t +
beta_t . c) are fitted in the warm-up to the changes of the hidden graph's statistics while
coefficients are fixed. However bad the fit, moves remain valid: levels are fixed after the warm-up
and the same in both directions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FLOOR = 0.02  # of the mean: no variance is fitted to be zero
_ITERATIONS = 50


def fit_pace(theta: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit log variances, linear in coefficients, shape (terms, terms + 1).

    Parameters
    ----------
    theta, variance : ndarray of float, shape (moves, terms)
        Coefficients, and estimates without bias of the statistics' variances under them. The
        fit is that of gamma laws, slopes per standard deviation shrunk by a standard normal.
    """
    terms = theta.shape[1]
    centre, scale = theta.mean(axis=0), np.maximum(theta.std(axis=0), 1e-6)
    x = np.column_stack([(theta - centre) / scale, np.ones(len(theta))])
    shrink = np.append(np.ones(terms), 0.0)
    pace = np.empty((terms, terms + 1))
    for t in range(terms):
        seen = variance[:, t] + _FLOOR * variance[:, t].mean() + 1e-12
        fit = np.append(np.zeros(terms), np.log(seen.mean()))
        for _ in range(_ITERATIONS):
            weight = seen * np.exp(-(x @ fit))
            slope = x.T @ (1 - weight) + shrink * fit
            step = np.linalg.solve((x * weight[:, None]).T @ x + np.diag(shrink), slope)
            fit = fit - step / max(1.0, np.abs(step).max())
            if np.abs(step).max() < 1e-6:
                break
        pace[t, :-1] = fit[:-1] / scale
        pace[t, -1] = fit[-1] - pace[t, :-1] @ centre
    return pace
