r"""Law of regression records' moments given what was released of them, and its gradient.

Records (x, y) have d = p + 1 columns; of n of them the moments are t, the sums of columns, and the
sums of squares and products, which are W + t t' / n with W the scatter around the mean. With

    x ~ N(mu, Sigma),    y | x ~ N(c_0 + c'x, sigma^2),
    Sigma ~ InverseWishart(nu, diag(psi)),  mu ~ N(m, Sigma / r),
    sigma^2 ~ InverseGamma(a, b),  (c_0, c) ~ N(m0, sigma^2 diag(k)^-1),

all parameters integrate out. The density of records depends on them through the moments alone, so
that of the moments is it times a measure h, for n >= d + 1, which follows from records that are
standard normal, whose t ~ N(0, n) and W ~ Wishart(n - 1) are independent:

    h = pi^((n - 1) d / 2) n^(-d / 2) |W|^((n - d - 2) / 2) / Gamma_d((n - 1) / 2),

and the density of records is the ratio of what normalises the conjugate posterior and prior:

    pi^(-n p / 2) Gamma_p((nu + n) / 2) / Gamma_p(nu / 2) (r / (r + n))^(p / 2)
        |diag(psi)|^(nu / 2) / |Psi|^((nu + n) / 2)
    (2 pi)^(-n / 2) (|diag(k)| / |L|)^(1 / 2) Gamma(a + n / 2) / Gamma(a) b^a / B^(a + n / 2),

    Psi = diag(psi) + W_xx + r n / (r + n) (x_ - m)(x_ - m)',    L = diag(k) + sum (1, x)(1, x)',

and B, b plus half of what is left of y: the last pivot of the whole matrix of moments, the prior's
among them, is twice it.

Noise is treated as continuous, which makes no difference where the lattice is far finer than the
noise; that of n is discrete.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.regression.coefficients_law import coefficients_law
from bayesdp.kernels.regression.factors import factor, inverse_of

Floats = NDArray[np.float64]
Seen = tuple[Floats, Floats, NDArray[np.bool_], float]
"""Noisy numbers, shape (numbers, copies), and of each copy the noise's scale, and whether it is
Gaussian; and the ridge penalty where they are coefficients, 0 where they are the moments."""
Prior = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""m0, k, (a, b), m, (r, nu), psi."""


@kernel
def _log_multigamma(x: float, d: int) -> float:
    total = d * (d - 1) / 4 * math.log(math.pi)
    for j in range(d):
        total += math.lgamma(x - j / 2)
    return total


@kernel
def _constant(n: float, d: int, k: Floats, ab: Floats, r: float, nu: float, psi: Floats) -> float:
    """Terms of the density that depend on n and the priors alone."""
    p = d - 1
    total: float = (n - 1) * d / 2 * math.log(math.pi) - d / 2 * math.log(n)
    total -= _log_multigamma((n - 1) / 2, d) + n * p / 2 * math.log(math.pi)
    total += _log_multigamma((nu + n) / 2, p) - _log_multigamma(nu / 2, p)
    total += p / 2 * math.log(r / (r + n)) - n / 2 * math.log(2 * math.pi)
    total += math.lgamma(ab[0] + n / 2) - math.lgamma(ab[0]) + ab[0] * math.log(ab[1])
    for j in range(p):
        total += nu / 2 * math.log(psi[j])
    for j in range(d):
        total += math.log(k[j]) / 2
    return total


@kernel
def log_noise(
    z: Floats, value: float, scale: Floats, gaussian: NDArray[np.bool_]
) -> tuple[float, float]:
    """Log-density of noisy numbers given the number, and its derivative."""
    law, slope = 0.0, 0.0
    for copy in range(z.size):
        away = (z[copy] - value) / scale[copy]
        if gaussian[copy]:
            law -= away * away / 2
            slope += away / scale[copy]
        else:
            law -= abs(away)
            slope += (1.0 if away > 0 else -1.0) / scale[copy]
    return law, slope


