"""Public names, and the modules that they live in."""

from .engines.mixture import BetaMixture as BetaMixture
from .inference.counts.binomial import BinomialModel as BinomialModel
from .inference.counts.hierarchical_binomial import (
    HierarchicalBinomialModel as HierarchicalBinomialModel,
)
from .inference.counts.multinomial import MultinomialModel as MultinomialModel
from .inference.counts.poisson import PoissonModel as PoissonModel
from .inference.counts.weighted_share import WeightedShareModel as WeightedShareModel
from .inference.evidence import Evidence as Evidence
from .inference.gamma.model import GammaModel as GammaModel
from .inference.gaussian.hierarchical import HierarchicalGaussianModel as HierarchicalGaussianModel
from .inference.gaussian.model import GaussianModel as GaussianModel
from .inference.gaussian.multivariate import (
    MultivariateGaussianModel as MultivariateGaussianModel,
)
from .inference.graphs.beta_model import NetworkBetaModel as NetworkBetaModel
from .inference.graphs.ergm import ERGMModel as ERGMModel
from .inference.log_linear.model import LogLinearModel as LogLinearModel
from .inference.own import PyMCModel as PyMCModel
from .inference.records.beta import BetaModel as BetaModel
from .inference.records.beta_regression import BetaRegressionModel as BetaRegressionModel
from .inference.records.logit_normal import LogitNormalModel as LogitNormalModel
from .inference.records.logit_normal_regression import (
    LogitNormalRegressionModel as LogitNormalRegressionModel,
)
from .inference.records.model import RecordModel as RecordModel
from .inference.records.quantile import QuantileModel as QuantileModel
from .inference.regression.linear import LinearRegressionModel as LinearRegressionModel
from .inference.regression.logistic import LogisticRegressionModel as LogisticRegressionModel
from .inference.table.estimates import Estimates as Estimates
from .inference.table.model import TableModel as TableModel
from .inference.table.posterior import TablePosterior as TablePosterior
