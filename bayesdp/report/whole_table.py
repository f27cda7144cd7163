"""The numbers of a report on a whole table: each column's shares, pairs of columns, and noise."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.convergence import Sampling
from bayesdp.engines.latent_records import ABSENT, Problem
from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput
from bayesdp.inference.table.model import LEFT_OUT, TableModel
from bayesdp.inference.table.posterior import TablePosterior
from bayesdp.inference.table.prior import concentration_of
from bayesdp.inference.table.reading import budget_share
from bayesdp.inference.verdict import NO_PROBLEM
from bayesdp.release import Release
from bayesdp.report.diagnostics import Computation, computation_of, sampling_of
from bayesdp.report.inputs import attribute, check_fit, check_references
from bayesdp.report.promise import Promise, promise_of
from bayesdp.schema.column import Column
from bayesdp.schema.schema import Schema
from bayesdp.schema.units import Person

MOST_CELLS = 40
"""Cells of a column that are shown: of more, those with the largest shares."""
_DRAWN, _WIDEST = 4, 12
"""Pairs whose tables are drawn, and the most cells that a column of theirs has."""
_LISTED = 8
"""Pairs that are listed as known least well."""
_WORK, _FEWEST = 3e9, 40
"""Records that are counted for all pairs, which takes some seconds, and the fewest tables."""


@dataclass(frozen=True, slots=True)
class Share:
    """Share of the records in one cell of a column.

    Attributes
    ----------
    label : str
    released : float or None
        Share in the noisy counts, or the copies drawn by them, the marginals weighted by their
        precision; None where no marginal has the column.
    mean, low, high : float
        Posterior mean and interval of the share in the confidential table.
    outer : tuple of float
        Interval of the share in the population that the records are a sample of.
    reference : float or None
        Share in the data themselves, where they are public.
    sampling : Sampling
    """

    label: str
    released: float | None
    mean: float
    low: float
    high: float
    outer: tuple[float, float]
    reference: float | None
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class OneWay:
    """Shares of a column's cells; `cells` is their number, of which some may be left out."""

    name: str
    cells: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """Share of a row's records in one cell: its posterior mean and half its interval's length."""

    mean: float
    half: float


@dataclass(frozen=True, slots=True)
class PairTable:
    """Table of two columns, row by row, and last of all records.

    Attributes
    ----------
    names : tuple of two str
        The rows' column, and the columns'.
    labels : tuple of str
        Labels of the columns.
    rows : tuple of (label, share of all records, cells)
    """

    names: tuple[str, str]
    labels: tuple[str, ...]
    rows: tuple[tuple[str, float, tuple[Within, ...]], ...]


