"""Draws of an ERGM's coefficients by the samplers of `bayesdp.networks`, and their diagnoses."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

from bayesdp.engines.draws import Draws
from bayesdp.networks.auxiliary import UNRELIABLE
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior


def sample_jointly(formula: str, nodes: Network, evidence: Evidence, **options: Any) -> Draws:
    """Draw coefficients and the hidden graph; options are those of `sample_hidden`."""
    from bayesdp.networks.hidden.sampling import sample_hidden

    with warnings.catch_warnings():  # the verdict has them all, and warns once
        warnings.filterwarnings("ignore", UNRELIABLE)
        chains = sample_hidden(formula, nodes, evidence, **options)
    stats = {"acceptance_rate": chains.accepted, "hidden_density": chains.density}
    if chains.constant.proposals:
        stats["auxiliary_density"] = chains.auxiliary_density
    posterior = {"theta": chains.theta, "statistics": chains.statistics}
    told = {"auxiliary": str(chains.constant.kind)}
    return Draws(posterior, stats, "exchange", _versions(), tuple(chains.problems), told)


def sample_observed(formula: str, network: Network, *, prior: NormalPrior, **options: Any) -> Draws:
    """Draw coefficients given an observed graph; options are those of `BayesianERGM.fit`."""
    from bayesdp.networks.bayesian import BayesianERGM

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", UNRELIABLE)
        idata = BayesianERGM(formula, prior).fit(network, **options)
    stats = {name: idata.sample_stats[name].to_numpy() for name in idata.sample_stats}
    posterior = {"theta": idata.posterior["theta"].to_numpy()}
    doubts, told = json.loads(idata.attrs["problems"]), {"auxiliary": idata.attrs["auxiliary"]}
    return Draws(posterior, stats, "exchange", _versions(), tuple(doubts), told)


def _versions() -> dict[str, str]:
    import numba

    return {"numba": numba.__version__, "numpy": np.__version__}
