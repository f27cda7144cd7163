r"""Known margins of the population, to which a latent table's records are weighed.

With s_i the weights that a record has to begin with, the weights w_i that have the margins T_m(c),
and are nearest to them in Kullback and Leibler's divergence, are

    w_i = s_i prod over margins m of a_m(cell of record i in m),

whose factors iterative proportional fitting finds (Deming and Stephan 1940): each margin in turn is
scaled to its totals until all have theirs. One margin is met at once, and its cells are then strata
of a poststratification.

A draw of the population begins with independent exponential weights, Rubin's (1981) Bayesian
bootstrap, which leave no cell without weight that has a record, and are scaled anew: sampling
error is then that of records within cells, and none of the margins'.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.raked_tables import systematic
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.totals import indexed, places_of, totals_from

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.schema.schema import Schema

Floats = NDArray[np.float64]
_ALIKE = 1e-6
"""Largest relative difference of totals that are said to be of one population."""
_NEAR, _SWEEPS = 1e-12, 5_000


@dataclass(frozen=True)
class Margin:
    """Shares of the population in each cell of some columns' table.

    Attributes
    ----------
    columns : tuple of str
    places : tuple of int
        The columns' places in the schema.
    shares : ndarray, shape (cells of each column)
    names : tuple of tuple
        The labels of each column.
    """

    columns: tuple[str, ...]
    places: tuple[int, ...]
    shares: Floats
    names: tuple[tuple[Any, ...], ...]

    def cells(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """Return the cell of each record, numbered in C order."""
        codes = [records[:, place].astype(np.int64) for place in self.places]
        return np.asarray(np.ravel_multi_index(codes, self.shares.shape))

    def said(self, cell: int) -> str:
        """Write a cell by its columns' labels."""
        where = np.unravel_index(cell, self.shares.shape)
        each = zip(self.columns, self.names, where, strict=True)
        return ", ".join(f"{column} {quoted(names[k])}" for column, names, k in each)


def margins_of(
    totals: Any, schema: Schema, pools: Mapping[str, Any], tables: Iterable[NDArray[Any]]
) -> list[Margin]:
    """Read totals as margins of a schema's columns, and check that latent tables can have them.

    Parameters
    ----------
    totals : mapping, Series, DataFrame, or list of these
    schema : Schema
    pools : mapping
        Columns whose cells are pooled, by cut points that were chosen privately.
    tables : iterable of ndarray of int, shape (n, columns)

    Raises
    ------
    InvalidInput
        If they aren't totals of the schema's cells, or contradict one another.
    """
    read = [_margin(each, schema) for each in _each(totals)]
    if not read:
        raise InvalidInput("totals is empty; give the totals of one column's labels at least")
    if len({frozenset(margin.columns) for margin, _ in read}) < len(read):
        raise InvalidInput("totals has two margins of the same columns; give one of them")
    sums = [total for _, total in read]
    if max(sums) - min(sums) > _ALIKE * max(sums):
        told = ", ".join(f"{total:,.10g}" for total in sums)
        raise InvalidInput(
            f"totals has margins that add up to {told}; they must be of one population: scale them "
            "to one sum, if they differ by rounding or by their dates"
        )
    margins = [margin for margin, _ in read]
    for k, one in enumerate(margins):
        for other in margins[:k]:
            _check_agree(one, other)
    if wide := [name for one in margins for name in one.columns if name in pools]:
        raise InvalidInput(
            f"totals has {quoted(wide[0])}, whose cut points were chosen privately; give "
            "posterior.pooled, whose cells are between these, and totals of its cells"
        )
    for table in tables:
        raked_weights(margins, table, np.ones(len(table)))
    return margins


