"""Synthesizers and models from their declarations in a file or on a command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import MODELS
from bayesdp.registry import Registry

SYNTHESIZERS = Registry(
    "bayesdp.synthesizers",
    "bayesdp.synthesis",
    {
        "beta_binomial": "beta_binomial:BetaBinomialSynthesizer",
        "censored_beta": "censored_beta:CensoredBetaSynthesizer",
        "censored_regression": "censored_regression:CensoredRegressionSynthesizer",
        "conjugate": "conjugate:ConjugateSynthesizer",
        "dirichlet_multinomial": "dirichlet_multinomial:DirichletMultinomialSynthesizer",
        "discrete_laplace": "discrete_laplace:DiscreteLaplaceSynthesizer",
        "dp_ergm": "dp_ergm:DPERGMSynthesizer",
        "edge_flip": "edge_flip:EdgeFlipSynthesizer",
        "log_linear": "log_linear.synthesizer:LogLinearSynthesizer",
        "modips": "modips:ModipsSynthesizer",
        "noisy_degrees": "noisy_degrees:NoisyDegreesSynthesizer",
        "noisy_moments": "noisy_moments:NoisyMomentsSynthesizer",
        "noisy_statistics": "noisy_statistics:NoisyStatisticsSynthesizer",
        "noisy_triangles": "noisy_triangles:NoisyTrianglesSynthesizer",
        "perturbed_coefficients": "perturbed_coefficients:PerturbedCoefficientsSynthesizer",
        "perturbed_histogram": "histogram:PerturbedHistogramSynthesizer",
        "poisson_gamma": "poisson_gamma:PoissonGammaSynthesizer",
        "posterior": "posterior:PosteriorSynthesizer",
        "propose_test_release": "propose_test_release:ProposeTestReleaseSynthesizer",
        "quantile": "quantiles:QuantileSynthesizer",
        "sequential_dirichlet_multinomial": (
            "sequential_dirichlet_multinomial:SequentialDirichletMultinomialSynthesizer"
        ),
        "sequential_modips": "sequential_modips:SequentialModipsSynthesizer",
        "subsample_aggregate": "subsample_aggregate:SubsampleAggregateSynthesizer",
        "table": "noisy_table:TableSynthesizer",
        "trimmed_mean": "trimmed_mean:TrimmedMeanSynthesizer",
        "truncated_statistics": "truncated_statistics:TruncatedStatisticsSynthesizer",
        "weighted_counts": "weighted_counts:WeightedCountsSynthesizer",
    },
)
"""By their names; another package's are entry points of this group."""


def synthesizer_of(name: str, parameters: Mapping[str, Any]) -> Any:
    """Make a synthesizer from its declaration.

    Parameters
    ----------
    name : str
        One of `SYNTHESIZERS`, or another installed package's.
    parameters : mapping
        The class's parameters, by name; what is itself a class, such as a `family` or a step of
        modips, as a table of its parameters.

    Raises
    ------
    InvalidInput
        If there is no synthesizer of that name, or it has no such parameters.
    """
    return _whole("synthesizer", *synthesizer_class(name, parameters))


def synthesizer_class(
    name: str, parameters: Mapping[str, Any], more: Collection[str] = ()
) -> tuple[Any, dict[str, Any]]:
    """Return a synthesizer's class, and the parameters given, as it takes them.

    Parameters
    ----------
    name, parameters
        As for `synthesizer_of`.
    more : collection of str
        Names that `parameters` may have beside the class's own.

    Raises
    ------
    InvalidInput
        If there is no synthesizer of that name, or it has no such parameters.
    """
    cls = synthesizer_named(name)
    _check_known("synthesizer", cls, parameters, more)
    made = {key: _frozen(value) for key, value in parameters.items()}
    if isinstance(made.get("family"), Mapping):
        from bayesdp.mechanisms.families import check_family

        made["family"] = check_family(made["family"])
    return cls, made


def synthesizer_named(name: str) -> Any:
    """The class of a synthesizer, by its name.

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    return _found("synthesizer.name", name, SYNTHESIZERS)


def settings_of(cls: Any) -> dict[str, Any]:
    """Settings of a synthesizer's `release` that a declaration may have beside its fields."""
    fields = {field.name for field in dataclasses.fields(cls)}
    return {name: usual for name, usual in cls.settings.items() if name not in fields}


