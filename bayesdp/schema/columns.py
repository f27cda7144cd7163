"""The kinds of columns, by the names that a schema declares them by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from bayesdp.checks import is_text
from bayesdp.declared_files import Fault, faults_of
from bayesdp.errors import quoted
from bayesdp.schema.column import Column
from bayesdp.schema.faults import Contradiction
from bayesdp.schema.intervals import Date, Integer, Intervals, PrivateBins, Real
from bayesdp.schema.labelled import Boolean, Labels

TYPES: dict[str, type[Column]] = {
    "category": Labels,
    "ordered": Labels,
    "boolean": Boolean,
    "integer": Integer,
    "real": Real,
    "date": Date,
}


def declared_columns(given: Any) -> dict[str, Column]:
    """Return the columns that are declared, in their order.

    Raises
    ------
    Contradiction
        If a declaration isn't allowed; it has all faults.
    """
    if not isinstance(given, Mapping) or not given:
        raise Contradiction(
            [(("columns",), f" is {_said(given)}; it must be a table of columns, one or more")]
        )
    made: dict[str, Column] = {}
    faults: list[Fault] = []
    for name, declared in given.items():
        try:
            made[name] = declared_column(name, declared)
        except Contradiction as error:
            faults += error.faults
    private = private_bins(made)
    if not faults and math.fsum(bins.share for bins in private.values()) >= 1:
        last = list(private)[-1]
        faults.append(
            (
                ("columns", last, "bins"),
                f": the shares of columns {', '.join(private)} come to 1 or more; leave some of "
                "the budget for the tables",
            )
        )
    if faults:
        raise Contradiction(faults)
    return made


def declared_column(name: Any, given: Any) -> Column:
    """Return one column; a column as it is.

    Raises
    ------
    Contradiction
        If the declaration isn't allowed.
    """
    place = ("columns", name if is_text(name) else "...")
    if not is_text(name) or not name:
        said = ": a column's name must be a text that isn't empty, without NUL or half a surrogate"
        raise Contradiction([(place, f"{said} pair")])
    if isinstance(given, Column):
        return given
    if not isinstance(given, Mapping):
        known = ", ".join(TYPES)
        said = f": it must be a table with a type, one of {known}, and what that type needs"
        raise Contradiction([(place, said)])
    kind = TYPES.get(given["type"]) if isinstance(given.get("type"), str) else None
    if kind is None:
        said = f" is {_said(given.get('type'))}; it must be one of {', '.join(TYPES)}"
        raise Contradiction([((*place, "type"), said)])
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        raise Contradiction(faults_of(error, kind, place)) from None


def _said(given: Any) -> str:
    return "missing" if given is None else quoted(given)


def private_bins(columns: Mapping[str, Column]) -> dict[str, PrivateBins]:
    """Declarations of cut points that are to be chosen privately, by column."""
    return {
        name: column.private
        for name, column in columns.items()
        if isinstance(column, Intervals) and column.private
    }
