"""Public names, and the modules that they live in."""

from .mechanisms.censored.weights import PublicWeights as PublicWeights
from .mechanisms.modips.sequential.steps import CategoricalColumns as CategoricalColumns
from .mechanisms.modips.sequential.steps import NumericColumns as NumericColumns
from .papers.hu.comparators import HuComparators as HuComparators
from .synthesis.beta_binomial import BetaBinomialSynthesizer as BetaBinomialSynthesizer
from .synthesis.censored_beta import CensoredBetaSynthesizer as CensoredBetaSynthesizer
from .synthesis.censored_regression import (
    CensoredRegressionSynthesizer as CensoredRegressionSynthesizer,
)
from .synthesis.censored_regression_weights import (
    PublicRegressionWeights as PublicRegressionWeights,
)
from .synthesis.conjugate import ConjugateSynthesizer as ConjugateSynthesizer
from .synthesis.dirichlet_multinomial import (
    DirichletMultinomialSynthesizer as DirichletMultinomialSynthesizer,
)
from .synthesis.discrete_laplace import DiscreteLaplaceSynthesizer as DiscreteLaplaceSynthesizer
from .synthesis.dp_ergm import DPERGMSynthesizer as DPERGMSynthesizer
from .synthesis.edge_flip import EdgeFlipSynthesizer as EdgeFlipSynthesizer
from .synthesis.family_selection import FamilySelection as FamilySelection
from .synthesis.histogram import PerturbedHistogramSynthesizer as PerturbedHistogramSynthesizer
from .synthesis.log_linear.synthesizer import LogLinearSynthesizer as LogLinearSynthesizer
from .synthesis.modips import ModipsSynthesizer as ModipsSynthesizer
from .synthesis.noisy_degrees import NoisyDegreesSynthesizer as NoisyDegreesSynthesizer
from .synthesis.noisy_moments import NoisyMomentsSynthesizer as NoisyMomentsSynthesizer
from .synthesis.noisy_statistics import NoisyStatisticsSynthesizer as NoisyStatisticsSynthesizer
from .synthesis.noisy_table import TableSynthesizer as TableSynthesizer
from .synthesis.noisy_triangles import NoisyTrianglesSynthesizer as NoisyTrianglesSynthesizer
from .synthesis.perturbed_coefficients import (
    PerturbedCoefficientsSynthesizer as PerturbedCoefficientsSynthesizer,
)
from .synthesis.poisson_gamma import PoissonGammaSynthesizer as PoissonGammaSynthesizer
from .synthesis.posterior import PosteriorSynthesizer as PosteriorSynthesizer
from .synthesis.propose_test_release import (
    ProposeTestReleaseSynthesizer as ProposeTestReleaseSynthesizer,
)
from .synthesis.pseudo_posterior import PseudoPosterior as PseudoPosterior
from .synthesis.quantiles import QuantileSynthesizer as QuantileSynthesizer
from .synthesis.select_family import select_family as select_family
from .synthesis.sequential_dirichlet_multinomial import (
    SequentialDirichletMultinomialSynthesizer as SequentialDirichletMultinomialSynthesizer,
)
from .synthesis.sequential_modips import SequentialModipsSynthesizer as SequentialModipsSynthesizer
from .synthesis.subsample_aggregate import (
    SubsampleAggregateSynthesizer as SubsampleAggregateSynthesizer,
)
from .synthesis.trimmed_mean import TrimmedMeanSynthesizer as TrimmedMeanSynthesizer
from .synthesis.truncated_statistics import (
    TruncatedStatisticsSynthesizer as TruncatedStatisticsSynthesizer,
)
from .synthesis.weighted_counts import WeightedCountsSynthesizer as WeightedCountsSynthesizer
