"""What is public, and where it lives."""

from . import distributional as distributional
from . import networks as networks
from ._version import __version__ as __version__
from .engines.mixture import BetaMixture as BetaMixture
from .errors import BayesDPError as BayesDPError
from .errors import BudgetExceeded as BudgetExceeded
from .errors import EngineFailed as EngineFailed
from .errors import InvalidInput as InvalidInput
from .errors import InvalidRelease as InvalidRelease
from .errors import LedgerCorrupted as LedgerCorrupted
from .errors import LedgerUnavailable as LedgerUnavailable
from .errors import MissingDependency as MissingDependency
from .errors import ReleaseExists as ReleaseExists
from .errors import StudyStopped as StudyStopped
from .evaluation.anonymity import anonymity as anonymity
from .evaluation.attribute_risk import attribute_risk as attribute_risk
from .evaluation.combining import combine as combine
from .evaluation.combining import combine_all as combine_all
from .evaluation.combining_nested import CombinedNested as CombinedNested
from .evaluation.combining_nested import combine_nested as combine_nested
from .evaluation.combining_results import Combined as Combined
from .evaluation.combining_results import CombinedVector as CombinedVector
from .evaluation.combining_tests import FTest as FTest
from .evaluation.combining_tests import likelihood_ratio_test as likelihood_ratio_test
from .evaluation.identification_risk import identification_risk as identification_risk
from .evaluation.interval_overlap import interval_overlap as interval_overlap
from .evaluation.planning.plan import plan as plan
from .evaluation.planning.result import Plan as Plan
from .evaluation.risk_plot import plot_risk as plot_risk
from .evaluation.studies.cells import Simulated as Simulated
from .evaluation.studies.models import ModelAnalysis as ModelAnalysis
from .evaluation.studies.results import StudyResults as StudyResults
from .evaluation.studies.study import Study as Study
from .evaluation.utility import utility as utility
from .evaluation.utility_plot import plot_utility as plot_utility
from .inference.counts.binomial import BinomialModel as BinomialModel
from .inference.counts.hierarchical_binomial import (
    HierarchicalBinomialModel as HierarchicalBinomialModel,
)
from .inference.counts.multinomial import MultinomialModel as MultinomialModel
from .inference.counts.poisson import PoissonModel as PoissonModel
from .inference.evidence import Evidence as Evidence
from .inference.evidence import compare as compare
from .inference.evidence import log_evidence as log_evidence
from .inference.gaussian.hierarchical import (
    HierarchicalGaussianModel as HierarchicalGaussianModel,
)
from .inference.gaussian.model import GaussianModel as GaussianModel
from .inference.graphs.beta_model import BetaModel as BetaModel
from .inference.graphs.ergm import ErgmModel as ErgmModel
from .inference.log_linear.model import LogLinearModel as LogLinearModel
from .inference.observe import observe as observe
from .inference.predictive import posterior_predictive as posterior_predictive
from .inference.records.model import RecordModel as RecordModel
from .inference.regression.linear import LinearRegression as LinearRegression
from .inference.regression.logistic import LogisticRegression as LogisticRegression
from .mechanisms import families as families
from .mechanisms.censored.beta import CensoredBetaMechanism as CensoredBetaMechanism
from .mechanisms.censored.weights import PublicWeights as PublicWeights
from .mechanisms.conjugate.average import average_case_delta as average_case_delta
from .mechanisms.conjugate.average import distributional_delta as distributional_delta
from .mechanisms.conjugate.mode import noisy_mode as noisy_mode
from .mechanisms.conjugate.release import ConjugateRelease as ConjugateRelease
from .mechanisms.counts.beta_binomial import BetaBinomialMechanism as BetaBinomialMechanism
from .mechanisms.counts.count import Count as Count
from .mechanisms.counts.dirichlet_multinomial import (
    DirichletMultinomialMechanism as DirichletMultinomialMechanism,
)
from .mechanisms.counts.histogram import PerturbedHistogram as PerturbedHistogram
from .mechanisms.counts.noisy_marginals import NoisyMarginals as NoisyMarginals
from .mechanisms.counts.poisson_gamma import PoissonGammaMechanism as PoissonGammaMechanism
from .mechanisms.counts.randomized_response import RandomizedResponse as RandomizedResponse
from .mechanisms.graphs.edge_flip import EdgeFlipMechanism as EdgeFlipMechanism
from .mechanisms.graphs.noisy_degrees import NoisyDegreesMechanism as NoisyDegreesMechanism
from .mechanisms.graphs.noisy_statistics import NoisyStatisticsMechanism as NoisyStatisticsMechanism
from .mechanisms.graphs.noisy_triangles import NoisyTrianglesMechanism as NoisyTrianglesMechanism
from .mechanisms.graphs.truncated_statistics import (
    TruncatedStatisticsMechanism as TruncatedStatisticsMechanism,
)
from .mechanisms.modips.grid import ModipsGrid as ModipsGrid
from .mechanisms.modips.nested import NestedModips as NestedModips
from .mechanisms.modips.sbs import ModipsSBS as ModipsSBS
from .mechanisms.modips.selected import SelectedModips as SelectedModips
from .mechanisms.modips.sequential import SequentialModipsMechanism as SequentialModipsMechanism
from .mechanisms.modips.sequential_steps import CategoricalColumns as CategoricalColumns
from .mechanisms.modips.sequential_steps import NumericColumns as NumericColumns
from .mechanisms.noise.gaussian import DiscreteGaussianMechanism as DiscreteGaussianMechanism
from .mechanisms.noise.gaussian import GaussianMechanism as GaussianMechanism
from .mechanisms.noise.laplace import DiscreteLaplaceMechanism as DiscreteLaplaceMechanism
from .mechanisms.noise.laplace import LaplaceMechanism as LaplaceMechanism
from .mechanisms.randomness import reproducible as reproducible
from .mechanisms.regression.noisy_moments import NoisyMomentsMechanism as NoisyMomentsMechanism
from .mechanisms.regression.perturbed_coefficients import (
    PerturbedCoefficientsMechanism as PerturbedCoefficientsMechanism,
)
from .mechanisms.selection.exponential import ExponentialMechanism as ExponentialMechanism
from .mechanisms.selection.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from .networks.prior import Normal as Normal
from .privacy.accounting import compose as compose
from .privacy.audit import Audit as Audit
from .privacy.audit import audit as audit
from .privacy.bootstrap import bootstrap_epsilon as bootstrap_epsilon
from .privacy.guarantee import Guarantee as Guarantee
from .privacy.guarantee import Strength as Strength
from .privacy.ledger import Ledger as Ledger
from .privacy.neighbours import Neighbours as Neighbours
from .privacy.subsampling import subsampled as subsampled
from .release import Release as Release
from .report.explorer import write_explorer as write_explorer
from .report.html import write_report as write_report
from .synthesis.beta_binomial import BetaBinomialSynthesizer as BetaBinomialSynthesizer
from .synthesis.censor import censor as censor
from .synthesis.censored_beta import CensoredBetaSynthesizer as CensoredBetaSynthesizer
from .synthesis.dirichlet_multinomial import (
    DirichletMultinomialSynthesizer as DirichletMultinomialSynthesizer,
)
from .synthesis.dp_ergm import DPERGM as DPERGM
from .synthesis.edge_flip import EdgeFlip as EdgeFlip
from .synthesis.family_selection import FamilySelection as FamilySelection
from .synthesis.histogram import PerturbedHistogramSynthesizer as PerturbedHistogramSynthesizer
from .synthesis.hu_comparators import HuComparators as HuComparators
from .synthesis.log_linear import LogLinearSynthesizer as LogLinearSynthesizer
from .synthesis.modips import Modips as Modips
from .synthesis.noisy_degrees import NoisyDegrees as NoisyDegrees
from .synthesis.noisy_moments import NoisyMoments as NoisyMoments
from .synthesis.noisy_statistics import NoisyStatistics as NoisyStatistics
from .synthesis.noisy_triangles import NoisyTriangles as NoisyTriangles
from .synthesis.perturbed_coefficients import PerturbedCoefficients as PerturbedCoefficients
from .synthesis.poisson_gamma import PoissonGammaSynthesizer as PoissonGammaSynthesizer
from .synthesis.posterior import PosteriorSynthesizer as PosteriorSynthesizer
from .synthesis.pseudo_posterior import PseudoPosterior as PseudoPosterior
from .synthesis.publish import publish as publish
from .synthesis.scan import scan as scan
from .synthesis.select_family import select_family as select_family
from .synthesis.sequential_modips import SequentialModips as SequentialModips
from .synthesis.truncated_statistics import TruncatedStatistics as TruncatedStatistics
