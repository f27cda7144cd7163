"""The numbers of a report on a posterior of any family: means, intervals and diagnostics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.convergence import Sampling
from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput, quoted
from bayesdp.release import Release
from bayesdp.report.diagnostics import Computation, computation_of, sampling_of
from bayesdp.report.inputs import (
    attribute,
    check_fit,
    check_naive,
    check_references,
    label_of,
)
from bayesdp.report.promise import Promise, promise_of

_MOST = 1000
_INFERRED = {
    "target": "What is inferred",
    "clusters": "Clusters of the sample",
    "left_out": "Columns of the copies left out",
}
"""Attrs of a fit that say what it is about, and a report's words for them."""


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a report on one number: its posterior mean, standard deviation and interval.

    `naive` are mean and ends of the interval that the naive posterior has, if it was given, and
    `reference` is what the data themselves say, where they are public.
    """

    label: str
    mean: float
    sd: float
    low: float
    high: float
    sampling: Sampling
    naive: tuple[float, float, float] | None = None
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """Variable of the posterior, and its numbers."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class PosteriorSummary:
    """All numbers of a report on any family, named as in `bayesdp.report.summary.Summary`.

    `parts` are the groups' labels, `mechanisms` their mechanisms' names, and `inferred` is what the
    fit says of its target and of how records were sampled.
    """

    family: str
    variable: str
    by: str | None
    parts: tuple[str, ...]
    mechanisms: tuple[str, ...]
    copies: int
    level: float
    prior: str | None
    inferred: tuple[tuple[str, str], ...]
    variables: tuple[Variable, ...]
    promise: Promise | None
    origin: str
    computation: Computation
    fingerprint: str

    @property
    def rows(self) -> list[Row]:
        """The rows of all variables."""
        return [row for variable in self.variables for row in variable.rows]

    @property
    def has_naive(self) -> bool:
        """True if any number has a naive posterior."""
        return any(row.naive is not None for row in self.rows)

    @property
    def has_reference(self) -> bool:
        """True if any number has a reference."""
        return any(row.reference is not None for row in self.rows)


def summarize_posterior(
    idata: Any, release: Release, *, level: float = 0.95, naive: Any = None, reference: Any = None
) -> PosteriorSummary:
    """Compute the numbers of a report on any family.

    Parameters
    ----------
    idata : arviz.InferenceData
        The result of a model's `fit` to `release`, or a copy read from netCDF.
    release : Release
        The release that was fitted.
    level : float
        Level of all intervals, in (0, 1).
    naive : arviz.InferenceData, optional
        The result of the model's `fit_naive`, whose numbers are shown beside the others.
    reference : mapping of str to array_like, optional
        Reference numbers by the name of their variable, of its shape; NaN where there is none.

    Raises
    ------
    InvalidInput
        If `idata` isn't a posterior of this release, has no numbers or more than 1,000 in a
        variable, or `level` is out of range; if `naive` isn't a naive posterior of this release, or
        `reference` has another variable or shape.
    """
    level = check_level(level)
    check_fit(idata, release)
    if naive is not None:
        check_naive(naive, release)
    references = check_references(reference, idata.posterior)
    variables = tuple(
        _variable(idata, name, level, naive, references.get(str(name)))
        for name in idata.posterior.data_vars
    )
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
        prior=None if attrs.get("prior") == "null" else attrs.get("prior"),
        inferred=tuple((words, attrs[name]) for name, words in _INFERRED.items() if name in attrs),
        variables=variables,
        promise=promise_of(release),
        origin=release.origin,
        computation=computation_of(idata, every, of="numbers"),
        fingerprint=release.fingerprint,
    )


def _variable(
    idata: Any, name: Any, level: float, naive: Any, reference: NDArray[np.float64] | None
) -> Variable:
    array = idata.posterior[name].transpose("chain", "draw", ...)
    flat = _flat(array)
    if not 0 < flat.shape[2] <= _MOST or flat.shape[1] == 0:
        raise InvalidInput(
            f"posterior variable {quoted(name)} has {flat.shape[2]:,} numbers of {flat.shape[1]} "
            f"draws; a report shows from 1 to {_MOST:,} numbers: leave it out, as with "
            "idata.posterior = idata.posterior.drop_vars(...)"
        )
    low, high = _ends(flat, level)
    others = _naive(naive, name, array, level)
    known: list[float | None] = [None] * flat.shape[2]
    if reference is not None:
        known = [float(x) if x == x else None for x in reference.ravel()]  # NaN: there is none
    rows = [
        Row(
            label,
            float(x.mean()),
            float(x.std()),
            float(low[k]),
            float(high[k]),
            one,
            others[k],
            known[k],
        )
        for k, (label, x, one) in enumerate(
            zip(
                _labels(str(name), array),
                np.moveaxis(flat, -1, 0),
                sampling_of(idata, flat, str(name)),
                strict=True,
            )
        )
    ]
    return Variable(str(name), tuple(rows))


def _flat(array: Any) -> NDArray[np.float64]:
    """Return draws of shape (chain, draw, number)."""
    draws = np.asarray(array.transpose("chain", "draw", ...).to_numpy(), dtype=np.float64)
    return draws.reshape(*draws.shape[:2], -1)


def _ends(flat: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    tail = (1 - level) / 2
    return np.asarray(np.quantile(flat, [tail, 1 - tail], axis=(0, 1)))


def _naive(
    naive: Any, name: Any, array: Any, level: float
) -> Sequence[tuple[float, float, float] | None]:
    """Return each number's naive mean and interval, where the naive posterior has the variable."""
    count = int(np.prod(array.shape[2:]))
    if naive is None or name not in naive.posterior:
        return [None] * count
    theirs = naive.posterior[name]
    if theirs.transpose("chain", "draw", ...).shape[2:] != array.shape[2:]:
        return [None] * count
    flat = _flat(theirs)
    ends = _ends(flat, level).T.tolist()
    means = flat.mean(axis=(0, 1)).tolist()
    return [(mean, low, high) for mean, (low, high) in zip(means, ends, strict=True)]


def _labels(name: str, array: Any) -> Iterator[str]:
    """Label each number by its coordinates, or by the variable where it is one number."""
    dims = array.dims[2:]
    if not dims:
        yield name
    coordinates: list[NDArray[Any]] = [np.asarray(array[dim].to_numpy()) for dim in dims]
    for place in np.ndindex(*array.shape[2:]) if dims else ():
        yield ", ".join(str(each[i]) for each, i in zip(coordinates, place, strict=True))
