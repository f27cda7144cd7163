"""Schemas as TOML files: reading, writing, and a template of one."""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from bayesdp.checks import check_path
from bayesdp.errors import InvalidInput, quoted
from bayesdp.headers import head_of, is_name, separator_of
from bayesdp.optional import needed
from bayesdp.schema.column import Column


def text_of(unit: Any, columns: Mapping[str, Column], zeros: Sequence[Mapping[str, Any]]) -> str:
    """Write a schema in TOML; what is as by default is left out."""
    return "\n".join(_lines(unit, columns, zeros)) + "\n"


def _lines(
    unit: Any, columns: Mapping[str, Column], zeros: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    yield f"unit = {_value(unit)}"
    for name, column in columns.items():
        yield f"\n[columns.{_key(name)}]"
        for key, field in type(column).model_fields.items():
            value = getattr(column, key)
            if value != field.get_default(call_default_factory=True, validated_data={}):
                yield f"{key} = {_value(value)}"
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
    names = names_in(source) if isinstance(source, str | Path) else list(source)
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


def names_in(path: str | Path) -> list[str]:
    """Names of a file's columns, from a text's or a sheet's first line or a file's header alone.

    Raises
    ------
    InvalidInput
        If the file can't be read, is of another kind, or its first line is no header.
    MissingDependency
        If the package that reads such files isn't installed.
    """
    file = check_path("columns", path)
    kind = file.suffix.lower()
    if not file.is_file() or kind not in _NAMES:
        *most, last = _NAMES
        raise InvalidInput(
            f"{quoted(file)} isn't a {', '.join(most)} or {last} file that exists; of another, "
            "give the columns' names"
        )
    try:
        return _NAMES[kind](file)
    except (InvalidInput, ImportError):
        raise
    except Exception:  # of several packages, whose messages may show records
        raise InvalidInput(f"{quoted(file)} can't be read as a {kind} file") from None


def _csv_names(file: Path) -> list[str]:
    line = head_of(file)
    separator = separator_of(str(file), line)
    try:
        lines = [line.decode("utf-8-sig")]
        names = next(csv.reader(lines, strict=True, delimiter=separator), [])
    except csv.Error:
        names = []
    if not names or len(set(names)) < len(names) or not all(map(is_name, names)):
        raise InvalidInput(
            f"{quoted(file)} has no line of names first: texts in UTF-8 with commas, semicolons or "
            "tabs between them, "
            "all different, none empty, a number or a date; write such a line, or give the names"
        )
    return names


def _parquet_names(file: Path) -> list[str]:
    import pyarrow.parquet

    names = pyarrow.parquet.read_schema(file).names
    return [name for name in names if not name.startswith("__index_level_")]


def _excel_names(file: Path) -> list[str]:
    """The first row of the first sheet."""
    import pandas as pd

    needed("openpyxl", "an .xlsx file", "files")
    header = pd.read_excel(file, header=None, nrows=1)
    names = [] if header.empty else header.iloc[0].tolist()
    if not names or len(set(names)) < len(names) or not all(map(_is_text_name, names)):
        raise InvalidInput(
            f"{quoted(file)} has no row of names first: texts, all different, none empty, a number "
            "or a date; write such a row, or give the names"
        )
    return names


def _is_text_name(given: object) -> bool:
    return isinstance(given, str) and is_name(given)


def _stata_names(file: Path) -> list[str]:
    import pandas as pd

    with pd.read_stata(file, iterator=True) as reader:
        return list(reader.variable_labels())


def _spss_names(file: Path) -> list[str]:
    needed("pyreadstat", "an .sav file", "files")
    import pyreadstat

    return list(pyreadstat.read_sav(str(file), metadataonly=True)[1].column_names)


_NAMES: Mapping[str, Callable[[Path], list[str]]] = {
    ".csv": _csv_names,
    ".tsv": _csv_names,
    ".parquet": _parquet_names,
    ".xlsx": _excel_names,
    ".dta": _stata_names,
    ".sav": _spss_names,
}
"""Readers of names, by the suffixes of files."""
