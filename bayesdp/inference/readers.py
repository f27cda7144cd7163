"""Models by the releases that they read, for error messages."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.registry import Registry

if TYPE_CHECKING:
    from bayesdp.core.views import AnyView

MODELS = Registry(
    "bayesdp.models",
    "bayesdp.inference",
    {
        "beta": "records.beta:BetaModel",
        "beta_model": "graphs.beta_model:NetworkBetaModel",
        "beta_regression": "records.beta_regression:BetaRegressionModel",
        "binomial": "counts.binomial:BinomialModel",
        "ergm": "graphs.ergm:ERGMModel",
        "gamma": "gamma.model:GammaModel",
        "gaussian": "gaussian.model:GaussianModel",
        "hierarchical_binomial": "counts.hierarchical_binomial:HierarchicalBinomialModel",
        "hierarchical_gaussian": "gaussian.hierarchical:HierarchicalGaussianModel",
        "linear_regression": "regression.linear:LinearRegressionModel",
        "logit_normal": "records.logit_normal:LogitNormalModel",
        "logit_normal_regression": "records.logit_normal_regression:LogitNormalRegressionModel",
        "log_linear": "log_linear.model:LogLinearModel",
        "logistic_regression": "regression.logistic:LogisticRegressionModel",
        "multinomial": "counts.multinomial:MultinomialModel",
        "poisson": "counts.poisson:PoissonModel",
        "multivariate_gaussian": "gaussian.multivariate:MultivariateGaussianModel",
        "pymc": "own:PyMCModel",
        "quantile": "records.quantile:QuantileModel",
        "table": "table.model:TableModel",
        "weighted_share": "counts.weighted_share:WeightedShareModel",
    },
)
"""By their families; another package's are entry points of this group."""


def models_of(mechanism: Any) -> tuple[str, ...]:
    """Names of the models that read this mechanism's releases; empty where none does.

    Each model declares them by `reads`. Whether it can read a given release may depend on more: a
    public number of records, say. Users' own models, by `bdp.observe` and
    `bdp.models.RecordModel`, read more.
    """
    return tuple(MODELS[family].__name__ for family in families_of(mechanism))


def families_of(mechanism: Any) -> list[str]:
    """Families of the models that read this mechanism's releases."""
    return [family for family, model in MODELS.items() if model.reads(mechanism)]


def family_of(mechanism: Any) -> str | None:
    """Family of the model that reads this mechanism's releases and needs the least beside them.

    Of several that need as few fields, the first in alphabetical order; None if none reads them.
    """

    def needed(family: str) -> int:
        fields = dataclasses.fields(MODELS[family])
        empty = dataclasses.MISSING
        return sum(each.default is empty and each.default_factory is empty for each in fields)

    return min(families_of(mechanism), key=needed, default=None)


def models_with(*methods: str) -> tuple[str, ...]:
    """Families whose models have one of these methods, in alphabetical order."""
    return tuple(
        family
        for family, model in sorted(MODELS.items())
        if any(hasattr(model, method) for method in methods)
    )


def read_view(mechanism: Any, kind: type[AnyView], lacks: str, model: str) -> AnyView:
    """Return the mechanism's view of a kind, or raise InvalidInput that says which models read it.

    Parameters
    ----------
    mechanism : Mechanism
    kind : type of View
    lacks : str
        What a mechanism without such a view doesn't do, as "release quantiles".
    model : str
        Name of the model that asks.
    """
    from bayesdp.core.views import view_of

    if (view := view_of(mechanism, kind)) is None:
        raise InvalidInput(
            f"the release's mechanism {quoted(mechanism.name)} doesn't {lacks}, so {model} has no "
            f"law for it; {instead(mechanism)}"
        )
    return view


def instead(mechanism: Any) -> str:
    """The end of an error's sentence: which models read the release, or what to do."""
    names = [f"bdp.models.{name}" for name in models_of(mechanism)]
    if not names:
        from bayesdp.core.views import IntractableView

        views = getattr(mechanism, "views", ())
        whys = [view.why for view in views if isinstance(view, IntractableView)]
        if whys:
            return f"no model here has its law: {whys[0]}"
        return (
            "no model here has its law; analyse each copy as data and combine the results with "
            "bdp.combine, or see bdp.observe"
        )
    return f"such releases are for {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}"
