"""Public names, and the modules that they live in."""

from . import distributional as distributional
from . import errors as errors
from . import evaluate as evaluate
from . import extending as extending
from . import mechanisms as mechanisms
from . import models as models
from . import networks as networks
from . import privacy as privacy
from . import stan as stan
from . import synthesizers as synthesizers
from ._version import __version__ as __version__
from .evaluation.combining import combine as combine
from .evaluation.planning.plan import plan as plan
from .evaluation.studies.study import Study as Study
from .inference.counts.binomial import BinomialModel as BinomialModel
from .inference.counts.multinomial import MultinomialModel as MultinomialModel
from .inference.evidence import compare as compare
from .inference.evidence import log_evidence as log_evidence
from .inference.gaussian.model import GaussianModel as GaussianModel
from .inference.observe import observe as observe
from .inference.predictive import posterior_predictive as posterior_predictive
from .inference.predictive import prior_predictive as prior_predictive
from .inference.regression.linear import LinearRegressionModel as LinearRegressionModel
from .inference.regression.logistic import LogisticRegressionModel as LogisticRegressionModel
from .inference.table.model import TableModel as TableModel
from .mechanisms import families as families
from .mechanisms.counts.count import Count as Count
from .mechanisms.randomness import reproducible as reproducible
from .privacy.accounting import compose as compose
from .privacy.audit import audit as audit
from .privacy.guarantee import Guarantee as Guarantee
from .privacy.guarantee import Strength as Strength
from .privacy.ledger import Ledger as Ledger
from .privacy.neighbours import Neighbours as Neighbours
from .release import Release as Release
from .schema.schema import Schema as Schema
from .synthesis.beta_binomial import BetaBinomialSynthesizer as BetaBinomialSynthesizer
from .synthesis.censor.model import censor as censor
from .synthesis.dirichlet_multinomial import (
    DirichletMultinomialSynthesizer as DirichletMultinomialSynthesizer,
)
from .synthesis.modips import ModipsSynthesizer as ModipsSynthesizer
from .synthesis.noisy_table import TableSynthesizer as TableSynthesizer
from .synthesis.posterior import PosteriorSynthesizer as PosteriorSynthesizer
from .synthesis.publish import publish as publish
from .synthesis.scan import scan as scan
