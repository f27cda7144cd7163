"""PyMC's programs, one function each, with the names of those in stan/."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.enumeration import Cells
from bayesdp.engines.pymc.sampling import import_pymc

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]
_SMALLEST = -600.0  # log of alpha or beta; below, every count is 0, or n: but for e^-500


def binomial(
    cells: Sequence[Cells], prior: tuple[float, float], groups: Sequence[Any] | None
) -> pm.Model:
    """Model of proportions whose counts are confidential, summed out; as stan/binomial.stan.

    Parameters
    ----------
    cells : sequence of Cells
        One element a group.
    prior : tuple of two floats
        Parameters of the beta prior of every proportion.
    groups : sequence or None
        Coordinate of the dimension "group" of the variable "p"; None for a single proportion.
    """
    pymc = import_pymc()
    dims = None if groups is None else "group"
    with pymc.Model(coords=None if groups is None else {"group": groups}) as model:
        p = pymc.Beta("p", *prior, dims=dims)
        pymc.Potential("release", latent_count_logp(p, cells).sum())
    return model


def latent_count_logp(p: Any, cells: Sequence[Cells]) -> Any:
    """Log Pr[outputs | p] of every group, the latent count summed out, as a PyTensor expression.

    Parameters
    ----------
    p : tensor, scalar or shape (groups,)
        Proportions.
    cells : sequence of Cells
        One element a group.

    Returns
    -------
    tensor, shape (groups,)
    """
    import pytensor.tensor as pt

    log_weight, successes, failures = _padded(cells)
    p = pt.atleast_1d(p)[:, None]
    terms = log_weight + successes * pt.log(p) + failures * pt.log1p(-p)
    return pt.logsumexp(terms, axis=1)


def _padded(cells: Sequence[Cells]) -> list[Floats]:
    """Log weights, successes and failures, shape (groups, cells), filled up by impossible cells."""
    fills = {"log_likelihood_weight": -np.inf, "successes": 0.0, "failures": 0.0}
    return [in_a_matrix([getattr(c, name) for c in cells], fills[name]) for name in fills]


def in_a_matrix(rows: Sequence[Floats], fill: float) -> Floats:
    """Stack rows of different lengths, the shorter ones filled up at their ends."""
    most = max(row.size for row in rows)
    return np.stack([np.pad(row, (0, most - row.size), constant_values=fill) for row in rows])


def hierarchical_binomial(
    cells: Sequence[Cells],
    prior: tuple[float, float],
    concentration: float,
    groups: Sequence[Any],
) -> pm.Model:
    """Model of the population of groups; as stan/hierarchical_binomial.stan, but without "p".

    Parameters
    ----------
    cells : sequence of Cells
        One element a group.
    prior : tuple of two floats
        Parameters of the beta prior of "mean".
    concentration : float
        Prior median of kappa.
    groups : sequence
        Coordinate of the dimension "group" of "release", log Pr[outputs | mean, kappa] by group.
    """
    import pytensor.tensor as pt

    pymc = import_pymc()
    with pymc.Model(coords={"group": groups}) as model:
        u = pymc.CustomDist("logit_mean", *prior, logp=_logit_beta_logp, random=_logit_beta)
        v = pymc.Logistic("log_kappa", math.log(concentration), 1.0)
        log_m, log_rest = -pt.softplus(-u), -pt.softplus(u)
        pymc.Deterministic("mean", pt.sigmoid(u))
        pymc.Deterministic("sd", pt.exp((log_m + log_rest - pt.softplus(v)) / 2))
        alpha, beta = (pt.exp(pt.maximum(log + v, _SMALLEST)) for log in (log_m, log_rest))
        log_weight, successes, failures = _padded(cells)
        terms = log_weight + _log_beta(successes + alpha, failures + beta) - _log_beta(alpha, beta)
        pymc.Potential("release", pt.logsumexp(terms, axis=1), dims="group")
    return model


def _logit_beta_logp(u: Any, a: Any, b: Any) -> Any:
    """Log density of the logit of a beta variable, which is right where that rounds to 0 or 1."""
    import pytensor.tensor as pt

    return -a * pt.softplus(-u) - b * pt.softplus(u) - _log_beta(a, b)


def _logit_beta(a: Any, b: Any, rng: Any = None, size: Any = None) -> Any:
    p = rng.beta(a, b, size=size)
    return np.log(p) - np.log1p(-p)


def _log_beta(a: Any, b: Any) -> Any:
    import pytensor.tensor as pt

    return pt.gammaln(a) + pt.gammaln(b) - pt.gammaln(a + b)


def poisson(
    data: Mapping[str, Any], groups: Sequence[Any] | None, areas: Sequence[Any]
) -> pm.Model:
    """Model of rates of events whose counts are confidential, summed out; as stan/poisson.stan.

    Parameters
    ----------
    data : mapping
        That program's data.
    groups : sequence or None
        Coordinate of the dimension "group" of the variable "rate"; None where there are no groups.
    areas : sequence
        Coordinate of its dimension "area".
    """
    import pytensor.tensor as pt

    pymc = import_pymc()
    dims = ("area",) if groups is None else ("group", "area")
    coords = {"area": list(areas), **({} if groups is None else {"group": groups})}
    shape = [len(coords[dim]) for dim in dims]
    cuts = np.ravel(data["last"])[:-1]
    log_weight = in_a_matrix(np.split(data["log_weight"], cuts), -np.inf)
    events = in_a_matrix(np.split(data["events"], cuts), 0.0)
    with pymc.Model(coords=coords) as model:
        rate = pymc.Gamma("rate", alpha=data["prior_shape"], beta=data["prior_rate"], dims=dims)
        terms = log_weight + events * pt.log(rate).flatten()[:, None]
        seen = pt.logsumexp(terms, axis=1).reshape(shape)
        pymc.Potential("release", seen - data["expected"].reshape(shape) * rate, dims=dims)
    return model


def ergm_dyads(data: Mapping[str, Any], terms: Sequence[str]) -> pm.Model:
    """Model of a graph's coefficients with independent dyads, as stan/ergm_dyads.stan.

    Parameters
    ----------
    data : mapping
        That program's data.
    terms : sequence of str
        Coordinate of the dimension "term" of the variable "theta".
    """
    import pytensor.tensor as pt

    pymc = import_pymc()
    centre, scale = data["centre"], data["scale"]
    with pymc.Model(coords={"term": list(terms)}) as model:
        # theta ~ Normal(prior_mean, prior_sd) in its own units.
        z = pymc.Normal(
            "z",
            (data["prior_mean"] - centre) / scale,
            data["prior_sd"] / scale,
            initval=np.zeros(len(terms)),
            dims="term",
        )
        theta = pymc.Deterministic("theta", centre + scale * z, dims="term")
        log_z = 0.0
        for changes, shift in zip(data["changes"], data["shift"], strict=True):
            log_z += pt.softplus(pt.dot(changes, theta) + shift - log_z)
        # Sums of products become one loop; the dot of two long vectors takes six times as long.
        seen = (data["observed"] * theta).sum() + (data["weight"] * log_z).sum()
        pymc.Potential("release", seen)
    return model


def beta_model(data: Mapping[str, Any]) -> pm.Model:
    """Model of a beta-model's "beta", as stan/beta_model.stan; data is that program's."""
    import pytensor.tensor as pt

    pymc = import_pymc()
    of_all, sides = (data["prior_mean"], data["prior_sd"]), data["sides"]
    with pymc.Model() as model:
        if data["prior_spread"]:
            mean = pymc.Normal("mean", *of_all, shape=1)
            spread = pymc.HalfNormal("spread", data["prior_spread"], shape=sides)
            z = pymc.Normal("z", shape=data["K"])
            beta = pymc.Deterministic("beta", mean + pt.repeat(spread, data["K"] // sides) * z)
        else:
            beta = pymc.Normal("beta", *of_all, shape=data["K"])
        eta = beta[data["first"] - 1] + beta[data["second"] - 1]
        if data["graphs"]:
            seen = (data["degrees"] * beta).sum() - data["graphs"] * pt.softplus(eta).sum()
        else:
            seen = pt.log1p(data["odds"] * pt.sigmoid(data["sign"] * eta)).sum()
        pymc.Potential("release", seen)
    return model
