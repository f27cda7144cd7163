"""Declarations in TOML files, checked, with errors in the file's own words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from bayesdp.errors import InvalidInput, quoted

T = TypeVar("T", bound=BaseModel)


def read_declared(path: Path, kind: type[T]) -> T:
    """Read a TOML file as a declaration of a kind.

    Raises
    ------
    InvalidInput
        If the file can't be read, isn't TOML, or a key is unknown, missing or of a wrong type.
    """
    try:
        declared = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise InvalidInput(f"{path} can't be read ({error.strerror})") from error
    return check_declared(path, kind, declared)


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
        faults = "; ".join(_faults(error, kind, under))
        raise InvalidInput(f"{path}: {faults}") from error


def _faults(error: ValidationError, kind: type[BaseModel], under: str) -> Iterator[str]:
    for fault in error.errors():
        place, given = fault["loc"], fault["input"]
        name = ".".join([*([under] if under else []), *map(str, place)]) or "file"
        if fault["type"] == "missing":
            yield f"{name} is missing"
        elif fault["type"] == "extra_forbidden":
            yield f"{name} isn't known; there are {', '.join(_known(kind, place[:-1]))}"
        else:
            value = "" if isinstance(given, Mapping | list) else f" is {quoted(given)}"
            yield f"{name}{value}: {fault['msg'].removeprefix('Value error, ')}"


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
