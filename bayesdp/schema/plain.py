"""Schemas as plain values, as a manifest has them: numbers, texts, lists and mappings alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.schema.column import MISSING
from bayesdp.schema.schema import Schema


def plain_of(schema: Schema) -> dict[str, Any]:
    """Return a schema's declaration; what is as by default is left out, and dates are ISO texts."""
    columns = {
        name: {key: _plain(value) for key, value in column.declared.items()}
        for name, column in schema.columns.items()
    }
    return {"unit": _plain(schema.unit), "columns": columns, "zeros": _plain(schema.zeros)}


def check_schema(name: str, given: Any) -> Schema:
    """Return a schema, from itself or from its declaration, where dates may be ISO texts.

    A mapping without "columns" is that of the columns, as `Schema` takes it first.

    Raises
    ------
    InvalidInput
        If it is neither, or the declaration isn't allowed.
    """
    if isinstance(given, Schema):
        return given
    if isinstance(given, Mapping) and given and "columns" not in given:
        given = {"columns": given}
    known = {"unit", "columns", "zeros"}
    if not isinstance(given, Mapping) or not {"columns"} <= set(given) <= known:
        raise InvalidInput(
            f"{name} is {quoted(given)}; it must be a bdp.Schema, a mapping of its columns, or one "
            "of columns, zeros and unit"
        )
    columns, zeros = given["columns"], given.get("zeros", ())
    if isinstance(columns, Mapping):
        dates = {key for key, column in columns.items() if _get(column, "type") == "date"}
        columns = {key: _dated(column, key in dates) for key, column in columns.items()}
        if isinstance(zeros, list | tuple):
            zeros = tuple(
                {key: _days(value) if key in dates else value for key, value in rule.items()}
                if isinstance(rule, Mapping)
                else rule
                for rule in zeros
            )
    return Schema(**{**given, "columns": columns, "zeros": zeros})


def _plain(value: Any) -> Any:
    if isinstance(value, dt.date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(each) for key, each in asdict(value).items() if each is not None}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _get(column: Any, key: str) -> Any:
    return column.get(key) if isinstance(column, Mapping) else None


def _dated(column: Any, is_date: bool) -> Any:
    """Return a column's declaration with days for texts in its bounds and edges."""
    if not is_date:
        return column
    days = {key: _days(column[key]) for key in ("bounds", "bins") if key in column}
    several: dict[str, Any] = {
        key: value for key, value in days.items() if isinstance(value, tuple)
    }
    private = column.get("bins")
    if isinstance(private, Mapping) and isinstance(private.get("grid"), list | tuple):
        several["bins"] = {**private, "grid": _days(private["grid"])}
    return {**column, **several}


def _days(value: Any) -> Any:
    """Return days for the texts that are dates; all else is for the schema to check."""
    if isinstance(value, list | tuple):
        return tuple(map(_days, value))
    if isinstance(value, str) and value != MISSING:
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            pass
    return value
