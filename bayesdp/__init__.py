"""bayesdp: Bayesian inference from, and for, differentially private data.

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayesdp._version import __version__

if TYPE_CHECKING:
    from bayesdp import networks
    from bayesdp.engines.mixture import BetaMixture
    from bayesdp.errors import (
        BayesDPError,
        BudgetExceeded,
        EngineFailed,
        InvalidInput,
        InvalidRelease,
        LedgerCorrupted,
        LedgerUnavailable,
        MissingDependency,
        ReleaseExists,
    )
    from bayesdp.evaluation.combining import combine, combine_all
    from bayesdp.evaluation.combining_nested import CombinedNested, combine_nested
    from bayesdp.evaluation.combining_results import Combined, CombinedVector
    from bayesdp.evaluation.combining_tests import FTest, likelihood_ratio_test
    from bayesdp.inference.beta_model import BetaModel
    from bayesdp.inference.binomial import BinomialModel
    from bayesdp.inference.ergm import ErgmModel
    from bayesdp.inference.gaussian import GaussianModel
    from bayesdp.inference.multinomial import MultinomialModel
    from bayesdp.mechanisms import families
    from bayesdp.mechanisms.beta_binomial import BetaBinomialMechanism
    from bayesdp.mechanisms.censored_beta import CensoredBetaMechanism
    from bayesdp.mechanisms.censored_weights import PublicWeights
    from bayesdp.mechanisms.conjugate import ConjugateRelease
    from bayesdp.mechanisms.conjugate_average import average_case_delta, distributional_delta
    from bayesdp.mechanisms.conjugate_mode import noisy_mode
    from bayesdp.mechanisms.count import Count
    from bayesdp.mechanisms.dirichlet_multinomial import DirichletMultinomialMechanism
    from bayesdp.mechanisms.edge_flip import EdgeFlipMechanism
    from bayesdp.mechanisms.exponential import ExponentialMechanism
    from bayesdp.mechanisms.gaussian import DiscreteGaussianMechanism, GaussianMechanism
    from bayesdp.mechanisms.histogram import PerturbedHistogram
    from bayesdp.mechanisms.laplace import DiscreteLaplaceMechanism, LaplaceMechanism
    from bayesdp.mechanisms.modips_grid import ModipsGrid
    from bayesdp.mechanisms.modips_nested import NestedModips
    from bayesdp.mechanisms.modips_sbs import ModipsSBS
    from bayesdp.mechanisms.modips_selected import SelectedModips
    from bayesdp.mechanisms.modips_sequential import SequentialModipsMechanism
    from bayesdp.mechanisms.noisy_degrees import NoisyDegreesMechanism
    from bayesdp.mechanisms.noisy_marginals import NoisyMarginals
    from bayesdp.mechanisms.noisy_statistics import NoisyStatisticsMechanism
    from bayesdp.mechanisms.noisy_triangles import NoisyTrianglesMechanism
    from bayesdp.mechanisms.permute_and_flip import PermuteAndFlip
    from bayesdp.mechanisms.poisson_gamma import PoissonGammaMechanism
    from bayesdp.mechanisms.randomized_response import RandomizedResponse
    from bayesdp.mechanisms.randomness import reproducible
    from bayesdp.mechanisms.sequential_steps import CategoricalColumns, NumericColumns
    from bayesdp.mechanisms.truncated_statistics import TruncatedStatisticsMechanism
    from bayesdp.networks.prior import Normal
    from bayesdp.privacy.accounting import compose
    from bayesdp.privacy.audit import Audit, audit
    from bayesdp.privacy.bootstrap import bootstrap_epsilon
    from bayesdp.privacy.guarantee import Guarantee, Strength
    from bayesdp.privacy.ledger import Ledger
    from bayesdp.privacy.neighbours import Neighbours
    from bayesdp.privacy.subsampling import subsampled
    from bayesdp.release import Release
    from bayesdp.report.html import write_report
    from bayesdp.synthesis.beta_binomial import BetaBinomialSynthesizer
    from bayesdp.synthesis.censor import censor
    from bayesdp.synthesis.censored_beta import CensoredBetaSynthesizer
    from bayesdp.synthesis.dirichlet_multinomial import DirichletMultinomialSynthesizer
    from bayesdp.synthesis.dp_ergm import DPERGM
    from bayesdp.synthesis.edge_flip import EdgeFlip
    from bayesdp.synthesis.family_selection import FamilySelection
    from bayesdp.synthesis.histogram import PerturbedHistogramSynthesizer
    from bayesdp.synthesis.hu_comparators import HuComparators
    from bayesdp.synthesis.log_linear import LogLinearSynthesizer
    from bayesdp.synthesis.modips import Modips
    from bayesdp.synthesis.noisy_degrees import NoisyDegrees
    from bayesdp.synthesis.noisy_statistics import NoisyStatistics
    from bayesdp.synthesis.noisy_triangles import NoisyTriangles
    from bayesdp.synthesis.poisson_gamma import PoissonGammaSynthesizer
    from bayesdp.synthesis.posterior import PosteriorSynthesizer
    from bayesdp.synthesis.pseudo_posterior import PseudoPosterior
    from bayesdp.synthesis.publish import publish
    from bayesdp.synthesis.select_family import select_family
    from bayesdp.synthesis.sequential_modips import SequentialModips
    from bayesdp.synthesis.truncated_statistics import TruncatedStatistics

_HOME = {
    "Audit": "privacy.audit",
    "BayesDPError": "errors",
    "BetaBinomialMechanism": "mechanisms.beta_binomial",
    "BetaBinomialSynthesizer": "synthesis.beta_binomial",
    "BetaMixture": "engines.mixture",
    "BetaModel": "inference.beta_model",
    "BinomialModel": "inference.binomial",
    "BudgetExceeded": "errors",
    "CategoricalColumns": "mechanisms.sequential_steps",
    "CensoredBetaMechanism": "mechanisms.censored_beta",
    "CensoredBetaSynthesizer": "synthesis.censored_beta",
    "Combined": "evaluation.combining_results",
    "CombinedNested": "evaluation.combining_nested",
    "CombinedVector": "evaluation.combining_results",
    "ConjugateRelease": "mechanisms.conjugate",
    "Count": "mechanisms.count",
    "DPERGM": "synthesis.dp_ergm",
    "DirichletMultinomialMechanism": "mechanisms.dirichlet_multinomial",
    "DirichletMultinomialSynthesizer": "synthesis.dirichlet_multinomial",
    "DiscreteGaussianMechanism": "mechanisms.gaussian",
    "DiscreteLaplaceMechanism": "mechanisms.laplace",
    "EdgeFlip": "synthesis.edge_flip",
    "EdgeFlipMechanism": "mechanisms.edge_flip",
    "EngineFailed": "errors",
    "ErgmModel": "inference.ergm",
    "ExponentialMechanism": "mechanisms.exponential",
    "FTest": "evaluation.combining_tests",
    "FamilySelection": "synthesis.family_selection",
    "GaussianMechanism": "mechanisms.gaussian",
    "GaussianModel": "inference.gaussian",
    "Guarantee": "privacy.guarantee",
    "HuComparators": "synthesis.hu_comparators",
    "InvalidInput": "errors",
    "InvalidRelease": "errors",
    "LaplaceMechanism": "mechanisms.laplace",
    "Ledger": "privacy.ledger",
    "LedgerCorrupted": "errors",
    "LedgerUnavailable": "errors",
    "LogLinearSynthesizer": "synthesis.log_linear",
    "MissingDependency": "errors",
    "Modips": "synthesis.modips",
    "ModipsGrid": "mechanisms.modips_grid",
    "ModipsSBS": "mechanisms.modips_sbs",
    "MultinomialModel": "inference.multinomial",
    "Neighbours": "privacy.neighbours",
    "NestedModips": "mechanisms.modips_nested",
    "NoisyDegrees": "synthesis.noisy_degrees",
    "NoisyDegreesMechanism": "mechanisms.noisy_degrees",
    "NoisyMarginals": "mechanisms.noisy_marginals",
    "NoisyStatistics": "synthesis.noisy_statistics",
    "NoisyStatisticsMechanism": "mechanisms.noisy_statistics",
    "NoisyTriangles": "synthesis.noisy_triangles",
    "NoisyTrianglesMechanism": "mechanisms.noisy_triangles",
    "Normal": "networks.prior",
    "NumericColumns": "mechanisms.sequential_steps",
    "PermuteAndFlip": "mechanisms.permute_and_flip",
    "PerturbedHistogram": "mechanisms.histogram",
    "PerturbedHistogramSynthesizer": "synthesis.histogram",
    "PoissonGammaMechanism": "mechanisms.poisson_gamma",
    "PoissonGammaSynthesizer": "synthesis.poisson_gamma",
    "PosteriorSynthesizer": "synthesis.posterior",
    "PseudoPosterior": "synthesis.pseudo_posterior",
    "PublicWeights": "mechanisms.censored_weights",
    "RandomizedResponse": "mechanisms.randomized_response",
    "Release": "release",
    "ReleaseExists": "errors",
    "SelectedModips": "mechanisms.modips_selected",
    "SequentialModips": "synthesis.sequential_modips",
    "SequentialModipsMechanism": "mechanisms.modips_sequential",
    "Strength": "privacy.guarantee",
    "TruncatedStatistics": "synthesis.truncated_statistics",
    "TruncatedStatisticsMechanism": "mechanisms.truncated_statistics",
    "audit": "privacy.audit",
    "average_case_delta": "mechanisms.conjugate_average",
    "bootstrap_epsilon": "privacy.bootstrap",
    "censor": "synthesis.censor",
    "combine": "evaluation.combining",
    "combine_all": "evaluation.combining",
    "combine_nested": "evaluation.combining_nested",
    "compose": "privacy.accounting",
    "distributional_delta": "mechanisms.conjugate_average",
    "families": "mechanisms.families",
    "likelihood_ratio_test": "evaluation.combining_tests",
    "networks": "networks",
    "noisy_mode": "mechanisms.conjugate_mode",
    "publish": "synthesis.publish",
    "reproducible": "mechanisms.randomness",
    "select_family": "synthesis.select_family",
    "subsampled": "privacy.subsampling",
    "write_report": "report.html",
}

_MODULES = ("families", "networks")  # each its own home

__all__ = [
    "DPERGM",
    "Audit",
    "BayesDPError",
    "BetaBinomialMechanism",
    "BetaBinomialSynthesizer",
    "BetaMixture",
    "BetaModel",
    "BinomialModel",
    "BudgetExceeded",
    "CategoricalColumns",
    "CensoredBetaMechanism",
    "CensoredBetaSynthesizer",
    "Combined",
    "CombinedNested",
    "CombinedVector",
    "ConjugateRelease",
    "Count",
    "DirichletMultinomialMechanism",
    "DirichletMultinomialSynthesizer",
    "DiscreteGaussianMechanism",
    "DiscreteLaplaceMechanism",
    "EdgeFlip",
    "EdgeFlipMechanism",
    "EngineFailed",
    "ErgmModel",
    "ExponentialMechanism",
    "FTest",
    "FamilySelection",
    "GaussianMechanism",
    "GaussianModel",
    "Guarantee",
    "HuComparators",
    "InvalidInput",
    "InvalidRelease",
    "LaplaceMechanism",
    "Ledger",
    "LedgerCorrupted",
    "LedgerUnavailable",
    "LogLinearSynthesizer",
    "MissingDependency",
    "Modips",
    "ModipsGrid",
    "ModipsSBS",
    "MultinomialModel",
    "Neighbours",
    "NestedModips",
    "NoisyDegrees",
    "NoisyDegreesMechanism",
    "NoisyMarginals",
    "NoisyStatistics",
    "NoisyStatisticsMechanism",
    "NoisyTriangles",
    "NoisyTrianglesMechanism",
    "Normal",
    "NumericColumns",
    "PermuteAndFlip",
    "PerturbedHistogram",
    "PerturbedHistogramSynthesizer",
    "PoissonGammaMechanism",
    "PoissonGammaSynthesizer",
    "PosteriorSynthesizer",
    "PseudoPosterior",
    "PublicWeights",
    "RandomizedResponse",
    "Release",
    "ReleaseExists",
    "SelectedModips",
    "SequentialModips",
    "SequentialModipsMechanism",
    "Strength",
    "TruncatedStatistics",
    "TruncatedStatisticsMechanism",
    "__version__",
    "audit",
    "average_case_delta",
    "bootstrap_epsilon",
    "censor",
    "combine",
    "combine_all",
    "combine_nested",
    "compose",
    "distributional_delta",
    "families",
    "likelihood_ratio_test",
    "networks",
    "noisy_mode",
    "publish",
    "reproducible",
    "select_family",
    "subsampled",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bayesdp' has no attribute {name!r}")
    home = import_module(f"bayesdp.{_HOME[name]}")
    value = home if name in _MODULES else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