def located(name: str, parameters: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a synthesizer's parameters from a file, whose paths are relative to its folder."""
    paths = getattr(synthesizer_named(name), "paths", ())
    return {
        key: str(folder / value) if key in paths and isinstance(value, str) else value
        for key, value in parameters.items()
    }


def release_of(name: str, parameters: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Make a synthesizer, and the settings of its `release`, from one declaration.

    Parameters
    ----------
    name, parameters
        As for `synthesizer_of`; `parameters` may have the settings too.

    Raises
    ------
    InvalidInput
        As by `synthesizer_of`.
    """
    more = settings_of(synthesizer_named(name))
    cls, made = synthesizer_class(name, parameters, more)
    settings = {key: made.pop(key) for key in more if key in made}
    return _whole("synthesizer", cls, made), settings


def model_named(family: str) -> Any:
    """The class of a model, by its family.

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    return _found("model.family", family, MODELS)


def model_of(family: str, parameters: Mapping[str, Any]) -> Any:
    """Make a model from its declaration.

    Parameters
    ----------
    family : str
        One of `MODELS`, or another installed package's.
    parameters : mapping
        The class's parameters, by name; `n_range = [smallest, largest]` for n; a normal prior
        of graph models as a table with mean and sd.

    Raises
    ------
    InvalidInput
        If there is no such family, or it has no such parameters.
    """
    made = dict(parameters)
    if "n_range" in made:
        made["n"] = _sizes(made.pop("n_range"), made.get("n"))
    if isinstance(made.get("prior"), Mapping):
        from bayesdp.networks.prior import NormalPrior

        made["prior"] = _made("model.prior", NormalPrior, made["prior"])
    return _made("model", model_named(family), made)


def _sizes(ends: Any, n: Any) -> Any:
    """Return the range from the smallest to the largest n, or those of groups beside others' n."""
    if isinstance(ends, Mapping) and (n is None or isinstance(n, Mapping)):
        return {
            **(n or {}),
            **{group: _sizes(one, (n or {}).get(group)) for group, one in ends.items()},
        }
    whole = isinstance(ends, list | tuple) and [type(end) for end in ends] == [int, int]
    if not whole or n is not None:
        raise InvalidInput(
            f"n_range is {quoted(ends)}; it must be two whole numbers, as [500, 1500], without n, "
            "or a table of groups that have them"
        )
    return range(ends[0], ends[1] + 1)


def _found(what: str, name: str, registry: Registry) -> Any:
    registered = registry.find(name, InvalidInput)
    if registered is None:
        raise InvalidInput(
            f"{what} is {quoted(name)}; it must be one of {', '.join(registry.names())}"
        )
    return registered


def _made(what: str, cls: Any, parameters: Mapping[str, Any]) -> Any:
    """Make an instance if the class has these parameters, whose values it checks itself."""
    _check_known(what, cls, parameters)
    return _whole(what, cls, {name: _frozen(value) for name, value in parameters.items()})


def _whole(what: str, cls: Any, parameters: Mapping[str, Any]) -> Any:
    """Make an instance if no parameter that the class needs is missing."""
    for field in dataclasses.fields(cls):
        optional = (field.default, field.default_factory) != (dataclasses.MISSING,) * 2
        if field.init and not optional and field.name not in parameters:
            raise InvalidInput(f"{what}.{field.name} is missing; a {cls.__name__} needs it")
    return cls(**parameters)


def _check_known(
    what: str, cls: Any, parameters: Mapping[str, Any], more: Collection[str] = ()
) -> None:
    """Raise InvalidInput if a parameter isn't among the fields of a class, or `more`."""
    known = [*(field.name for field in dataclasses.fields(cls) if field.init), *more]
    for name in parameters:
        if name not in known:
            raise InvalidInput(
                f"{what}.{name}: a {cls.__name__} has no such parameter; it has {', '.join(known)}"
            )


def _frozen(value: Any) -> Any:
    """Convert lists to tuples, all the way down."""
    if isinstance(value, Mapping):
        return {name: _frozen(each) for name, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
