"""Registry of mechanisms by their names in manifests, each imported when it is first needed."""

from __future__ import annotations

from typing import Any

from bayesdp.errors import InvalidRelease, quoted
from bayesdp.registry import Registry

_ROWS = {
    "beta_binomial": "counts.beta_binomial:BetaBinomialMechanism",
    "laplace": "noise.laplace:LaplaceMechanism",
    "discrete_laplace": "noise.laplace:DiscreteLaplaceMechanism",
    "gaussian": "noise.gaussian:GaussianMechanism",
    "discrete_gaussian": "noise.gaussian:DiscreteGaussianMechanism",
    "perturbed_histogram": "counts.histogram:PerturbedHistogramMechanism",
    "exponential": "selection.exponential:ExponentialMechanism",
    "permute_and_flip": "selection.permute_and_flip:PermuteAndFlipMechanism",
    "quantiles": "selection.quantiles:QuantileMechanism",
    "propose_test_release": "selection.propose_test_release:ProposeTestReleaseMechanism",
    "trimmed_mean": "selection.trimmed_mean:TrimmedMeanMechanism",
    "randomized_response": "counts.randomized_response:RandomizedResponseMechanism",
    "conjugate": "conjugate.release:ConjugateMechanism",
    "dirichlet_multinomial": "counts.dirichlet_multinomial:DirichletMultinomialMechanism",
    "sequential_dirichlet_multinomial": (
        "counts.sequential_dirichlet_multinomial:SequentialDirichletMultinomialMechanism"
    ),
    "poisson_gamma": "counts.poisson_gamma:PoissonGammaMechanism",
    "noisy_marginals": "counts.noisy_marginals:NoisyMarginalsMechanism",
    "noisy_table": "counts.noisy_table:NoisyTableMechanism",
    "weighted_counts": "counts.weighted_counts:WeightedCountsMechanism",
    "noisy_moments": "regression.noisy_moments:NoisyMomentsMechanism",
    "perturbed_coefficients": "regression.perturbed_coefficients:PerturbedCoefficientsMechanism",
    "censored_beta": "censored.beta:CensoredBetaMechanism",
    "censored_posterior": "censored.posterior:CensoredPosteriorMechanism",
    "noisy_degrees": "graphs.noisy_degrees:NoisyDegreesMechanism",
    "noisy_triangles": "graphs.noisy_triangles:NoisyTrianglesMechanism",
    "truncated_statistics": "graphs.truncated_statistics:TruncatedStatisticsMechanism",
    "dp_ergm": "graphs.dp_ergm.mechanism:DPERGMMechanism",
    "edge_flip": "graphs.edge_flip:EdgeFlipMechanism",
    "noisy_statistics": "graphs.noisy_statistics.mechanism:NoisyStatisticsMechanism",
    "modips_sbs": "modips.sbs:ModipsSBSMechanism",
    "modips_grid": "modips.grid:ModipsGridMechanism",
    "modips_nested": "modips.nested:NestedModipsMechanism",
    "modips_sequential": "modips.sequential.mechanism:SequentialModipsMechanism",
    "modips_selected": "modips.selected:SelectedModipsMechanism",
    "exact_statistic": "counts.exact_statistic:ExactStatisticMechanism",
}
REGISTRY = Registry("bayesdp.mechanisms", "bayesdp.mechanisms", _ROWS)
"""Mechanisms by their names; another package's are entry points of this group."""


def mechanism_named(name: str) -> type[Any]:
    """Return the mechanism class of that name.

    Raises
    ------
    InvalidRelease
        If there is none (the message lists those there are), or if the package that registered it
        can't be imported, or gives its class another name.
    """
    registered: type[Any] | None = REGISTRY.find(name, InvalidRelease)
    if registered is None:
        raise InvalidRelease(
            f"mechanism is {quoted(name)}, which this version of bayesdp doesn't know; "
            f"it knows {', '.join(REGISTRY.names())}. Another package's is known once that is "
            "installed and has it among its entry points of the group 'bayesdp.mechanisms'"
        )
    if getattr(registered, "name", None) != name:
        raise InvalidRelease(
            f"mechanism {quoted(name)} is {registered.__module__}.{registered.__name__}, "
            f"whose own name is {quoted(getattr(registered, 'name', None))}; "
            "register it by that one"
        )
    return registered
