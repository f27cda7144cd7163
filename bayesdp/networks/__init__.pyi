"""Public names, and the modules that they live in."""

from .bayesian import BayesianERGM as BayesianERGM
from .beta_model import BetaModelFit as BetaModelFit
from .beta_model import fit_beta_model as fit_beta_model
from .degree_sequences import degrees as degrees
from .degree_sequences import is_graphical as is_graphical
from .degree_sequences import network_with_degrees as network_with_degrees
from .degree_sequences import project_to_graphical as project_to_graphical
from .formula import statistics as statistics
from .goodness import GoodnessOfFit as GoodnessOfFit
from .goodness import goodness_of_fit as goodness_of_fit
from .maximum_likelihood import fit_mle as fit_mle
from .network import Network as Network
from .prior import NormalPrior as NormalPrior
from .pseudolikelihood import Fit as Fit
from .pseudolikelihood import fit_mple as fit_mple
from .simulation import Simulation as Simulation
from .simulation import simulate as simulate
