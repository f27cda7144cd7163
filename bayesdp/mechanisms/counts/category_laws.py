"""Laws of counts and of probabilities of k categories, without cancellation.

The saddle-point forms of `bayesdp.mechanisms.laws`, for vectors along the last axis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.mechanisms.laws import HALF_LOG_2PI, deviance, negative_binomial, stirling_error

Floats = NDArray[np.float64]


def multinomial_logpmf(counts: ArrayLike, size: int, weights: ArrayLike) -> Floats:
    """Log Pr[counts] of `size` independent records, with probabilities in proportion to weights.

    Parameters
    ----------
    counts : array_like of int, shape (..., k)
        -inf is returned where one is negative or they don't sum to `size`.
    size : int
        At least 1.
    weights : array_like of float, shape (..., k)
        At least 0, not all 0.

    Returns
    -------
    ndarray of float, the broadcast shape of the arguments without its last axis.
    """
    z, w = np.broadcast_arrays(np.asarray(counts, float), np.asarray(weights, float))
    possible = _sums_to(z, size) & ~np.any((z > 0) & (w == 0), axis=-1)
    mean = w * (size / accumulated(w))
    some = (z > 0) & (mean > 0)
    k, mu = np.where(some, z, 1.0), np.where(some, mean, 1.0)
    each = np.where(some, -deviance(k, mu) - stirling_error(k) - 0.5 * np.log(k), -mean)
    ends = (1 - some.sum(axis=-1)) * HALF_LOG_2PI
    whole = stirling_error(np.array([float(size)]))[0] + 0.5 * np.log(size)
    return np.where(possible, each.sum(axis=-1) + ends + whole, -np.inf)


def dirichlet_multinomial_logpmf(counts: ArrayLike, size: int, alpha: ArrayLike) -> Floats:
    """Log Pr[counts] of `size` records whose probabilities are one draw from Dirichlet(alpha).

    It is that of negative binomials given their sum, as in `beta_binomial_logpmf`.

    Parameters
    ----------
    counts : array_like of int, shape (..., k)
        -inf is returned where one is negative or they don't sum to `size`.
    size : int
        At least 1.
    alpha : array_like of float, shape (..., k)
        Positive.

    Returns
    -------
    ndarray of float, the broadcast shape of the arguments without its last axis.
    """
    z, a = np.broadcast_arrays(np.asarray(counts, float), np.asarray(alpha, float))
    possible = _sums_to(z, size)
    z = np.where(possible[..., None], z, 0.0)
    total, trials = accumulated(a), np.full((*a.shape[:-1], 1), float(size))
    each = negative_binomial(z, a, *np.broadcast_arrays(total, trials, a)[:2])
    whole = negative_binomial(trials, total, total, trials)
    return np.where(possible, each.sum(axis=-1) - whole[..., 0], -np.inf)


def dirichlet_logpdf(theta: ArrayLike, alpha: ArrayLike) -> Floats:
    """Log-density of Dirichlet(alpha) at theta, with respect to all but one of its coordinates.

    Parameters
    ----------
    theta : array_like of float, shape (..., k)
        Probabilities, whose sum is taken to be 1. Where one is 0, the density is 0 or has a pole:
        -inf or inf is returned, and -inf where both occur.
    alpha : array_like of float, shape (..., k)
        Positive.

    Returns
    -------
    ndarray of float, the broadcast shape of the arguments without its last axis.
    """
    p, a = np.broadcast_arrays(np.asarray(theta, float), np.asarray(alpha, float))
    total = accumulated(a)
    inside = p > 0
    x = np.where(inside, p, 1.0)
    kernel = np.where(inside, -deviance(a, total * x) - np.log(x), a - a * np.log(a / total))
    each = 0.5 * np.log(a) - stirling_error(a) + kernel
    ends = (1 - a.shape[-1]) * HALF_LOG_2PI - 0.5 * np.log(total) + stirling_error(total)
    law = each.sum(axis=-1) + ends[..., 0]
    zero, pole = np.any(~inside & (a > 1), axis=-1), np.any(~inside & (a < 1), axis=-1)
    return np.where(zero, -np.inf, np.where(pole, np.inf, law))


def mode_weights(counts: ArrayLike, prior: ArrayLike) -> Floats:
    """Weights proportional to the mode of Dirichlet(prior + counts): max(0, a + c - 1) or a limit.

    Where a prior is below 1 the density may be unbounded at the boundary; the mode is then the
    limit of where it is largest among probabilities of t or more, as t goes to 0. With a
    record, some weight is positive. Written so that it stays so however small the prior is.

    Parameters
    ----------
    counts : array_like of int, shape (..., k)
    prior : array_like of float, shape (k,)

    Returns
    -------
    ndarray of float, shape of `counts`
    """
    c, a = np.asarray(counts, float), np.asarray(prior, float)
    return np.asarray(np.where(c > 0, a + (c - 1), np.maximum(a - 1, 0.0)))


def accumulated(values: Floats) -> Floats:
    """Sums along the last axis, kept as an axis, from left to right whatever the shape.

    numpy's own order of summation, and so the last digit, depends on the layout of an array;
    a law that is a point mass must be the same for one statistic alone and in a table.
    """
    return np.asarray(np.cumsum(values, axis=-1)[..., -1:])


def _sums_to(z: Floats, size: int) -> NDArray[np.bool_]:
    return np.asarray(np.all(z >= 0, axis=-1) & (z.sum(axis=-1) == size))