@kernel
def moments_density(
    n: float,
    mean: Floats,
    scatter: Floats,
    seen: Seen,
    prior: Prior,
) -> tuple[float, Floats, Floats]:
    """Log p(outputs, moments | n) without |W|^((n - d - 2) / 2), and its slope in mean and W.

    The slope in W is a symmetric matrix G: W moved by H moves the log density by tr(G H).
    Where rounding leaves no density, it is -inf.
    """
    outputs, scale, gaussian, penalty = seen
    m0, k, ab, m, rest, psi = prior
    d = mean.size
    p, r, nu = d - 1, rest[0], rest[1]
    total = _constant(n, d, k, ab, r, nu, psi)
    at_mean, at_scatter = np.zeros(d), np.zeros((d, d))
    weight = r * n / (r + n)
    predictors = np.empty((p, p))
    for i in range(p):
        for j in range(p):
            predictors[i, j] = scatter[i, j] + weight * (mean[i] - m[i]) * (mean[j] - m[j])
        predictors[i, i] += psi[i]
    whole = np.empty((d + 1, d + 1))
    whole[0, 0] = n + k[0]
    for i in range(d):
        whole[i + 1, 0] = n * mean[i]
        for j in range(i + 1):
            whole[i + 1, j + 1] = scatter[i, j] + n * mean[i] * mean[j]
        if i < p:
            whole[i + 1, i + 1] += k[i + 1]
    whole[d, 0] += k[0] * m0[0]
    whole[d, d] += k[0] * m0[0] * m0[0]
    for i in range(1, d):
        whole[d, i] += k[i] * m0[i]
        whole[d, d] += k[i] * m0[i] * m0[i]
    log_predictors, log_design = factor(predictors, p), factor(whole, d)
    if log_predictors == -np.inf or log_design == -np.inf:
        return -np.inf, at_mean, at_scatter
    left = ab[1] + whole[d, d] * whole[d, d] / 2
    shape = ab[0] + n / 2
    total -= (nu + n) / 2 * log_predictors + log_design / 2 + shape * math.log(left)

    inverse = inverse_of(predictors, p)
    for i in range(p):
        for j in range(p):
            at_scatter[i, j] -= (nu + n) / 2 * inverse[i, j]
            at_mean[i] -= (nu + n) * weight * inverse[i, j] * (mean[j] - m[j])
    inverse = inverse_of(whole, d)
    for i in range(p):
        at_mean[i] -= n * inverse[0, i + 1]
        for j in range(p):
            at_scatter[i, j] -= inverse[i + 1, j + 1] / 2
            at_mean[i] -= n * inverse[i + 1, j + 1] * mean[j]
    residual = np.empty(d + 1)  # of y, as a combination of (1, x, y)
    residual[d] = 1.0
    for i in range(d - 1, -1, -1):
        entry = whole[d, i]
        for j in range(i + 1, d):
            entry += whole[j, i] * residual[j]
        residual[i] = -entry / whole[i, i]
    along = residual[0]
    for j in range(d):
        along += residual[j + 1] * mean[j]
    for i in range(d):
        at_mean[i] -= shape / left * n * along * residual[i + 1]
        for j in range(d):
            at_scatter[i, j] -= shape / left / 2 * residual[i + 1] * residual[j + 1]

    if penalty > 0.0:
        total += coefficients_law(n, mean, scatter, outputs, scale, penalty, at_mean, at_scatter)
        return total, at_mean, at_scatter
    place = 2 * d
    for i in range(d):
        law, slope = log_noise(outputs[i], n * mean[i], scale, gaussian)
        total += law
        at_mean[i] += n * slope
        square = scatter[i, i] + n * mean[i] * mean[i]
        law, slope = log_noise(outputs[d + i], square, scale, gaussian)
        total += law
        at_scatter[i, i] += slope
        at_mean[i] += 2 * n * slope * mean[i]
        for j in range(i + 1, d):
            product = scatter[i, j] + n * mean[i] * mean[j]
            law, slope = log_noise(outputs[place], product, scale, gaussian)
            place += 1
            total += law
            at_scatter[i, j] += slope / 2
            at_scatter[j, i] += slope / 2
            at_mean[i] += n * slope * mean[j]
            at_mean[j] += n * slope * mean[i]
    return total, at_mean, at_scatter
