"""Intervals that an analyst would report from a release, by model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesdp.core.views import AnswersView, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.release import Release

Interval = tuple[float, float]
Reader = Callable[[Release, int], Interval]
_LISTED = 5000  # answers yes or no, up to which the posterior of their counts is listed
_DRAWN = 20_000  # from a posterior whose quantiles take longer than so many draws


def binomial(model: Any, estimand: Any, level: float, options: Any) -> Reader:
    """Read intervals of p; responses are read by the model that has their law."""
    from bayesdp.inference.counts.multinomial import MultinomialModel

    responding = multinomial(MultinomialModel(prior=model.prior[::-1]), 1, level, options)

    def interval(release: Release, seed: int) -> Interval:
        if view_of(release.mechanism, AnswersView) is not None:
            return responding(release, seed)
        ends: Interval = model.posterior(release).interval(level)
        return ends

    return interval


def multinomial(model: Any, estimand: Any, level: float, options: Any) -> Reader:
    """Read intervals of one category's probability."""
    drawn = by_draws(model, ("theta", estimand), level, {"engine": "marginal", **options})

    def interval(release: Release, seed: int) -> Interval:
        answers = view_of(release.mechanism, AnswersView)
        if answers is not None and (answers.k > 2 or answers.n > _LISTED):
            return drawn(release, seed)
        ends: Interval = model.posterior(release, estimand).interval(level)
        return ends

    return interval


def gaussian(model: Any, estimand: Any, level: float, options: Any) -> Reader:
    """Read intervals of mu or sigma."""

    def interval(release: Release, seed: int) -> Interval:
        posterior = model.posterior(release)
        if model.sd is not None:
            ends: Interval = posterior.interval(level)
            return ends
        draws, _ = posterior.draw(_DRAWN, np.random.default_rng(seed))
        return _ends(draws[estimand], level)

    return interval


def gamma(model: Any, estimand: Any, level: float, options: Any) -> Reader:
    """Read intervals of the rate or the mean."""

    def interval(release: Release, seed: int) -> Interval:
        low, high = model.posterior(release).interval(level)
        return (low, high) if estimand == "rate" else (model.shape / high, model.shape / low)

    return interval


def by_draws(model: Any, estimand: Any, level: float, options: Mapping[str, Any]) -> Reader:
    """Read intervals of any variable of the result of `fit`, from its draws.

    Parameters
    ----------
    estimand : str, (str, label or index), or callable
        A variable; one number of an array; or a function of the InferenceData that returns draws.
    """

    def interval(release: Release, seed: int) -> Interval:
        idata = model.fit(release, **{"seed": seed, **options})
        if callable(estimand):
            return _ends(np.ravel(np.asarray(estimand(idata), dtype=np.float64)), level)
        return _ends(_chosen(idata.posterior, estimand), level)

    return interval


def _chosen(posterior: Any, estimand: Any) -> Any:
    name, where = (estimand, None) if isinstance(estimand, str) else estimand
    if name not in posterior:
        raise InvalidInput(f"estimand is {quoted(estimand)}; the variables are {list(posterior)}")
    array = posterior[name]
    rest = [dim for dim in array.dims if dim not in ("chain", "draw")]
    if where is None and not rest:
        return array.to_numpy().ravel()
    if where is None or len(rest) != 1:
        raise InvalidInput(
            f"estimand is {quoted(estimand)}, but {quoted(name)} has the dimensions {rest}; give "
            f"one number, as ({quoted(name)}, label), or a function of the InferenceData that "
            "returns draws"
        )
    labels = array[rest[0]].to_numpy().tolist()
    if where not in labels:
        raise InvalidInput(f"estimand is {quoted(estimand)}; {quoted(name)} has {labels}")
    return array.isel({rest[0]: labels.index(where)}).to_numpy().ravel()


def _ends(draws: Any, level: float) -> Interval:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
