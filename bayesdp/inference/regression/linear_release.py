"""Releases as a linear regression reads them: noisy moments of one release or several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, repeat
from typing import Any

import numpy as np

from bayesdp.core.drawn_moments import DrawnMomentsView
from bayesdp.core.views import (
    CoefficientsView,
    IntractableView,
    MomentsView,
    check_tractable,
    view_of,
)
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import instead, models_of
from bayesdp.inference.regression.linear_coefficients import of_coefficients
from bayesdp.inference.regression.linear_read import (
    INTERCEPT,
    Read,
    check_fine,
    possible_sizes,
    priors_of,
)
from bayesdp.inference.regression.start import Hidden
from bayesdp.inference.several import Releases, agreed_size, releases_of
from bayesdp.kernels.regression.moments import Floats


def read(
    release: Releases,
    *,
    response: str,
    predictors: Sequence[str] | None,
    prior: Any,
    predictors_prior: Any,
    sizes: range | None,
) -> Read:
    """Read and check the noisy moments; several releases must be of the same records.

    Raises
    ------
    InvalidInput
        If a release isn't of noisy moments, or of other columns, or its n, its lattice or the
        priors don't fit; or if several differ in n or in a column's bounds.
    """
    releases = releases_of(release)
    if coefficients := [each for each in releases if view_of(each.mechanism, CoefficientsView)]:
        if len(releases) > 1:
            raise InvalidInput(
                f"there are {len(releases)} releases, and one is of coefficients, which are fitted "
                "by themselves; give that one alone"
            )
        return of_coefficients(
            coefficients[0], response, predictors, prior, predictors_prior, sizes
        )
    views = [_moments_of(each.mechanism) for each in releases]
    chosen = [*_predictors(views, response, predictors), response]
    ends = _common_bounds(views, chosen)
    p = len(chosen) - 1
    public = agreed_size([each.parts[0] for each in releases], None)
    first, last = possible_sizes(public, sizes, p + 2)
    outputs, noisy_n = [], []
    for each, view in zip(releases, views, strict=True):
        table = np.array(each.outputs, dtype=np.float64).T
        values = dict(zip(_keys(list(view.bounds), view.n is not None), table, strict=True))
        outputs.append([values[key] for key in _keys(chosen, True)])
        noisy_n.append(values.get(()))
    copies = [len(each.outputs) for each in releases]
    checked, arrays = priors_of(prior, predictors_prior, p)
    hidden = Hidden(
        seen=(
            np.ascontiguousarray(np.concatenate(outputs, axis=1)),
            np.repeat([view.moment.scale for view in views], copies),
            np.repeat([not view.moment.noise.laplace for view in views], copies),
            0.0,
        ),
        prior=arrays,
        noisy_n=np.zeros(sum(copies)) if public is not None else np.concatenate(noisy_n),  # type: ignore[arg-type]
        first=first,
        last=last,
    )
    constant = sum(map(_log_constant, views, copies, noisy_n, repeat(hidden)))
    constant -= math.log(last - first + 1)
    return Read(hidden, checked, (INTERCEPT, *chosen[:-1]), ends, constant)


def is_of_moments(mechanism: Any) -> bool:
    """Return True if it randomises a regression's moments, or its coefficients."""
    coefficients = view_of(mechanism, CoefficientsView)
    if coefficients is not None:
        return coefficients.loss == "linear"
    return view_of(mechanism, MomentsView) is not None


def _moments_of(mechanism: Any) -> MomentsView:
    check_tractable(mechanism, MomentsView)
    for kind in getattr(mechanism, "views", ()):
        if isinstance(kind, IntractableView) and issubclass(kind.kind, DrawnMomentsView):
            others = f"; {instead(mechanism)}" if models_of(mechanism) else ""
            raise InvalidInput(f"{kind.why}{others}")
    view = view_of(mechanism, MomentsView)
    if view is None:
        raise InvalidInput(
            f"the release's mechanism {quoted(mechanism.name)} doesn't randomise what a "
            "LinearRegressionModel can read; it takes noisy moments, as "
            "bdp.synthesizers.NoisyMomentsSynthesizer releases them, perturbed coefficients, as "
            "bdp.synthesizers.PerturbedCoefficientsSynthesizer does, and numbers drawn without "
            "labels in copies of bdp.synthesizers.SequentialModipsSynthesizer; "
            f"{instead(mechanism)}"
        )
    check_fine(view.moment)
    return view


def _predictors(
    views: Sequence[MomentsView], response: str, predictors: Sequence[str] | None
) -> tuple[str, ...]:
    every = [list(view.bounds) for view in views]
    for columns in every:
        if response not in columns:
            raise InvalidInput(
                f"response is {quoted(response)}; the release's columns are {columns}"
            )
        if predictors is None and set(columns) != set(every[0]):
            raise InvalidInput(
                f"the releases have the columns {every[0]} and {columns}; "
                "say which predictors to take of those that all have"
            )
        unknown = [name for name in predictors or () if name not in columns]
        if unknown:
            raise InvalidInput(f"predictors has {unknown}; the release's columns are {columns}")
    if predictors is None:
        predictors = [name for name in every[0] if name != response]
    if INTERCEPT in predictors:
        raise InvalidInput(
            f"a predictor is called {quoted(INTERCEPT)}, as the regression's constant is; release "
            "it under another name"
        )
    return tuple(predictors)


def _common_bounds(views: Sequence[MomentsView], chosen: Sequence[str]) -> Floats:
    """Return the chosen columns' common bounds, by which moments are rescaled."""
    first, *others = [view.bounds for view in views]
    for ends in others:
        if wrong := [name for name in chosen if ends[name] != first[name]]:
            name = wrong[0]
            raise InvalidInput(
                f"the releases bound {quoted(name)} by {first[name]} and {ends[name]}, so that "
                "their moments are of different numbers; fit one of them"
            )
    return np.array([first[name] for name in chosen])


def _log_constant(view: MomentsView, copies: int, noisy_n: Floats | None, hidden: Hidden) -> float:
    """Log constant of the noise, on its lattice; and of a noisy n, where n is known, its law."""
    numbers = hidden.seen[0].shape[0]
    constant = numbers * copies * float(view.moment.noise.log_pmf(0))
    if noisy_n is None or view.size is None:
        return float(constant)
    at = np.zeros(copies) if hidden.first < hidden.last else noisy_n - hidden.first
    return float(constant + view.size.noise.log_pmf(at).sum())


def _keys(names: Sequence[str], public_n: bool) -> list[Any]:
    """Keys of the numbers: the columns whose product is summed, none, one, two or one twice."""
    first: list[Any] = [] if public_n else [()]
    first += [(name,) for name in names]
    return [*first, *((x, x) for x in names), *map(_pair, combinations(names, 2))]


def _pair(names: tuple[str, str]) -> frozenset[str]:
    return frozenset(names)
