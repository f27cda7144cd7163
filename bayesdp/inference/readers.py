"""Models by the releases that they read, for errors that say so."""

from __future__ import annotations

from typing import Any

_COUNT = ("BinomialModel", "HierarchicalBinomialModel")
_NORMAL = ("GaussianModel", "HierarchicalGaussianModel")
_TABLE = ("MultinomialModel", "LogLinearModel", "LogisticRegression", "PoissonModel")
_BY_KIND = {
    "bernoulli": _COUNT,
    "gaussian": _NORMAL,
    "categorical": ("MultinomialModel",),
}
_BY_NAME: dict[str, tuple[str, ...]] = {
    "beta_binomial": _COUNT,
    "perturbed_histogram": _TABLE,
    "noisy_marginals": ("LogLinearModel", "LogisticRegression"),
    "randomized_response": ("MultinomialModel", "LogisticRegression"),
    "dirichlet_multinomial": ("MultinomialModel", "LogisticRegression"),
    "poisson_gamma": ("PoissonModel",),
    "noisy_moments": ("LinearRegression",),
    "edge_flip": ("ErgmModel", "BetaModel"),
    "noisy_statistics": ("ErgmModel",),
    "noisy_degrees": ("ErgmModel",),
}
_ADDITIVE = ("laplace", "discrete_laplace", "gaussian", "discrete_gaussian")


def models_of(mechanism: Any) -> tuple[str, ...]:
    """Names of the models that read this mechanism's releases; empty where none does.

    Whether one does may depend on more: a public number of records, say. A user's own model reads
    more by `bdp.observe` and `bdp.RecordModel`.
    """
    name = mechanism.name
    if name == "perturbed_coefficients":
        return ("LinearRegression" if mechanism.loss == "linear" else "LogisticRegression",)
    if name in (*_ADDITIVE, "exact_statistic"):
        table = _TABLE if name in _ADDITIVE else ("MultinomialModel", "PoissonModel")
        if mechanism.dimension is None:
            return (*_NORMAL, *_COUNT, "PoissonModel")
        return (*table, *_NORMAL) if mechanism.dimension == 2 else table
    family = getattr(mechanism, "family", None)
    kind = family if isinstance(family, str) else getattr(family, "kind", None)
    if name == "conjugate" or name.startswith("modips"):
        return _BY_KIND.get(str(kind), ())
    return _BY_NAME.get(name, ())


def instead(mechanism: Any) -> str:
    """End an error's sentence: which models read the release, or what to do."""
    found = [f"bdp.{name}" for name in models_of(mechanism)]
    if not found:
        return (
            "no model here has its law; analyse each copy as data and combine the results with "
            "bdp.combine, or see bdp.observe"
        )
    return f"such releases are for {' and '.join(filter(None, [', '.join(found[:-1]), found[-1]]))}"
