"""Schemas as TOML files: reading, writing, and a template of one."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.schema.column import Column
from bayesdp.table_files import names_in


def text_of(unit: Any, columns: Mapping[str, Column], zeros: Sequence[Mapping[str, Any]]) -> str:
    """Write a schema in TOML; what is as by default is left out."""
    return "\n".join(_lines(unit, columns, zeros)) + "\n"


def _lines(
    unit: Any, columns: Mapping[str, Column], zeros: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    yield f"unit = {_value(unit)}"
    for name, column in columns.items():
        yield f"\n[columns.{_key(name)}]"
        yield from (f"{key} = {_value(value)}" for key, value in column.declared.items())
    for rule in zeros:
        yield "\n[[zeros]]"
        yield from (f"{_key(name)} = {_value(value)}" for name, value in rule.items())


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dt.date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        given = {name: each for name, each in value.items() if each is not None}
        inside = ", ".join(f"{_key(name)} = {_value(each)}" for name, each in given.items())
        return f"{{ {inside} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def template_of(source: Any) -> str:
    """Write a template for columns that are named, or for those of a file, in TOML."""
    if isinstance(source, str | Path):
        names = names_in(source)
    else:
        names = list(source) if isinstance(source, Iterable) else []
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidInput(
            f"columns is {quoted(source)}; it must be a file, or the columns' names, as "
            "frame.columns"
        )
    if len(set(names)) < len(names):
        raise InvalidInput("columns has a name twice; rename one")
    return _INTRODUCTION + "".join(f'\n[columns.{_key(name)}]\ntype = ""\n' for name in names)


_INTRODUCTION = """\
# Schema of a table, made of its columns' names alone: no record was read.
# Fill in each column's type, and what it needs, from the codebook and not from the data: all that
# is written here is public. Then: bayesdp schema check THIS_FILE
#
#   type = "category"                  labels = ["north", "south"]
#     other = "south"                  values outside the labels are moved here; else refused
#     hierarchy = { mainland = ["north", "south"] }
#   type = "ordered"                   labels = ["none", "school", "college"], in their order
#   type = "boolean"                   labels = ["no", "yes"], for false and true, if need be
#   type = "integer"                   bounds = [18, 90]
#     bins = [18, 30, 45, 90]          edges, or the number of intervals; else each number is a cell
#   type = "real"                      bounds = [0.0, 500000.0], bins = 20 or edges
#     bins = { private = 8, share = 0.1 }   cut points chosen privately, for a share of the budget
#       grid = 200                     among whose edges they are, in the braces; else 100 intervals
#     outside = "clamp"                numbers outside the bounds count as the nearest; else refused
#   type = "date"                      bounds = [2020-01-01, 2024-12-31], bins = "year" or "month"
#
#   missing = true                     a missing value is a value of its own; else refused
#   public = true                      the column is public
#
# Combinations that no record has, as many as there are:
#
#   [[zeros]]
#   age = [18, 30]                     from edge to edge; or labels, or "missing"
#   smokes = true

unit = "record"                        # or { person = "id", most = 3 }
"""
