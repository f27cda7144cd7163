"""Words for cards and one-line representations."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayesdp.errors import quoted

_LONGEST = 4
_PLAIN = (int, float, str, bool, type(None))


def count_of(number: int, thing: str) -> str:
    """Write a number of things: "1 copy", "1,200 copies"."""
    many = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number:,} {thing if number == 1 else many}"


def listed(names: Iterable[Any], most: int = _LONGEST) -> str:
    """Write some names in a line, and how many others there are."""
    every = [str(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def one_line(text: Any, most: int = 120) -> str:
    """Cut a text to its first line, and that to some characters."""
    whole = str(text)
    first = whole.splitlines()[0] if whole else ""
    return first if first == whole and len(first) <= most else f"{first[: most - 3]}..."


def public_fields(made: Any) -> dict[str, str]:
    """Describe a declaration's fields that aren't None, each in a few words.

    Numbers, names, and short tuples of these are shown; of anything else only what it is, as it
    might hold records: see `bayesdp.errors.quoted`. Fields with ``repr=False`` are left out.
    """
    shown = {field.name: getattr(made, field.name) for field in _shown(made)}
    return {name: _described(value) for name, value in shown.items() if value is not None}


def declaration(made: Any) -> str:
    """Write a declaration in one line, without fields that have their defaults."""
    changed = {field.name for field in _shown(made) if not _has_default(made, field)}
    each = (f"{name}={words}" for name, words in public_fields(made).items() if name in changed)
    return f"{type(made).__name__}({', '.join(each)})"


def _shown(made: Any) -> Iterator[dataclasses.Field[Any]]:
    return (field for field in dataclasses.fields(made) if field.repr)


def _has_default(made: Any, field: dataclasses.Field[Any]) -> bool:
    value = getattr(made, field.name)
    return value is field.default or (isinstance(value, _PLAIN) and value == field.default)


def _described(value: Any) -> str:
    if type(value) in (tuple, list) and all(isinstance(each, _PLAIN) for each in value):
        short = len(value) <= _LONGEST
        return repr(tuple(map(_named, value))) if short else f"<{len(value)} values>"
    if isinstance(value, Mapping):
        return f"<{count_of(len(value), 'entry')}>"
    if isinstance(value, _PLAIN):
        return repr(_named(value))
    return f"<{re.sub('^an? ', '', quoted(value))}>"


def _named(value: Any) -> Any:
    return one_line(value, 60) if isinstance(value, str) else value
