"""The least noise that leads to what was released, by family: for fits and for evidences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bayesdp.inference.conflict import Noise, noise_from, noise_from_marginals
from bayesdp.inference.counts.binomial_weights import noises_of_counts
from bayesdp.inference.gaussian.release import noises_of_means, noises_of_moments
from bayesdp.inference.several import Releases, agreed_size, parts_of
from bayesdp.kernels.log_linear.moves import NUMBERS


def noises_of(model: Any, release: Releases) -> list[Noise]:
    """Compute what `bayesdp.inference.conflict` judges; empty for a family without noise.

    Parameters
    ----------
    model
        Of any family.
    release : Release, or several in a list
        That the model reads.
    """
    found = _FAMILIES.get(model.family)
    return [] if found is None else list(found(model, release))


def noises_of_table(problem: Any, noisy: Any) -> list[Noise]:
    """Compute the least noise of cells or marginals that log-linear and logistic models read."""
    if noisy is None or noisy.released.kind != NUMBERS or not noisy.released.observed.size:
        return []
    told, sizes = noisy.released, problem.sizes
    marginals = [np.unique(column) for column in told.places.T]
    high = math.inf if sizes is None else float(max(n for n, _ in sizes))
    total = float(sizes[0][0]) if sizes is not None and len(sizes) == 1 else None
    return [noise_from_marginals(told.observed, told.rate, told.gaussian, marginals, high, total)]


def _binomial(model: Any, release: Releases) -> Iterable[Noise]:
    return noises_of_counts(parts_of(release), model.weights, model.n)


def _hierarchical_binomial(model: Any, release: Releases) -> Iterable[Noise]:
    for parts in parts_of(release):
        yield from noise_from(parts, 0, float(agreed_size(parts, None) or 0))


def _multinomial(model: Any, release: Releases) -> Iterable[Noise]:
    for parts in parts_of(release):
        sizes = model.sizes_of(parts)
        yield from noise_from(parts, 0, sizes[-1][0], sizes[0][0] if len(sizes) == 1 else None)


def _poisson(model: Any, release: Releases) -> Iterable[Noise]:
    for parts, each in zip(parts_of(release), model.read(release), strict=True):
        yield from noise_from(parts, 0, math.inf, each.total)


def _gaussian(model: Any, release: Releases) -> Iterable[Noise]:
    for parts in parts_of(release):
        if model.sd is not None:
            yield from noises_of_means(parts)
        else:
            yield from noises_of_moments(parts, model.n, model.statistic)


def _linear(model: Any, release: Releases) -> Iterable[Noise]:
    noises: Iterable[Noise] = model.read(release).noises
    return noises


def _log_linear(model: Any, release: Releases) -> Iterable[Noise]:
    from bayesdp.inference.log_linear.fit import setting_of

    setting = setting_of(model, release)
    return noises_of_table(setting.problem, setting.noisy)


_FAMILIES: dict[str, Callable[[Any, Releases], Iterable[Noise]]] = {
    "binomial": _binomial,
    "gaussian": _gaussian,
    "hierarchical_binomial": _hierarchical_binomial,
    "hierarchical_gaussian": _gaussian,
    "linear_regression": _linear,
    "log_linear": _log_linear,
    "multinomial": _multinomial,
    "poisson": _poisson,
}
