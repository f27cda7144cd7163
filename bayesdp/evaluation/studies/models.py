"""A model's fit as an analysis of a study: its posterior's mean, sd and interval."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.checks import keep
from bayesdp.engines.mixture import check_level
from bayesdp.engines.normal_inverse_gamma import NormalInverseGammaMixture
from bayesdp.errors import InvalidInput
from bayesdp.release import Release

Numbers = dict[str, float]
_NUMBERS = ("mean", "sd", "low", "high")
RETURNED = (*_NUMBERS, "warned")


@dataclass(frozen=True)
class ModelAnalysis:
    """Fit a model to each release of a study.

    Parameters
    ----------
    model : model
        A model, such as `BinomialModel()`.
    level : float
        Level of the equal-tailed intervals, in (0, 1).
    options : mapping, optional
        Arguments of the model's `fit`, such as ``{"draws": 1000}``. Without it, an exact posterior
        is used, where the model has one, instead of sampling.
    variables : sequence of str, optional
        The posterior variables to keep, where it is sampled; by default all.

    Raises
    ------
    InvalidInput
        If `model` has no `fit`, or `level` isn't in (0, 1).
    """

    model: Any
    level: float = 0.95
    options: Mapping[str, Any] | None = None
    variables: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not is_model(self.model):
            raise InvalidInput(
                f"model is a {type(self.model).__name__}, which has no fit(release); give a model, "
                "as bdp.BinomialModel()"
            )
        keep(self, level=check_level(self.level))
        if self.options is not None and "seed" in self.options:
            raise InvalidInput("options has a seed; a study gives each replicate its own")

    def __call__(self, release: Release, generator: np.random.Generator) -> dict[str, Numbers]:
        """Return mean, sd, low and high of each parameter, by its name: "p", or "beta[age]".

        A sampled posterior also has `warned`: 1 where the fit gave a warning, of chains that didn't
        mix, say, and otherwise 0.
        """
        if self.options is None and self.variables is None and _has_exact(self.model):
            parts = {"": release}
            if release.by is not None:
                parts = {f"[{label}]": release[label] for label in release.groups}
            return {
                f"{name}{suffix}": numbers
                for suffix, part in parts.items()
                for name, numbers in _exact(self.model.posterior(part), self.level)
            }
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            seed = int(generator.integers(1 << 31))
            fitted = self.model.fit(release, **(self.options or {}), seed=seed)
        warned = {"warned": float(any(issubclass(each.category, UserWarning) for each in given))}
        summaries = _sampled(fitted.posterior, self.level, self.variables)
        return {name: numbers | warned for name, numbers in summaries}


def is_model(thing: Any) -> bool:
    """Return True for an instance with a `fit`."""
    return not isinstance(thing, type) and callable(getattr(thing, "fit", None))


def _has_exact(model: Any) -> bool:
    """Return True for a model with a `posterior` of a release alone."""
    posterior = getattr(model, "posterior", None)
    return callable(posterior) and list(inspect.signature(posterior).parameters) == ["release"]


def _exact(posterior: Any, level: float) -> Iterator[tuple[str, Numbers]]:
    if isinstance(posterior, NormalInverseGammaMixture):
        ends = posterior.interval_mu(level), posterior.interval_sigma(level)
        for name, mean, sd, end in zip(
            ("mu", "sigma"), posterior.mean(), posterior.sd(), ends, strict=True
        ):
            yield name, _numbers(mean, sd, *end)
        return
    ends = posterior.interval(level)
    yield getattr(posterior, "variable", ""), _numbers(posterior.mean(), posterior.sd(), *ends)


def _sampled(
    posterior: Any, level: float, variables: tuple[str, ...] | None
) -> Iterator[tuple[str, Numbers]]:
    missing = set(variables or ()) - set(map(str, posterior.data_vars))
    if missing:
        raise InvalidInput(
            f"variables has {sorted(missing)}; the posterior has "
            f"{', '.join(map(str, posterior.data_vars))}"
        )
    for name in variables or posterior.data_vars:
        drawn = posterior[name].transpose("chain", "draw", ...)
        values = drawn.to_numpy()
        for index in np.ndindex(values.shape[2:]):
            labels = [
                str(drawn[dim].to_numpy()[k]) if dim in drawn.coords else str(k)
                for dim, k in zip(drawn.dims[2:], index, strict=True)
            ]
            x = values[(slice(None), slice(None), *index)].ravel()
            ends = np.quantile(x, [(1 - level) / 2, (1 + level) / 2])
            suffix = f"[{','.join(labels)}]" if labels else ""
            yield f"{name}{suffix}", _numbers(x.mean(), x.std(ddof=1), *ends)


def _numbers(mean: float, sd: float, low: float, high: float) -> Numbers:
    return dict(zip(_NUMBERS, map(float, (mean, sd, low, high)), strict=True))
