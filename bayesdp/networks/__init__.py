"""Networks: graphs, exponential random graph models, and their samplers; nothing of privacy.

Names are loaded when first used: a release of a graph needs no sampler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesdp.networks.bayesian import BayesianERGM
    from bayesdp.networks.beta_model import BetaModelFit, fit_beta_model
    from bayesdp.networks.degree_sequences import (
        degrees,
        is_graphical,
        network_with_degrees,
        project_to_graphical,
    )
    from bayesdp.networks.formula import statistics
    from bayesdp.networks.goodness import GoodnessOfFit, goodness_of_fit
    from bayesdp.networks.maximum_likelihood import fit_mle
    from bayesdp.networks.network import Network
    from bayesdp.networks.prior import Normal
    from bayesdp.networks.pseudolikelihood import Fit, fit_mple
    from bayesdp.networks.simulation import Simulation, simulate

_HOME = {
    "BayesianERGM": "bayesian",
    "BetaModelFit": "beta_model",
    "Fit": "pseudolikelihood",
    "GoodnessOfFit": "goodness",
    "Network": "network",
    "Normal": "prior",
    "Simulation": "simulation",
    "degrees": "degree_sequences",
    "fit_beta_model": "beta_model",
    "fit_mle": "maximum_likelihood",
    "fit_mple": "pseudolikelihood",
    "goodness_of_fit": "goodness",
    "is_graphical": "degree_sequences",
    "network_with_degrees": "degree_sequences",
    "project_to_graphical": "degree_sequences",
    "simulate": "simulation",
    "statistics": "formula",
}

__all__ = [
    "BayesianERGM",
    "BetaModelFit",
    "Fit",
    "GoodnessOfFit",
    "Network",
    "Normal",
    "Simulation",
    "degrees",
    "fit_beta_model",
    "fit_mle",
    "fit_mple",
    "goodness_of_fit",
    "is_graphical",
    "network_with_degrees",
    "project_to_graphical",
    "simulate",
    "statistics",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bayesdp.networks' has no attribute {name!r}")
    value = getattr(import_module(f"bayesdp.networks.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
