"""Latent tables as they would be had everybody answered, where values are missing at random.

The posterior of missing values z given a release is that of z given the confidential table,
averaged over latent tables: a release tells of the table, missing values included, and through it
alone of z. So each latent table's are drawn as if it were the data
(`bayesdp.engines.imputed_tables`), and what is computed of the imputed tables has the noise, the
imputation and sampling in it.

In 100 simulated surveys of 2,000 records and four columns at epsilon 1, whether somebody answered
depended on age, and so did the answer: 95% intervals of its share in the population cover in 94,
those of complete cases, which are .07 too high, in none. Among the young, of whom 60% didn't
answer, 96 and 91 cover, as complete cases of one age are right. With missing as a level of the
classes, shares of the young were .24 for .19 in surveys without noise, and are .20 so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.imputed_tables import Imputation, imputed_tables
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.table.pooling import shares_in
from bayesdp.inference.table.prior import concentration_of
from bayesdp.schema.column import MISSING
from bayesdp.schema.files import text_of
from bayesdp.schema.schema import Schema
from bayesdp.warned import warn_about

ASSUMED = (
    "missing at random: whether a value is missing depends on values of the record that are there, "
    "and not on itself; records follow a mixture of latent classes, independent within each"
)


def imputed(
    posterior: Any, columns: str | Sequence[str] | None, seed: int | None
) -> tuple[dict[str, str], Any, NDArray[np.uint16]] | None:
    """Impute the missing values of a posterior's latent tables.

    Parameters
    ----------
    posterior : TablePosterior
    columns : str or sequence of str, optional
        Columns to impute; default: all that may have missing values.
    seed : int or None

    Returns
    -------
    tuple of attrs, posterior and tables of the imputed TablePosterior, or None
        None where no column may have missing values.

    Raises
    ------
    InvalidInput
        If `columns` aren't columns that may have missing values, or the posterior is raked.
    """
    if posterior.margins:
        raise InvalidInput(
            "posterior is raked to margins, in which missing values are cells of their own; impute "
            "first, and then weigh what that returns"
        )
    schema: Schema = posterior.schema
    names = _chosen(schema, columns)
    if not names:
        return None
    places = {name: k for k, name in enumerate(schema.cells)}
    rules = [{places[name]: mask for name, mask in rule.items()} for rule in schema.excluding]
    imputation = Imputation(
        tuple(schema.cells.values()),
        frozenset(places[name] for name in names),
        rules,
        int(posterior.attrs["classes"]),
        concentration_of(posterior.attrs),
    )
    for doubt in _doubts(names, posterior.measured):
        warn_about(doubt, "no-marginal", stacklevel=3)
    records = imputed_tables(posterior.tables["records"].to_numpy(), imputation, seed)
    gone = [name for name in names if not _may_not_apply(schema, name)]
    made = _without_missing(schema, gone)
    pools = json.loads(posterior.attrs.get("pools", "{}"))
    before = json.loads(posterior.attrs.get("imputed", "[]"))
    attrs = {
        "schema": text_of(made.unit, made.columns, made.zeros),
        "pools": json.dumps(pools | {k: _firsts(made, k, pools[k]) for k in gone if k in pools}),
        "imputed": json.dumps([*dict.fromkeys([*before, *names])]),
        "assumed": ASSUMED,
    }
    group = posterior.posterior if "posterior" in posterior.groups() else None
    return attrs, None if group is None else shares_in(made, group, records), records


def _chosen(schema: Schema, columns: str | Sequence[str] | None) -> list[str]:
    """Columns to impute, checked."""
    there = [name for name, column in schema.columns.items() if column.missing]
    if columns is None:
        return there
    names = list(columns) if isinstance(columns, list | tuple) else [str(columns)]
    if not names or len(set(names)) < len(names) or not set(names) <= set(there):
        known = ", ".join(there) or "none of them"
        raise InvalidInput(
            f"columns is {quoted(columns)}; it must be some of those that may have missing values, "
            f"once each, which are {known}"
        )
    return names


def _doubts(names: Sequence[str], measured: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield in words which columns no marginal has with another."""
    together = {name for part in measured if len(part) > 1 for name in part}
    if alone := [name for name in names if name not in together]:
        yield (
            f"no released marginal has {', '.join(alone[:5])}{' and others' * (len(alone) > 5)} "
            "with another column: missing values are imputed as if they were missing completely at "
            "random; release them with those that they may depend on (workload)"
        )


def _may_not_apply(schema: Schema, name: str) -> bool:
    """Return True if rules may leave a record no value of a column but a missing one."""
    named = [rule[name] for rule in schema.excluding if name in rule]
    return bool(named) and bool(np.logical_or.reduce(named)[: schema.columns[name].size].all())


def _without_missing(schema: Schema, names: Sequence[str]) -> Schema:
    """The schema where some columns' values are never missing."""
    columns = {
        name: column.model_copy(update={"missing": False}) if name in names else column
        for name, column in schema.columns.items()
    }
    rules = [{k: _present(v) if k in names else v for k, v in one.items()} for one in schema.zeros]
    zeros = [rule for rule in rules if None not in rule.values()]
    return Schema(columns, zeros=zeros, unit=schema.unit)


def _present(given: Any) -> Any:
    """Return what a rule names of a column but missing values; None if that is nothing."""
    if not isinstance(given, tuple):
        return None if given == MISSING else given
    return tuple(value for value in given if value != MISSING) or None


def _firsts(schema: Schema, name: str, firsts: Sequence[int]) -> list[int]:
    """First cells of a column's pools, without that of missing values."""
    return [first for first in firsts if first < schema.columns[name].cells]
