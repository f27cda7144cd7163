"""New statistics of confidential data, from each family's law given its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from bayesdp.core.views import AnswersView, view_of
from bayesdp.errors import InvalidInput
from bayesdp.inference.counts.binomial_weights import weights_of
from bayesdp.inference.counts.poisson_release import expected_of, total_of
from bayesdp.inference.gaussian.release import size_of
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.mechanisms.counts.count import Count
from bayesdp.mechanisms.counts.noisy_marginals import NoisyMarginalsMechanism
from bayesdp.mechanisms.modips.sbs import ModipsSBSMechanism
from bayesdp.release import Part, Release

Rng = np.random.Generator
Statistic = Callable[[Mapping[str, Any], Rng], Any]
"""One draw of the parameters and a generator to one statistic."""
_TRIES = 1000


def _binomial(model: Any, part: Part, theta: Mapping[str, Any], rng: Rng) -> Any:
    if getattr(model, "weights", None) is not None:
        each = weights_of(model.weights, part.group)
        return float(sum(w * rng.binomial(k, theta["p"]) for w, k in each))
    n = _known(part)
    ones = int(rng.binomial(n, theta["p"]))
    try:
        part.mechanism.check_statistic(count := Count(ones, n))
    except InvalidInput:
        return ones
    return count


def _multinomial(model: Any, part: Part, theta: Mapping[str, Any], rng: Rng) -> Any:
    p = np.asarray(theta["p"] if "p" in theta else theta["theta"])
    if (answers := view_of(part.mechanism, AnswersView)) is not None:
        return rng.choice(p.size, size=answers.n, p=p / p.sum())
    return rng.multinomial(_known(part), p / p.sum())


def _gaussian(model: Any, part: Part, theta: Mapping[str, Any], rng: Rng) -> Any:
    """Draw the mean, or what was made of it; of records within public bounds, if there are."""
    n, sigma = size_of(part, model.n), float(theta.get("sigma", model.sd or 0.0))
    for _ in range(_TRIES):
        mean = rng.normal(theta["mu"], sigma / math.sqrt(n))
        if isinstance(part.mechanism, ConjugateMechanism):
            given: Any = mean * n
        elif model.sd is not None:
            given = mean * (n if model.statistic == "sum" else 1)
        else:
            variance = sigma**2 * rng.chisquare(n - 1) / (n - 1)
            given = np.array([mean, variance])
            if model.statistic == "sum" and not isinstance(part.mechanism, ModipsSBSMechanism):
                given = np.array([n * mean, (n - 1) * variance + n * mean**2])
        if getattr(part.mechanism, "whole", False):
            given = np.rint(given).astype(np.int64)
        try:
            part.mechanism.check_statistic(given)
        except InvalidInput:
            continue  # not of records within the bounds
        return given
    raise InvalidInput(
        f"a draw of the posterior gave no records within the public bounds in {_TRIES} tries; the "
        "model doesn't fit the release"
    )


def _poisson(model: Any, part: Part, theta: Mapping[str, Any], rng: Rng) -> Any:
    """Draw events by area; where their number is public, that many."""
    means = np.asarray(theta["rate"])
    means = means * expected_of([part], model.expected, means.size)
    total = total_of([part], model.n)
    if total is None:
        return rng.poisson(means)
    return rng.multinomial(total, means / means.sum())


def _log_linear(model: Any, release: Release, part: Part) -> Statistic:
    """Draw the table's cells, or its marginals."""
    from bayesdp.inference.log_linear.fit import setting_of

    setting, mechanism = setting_of(model, release), part.mechanism
    sizes, possible = setting.problem.sizes, setting.noisy.possible.ravel()

    def draw(theta: Mapping[str, Any], rng: Rng) -> Any:
        if "probability" not in theta:
            raise InvalidInput("idata has no 'probability'; fit with cells=True")
        if sizes is None:
            u = np.linalg.solve(setting.design.shown, theta["beta"][1:])
            eta = theta["beta"][0] + setting.design.columns @ u
            counts = rng.poisson(np.exp(np.minimum(eta, 40.0)))
        else:
            p = np.asarray(theta["probability"])
            counts = rng.multinomial(int(theta.get("n", sizes[0][0])), p / p.sum())
        whole = np.zeros(possible.size, dtype=np.int64)
        whole[possible] = counts
        return (
            mechanism.statistic(whole) if isinstance(mechanism, NoisyMarginalsMechanism) else whole
        )

    return draw


def _known(part: Part) -> int:
    if part.mechanism.n is None:
        raise InvalidInput(
            "n is confidential in this release, and a posterior has no draws of it; outputs can't "
            "be predicted"
        )
    return int(part.mechanism.n)


def _each(draw: Callable[..., Any]) -> Callable[..., Statistic]:
    return lambda model, release, part: partial(draw, model, part)


STATISTICS: dict[str, Callable[..., Statistic]] = {
    "binomial": _each(_binomial),
    "gaussian": _each(_gaussian),
    "hierarchical_binomial": _each(_binomial),
    "hierarchical_gaussian": _each(_gaussian),
    "log_linear": _log_linear,
    "multinomial": _each(_multinomial),
    "poisson": _each(_poisson),
}
"""By family: of a model, a release and one of its parts."""
