"""Models by the releases that they read, for errors that say so."""

from __future__ import annotations

from importlib import import_module
from typing import Any

MODELS = {
    "beta_model": "graphs.beta_model.BetaModel",
    "binomial": "counts.binomial.BinomialModel",
    "ergm": "graphs.ergm.ErgmModel",
    "gaussian": "gaussian.model.GaussianModel",
    "hierarchical_binomial": "counts.hierarchical_binomial.HierarchicalBinomialModel",
    "hierarchical_gaussian": "gaussian.hierarchical.HierarchicalGaussianModel",
    "linear_regression": "regression.linear.LinearRegression",
    "log_linear": "log_linear.model.LogLinearModel",
    "logistic_regression": "regression.logistic.LogisticRegression",
    "multinomial": "counts.multinomial.MultinomialModel",
    "poisson": "counts.poisson.PoissonModel",
}
"""Modules and classes of models, by their families."""


def models_of(mechanism: Any) -> tuple[str, ...]:
    """Names of the models that read this mechanism's releases; empty where none does.

    Each model says it by `reads`. Whether it can may depend on more: a public number of records,
    say. A user's own model reads more by `bdp.observe` and `bdp.RecordModel`.
    """
    found = []
    for where in MODELS.values():
        module, name = where.rsplit(".", 1)
        if getattr(import_module(f"bayesdp.inference.{module}"), name).reads(mechanism):
            found.append(name)
    return tuple(found)


def instead(mechanism: Any) -> str:
    """End an error's sentence: which models read the release, or what to do."""
    found = [f"bdp.{name}" for name in models_of(mechanism)]
    if not found:
        return (
            "no model here has its law; analyse each copy as data and combine the results with "
            "bdp.combine, or see bdp.observe"
        )
    return f"such releases are for {' and '.join(filter(None, [', '.join(found[:-1]), found[-1]]))}"
