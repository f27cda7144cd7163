"""What is public, and where it lives."""

from . import families as families
from .censored.beta import CensoredBetaMechanism as CensoredBetaMechanism
from .censored.posterior import CensoredPosteriorMechanism as CensoredPosteriorMechanism
from .conjugate.average import average_case_delta as average_case_delta
from .conjugate.average import distributional_delta as distributional_delta
from .conjugate.mode import noisy_mode as noisy_mode
from .conjugate.release import ConjugateMechanism as ConjugateMechanism
from .counts.beta_binomial import BetaBinomialMechanism as BetaBinomialMechanism
from .counts.count import Count as Count
from .counts.dirichlet_multinomial import (
    DirichletMultinomialMechanism as DirichletMultinomialMechanism,
)
from .counts.exact_statistic import ExactStatisticMechanism as ExactStatisticMechanism
from .counts.histogram import PerturbedHistogramMechanism as PerturbedHistogramMechanism
from .counts.noisy_marginals import NoisyMarginalsMechanism as NoisyMarginalsMechanism
from .counts.noisy_table import NoisyTableMechanism as NoisyTableMechanism
from .counts.poisson_gamma import PoissonGammaMechanism as PoissonGammaMechanism
from .counts.randomized_response import RandomizedResponseMechanism as RandomizedResponseMechanism
from .counts.sequential_dirichlet_multinomial import (
    SequentialDirichletMultinomialMechanism as SequentialDirichletMultinomialMechanism,
)
from .counts.weighted_counts import WeightedCountsMechanism as WeightedCountsMechanism
from .graphs.dp_ergm.mechanism import DPERGMMechanism as DPERGMMechanism
from .graphs.edge_flip import EdgeFlipMechanism as EdgeFlipMechanism
from .graphs.noisy_degrees import NoisyDegreesMechanism as NoisyDegreesMechanism
from .graphs.noisy_statistics.mechanism import NoisyStatisticsMechanism as NoisyStatisticsMechanism
from .graphs.noisy_triangles import NoisyTrianglesMechanism as NoisyTrianglesMechanism
from .graphs.truncated_statistics import (
    TruncatedStatisticsMechanism as TruncatedStatisticsMechanism,
)
from .modips.grid import ModipsGridMechanism as ModipsGridMechanism
from .modips.nested import NestedModipsMechanism as NestedModipsMechanism
from .modips.sbs import ModipsSBSMechanism as ModipsSBSMechanism
from .modips.selected import SelectedModipsMechanism as SelectedModipsMechanism
from .modips.sequential.mechanism import SequentialModipsMechanism as SequentialModipsMechanism
from .noise.gaussian import DiscreteGaussianMechanism as DiscreteGaussianMechanism
from .noise.gaussian import GaussianMechanism as GaussianMechanism
from .noise.laplace import DiscreteLaplaceMechanism as DiscreteLaplaceMechanism
from .noise.laplace import LaplaceMechanism as LaplaceMechanism
from .regression.noisy_moments import NoisyMomentsMechanism as NoisyMomentsMechanism
from .regression.perturbed_coefficients import (
    PerturbedCoefficientsMechanism as PerturbedCoefficientsMechanism,
)
from .selection.exponential import ExponentialMechanism as ExponentialMechanism
from .selection.permute_and_flip import PermuteAndFlipMechanism as PermuteAndFlipMechanism
from .selection.propose_test_release import (
    ProposeTestReleaseMechanism as ProposeTestReleaseMechanism,
)
from .selection.quantiles import QuantileMechanism as QuantileMechanism
from .selection.trimmed_mean import TrimmedMeanMechanism as TrimmedMeanMechanism
