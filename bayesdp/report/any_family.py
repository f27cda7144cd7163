"""The numbers of a report on a posterior of any family: means, intervals and diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.convergence import Sampling
from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput, quoted
from bayesdp.release import Release
from bayesdp.report.diagnostics import Computation, computation_of, sampling_of
from bayesdp.report.inputs import attribute, check_fit, label_of
from bayesdp.report.promise import Promise, promise_of

_MOST = 1000


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a report on one number: its posterior mean, standard deviation and interval."""

    label: str
    mean: float
    sd: float
    low: float
    high: float
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Variable:
    """Variable of the posterior, and its numbers."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class PosteriorSummary:
    """All numbers of a report on any family, named as in `bayesdp.report.summary.Summary`.

    `parts` are the groups' labels, `mechanisms` their mechanisms' names.
    """

    family: str
    variable: str
    by: str | None
    parts: tuple[str, ...]
    mechanisms: tuple[str, ...]
    copies: int
    level: float
    prior: str | None
    variables: tuple[Variable, ...]
    promise: Promise | None
    origin: str
    computation: Computation
    fingerprint: str


def summarize_posterior(idata: Any, release: Release, *, level: float = 0.95) -> PosteriorSummary:
    """Compute the numbers of a report on any family.

    Parameters
    ----------
    idata : arviz.InferenceData
        The result of a model's `fit` to `release`, or a copy read from netCDF.
    release : Release
        The release that was fitted.
    level : float
        Level of all intervals, in (0, 1).

    Raises
    ------
    InvalidInput
        If `idata` isn't a posterior of this release, has no numbers or more than 1,000 in a
        variable, or `level` is out of range.
    """
    level = check_level(level)
    check_fit(idata, release)
    variables = tuple(_variable(idata, name, level) for name in idata.posterior.data_vars)
    attrs = {**getattr(idata.posterior, "attrs", {}), **idata.attrs}
    every = [row.sampling for variable in variables for row in variable.rows]
    return PosteriorSummary(
        family=attribute(idata, "family"),
        variable=release.variable,
        by=release.by,
        parts=tuple(label_of(part) for part in release.parts),
        mechanisms=tuple(part.mechanism.name for part in release.parts),
        copies=release.copies,
        level=level,
        prior=attrs.get("prior"),
        variables=variables,
        promise=promise_of(release),
        origin=release.origin,
        computation=computation_of(idata, every, of="numbers"),
        fingerprint=release.fingerprint,
    )


def _variable(idata: Any, name: Any, level: float) -> Variable:
    array = idata.posterior[name].transpose("chain", "draw", ...)
    draws = np.asarray(array.to_numpy(), dtype=np.float64)
    flat = draws.reshape(*draws.shape[:2], -1)
    if not 0 < flat.shape[2] <= _MOST or flat.shape[1] == 0:
        raise InvalidInput(
            f"posterior variable {quoted(name)} has {flat.shape[2]:,} numbers of {flat.shape[1]} "
            f"draws; a report shows from 1 to {_MOST:,} numbers: leave it out, as with "
            "idata.posterior = idata.posterior.drop_vars(...)"
        )
    tail = (1 - level) / 2
    low, high = np.quantile(flat, [tail, 1 - tail], axis=(0, 1))
    rows = [
        Row(label, float(x.mean()), float(x.std()), float(low[k]), float(high[k]), one)
        for k, (label, x, one) in enumerate(
            zip(
                _labels(str(name), array),
                np.moveaxis(flat, -1, 0),
                sampling_of(idata, flat),
                strict=True,
            )
        )
    ]
    return Variable(str(name), tuple(rows))


def _labels(name: str, array: Any) -> Iterator[str]:
    """Label each number by its coordinates, or by the variable where it is one number."""
    dims = array.dims[2:]
    if not dims:
        yield name
    coordinates: list[NDArray[Any]] = [np.asarray(array[dim].to_numpy()) for dim in dims]
    for place in np.ndindex(*array.shape[2:]) if dims else ():
        yield ", ".join(str(each[i]) for each, i in zip(coordinates, place, strict=True))
