r"""Exponential random graph models of independent dyads, each of which is seen through noise.

With o_d = log Pr[seen | tie] - log Pr[seen | no tie] of dyad d, the hidden graph sums out:

    log Pr[seen | theta]  =  sum over dyads d of  softplus(eta_d + o_d) - softplus(eta_d)

with eta_d = theta . x_d, up to a constant; pairs of dyads that `mutual` joins are summed over
their four states (`bayesdp.networks.dyad_table`). There is no latent graph to sample.

Far from the data the likelihood is flat instead of falling: every dyad is tied, or none is, and
going further changes nothing. So a prior that is wide in an attribute's units can outweigh the
data: scale the prior to those units, or the attribute to a standard deviation of one. NUTS runs in
theta minus a mode of its posterior, divided by its sd there; chains start and scale their steps
accordingly, and the posterior stays the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayesdp.engines.draws import Draws
from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.dyad_table import DyadTable, hidden_table, is_pairwise
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.formula import BoundFormula, bind
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior
from bayesdp.networks.pseudolikelihood import Fit, inverse

Floats = NDArray[np.float64]

_FLAT = 1e-7  # share of the information at even odds that a maximum keeps at least
_DECREMENT = 1e-8  # what a Newton step could still gain of log-likelihood at a maximum


def is_closed(bound: BoundFormula, evidence: Evidence) -> bool:
    """Return True if the hidden graph sums out: dyads or pairs are independent given outputs."""
    return is_pairwise(bound) and evidence.dyadwise


def sample_dyads(
    formula: str,
    nodes: Network,
    evidence: Evidence,
    prior: NormalPrior,
    *,
    engine: str,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
    progress: bool | None = None,
    **settings: Any,
) -> Draws:
    """Draw coefficients given what was seen of a hidden graph, by NUTS.

    Parameters
    ----------
    formula : str
        A formula that `is_closed` with this evidence.
    nodes : Network
        The nodes and their public attributes; its ties aren't read.
    evidence : Evidence
        Joint evidence of all copies (`networks.evidence.together`).
    prior : NormalPrior
    engine : {"pymc", "stan"}
    draws, chains, warmup : int
    seed : int or None
    progress : bool or None
    **settings
        The engine's settings (`bayesdp.engines.settings`).

    Returns
    -------
    Draws
        "theta", shape (chains, draws, terms).

    Raises
    ------
    InvalidInput
        If there is no closed likelihood, or the evidence is of other nodes.
    MissingDependency, EngineFailed
        If the engine isn't installed or stops.
    """
    table = hidden_table(bind(formula, nodes), nodes, evidence)
    options = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed}
    return sample_table(table, prior, engine=engine, progress=progress, **options, **settings)


def sample_table(table: DyadTable, prior: NormalPrior, *, engine: str, **options: Any) -> Draws:
    """Draw from the posterior whose likelihood is a table; options as for `sample_dyads`."""
    options |= {"variables": ["theta"]}
    if engine == "pymc":
        from bayesdp.engines.pymc import sampling as pymc

        return pymc.sample(pymc_model(table, prior), **options)
    if engine == "stan":
        from bayesdp.engines.stan import sampling as stan

        return stan.sample("ergm_dyads", stan_data(table, prior), **options)
    raise InvalidInput(f"engine is {quoted(engine)}; it must be 'pymc' or 'stan'")


def pymc_model(table: DyadTable, prior: NormalPrior) -> Any:
    """Build the model as a pm.Model, with "theta" of dimension "term"."""
    from bayesdp.engines.pymc.programs import ergm_dyads

    return ergm_dyads(stan_data(table, prior), table.names)


def stan_data(table: DyadTable, prior: NormalPrior) -> dict[str, Any]:
    """Build the data of the Stan program `ergm_dyads`, which the PyMC program reads too."""
    mean, sd = prior.of(len(table.names))
    centre, information = climb(table, mean, 1.0 / sd**2)
    rows, states, terms = table.changes.shape
    return {
        "R": rows,
        "S": states,
        "T": terms,
        "changes": np.moveaxis(table.changes, 1, 0),
        "shift": table.offset.T,
        "weight": table.weight,
        "observed": table.observed,
        "prior_mean": mean,
        "prior_sd": sd,
        "centre": centre,
        "scale": _scale(information, sd),
    }


def fit_mle(table: DyadTable) -> Fit:
    """Fit by maximum likelihood, the covariance by the observed information.

    Raises
    ------
    InvalidInput
        If there is no maximum at finite coefficients, or no single one.
    """
    zero = np.zeros(len(table.names))
    theta, information = climb(table, zero, zero)
    gradient = table.derivatives(theta)[1]
    even = _information_at_even_odds(table)
    units = 1.0 / np.sqrt(np.where(even > 0, even, 1.0))
    curvature = np.linalg.eigvalsh(information * np.outer(units, units))[0]
    if curvature < _FLAT or gradient @ np.linalg.solve(information, gradient) > _DECREMENT:
        raise InvalidInput(
            f"the likelihood of {', '.join(table.names)} has no single maximum at finite "
            "coefficients: a statistic repeats others, or what was seen is as if no dyad, or each, "
            "were tied; leave a term out, or fit with a prior"
        )
    return Fit(table.names, theta, inverse(information), "maximum likelihood", zero)


def climb(table: DyadTable, mean: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Maximise log L(theta) - sum precision (theta - mean)**2 / 2; return it and minus its Hessian.

    It uses a trust region from the mean, since log L isn't concave, in units of the posterior sd
    under known dyads at even odds. Where there is no maximum it stops far out.
    """
    even = _information_at_even_odds(table) + precision
    units = 1.0 / np.sqrt(np.where(even > 0, even, 1.0))

    def downhill(u: Floats) -> tuple[float, Floats]:
        step = units * u
        value, gradient, _ = table.derivatives(mean + step)
        return float(precision @ step**2) / 2 - value, units * (precision * step - gradient)

    def curvature(u: Floats) -> Floats:
        hessian = table.derivatives(mean + units * u)[2]
        return np.outer(units, units) * (np.diag(precision) - hessian)

    start: Any = np.zeros(len(mean))
    options: Any = {"gtol": 1e-7}
    top: Floats = optimize.minimize(
        downhill, start, jac=True, hess=curvature, method="trust-exact", options=options
    ).x
    information = curvature(top)
    if np.linalg.eigvalsh(information)[0] > _FLAT:  # digits below the noise of log L itself
        top = top - np.linalg.solve(information, downhill(top)[1])
        information = curvature(top)
    return mean + units * top, information / np.outer(units, units)


def _information_at_even_odds(table: DyadTable) -> Floats:
    """Diagonal of the information of known dyads with odds of one, shape (terms,)."""
    return np.asarray(np.einsum("r,rst->t", np.maximum(-table.weight, 0.0), table.changes**2) / 4.0)


def _scale(information: Floats, sd: Floats) -> Floats:
    """Posterior sds by the curvature at the mode; the prior's where that isn't a maximum."""
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return sd
    return np.minimum(np.sqrt(np.diag(np.linalg.inv(information))), sd)
