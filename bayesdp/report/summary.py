"""The numbers of a report: what was released, promised, inferred and computed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.convergence import Sampling
from bayesdp.engines.draws import import_arviz
from bayesdp.engines.mixture import BetaMixture, check_level
from bayesdp.evaluation.combining import combine, proportions
from bayesdp.inference.counts.binomial import BinomialModel
from bayesdp.release import Part, Release
from bayesdp.report.diagnostics import Computation, computation_of, sampling_of
from bayesdp.report.inputs import attribute, check_draws, check_reference, label_of
from bayesdp.report.promise import Promise, promise_of

RULES = ("liu", "reiter_positive")
_POINTS = 181  # of a density curve


@dataclass(frozen=True, slots=True)
class Estimate:
    """A point estimate and interval of one group's proportion.

    `method` is "posterior", "naive" or a combining rule; a bound is NaN where undefined.
    """

    method: str
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Density:
    """Densities on a common grid of proportions, each of shape (points,)."""

    grid: NDArray[np.float64]
    posterior: NDArray[np.float64]
    naive: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """One group: its mechanism, its copies and everything inferred from them.

    Attributes
    ----------
    label : str
        The group's label, or "all records".
    mechanism : str
        The mechanism's name.
    prior : tuple of two floats or None
        The mechanism's prior, if it has one.
    size : int
        Number of records in a copy.
    n : int or None
        Number of confidential records; None where it is confidential.
    epsilon : float or None
        Epsilon of all copies of this group alone; None where nothing is promised.
    copies : tuple of float
        Proportion of ones in each copy.
    estimates : tuple of Estimate
        One for each method: "posterior", "naive" and, from two copies on, each of `RULES`.
    reference : float or None
        The true proportion, if it was given.
    density : Density or None
        Densities; None where there are too few distinct draws for a curve.
    sampling : Sampling
        How well the posterior was sampled.
    """

    label: str
    mechanism: str
    prior: tuple[float, float] | None
    size: int
    n: int | None
    epsilon: float | None
    copies: tuple[float, ...]
    estimates: tuple[Estimate, ...]
    reference: float | None
    density: Density | None
    sampling: Sampling

    def by(self, method: str) -> Estimate:
        """The estimate of one method; KeyError if it isn't there."""
        return {estimate.method: estimate for estimate in self.estimates}[method]


@dataclass(frozen=True, slots=True)
class Summary:
    """All numbers of a report.

    `promise` is None for a release from a seeded generator. `widening` is the median over
    groups of the posterior interval's width as a multiple of the naive one's.
    """

    variable: str
    by: str | None
    groups: tuple[Group, ...]
    copies: int
    level: float
    prior: tuple[float, float]
    widening: float
    promise: Promise | None
    origin: str
    computation: Computation
    fingerprint: str


def summarize(
    idata: Any, release: Release, *, level: float = 0.95, reference: Any = None
) -> Summary:
    """Compute the numbers of a report.

    Parameters
    ----------
    idata : arviz.InferenceData
        The result of `BinomialModel().fit` to `release`, or a copy read from netCDF.
    release : Release
        The release that was fitted.
    level : float
        Level of all intervals, in (0, 1).
    reference : mapping of group label to float, or float, optional
        True proportions, where the data are public; a float for a release without groups.

    Raises
    ------
    InvalidInput
        If `idata` isn't the binomial posterior of this release, or `level` or `reference`
        is out of range.
    """
    level = check_level(level)
    draws = check_draws(idata, release)
    truth = check_reference(reference, release)
    prior: tuple[float, float] = tuple(json.loads(attribute(idata, "prior")))
    sampling = sampling_of(idata, draws)
    groups = tuple(
        Group(
            **_released(part, release, *counts),
            **_inferred(part, release, *counts, draws[..., g].ravel(), prior, level),
            reference=truth.get(part.group),
            sampling=sampling[g],
        )
        for g, part in enumerate(release.parts)
        for counts in [_counts(part)]
    )
    widths = [_width(group.by("posterior")) / _width(group.by("naive")) for group in groups]
    return Summary(
        variable=release.variable,
        by=release.by,
        groups=groups,
        copies=release.copies,
        level=level,
        prior=prior,
        widening=float(np.median(widths)),
        promise=promise_of(release),
        origin=release.origin,
        computation=computation_of(idata, sampling),
        fingerprint=release.fingerprint,
    )


def _counts(part: Part) -> tuple[list[int], int]:
    """Count the ones in each copy, and the records in a copy."""
    records = [part.mechanism.records(output) for output in part.outputs]
    return [int(column.sum()) for column in records], records[0].size


def _released(part: Part, release: Release, ones: list[int], size: int) -> dict[str, Any]:
    mechanism: Any = part.mechanism
    promise = None
    if not release.reproducible:
        promise = mechanism.guarantee(copies=release.copies, delta=release.delta)
    return {
        "label": label_of(part),
        "mechanism": mechanism.name,
        "prior": getattr(mechanism, "prior", None),
        "size": size,
        "n": mechanism.n,
        "epsilon": None if promise is None else promise.epsilon,
        "copies": tuple(count / size for count in ones),
    }


def _inferred(
    part: Part,
    release: Release,
    ones: list[int],
    size: int,
    draws: NDArray[np.float64],
    prior: tuple[float, float],
    level: float,
) -> dict[str, Any]:
    alone = release if release.by is None else release[part.group]
    naive = BinomialModel(prior).naive_posterior(alone)
    tail = (1 - level) / 2
    low, high = (float(x) for x in np.quantile(draws, [tail, 1 - tail]))
    return {
        "estimates": (
            Estimate("posterior", float(draws.mean()), low, high),
            Estimate("naive", naive.mean(), *naive.interval(level)),
            *_combined(*proportions(ones, size), size / (part.mechanism.n or size), level),
        ),
        "density": _density(draws, naive),
    }


def _combined(
    q: NDArray[np.float64], v: NDArray[np.float64], size_ratio: float, level: float
) -> Iterator[Estimate]:
    """Estimates by the combining rules; empty for a single copy."""
    if q.size < 2:
        return
    for rule in RULES:
        combined = combine(q, v, rule, size_ratio=size_ratio)
        # Reiter's degrees of freedom may be next to 0, and a t interval then has no end.
        low, high = combined.interval(level) if combined.df > 0 else (math.nan, math.nan)
        yield Estimate(rule, float(combined.estimate), float(low), float(high))


def _density(draws: NDArray[np.float64], naive: BetaMixture) -> Density | None:
    if np.unique(draws).size < 20:
        return None
    # Half as wide again as ArviZ's choice: a smoother line, still within 4% of the true one.
    where, height = import_arviz().kde(draws, bw_fct=1.5)
    tails = naive.interval(0.999)
    low, high = np.quantile(draws, [0.0005, 0.9995])
    low, high = max(min(low, tails[0]), 1e-9), min(max(high, tails[1]), 1 - 1e-9)
    grid = np.linspace(low, high, _POINTS)
    # ArviZ's curve starts a little inside the draws; outside them it is 0.
    left = float(height[0]) if low >= draws.min() else 0.0
    right = float(height[-1]) if high <= draws.max() else 0.0
    return Density(grid, np.interp(grid, where, height, left, right), naive.pdf(grid))


def _width(estimate: Estimate) -> float:
    return estimate.high - estimate.low