@dataclass(frozen=True, slots=True)
class PairPrecision:
    """Precision with which a pair of columns is known.

    Attributes
    ----------
    names : tuple of two str
    cells : int
    relative : float
        Half the length of a cell's interval over its share, in the mean over records.
    vague : int
        Cells of which that is more than a half.
    held : float
        Share of the records in these.
    """

    names: tuple[str, str]
    cells: int
    relative: float
    vague: int
    held: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Marginals that were measured with noise of one scale.

    Attributes
    ----------
    marginals : tuple of tuple of str
        Columns of each.
    counts : int
    law : str
    sd : float or None
        Standard deviation of the noise on a count, in records; None where there is none.
    share : float
        Share of the privacy budget.
    """

    marginals: tuple[tuple[str, ...], ...]
    counts: int
    law: str
    sd: float | None
    share: float


@dataclass(frozen=True, slots=True)
class TableSummary:
    """All numbers of a report on a whole table, named as in `bayesdp.report.summary.Summary`.

    Attributes
    ----------
    cells : int
        Cells of the whole table.
    drawn : bool
        Whether synthetic copies were released, and not the counts that they were drawn by.
    noiseless : bool
        Whether these counts had no noise.
    unit : str
        What the promise protects.
    left_out : str
        Columns of the release that the posterior isn't of.
    records : tuple of float or int
        Mean and interval of the number of records, or the number itself where it is public.
    measured : tuple of Measured
    columns : tuple of OneWay
    pairs : tuple of PairTable
    worst : tuple of PairPrecision
    known : int
        Pairs of columns that are in a marginal together.
    median : float or None
        Median of their `relative`.
    alone : tuple of str
        Columns that are in no marginal at all.
    unmeasured : tuple of pairs of str
        Pairs of all other columns that are in none.
    within : tuple of str
        Columns of numbers that are known up to their interval.
    classes : int
    concentration : tuple of two floats
        Range of the prior's concentrations.
    misfit : float or None
        Mean square of the noise that the latent tables leave, in the mechanism's own; None where
        there was none.
    """

    variable: str
    by: str | None
    copies: int
    level: float
    cells: int
    drawn: bool
    noiseless: bool
    unit: str
    left_out: str
    records: tuple[float, ...]
    measured: tuple[Measured, ...]
    columns: tuple[OneWay, ...]
    pairs: tuple[PairTable, ...]
    worst: tuple[PairPrecision, ...]
    known: int
    median: float | None
    alone: tuple[str, ...]
    unmeasured: tuple[tuple[str, str], ...]
    within: tuple[str, ...]
    classes: int
    concentration: tuple[float, float]
    misfit: float | None
    promise: Promise | None
    origin: str
    computation: Computation
    fingerprint: str

    @property
    def has_reference(self) -> bool:
        """True if what public data say themselves is shown."""
        return any(one.reference is not None for each in self.columns for one in each.shares)

    @property
    def widest(self) -> int:
        """Columns of the widest marginal."""
        return max(len(part) for each in self.measured for part in each.marginals)


def summarize_table(
    idata: Any, release: Release, *, level: float = 0.95, reference: Any = None
) -> TableSummary:
    """Compute the numbers of a report on a whole table.

    Parameters
    ----------
    idata : arviz.InferenceData
        The result of `TableModel().fit` to `release`, or a copy read from netCDF.
    release : Release
        The release that was fitted.
    level : float
        Level of all intervals, in (0, 1).
    reference : mapping of str to array_like, optional
        Shares of the data themselves, where they are public, by the name of their variable.

    Raises
    ------
    InvalidInput
        If `idata` isn't a whole table's posterior given this release, or `level` or `reference` is
        out of range.
    """
    level = check_level(level)
    if "imputed" in getattr(idata, "attrs", {}):
        raise InvalidInput(
            "idata is a posterior whose missing values are imputed; a report shows what was "
            "released, missing values included: give what fit returned, and ask an imputed "
            "posterior itself"
        )
    check_fit(idata, release)
    posterior = TablePosterior.of(idata).pooled
    references = check_references(reference, posterior.posterior)
    schema, known = posterior.schema, json.loads(posterior.attrs.get("n", "null"))
    problem = TableModel(n=known).read(release)
    columns = _one_way(posterior, problem, level, references.get("share"))
    every = [one.sampling for each in columns for one in each.shares]
    together, apart = _pairs_of(schema, posterior.measured)
    alone = tuple(n for n in schema.columns if not any(n in part for part in posterior.measured))
    drawn, worst = _pairs(posterior, together, level)
    return TableSummary(
        variable=release.variable,
        by=release.by,
        copies=release.copies,
        level=level,
        cells=math.prod(schema.cells.values()),
        drawn=problem.copied,
        noiseless=not problem.noisy,
        unit=_unit(schema),
        left_out=posterior.attrs.get(LEFT_OUT, ""),
        records=_records(posterior, problem, level),
        measured=_measured(problem, list(schema.columns), release.copies, budget_share(release)),
        columns=columns,
        pairs=drawn,
        worst=worst[:_LISTED],
        known=len(together),
        median=float(np.median([one.relative for one in worst])) if worst else None,
        alone=alone,
        unmeasured=tuple(pair for pair in apart if not set(pair) & set(alone)),
        within=tuple(name for name, column in schema.columns.items() if _is_cut(column)),
        classes=int(attribute(idata, "classes")),
        concentration=concentration_of(idata.attrs),
        misfit=float(posterior.sample_stats["misfit"].mean()) if problem.noisy else None,
        promise=promise_of(release),
        origin=release.origin,
        computation=_computation(idata, every),
        fingerprint=release.fingerprint,
    )


def _computation(idata: Any, every: Sequence[Sampling]) -> Computation:
    """Describe the computation, with the doubts of the fit's own verdict.

    It is on more numbers than the report shows, and on whether the model follows what was released.
    """
    verdict = attribute(idata, "verdict")
    doubts = () if verdict.startswith(NO_PROBLEM) else (verdict,)
    return dataclasses.replace(computation_of(idata, every), problems=doubts)


def _unit(schema: Schema) -> str:
    if isinstance(schema.unit, Person):
        return f"a person, with at most {schema.unit.most} records"
    return "a record"


def _records(posterior: Any, problem: Problem, level: float) -> tuple[float, ...]:
    if problem.n is not None:
        return (problem.n,)
    draws = posterior.posterior["n"].to_numpy()
    return (float(draws.mean()), *_ends(draws.ravel(), level))


def _ends(draws: NDArray[np.float64], level: float) -> list[Any]:
    """Ends of the interval of draws, along the first axis."""
    tail = (1 - level) / 2
    ends: list[Any] = np.quantile(draws, [tail, 1 - tail], axis=0).tolist()
    return ends


def _measured(
    problem: Problem, names: Sequence[str], copies: int, budget: float
) -> tuple[Measured, ...]:
    """Marginals with noise of one scale, in their order; `budget` is the share that all had.

    Each moves as much between neighbours as any other. So it takes of rho a share in proportion to
    1 / scale^2, with Gaussian noise, and of epsilon one in proportion to 1 / scale with Laplace's.
    Of copies that were drawn without noise each step has its own cost.
    """
    if not problem.noisy:
        steps = problem.drawn[: len(problem.drawn) // copies]
        spent = sum(step.cost for step in steps)
        return tuple(
            Measured(
                marginals=(tuple(names[k] for k in step.columns),),
                counts=step.seen.size,
                law=f"none: Dirichlet-multinomial draws, prior {step.prior:.4g} a cell",
                sd=None,
                share=budget * step.cost / spent,
            )
            for step in steps
        )
    once = problem.noisy[: len(problem.noisy) // copies]
    whole = sum(one.rate for one in once)
    groups = [list(each) for _, each in itertools.groupby(once, lambda one: one.rate)]
    return tuple(
        Measured(
            marginals=tuple(tuple(names[k] for k in m.columns) for m in each),
            counts=sum(m.counts.size for m in each),
            law="discrete Gaussian" if each[0].gaussian else "discrete Laplace",
            sd=float(np.sqrt(each[0].variance)),
            share=budget * sum(m.rate for m in each) / whole,
        )
        for each in groups
    )


# One column at a time.


def _one_way(
    posterior: Any, problem: Problem, level: float, reference: NDArray[np.float64] | None
) -> tuple[OneWay, ...]:
    draws = posterior.posterior["share"].transpose("chain", "draw", "level").to_numpy()
    sizes = posterior.posterior["n"].to_numpy() if problem.n is None else problem.n
    outer = _resampled(draws, sizes)
    made, start = [], 0
    for place, (name, column) in enumerate(posterior.schema.columns.items()):
        mean = draws[..., start : start + column.cells].mean(axis=(0, 1))
        shown = np.sort(np.argsort(-mean, kind="stable")[:MOST_CELLS])
        own = draws[..., start + shown]
        low, high = _ends(own.reshape(-1, shown.size), level)
        below, above = _ends(outer[..., start + shown].reshape(-1, shown.size), level)
        noisy = _released(problem, place)
        shares = tuple(
            Share(
                label=str(column.names[cell]),
                released=None if noisy is None else float(noisy[cell]),
                mean=float(mean[cell]),
                low=low[k],
                high=high[k],
                outer=(below[k], above[k]),
                reference=None if reference is None else float(reference[start + cell]),
                sampling=sampled,
            )
            for k, (cell, sampled) in enumerate(
                zip(shown.tolist(), sampling_of(posterior, own), strict=True)
            )
        )
        made.append(OneWay(name, column.cells, shares))
        start += column.cells
    return tuple(made)


def _resampled(shares: NDArray[np.float64], sizes: Any) -> NDArray[np.float64]:
    """Shares in samples of as many records from tables with these shares, cell by cell."""
    n = np.maximum(np.broadcast_to(np.asarray(sizes, dtype=np.int64), shares.shape[:2]), 1)
    rng = np.random.default_rng(1)  # the same page each time
    return np.asarray(rng.binomial(n[..., None], np.clip(shares, 0, 1)) / n[..., None])


def _released(problem: Problem, place: int) -> NDArray[np.float64] | None:
    """Shares of a column's cells in the noisy counts alone, or in copies; None without any."""
    if not problem.noisy:
        own = [one for one in problem.drawn if place in one.columns]
        copied = sum(one.margin(place) / one.seen.sum() for one in own)
        return np.asarray(copied / len(own)) if own else None
    counts, precisions = [], []
    for one in map(problem.of_pools, problem.noisy):
        if place in one.columns:
            counts.append(one.margin(place))
            precisions.append(problem.pools[place] / (one.variance * one.counts.size))
    if not counts:
        return None
    return np.asarray(np.average(counts, axis=0, weights=precisions) / problem.size())


