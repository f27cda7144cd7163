r"""Copies of regression records from a noisy matrix of sums: projection, posterior, records.

With z_0 = 1, the matrix of sums of z_j z_k of any records is positive semidefinite. Its first row
holds n > 0 and the sums t of columns; given these, it is so if and only if the scatter around the
mean, W = (sum of z z') - t t' / n, is.

Noise may leave W indefinite, and a residual sum of squares negative. W is replaced by the nearest
positive semidefinite matrix in Frobenius norm, its negative eigenvalues set to 0; then the whole is
the nearest that has this n and these sums. Where n is confidential a noisy n below 1 counts as 1,
and noisy sums are first moved to where n records have them: those of columns and products to
[-n, n], those of squares to [0, n]. All of it is post-processing of the noisy numbers, and costs
nothing.

The posterior is that of the conjugate priors in `bayesdp.mechanisms.families.linear_regression`,
with G = sum of (1, x)(1, x)', h = sum of y (1, x), and x_, W the predictors' mean and scatter:

    c ~ N(v, sigma^2 L^-1),    L = diag(k) + G,    v = L^-1 (diag(k) m0 + h),
    sigma^2 ~ InverseGamma(a + n / 2, b + (sum of y^2 + m0'diag(k) m0 - v'L v) / 2),
    mu ~ N((r m + n x_) / (r + n), Sigma / (r + n)),
    Sigma ~ InverseWishart(nu + n, diag(psi) + W + r n / (r + n) (x_ - m)(x_ - m)').

As the priors are proper, all exist for any noisy numbers. With W = S'S they are computed as if from
records: the d rows of S, without an intercept, one row sqrt(n) (1, mean), and rows for the priors.
By QR decompositions of these there is no difference of large numbers, and nothing that may fail.

A copy
------
Predictors are drawn column by column given those before, each set to its nearest bound if it leaves
them (`inflated`), or conditioned to lie within (`truncated`); then the response given the
predictors as they are in the copy, bounded likewise. So, but for the bounding of the response
itself, the regression in a copy is the posterior's, whatever the predictors' law is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.conjugate.truncated_normal import truncated_normal

Floats = NDArray[np.float64]

NARROW = 2.0**-60
"""A standard deviation that leaves records alike."""
_LEAST = 2.0**-1000  # in place of a gamma variable that rounds to 0


def projected(noisy: NDArray[Any], d: int, public: int | None) -> tuple[Floats, Floats, Floats]:
    """Project noisy sums: n, the rescaled columns' mean, and S, d rows with S'S = projected W."""
    noisy = np.asarray(noisy, dtype=np.float64)
    if public is None:
        n, noisy = np.maximum(noisy[..., 0], 1.0), noisy[..., 1:]
        most = n[..., None]
        squares = np.clip(noisy[..., d : 2 * d], 0.0, most)
        noisy = np.clip(noisy, -most, most)
        noisy[..., d : 2 * d] = squares
    else:
        n = np.full(noisy.shape[:-1], float(public))
    mean = noisy[..., :d] / n[..., None]
    second = np.empty((*n.shape, d, d))
    second[..., range(d), range(d)] = noisy[..., d : 2 * d]
    j, k = np.triu_indices(d, 1)
    second[..., j, k] = second[..., k, j] = noisy[..., 2 * d :]
    scatter = second - n[..., None, None] * mean[..., None] * mean[..., None, :]
    values, vectors = np.linalg.eigh(scatter)
    return n, mean, np.sqrt(np.maximum(values, 0.0))[..., None] * vectors.swapaxes(-1, -2)


def regression_posterior(
    prior: tuple[Any, ...], n: Floats, mean: Floats, rows: Floats, y: int, others: list[int]
) -> tuple[Floats, Floats, Floats]:
    """Posterior of a regression: v, a root R of L = R'R, and the scale of the variance's law."""
    (m0, k, _, b), d = prior, len(others) + 1
    each, start = np.sqrt(np.full(d, k)), np.full(d, m0)
    shape = (*n.shape, d + 1 + rows.shape[-2])
    design, target = np.zeros((*shape, d)), np.zeros(shape)
    design[..., :d, :], target[..., :d] = np.diag(each), each * start
    weight = np.sqrt(n)[..., None]
    design[..., d, 0], target[..., d] = weight[..., 0], weight[..., 0] * mean[..., y]
    design[..., d, 1:] = weight * mean[..., others]
    design[..., d + 1 :, 1:], target[..., d + 1 :] = rows[..., others], rows[..., y]
    q, root = np.linalg.qr(design)
    centre = np.linalg.solve(root, q.swapaxes(-1, -2) @ target[..., None])
    residual = target - (design @ centre)[..., 0]
    return centre[..., 0], root, b + np.sum(residual**2, axis=-1) / 2


def predictors_posterior(
    prior: tuple[Any, ...], n: Floats, mean: Floats, rows: Floats
) -> tuple[Floats, Floats]:
    """Posterior of the predictors: mean of mu, and a root R of the inverse-Wishart's scale R'R."""
    m, r, _, psi = prior
    p = mean.shape[-1]
    away, weight = mean - m, np.sqrt(r * n / (r + n))[..., None]
    known = np.broadcast_to(np.diag(np.sqrt(np.full(p, psi))), (*n.shape, p, p))
    stacked = np.concatenate([known, rows, (weight * away)[..., None, :]], axis=-2)
    root: Floats = np.linalg.qr(stacked).R
    return mean - away * (r / (r + n))[..., None], root


def drawn_regression(
    prior: tuple[Any, ...],
    n: Floats,
    mean: Floats,
    rows: Floats,
    y: int,
    others: list[int],
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """Draw the intercept, the slopes and sigma."""
    centre, root, scale = regression_posterior(prior, n, mean, rows, y, others)
    gamma = np.maximum(rng.standard_gamma(prior[2] + n / 2), _LEAST)
    sd = np.sqrt(scale / gamma)
    step = np.linalg.solve(root, rng.standard_normal(centre.shape)[..., None])[..., 0]
    coefficients = centre + sd[..., None] * step
    return coefficients[..., 0], coefficients[..., 1:], sd


def drawn_predictors(
    prior: tuple[Any, ...], n: Floats, mean: Floats, rows: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw mu and the lower triangular root of Sigma, with a positive diagonal."""
    _, r, nu, _ = prior
    centre, scale = predictors_posterior(prior, n, mean, rows)
    p = mean.shape[-1]
    # Bartlett: with B lower triangular, BB' is Wishart, and R'(BB')^-1 R inverse-Wishart.
    bartlett = np.tril(rng.standard_normal(scale.shape), -1)
    gamma = rng.standard_gamma((nu + n[..., None] - np.arange(p)) / 2)
    bartlett[..., range(p), range(p)] = np.sqrt(2 * np.maximum(gamma, _LEAST))
    upper = np.linalg.qr(np.linalg.solve(bartlett, scale)).R
    signs = np.where(np.diagonal(upper, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    root = (upper * signs[..., None]).swapaxes(-1, -2)
    step = np.einsum("...jk,...k->...j", root, rng.standard_normal(centre.shape))
    return centre + step / np.sqrt(r + n)[..., None], root


def bounded(around: Floats, sd: Floats, bounding: str, rng: np.random.Generator) -> Floats:
    """Draw normal values in [-1, 1]."""
    if bounding == "truncated":
        wide: Any = np.maximum(sd, NARROW)
        return truncated_normal(around, wide, 1.0, rng.uniform(size=around.shape))
    return np.clip(rng.normal(around, sd), -1.0, 1.0)