def population_weights(
    margins: Sequence[Margin], table: NDArray[Any], rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw weights of a table's records that have the margins; see `raked_weights`."""
    return raked_weights(margins, table, rng.standard_exponential(len(table)))


def records_of_population(
    margins: Sequence[Margin], table: NDArray[Any], rng: np.random.Generator, size: int
) -> NDArray[np.uint16]:
    """Draw records of a population with these margins, without weights.

    Parameters
    ----------
    margins : sequence of Margin
    table : ndarray of uint16, shape (n, columns)
        Records to draw them from.
    rng : numpy Generator
    size : int
        Number of records; each is drawn as often as its weight says, but for less than one.
    """
    weights, cells = population_weights(margins, table, rng)
    order = np.lexsort((*table.T, cells))
    return np.asarray(table[order[systematic(weights[order], size, rng)]])


def _each(totals: Any) -> list[Any]:
    """List the margins that are given: of one, of several, or by columns' names."""
    if isinstance(totals, Mapping):
        return [_named(name, each) for name, each in totals.items()]
    if not isinstance(totals, list | tuple):
        return [totals]
    # A mapping among several is one of columns, as it is by itself.
    read = (_each(each) if isinstance(each, Mapping) else [each] for each in totals)
    return list(chain.from_iterable(read))


def _named(column: Any, totals: Any) -> pd.Series[Any]:
    """Name the labels of a margin by its column."""
    import pandas as pd

    if not isinstance(totals, Mapping | pd.Series):
        raise InvalidInput(
            f"totals has {quoted(totals)} for {quoted(column)}; give the totals of its labels, as "
            'in {"sex": {"f": 5100, "m": 4900}}'
        )
    series, names = pd.Series(totals), list(column) if isinstance(column, tuple) else [column]
    if series.index.nlevels != len(names):
        raise InvalidInput(
            f"totals has labels for {', '.join(map(quoted, names))} that don't name a cell of each "
            'such column; they must be as in {"sex": {"f": 5100, ...}}, or of several columns '
            'together {("sex", "old"): {("f", True): 2400, ...}}'
        )
    return series.rename_axis(names)


def _margin(totals: Any, schema: Schema) -> tuple[Margin, float]:
    frame, members = totals_from(totals, None)
    names = tuple(frame.columns)
    known = list(schema.columns)
    if not names or not set(names) <= set(known):
        raise InvalidInput(
            f"totals has labels of {', '.join(map(quoted, names))}; a margin's must be of some of "
            f"the columns {', '.join(known)}: as a DataFrame's columns, or names of a Series' index"
        )
    columns = [schema.columns[name] for name in names]
    labels = tuple(tuple(column.names) for column in columns)
    codes = [places_of(name, frame[name], each) for name, each in zip(names, labels, strict=True)]
    numbers = indexed(codes, members, labels, names, again=False)
    total = float(numbers.sum())
    places = tuple(known.index(name) for name in names)
    return Margin(names, places, numbers / total, labels), total


def _check_agree(one: Margin, other: Margin) -> None:
    """Raise InvalidInput if two margins say different things of the columns that both have."""
    shared = [name for name in one.columns if name in other.columns]
    if not shared:
        return
    sums = [_summed(margin, shared) for margin in (one, other)]
    if np.any(np.abs(sums[0] - sums[1]) > _ALIKE):
        told = " and ".join(", ".join(margin.columns) for margin in (other, one))
        raise InvalidInput(
            f"totals has margins of {told}, which contradict one another in their totals of "
            f"{', '.join(shared)}; take both from one source, or rake one to the other"
        )


def _summed(margin: Margin, columns: Sequence[str]) -> Floats:
    """Add a margin up over all but some columns, in their order."""
    at = [margin.columns.index(name) for name in columns]
    rest = tuple(axis for axis in range(margin.shares.ndim) if axis not in at)
    kept = sorted(at)
    summed: Floats = margin.shares.sum(axis=rest).transpose([kept.index(axis) for axis in at])
    return summed


def raked_weights(
    margins: Sequence[Margin], records: NDArray[Any], start: Floats
) -> tuple[Floats, NDArray[np.int64]]:
    """Weigh a table's records to margins, and say which cell of all of them together each is in.

    Parameters
    ----------
    margins : sequence of Margin
    records : ndarray of int, shape (n, columns)
    start : ndarray, shape (n,)
        Positive weights to begin with.

    Returns
    -------
    tuple of ndarray
        Weights, which add up to 1, and cells, shape (n,) each.

    Raises
    ------
    InvalidInput
        If a cell of a margin with a total has no record, or no weights have all margins.
    """
    each = [margin.cells(records) for margin in margins]
    joint = np.zeros(len(records), dtype=np.int64)
    for margin, cells in zip(margins, each, strict=True):
        joint = np.unique(joint * margin.shares.size + cells, return_inverse=True)[1]
    mass = np.bincount(joint, start)
    own = [np.empty(mass.size, dtype=np.int64) for _ in margins]
    for cells, placed in zip(each, own, strict=True):
        placed[joint] = cells
    fitted = _fitted(margins, own, mass / mass.sum())
    return start * (fitted / mass)[joint], joint


def _fitted(margins: Sequence[Margin], own: Sequence[NDArray[np.int64]], mass: Floats) -> Floats:
    """Scale the mass of joint cells, which are in cells `own` of each margin, to all margins."""
    goals = [margin.shares.ravel() for margin in margins]
    for margin, goal, cells in zip(margins, goals, own, strict=True):
        bare = np.flatnonzero((goal > 0) & (np.bincount(cells, minlength=goal.size) == 0))
        if bare.size:
            raise InvalidInput(
                f"totals has members of the population with {margin.said(int(bare[0]))}, and a "
                "latent table has no record there that could stand for them; give a margin of "
                "fewer columns, or fit with a schema in which that cell is part of another"
            )
    for _ in range(_SWEEPS):
        before = mass
        for goal, cells in zip(goals, own, strict=True):
            sums = np.bincount(cells, mass, minlength=goal.size)
            with np.errstate(divide="ignore", invalid="ignore"):
                mass = mass * np.where(sums > 0, goal / sums, 0.0)[cells]
        if np.abs(mass - before).max() < _NEAR:
            break
    each = zip(goals, own, strict=True)
    if all(np.abs(np.bincount(c, mass, goal.size) - goal).max() < 2 * _ALIKE for goal, c in each):
        return mass
    raise InvalidInput(
        "totals has margins that no weights of a latent table's records have together, as where "
        "the cells that two of them leave empty exclude one another; leave one of them out"
    )


def written(margins: Sequence[Margin]) -> str:
    """Write margins as JSON, for a posterior's attrs."""
    each = [{"columns": one.columns, "shares": one.shares.ravel().tolist()} for one in margins]
    return json.dumps(each)


def margins_in(text: str, schema: Schema) -> Iterator[Margin]:
    """Read what `written` has written."""
    known = list(schema.columns)
    for one in json.loads(text):
        names = tuple(one["columns"])
        labels = tuple(tuple(schema.columns[name].names) for name in names)
        shares = np.array(one["shares"]).reshape([len(each) for each in labels])
        yield Margin(names, tuple(known.index(name) for name in names), shares, labels)
