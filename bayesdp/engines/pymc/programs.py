"""PyMC's programs, one function each, with the names of those in stan/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.engines.enumeration import Cells
from bayesdp.engines.pymc.sampling import import_pymc

if TYPE_CHECKING:
    import pymc as pm


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

    most = max(c.successes.size for c in cells)

    def padded(name: str, fill: float) -> Any:
        rows = [getattr(c, name) for c in cells]
        return np.stack([np.pad(row, (0, most - row.size), constant_values=fill) for row in rows])

    p = pt.atleast_1d(p)[:, None]
    terms = (
        padded("log_likelihood_weight", -np.inf)
        + padded("successes", 0.0) * pt.log(p)
        + padded("failures", 0.0) * pt.log1p(-p)
    )
    return pt.logsumexp(terms, axis=1)


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
    with pymc.Model() as model:
        beta = pymc.Normal("beta", data["prior_mean"], data["prior_sd"], shape=data["K"])
        eta = beta[data["first"] - 1] + beta[data["second"] - 1]
        if data["graphs"]:
            seen = (data["degrees"] * beta).sum() - data["graphs"] * pt.softplus(eta).sum()
        else:
            seen = pt.log1p(data["odds"] * pt.sigmoid(data["sign"] * eta)).sum()
        pymc.Potential("release", seen)
    return model
