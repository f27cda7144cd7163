"""Networks: graphs, exponential random graph models, and their samplers; nothing of privacy."""

from bayesdp.networks.bayesian import BayesianERGM, Normal
from bayesdp.networks.formula import statistics
from bayesdp.networks.goodness_of_fit import GoodnessOfFit, goodness_of_fit
from bayesdp.networks.maximum_likelihood import fit_mle
from bayesdp.networks.network import Network
from bayesdp.networks.pseudolikelihood import Fit, fit_mple
from bayesdp.networks.simulation import Simulation, simulate

__all__ = [
    "BayesianERGM",
    "Fit",
    "GoodnessOfFit",
    "Network",
    "Normal",
    "Simulation",
    "fit_mle",
    "fit_mple",
    "goodness_of_fit",
    "simulate",
    "statistics",
]
