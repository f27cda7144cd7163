"""PyMC's programs of tables and answers by log-linear and logistic models, counts summed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from bayesdp.engines.pymc.programs import in_a_matrix
from bayesdp.engines.pymc.sampling import import_pymc

if TYPE_CHECKING:
    import pymc as pm


def log_linear(
    data: Mapping[str, Any], terms: Sequence[str], scales: Sequence[str], cells: Sequence[str]
) -> pm.Model:
    """Model of a table's "beta", as stan/log_linear.stan.

    Parameters
    ----------
    data : mapping
        That program's data.
    terms, scales, cells : sequence of str
        Coordinates of the dimensions "term" of "beta", "scale" of "tau" and "cell" of
        "probability".
    """
    pymc = import_pymc()
    import pytensor.tensor as pt

    coords = {"term": list(terms), "cell": list(cells)}
    with pymc.Model(coords=coords | ({"scale": list(scales)} if scales else {})) as model:
        around = data["centre"], data["scale"]
        units = _about(pymc, "effect", data["prior_mean"], data["prior_sd"], *around)
        unit = np.ones(1)
        if scales:
            unit = pt.concatenate([unit, pymc.HalfNormal("tau", data["tau_scale"], dims="scale")])
        u = pymc.Deterministic("u", units * unit[data["owner"] - 1])
        pymc.Deterministic("beta", pt.dot(data["shown"], u), dims="term")
        log_rate = pt.dot(data["design"], u)
        pymc.Deterministic("probability", pt.exp(log_rate - pt.logsumexp(log_rate)), dims="cell")
        pymc.Potential("release", _counts_logp(data, log_rate))
    return model


def logistic_regression(data: Mapping[str, Any], coefficients: Sequence[str]) -> pm.Model:
    """Model of a logistic regression's "beta", as stan/logistic_regression.stan.

    Parameters
    ----------
    data : mapping
        That program's data.
    coefficients : sequence of str
        Coordinate of the dimension "coefficient" of "beta".
    """
    pymc = import_pymc()
    import pytensor.tensor as pt

    with pymc.Model(coords={"coefficient": list(coefficients)}) as model:
        around = data["centre"], data["scale"]
        rescaled = _about(pymc, "coefficient", data["prior_mean"], data["prior_sd"], *around)
        pymc.Deterministic("beta", pt.dot(data["shown"], rescaled), dims="coefficient")
        log_odds = pt.dot(data["predictors"], rescaled)
        log_frequency, all_of_them = pt.zeros(data["P"]), [rescaled]
        if data["F"]:
            around = data["frequency_centre"], data["frequency_scale"]
            frequency = _about(pymc, "frequency", 0.0, data["spread"], *around)
            log_frequency, all_of_them = log_frequency + frequency, [frequency, *all_of_them]
        if data["L"]:
            around = data["level_centre"], data["level_scale"]
            level = _about(pymc, "level", data["level_mean"], data["level_sd"], *around)
            log_frequency, all_of_them = log_frequency + level, [level[None], *all_of_them]
        if data["F"] and data["A"]:
            log_frequency -= pt.logsumexp(log_frequency)
        pymc.Deterministic("u", pt.concatenate(all_of_them))
        both = [log_frequency - pt.softplus(log_odds), log_frequency - pt.softplus(-log_odds)]
        log_rate = pt.stack(both, axis=1).flatten()
        if data["C"]:
            pymc.Potential("release", _counts_logp(data, log_rate))
        else:
            pymc.Potential("release", _answers_logp(data, log_rate))
    return model


def _about(pymc: Any, name: str, mean: Any, sd: Any, centre: Any, scale: Any) -> Any:
    """Normal variables, sampled about a centre in units of a scale."""
    z = pymc.Normal(
        f"{name}_z", (mean - centre) / scale, sd / scale, initval=np.zeros(np.shape(centre))
    )
    return pymc.Deterministic(name, centre + scale * z)


def _counts_logp(data: Mapping[str, Any], log_rate: Any) -> Any:
    """Log Pr[outputs | log rates], each cell's Poisson count summed out."""
    import pytensor.tensor as pt

    cuts = data["last"][:-1]
    log_weight = data["log_law"] - special.gammaln(data["x"] + 1)
    log_weight = in_a_matrix(np.split(log_weight, cuts), -np.inf)
    x = in_a_matrix(np.split(data["x"], cuts), 0.0)
    seen = pt.logsumexp(log_weight + x * log_rate[:, None], axis=1)
    return (seen - pt.exp(log_rate)).sum()


def _answers_logp(data: Mapping[str, Any], log_rate: Any) -> Any:
    """Log Pr[answers | log rates], each record's cell summed out."""
    import pytensor.tensor as pt

    shape = data["A"], -1  # as many cells for each
    rates = pt.exp(log_rate)[data["cell"].reshape(shape) - 1]
    chances = (data["weight"].reshape(shape) * rates).sum(axis=1)
    return (data["counts"] * pt.log(chances)).sum()
