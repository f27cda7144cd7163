"""Declarations in TOML files, checked, with errors in the file's own words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from bayesdp.errors import InvalidInput, quoted

T = TypeVar("T", bound=BaseModel)
Place = tuple[str | int, ...]
"""Where a value is in a file: its tables' names, their numbers where there are several, its key."""
Fault = tuple[Place, str]
"""A place, and what is wrong there: " is missing", ": it must be ..."."""

_HEADER = re.compile(r"\s*\[.*\]\s*(#.*)?$")
_KEY = re.compile(r"""\s*((?:"(?:\\.|[^"\\])*"|'[^']*'|[\w.\s-])+?)\s*=""", re.ASCII)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    InvalidInput
        If the file can't be read, or isn't TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise InvalidInput(f"{path} can't be read ({error.strerror})") from error


def read_declared(path: Path, kind: type[T]) -> T:
    """Read a TOML file as a declaration of a kind.

    Raises
    ------
    InvalidInput
        If the file can't be read, isn't TOML, or a key is unknown, missing or of a wrong type.
    """
    return check_declared(path, kind, read_toml(path))


def check_declared(path: Path, kind: type[T], declared: Mapping[str, Any], under: str = "") -> T:
    """Return `declared` as a `kind`; `under` is its place in the file.

    Raises
    ------
    InvalidInput
        If a key is unknown, missing or of a wrong type; the message has all of them.
    """
    try:
        return kind.model_validate(dict(declared))
    except ValidationError as error:
        place = (under,) if under else ()
        raise InvalidInput(said_of_file(path, faults_of(error, kind, place))) from error


def said_of_file(path: Path, faults: Iterable[Fault]) -> str:
    """Say what is wrong in a file, each fault with its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        text = ""
    return f"{path}: " + "; ".join(
        f"{said_of(fault)}{f' (line {line})' if (line := line_of(text, fault[0])) else ''}"
        for fault in faults
    )


def said_of(fault: Fault) -> str:
    """Say what is wrong at a place, as `columns.age.bounds: ...`."""
    return f"{'.'.join(map(str, fault[0])) or 'file'}{fault[1]}"


def faults_of(error: ValidationError, kind: type[BaseModel], under: Place = ()) -> Iterator[Fault]:
    """Yield each fault that was found in a declaration of a kind."""
    for fault in error.errors():
        place, given = fault["loc"], fault["input"]
        if fault["type"] == "missing":
            said = " is missing"
        elif fault["type"] == "extra_forbidden":
            said = f" isn't known; there are {', '.join(_known(kind, place[:-1]))}"
        else:
            several = isinstance(given, Mapping | list | tuple)
            value = "" if several else f" is {'missing' if given is None else quoted(given)}"
            said = f"{value}: {fault['msg'].removeprefix('Value error, ')}"
        yield (*under, *place), said


def line_of(text: str, place: Place) -> int | None:
    """Line of a TOML file, from 1, that declares a place or the innermost table around it."""
    best, found = 0, None
    table: Place = ()
    times: dict[Place, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            path, several = _path_of(line), line.lstrip().startswith("[[")
            if path is None:
                continue
            table = path
            if several:
                times[path] = times.get(path, -1) + 1
                table = (*path, times[path])
        key = None if header else _KEY.match(line)
        inside = _path_of(f"{key[1]} = 0") if key else ()
        here = (*table, *(inside or ()))
        common = min(len(here), len(place))
        if common > best and here[:common] == place[:common]:
            best, found = common, number
    return found


def _path_of(line: str) -> Place | None:
    """The names in a header or a key, as TOML reads them; None where it is neither."""
    try:
        inner: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(inner, dict | list) and inner:
        if isinstance(inner, list):
            inner = inner[0]
            continue
        ((name, inner),) = inner.items()
        path.append(name)
    return tuple(path)


def _known(kind: type[BaseModel], place: Sequence[Any]) -> list[str]:
    """Return the keys that the table at a place may have, passing over names the file chose."""
    for part in place:
        if part in kind.model_fields:
            kind = next(_models(kind.model_fields[part].annotation), kind)
    return list(kind.model_fields)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