# Two columns at a time.


def _pairs_of(
    schema: Schema, measured: Sequence[Sequence[str]]
) -> tuple[list[tuple[str, str]], tuple[tuple[str, str], ...]]:
    """Pairs of columns that are in a marginal together, and those that are in none."""
    known = [set(part) for part in measured]
    pairs = list(itertools.combinations(schema.columns, 2))
    together = [pair for pair in pairs if any(set(pair) <= part for part in known)]
    return together, tuple(pair for pair in pairs if pair not in set(together))


def _pairs(
    posterior: Any, pairs: Sequence[tuple[str, str]], level: float
) -> tuple[tuple[PairTable, ...], tuple[PairPrecision, ...]]:
    """Tables of the pairs that depend most on each other, and the precision of all, worst first."""
    cells = posterior.schema.cells
    narrow = [pair for pair in pairs if max(cells[name] for name in pair) <= _WIDEST]
    found, dependence = [], {}
    for pair in pairs:
        counts = _counted(posterior, pair, len(pairs))
        found.append(_precision(pair, counts, level))
        if pair in narrow:
            dependence[pair] = _dependence(counts.mean(axis=0))
    strongest = sorted(narrow, key=lambda pair: -dependence[pair])[:_DRAWN]
    drawn = [_table(posterior, _upright(pair, cells), len(pairs), level) for pair in strongest]
    return tuple(drawn), tuple(sorted(found, key=lambda one: -one.relative))


