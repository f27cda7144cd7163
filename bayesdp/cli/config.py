"""A release declared in a TOML file, for `bayesdp synthesize --config`, and its template."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesdp.cli.fields import fields_of, first_line
from bayesdp.errors import InvalidInput, quoted

_WIDTH = 100
_RECORDS = ("column", "columns", "by", "counts", "equals", "values", "above")
_NETWORK = ("ties", "nodes", "directed")
_SHOWN = {
    "source": '"DATA.csv"', "column": '"voted"', "columns": '["age", "voted"]', "by": '"region"',
    "counts": '"people"', "equals": '"yes"', "values": '["yes", "no"]', "above": "1.5",
    "ties": '["from", "to"]', "nodes": '"1:40"', "directed": "true",
}  # fmt: skip
"""What may stand there."""


@dataclass(frozen=True)
class Config:
    """A declared release: its synthesizer's name and fields, and where the data are.

    Attributes
    ----------
    name : str
    fields : dict
        Fields of the synthesizer, and settings of its `release`.
    data : dict
        As a `DataSection` has them; what is typed comes before it.
    folder : Path
        The folder that a source's path is relative to.
    """

    name: str
    fields: dict[str, Any] = dataclasses.field(default_factory=dict)
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    folder: Path = Path()


def load_config(path: Path) -> Config:
    """Read a release's declaration.

    Raises
    ------
    InvalidInput
        If the file can't be read, isn't TOML, or has other tables or keys than a declaration.
    """
    from bayesdp.declared_files import read_toml, said_of_file
    from bayesdp.evaluation.data_section import DataSection

    declared = read_toml(path)
    tables = {name: declared.get(name, {}) for name in ("data", "synthesizer")}
    faults: list[Any]
    flat = [name for name, table in tables.items() if not isinstance(table, Mapping)]
    if flat:
        faults = [((name,), f": it must be a table, under a line [{name}]") for name in flat]
        raise InvalidInput(said_of_file(path, faults))
    data, fields = tables.values()
    known: dict[tuple[str, ...], Any] = {(): tables, ("data",): DataSection.model_fields}
    given: dict[tuple[str, ...], Any] = {(): declared, ("data",): data}
    faults = [
        ((*place, key), f" isn't known; there are {', '.join(names)}")
        for place, names in known.items()
        for key in given[place]
        if key not in names
    ]
    if not isinstance(fields.get("name"), str):
        faults.append((("synthesizer", "name"), " is missing; `bayesdp synthesizers` lists all"))
    if faults:
        raise InvalidInput(said_of_file(path, faults))
    own = {key: value for key, value in fields.items() if key != "name"}
    return Config(fields["name"], own, data, path.parent)


def template_of(name: str, cls: Any, said: Mapping[str, str], file: str) -> str:
    """Write a declaration to be filled in: every line of it is a comment but the name.

    Parameters
    ----------
    name : str
        The synthesizer's.
    cls : type
        Its class.
    said : mapping
        What is said of the data's options, by their names.
    file : str
        What the file will be called.

    Raises
    ------
    InvalidInput
        If its data can't be declared in a file.
    """
    if cls.takes not in ("records", "network"):
        raise InvalidInput(
            f"synthesizer is {quoted(name)}, which takes a {cls.takes} in Python: use "
            f"bdp.synthesizers.{cls.__name__}"
        )
    return "\n".join(_lines(name, cls, said, file)) + "\n"


def _lines(name: str, cls: Any, said: Mapping[str, str], file: str) -> Iterator[str]:
    yield from _comment(f"{name}: {first_line(cls)}")
    yield "#"
    yield f"#   bayesdp synthesize --config {file} --out release/"
    yield "#"
    yield from _comment(
        "Take away the # before what is needed or other than its default. What is typed on the "
        "command line comes before what is here."
    )
    yield "\n[data]"
    yield from _comment(said["data"])
    yield f"# source = {_SHOWN['source']}"
    kinds = _RECORDS if cls.takes == "records" else _NETWORK
    for key in kinds:
        if key == "by" and not getattr(cls, "grouped", True):
            continue
        yield ""
        yield from _comment(said[key])
        yield f"# {key} = {_SHOWN[key]}"
    yield "\n[synthesizer]"
    yield f"name = {json.dumps(name)}"
    from bayesdp.evaluation.declarations import settings_of

    usual = settings_of(cls)
    defaults = {each.name: each.default for each in dataclasses.fields(cls)} | usual
    for field in fields_of(cls, usual):
        yield ""
        yield from _comment(f"{field.line} ({field.told})")
        yield f"# {field.name} = {_default(defaults[field.name])}".rstrip()


def _comment(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, _WIDTH - 2, break_long_words=False, break_on_hyphens=False):
        yield f"# {line}"


def _default(value: Any) -> str:
    """A default as TOML has it; empty where there is none, or TOML can't say it."""
    if value is dataclasses.MISSING or value is None:
        return ""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return ""
