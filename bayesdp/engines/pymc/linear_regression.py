"""The PyMC program of a linear regression, with latent moments between it and a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.engines.pymc.sampling import import_pymc

if TYPE_CHECKING:
    import pymc as pm


def linear_regression(data: Mapping[str, Any], coefficients: Sequence[str]) -> pm.Model:
    """Model of a regression's "beta" and "sigma", and "n" if it is unknown.

    It is stan/linear_regression.stan, which says what is latent.

    Parameters
    ----------
    data : mapping
        That program's data.
    coefficients : sequence of str
        Coordinate of the dimension "coefficient" of "beta".
    """
    pymc = import_pymc()
    import pytensor.tensor as pt

    unknown = data["n_low"] < data["n_high"]
    with pymc.Model(coords={"coefficient": list(coefficients)}) as model:
        q = pymc.Flat("q", shape=len(data["origin"]), initval=np.zeros(len(data["origin"])))
        more = pymc.Flat("more", initval=0.0)
        away = pymc.Normal("away", dims="coefficient")
        u = data["origin"] + pt.dot(data["rotation"], q)
        v = pt.constant(np.float64(data["n_low"]))
        if unknown:
            v = v - 1 + (data["n_high"] - data["n_low"] + 2) * pt.sigmoid(u[-1])
        usual = data["a"] + v / 2
        log_precision = pt.log(usual) + more / pt.sqrt(usual)
        if unknown:
            density, factor, n = _mixed(pymc, data, v, u, log_precision)
        else:
            density, factor = _given_size(data, v, u, log_precision)
        pymc.Potential("release", density - pt.log(usual) / 2)
        left = data["b"] + factor[-1, -1] ** 2 / 2
        sd = pt.sqrt(left / pt.exp(log_precision))
        steps = factor[-1, :-1] + sd * away
        scaled = pt.linalg.solve_triangular(factor[:-1, :-1].T, steps, lower=False)
        pymc.Deterministic(
            "beta", data["shift"] + pt.dot(data["units"], scaled), dims="coefficient"
        )
        pymc.Deterministic("sigma", data["unit"] * sd)
        if unknown:
            pymc.Deterministic("n", n)
    return model


def _mixed(
    pymc: Any, data: Mapping[str, Any], v: Any, u: Any, log_precision: Any
) -> tuple[Any, Any, Any]:
    """Sum the density over the two n beside v, of which "place" chooses one."""
    import pytensor.tensor as pt

    low = pt.floor(v)
    lower, upper = pt.maximum(low, data["n_low"]), pt.minimum(low + 1, data["n_high"])
    below, factor = _given_size(data, lower, u, log_precision)
    above, other = _given_size(data, upper, u, log_precision)
    below += _size_logp(data, lower) + pt.log1p(low - v)
    above += _size_logp(data, upper) + pt.log(v - low)
    below = pt.switch(pt.eq(lower, low), below, -np.inf)
    above = pt.switch(pt.eq(upper, low + 1), above, -np.inf)
    stretch = -pt.softplus(-u[-1]) - pt.softplus(u[-1])
    whole = pt.logaddexp(below, above)
    second = pymc.Uniform("place") < pt.exp(above - whole)
    return whole + stretch, pt.switch(second, other, factor), low + second


def _given_size(data: Mapping[str, Any], n: Any, u: Any, log_precision: Any) -> tuple[Any, Any]:
    """Log density of the coordinates and of what was released, given n, and the sums' factor."""
    import pytensor.tensor as pt

    d, base, by_column = data["d"], data["base"], data["penalty"] > 0
    m0, k, a, m, r, nu = (data[name] for name in ("m0", "k", "a", "m", "r", "nu"))
    p = d - 1
    mean = data["centre"] + pt.dot(base, u[:d])
    free = u[d : 2 * d]
    size = pt.softplus(free)
    i, j = np.tril_indices(d, -1)
    unit = pt.set_subtensor(pt.eye(d)[i, j], u[2 * d : 2 * d + len(i)])
    root = pt.dot(base, unit * size[None, :] if by_column else size[:, None] * unit)
    covariance = pt.dot(root, root.T)
    centre = pt.concatenate([np.ones(1), mean])
    sums = n * pt.outer(centre, centre)
    sums = pt.set_subtensor(sums[1:, 1:], sums[1:, 1:] + n * covariance)
    both = np.column_stack([np.eye(d), m0])
    factor = _cholesky(sums + both.T @ np.diag(k) @ both)
    out = mean[:p] - m
    spread = n * covariance[:p, :p] + r * n / (r + n) * pt.outer(out, out) + np.diag(data["psi"])
    times = n + d - 3 - 2 * np.arange(d) if by_column else n - 2
    density = n * d / 2 * pt.log(n) + n * np.log(np.diag(base)).sum()
    density += -_log_multigamma((n - 1) / 2, d) - n / 2 * np.log(2.0) - pt.softplus(-free).sum()
    density += (times * pt.log(size)).sum()
    density += _log_multigamma((nu + n) / 2, p) - p * pt.log(r + n) / 2
    density -= (nu + n) * pt.log(pt.diag(_cholesky(spread))).sum()
    density -= pt.log(pt.diag(factor)[:d]).sum()
    left = data["b"] + factor[d, d] ** 2 / 2
    density += (a + n / 2) * (log_precision - pt.log(left)) - pt.exp(log_precision)
    return density + _release_logp(data, _released_numbers(sums, data["penalty"])), factor


def _released_numbers(sums: Any, penalty: float) -> Any:
    """Numbers that noise was added to: sums, or the coefficients of a ridge regression."""
    import pytensor.tensor as pt

    if penalty > 0:
        d = sums.type.shape[0] - 1
        lower = _cholesky(sums[:d, :d] + penalty * np.eye(d))
        half = pt.linalg.solve_triangular(lower, sums[:d, d], lower=True)
        return pt.linalg.solve_triangular(lower.T, half, lower=False)
    d = sums.type.shape[0] - 1
    i, j = np.triu_indices(d, 1)
    return pt.concatenate([sums[1:, 0], pt.diag(sums)[1:], sums[i + 1, j + 1]])


def _release_logp(data: Mapping[str, Any], numbers: Any) -> Any:
    """Log density of the noisy versions of all numbers, up to a constant."""
    import pytensor.tensor as pt

    away = (data["z"] - numbers[:, None]) / data["scale"]
    return pt.where(data["laplace"] == 1, -pt.abs(away), -(away**2) / 2).sum()


def _size_logp(data: Mapping[str, Any], n: Any) -> Any:
    import pytensor.tensor as pt

    away = (data["noisy_n"] - n) / data["scale"]
    return pt.where(data["laplace"] == 1, -pt.abs(away), -(away**2) / 2).sum()


def _log_multigamma(x: Any, d: int) -> Any:
    """Log of the multivariate gamma function, up to a constant."""
    import pytensor.tensor as pt

    return sum(pt.gammaln(x - np.float64(j / 2)) for j in range(d))


def _cholesky(matrix: Any) -> Any:
    import pytensor.tensor as pt

    return pt.linalg.cholesky(matrix, on_error="nan")