def _upright(pair: tuple[str, str], cells: dict[str, int]) -> tuple[str, str]:
    """The pair with the column of fewer cells across, for narrow screens."""
    first, second = pair
    return pair if cells[first] >= cells[second] else (second, first)


def _counted(posterior: Any, pair: tuple[str, str], pairs: int) -> NDArray[np.float64]:
    """Count the records of latent tables in the cells of a pair, shape (tables, cells, cells)."""
    records = posterior.tables["records"].to_numpy()
    flat = records.reshape(-1, *records.shape[2:])
    names, sizes = list(posterior.schema.cells), posterior.schema.cells
    a, b = (names.index(name) for name in pair)
    shape = tuple(sizes[name] for name in pair)
    most = _WORK / (pairs * max(flat.shape[1], shape[0] * shape[1]))
    kept = min(len(flat), max(_FEWEST, int(most)))
    counts = np.empty((kept, *shape))
    for t, place in enumerate(np.linspace(0, len(flat) - 1, kept).round().astype(int)):
        first, second = flat[place, :, a], flat[place, :, b]
        there = first != ABSENT
        cell = first[there].astype(np.int64) * shape[1] + second[there]
        counts[t] = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    return counts


def _dependence(counts: NDArray[np.float64]) -> float:
    """Mutual information of the columns of a table."""
    joint = counts / max(counts.sum(), 1)
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0  # nowhere, if all tables are empty
    return float(np.sum(joint[there] * np.log(joint[there] / apart[there])))


def _precision(names: tuple[str, str], counts: NDArray[np.float64], level: float) -> PairPrecision:
    shares = counts / np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1)
    mean = shares.mean(axis=0)
    low, high = (np.asarray(end) for end in _ends(shares, level))
    half = (high - low) / 2
    vague = half > mean / 2
    return PairPrecision(
        names=names,
        cells=mean.size,
        relative=float(half.sum()),  # the mean of half / share, each weighted by its share
        vague=int(vague.sum()),
        held=float(mean[vague].sum()),
    )


def _table(posterior: Any, pair: tuple[str, str], pairs: int, level: float) -> PairTable:
    counts = _counted(posterior, pair, pairs)
    labels = [[str(label) for label in posterior.schema.columns[name].names] for name in pair]
    whole = np.concatenate([counts, counts.sum(axis=1, keepdims=True)], axis=1)
    rows = whole.sum(axis=2)
    shares = rows.mean(axis=0) / max(rows[:, -1].mean(), 1)
    return PairTable(
        names=pair,
        labels=tuple(labels[1]),
        rows=tuple(
            (label, float(shares[k]), _row(whole[:, k], rows[:, k], level))
            for k, label in enumerate([*labels[0], "all records"])
        ),
    )


def _row(
    counts: NDArray[np.float64], total: NDArray[np.float64], level: float
) -> tuple[Within, ...]:
    """Cells of a row, from the tables that have records in it; none where hardly any has."""
    there = total > 0
    if np.count_nonzero(there) < 2:
        return ()
    shares = counts[there] / total[there, None]
    low, high = _ends(shares, level)
    return tuple(
        Within(mean, (above - below) / 2)
        for mean, below, above in zip(shares.mean(axis=0).tolist(), low, high, strict=True)
    )


def _is_cut(column: Column) -> bool:
    """Return True if a cell of the column holds several numbers."""
    return column.middles is not None and any(str(each).startswith("[") for each in column.shown)
