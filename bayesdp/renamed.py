"""Old public names, from before they were sorted into namespaces, and their new names.

An old name works for two minor releases, with a warning that gives the new one (`lazy.attach`, or
`renamed_argument`).
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

RENAMED = {
    "bayesdp": {
        "Audit": "privacy.Audit",
        "BayesDPError": "errors.BayesDPError",
        "BetaBinomialMechanism": "mechanisms.BetaBinomialMechanism",
        "BetaMixture": "models.BetaMixture",
        "BetaModel": "models.NetworkBetaModel",
        "BudgetExceeded": "errors.BudgetExceeded",
        "CategoricalColumns": "synthesizers.CategoricalColumns",
        "CensoredBetaMechanism": "mechanisms.CensoredBetaMechanism",
        "CensoredBetaSynthesizer": "synthesizers.CensoredBetaSynthesizer",
        "Combined": "evaluate.Combined",
        "CombinedNested": "evaluate.CombinedNested",
        "CombinedVector": "evaluate.CombinedVector",
        "ConjugateRelease": "mechanisms.ConjugateMechanism",
        "DPERGM": "synthesizers.DPERGMSynthesizer",
        "DirichletMultinomialMechanism": "mechanisms.DirichletMultinomialMechanism",
        "DirichletMultinomialSynthesizer": "synthesizers.DirichletMultinomialSynthesizer",
        "DiscreteGaussianMechanism": "mechanisms.DiscreteGaussianMechanism",
        "DiscreteLaplaceMechanism": "mechanisms.DiscreteLaplaceMechanism",
        "EdgeFlip": "synthesizers.EdgeFlipSynthesizer",
        "EdgeFlipMechanism": "mechanisms.EdgeFlipMechanism",
        "EngineFailed": "errors.EngineFailed",
        "ErgmModel": "models.ERGMModel",
        "Evidence": "models.Evidence",
        "ExponentialMechanism": "mechanisms.ExponentialMechanism",
        "FTest": "evaluate.FTest",
        "FamilySelection": "synthesizers.FamilySelection",
        "GaussianMechanism": "mechanisms.GaussianMechanism",
        "HierarchicalBinomialModel": "models.HierarchicalBinomialModel",
        "HierarchicalGaussianModel": "models.HierarchicalGaussianModel",
        "HuComparators": "synthesizers.HuComparators",
        "InvalidInput": "errors.InvalidInput",
        "InvalidRelease": "errors.InvalidRelease",
        "LaplaceMechanism": "mechanisms.LaplaceMechanism",
        "LedgerCorrupted": "errors.LedgerCorrupted",
        "LedgerUnavailable": "errors.LedgerUnavailable",
        "LinearRegression": "LinearRegressionModel",
        "LogLinearModel": "models.LogLinearModel",
        "LogLinearSynthesizer": "synthesizers.LogLinearSynthesizer",
        "LogisticRegression": "LogisticRegressionModel",
        "MissingDependency": "errors.MissingDependency",
        "ModelAnalysis": "evaluate.ModelAnalysis",
        "Modips": "ModipsSynthesizer",
        "ModipsGrid": "mechanisms.ModipsGridMechanism",
        "ModipsSBS": "mechanisms.ModipsSBSMechanism",
        "NestedModips": "mechanisms.NestedModipsMechanism",
        "NoisyDegrees": "synthesizers.NoisyDegreesSynthesizer",
        "NoisyDegreesMechanism": "mechanisms.NoisyDegreesMechanism",
        "NoisyMarginals": "mechanisms.NoisyMarginalsMechanism",
        "NoisyMoments": "synthesizers.NoisyMomentsSynthesizer",
        "NoisyMomentsMechanism": "mechanisms.NoisyMomentsMechanism",
        "NoisyStatistics": "synthesizers.NoisyStatisticsSynthesizer",
        "NoisyStatisticsMechanism": "mechanisms.NoisyStatisticsMechanism",
        "NoisyTriangles": "synthesizers.NoisyTrianglesSynthesizer",
        "NoisyTrianglesMechanism": "mechanisms.NoisyTrianglesMechanism",
        "Normal": "networks.NormalPrior",
        "NumericColumns": "synthesizers.NumericColumns",
        "PermuteAndFlip": "mechanisms.PermuteAndFlipMechanism",
        "PerturbedCoefficients": "synthesizers.PerturbedCoefficientsSynthesizer",
        "PerturbedCoefficientsMechanism": "mechanisms.PerturbedCoefficientsMechanism",
        "PerturbedHistogram": "mechanisms.PerturbedHistogramMechanism",
        "PerturbedHistogramSynthesizer": "synthesizers.PerturbedHistogramSynthesizer",
        "Plan": "evaluate.Plan",
        "PoissonGammaMechanism": "mechanisms.PoissonGammaMechanism",
        "PoissonGammaSynthesizer": "synthesizers.PoissonGammaSynthesizer",
        "PoissonModel": "models.PoissonModel",
        "PseudoPosterior": "synthesizers.PseudoPosterior",
        "PublicWeights": "synthesizers.PublicWeights",
        "RandomizedResponse": "mechanisms.RandomizedResponseMechanism",
        "RecordModel": "models.RecordModel",
        "ReleaseExists": "errors.ReleaseExists",
        "SelectedModips": "mechanisms.SelectedModipsMechanism",
        "SequentialModips": "synthesizers.SequentialModipsSynthesizer",
        "SequentialModipsMechanism": "mechanisms.SequentialModipsMechanism",
        "Simulated": "evaluate.Simulated",
        "StudyResults": "evaluate.StudyResults",
        "StudyStopped": "errors.StudyStopped",
        "TruncatedStatistics": "synthesizers.TruncatedStatisticsSynthesizer",
        "TruncatedStatisticsMechanism": "mechanisms.TruncatedStatisticsMechanism",
        "anonymity": "evaluate.anonymity",
        "attribute_risk": "evaluate.attribute_risk",
        "average_case_delta": "mechanisms.average_case_delta",
        "bootstrap_epsilon": "privacy.bootstrap_epsilon",
        "combine_all": "evaluate.combine_all",
        "combine_nested": "evaluate.combine_nested",
        "distributional_delta": "mechanisms.distributional_delta",
        "identification_risk": "evaluate.identification_risk",
        "interval_overlap": "evaluate.interval_overlap",
        "likelihood_ratio_test": "evaluate.likelihood_ratio_test",
        "noisy_mode": "mechanisms.noisy_mode",
        "plot_risk": "evaluate.plot_risk",
        "plot_utility": "evaluate.plot_utility",
        "select_family": "synthesizers.select_family",
        "subsampled": "privacy.subsampled",
        "utility": "evaluate.utility",
        "write_explorer": "evaluate.write_explorer",
        "write_report": "evaluate.write_report",
    },
    "bayesdp.networks": {
        "Normal": "networks.NormalPrior",
    },
    "bayesdp.distributional": {
        "ExactStatistic": "distributional.ExactStatisticMechanism",
        "compose": "distributional.compose_guarantees",
    },
}
"""Old names by the module that they were in, with the new name as it follows `bdp.`."""

MOVED = {
    "bayesdp.evaluation.papers": {
        "charest_study": "papers.charest.study",
        "charest_tables": "papers.charest.tables",
        "errata": "papers.errata",
        "groce_tables": "papers.groce.tables",
        "reproduction": "evaluation.colours",
    },
}
"""Modules that tutorials import, by the package that they were in, with their new location."""


def renamed_argument(old: str, new: str) -> Callable[[F], F]:
    """Make a decorator of functions that take an argument by its old name too, with a warning."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs and new not in kwargs:
                warnings.warn(
                    f"{function.__qualname__}: the argument {old} is deprecated and will go in a "
                    f"later release; write {new}",
                    DeprecationWarning,
                    stacklevel=2,
                )
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return called  # type: ignore[return-value]

    return decorate
