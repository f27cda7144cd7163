"""The first line of a text file of records: its encoding, what stands between fields, and names."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path

from bayesdp.errors import InvalidInput, quoted

LONGEST = 1 << 20
"""Largest number of bytes that a first line is looked for in."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CONVERT = "save it as UTF-8 (in a spreadsheet, 'CSV UTF-8'; or iconv -f {} -t UTF-8)"


def head_of(path: Path) -> bytes:
    """The beginning of a file: its first line, read without a buffer that would hold records."""
    with path.open("rb", buffering=0) as raw:
        return raw.readline(LONGEST)


def separator_of(name: str, head: bytes) -> str:
    """The sign between a text file's fields, from its first line alone.

    Raises
    ------
    InvalidInput
        If the file is empty or isn't text in UTF-8.
    """
    if head.startswith(_UTF_16) or b"\0" in head:
        raise InvalidInput(
            f"{name} isn't text in UTF-8, but in UTF-16: {_CONVERT.format('UTF-16')}"
        )
    try:
        lines = head.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise not_utf_8(name) from None
    if not lines or not lines[0].strip():
        raise InvalidInput(
            f"{name} is empty, or its first line is: that must have the columns' names"
        )
    if name.lower().endswith(".tsv"):
        return "\t"

    # Names may have one of the others in them.
    return max((",", ";", "\t"), key=lambda separator: fields_of(head, separator))


def fields_of(head: bytes, separator: str) -> int:
    """Count the fields of a text file's first line."""
    line = head.decode("utf-8-sig").splitlines()[:1]
    return len(next(csv.reader(line, delimiter=separator)))


def not_utf_8(name: str) -> InvalidInput:
    """The error of a text file in another encoding."""
    return InvalidInput(
        f"{name} isn't text in UTF-8; perhaps it is in Windows-1252 or Latin-1: "
        f"{_CONVERT.format('WINDOWS-1252')}"
    )


def is_name(text: str) -> bool:
    """Return True if a text may be a column's name; a number or a date is a record's value."""
    for parse in (float, dt.datetime.fromisoformat):
        with contextlib.suppress(ValueError):
            parse(text)
            return False
    return bool(text.strip()) and not set(text) & set(";\t\n")


def are_names(there: Iterable[object]) -> bool:
    """Return True if a first line may be of names; one with a number or a date is a record."""
    return all(isinstance(each, str) and is_name(each) for each in there)


def shown_names(there: Sequence[object]) -> str:
    """Words for a table's columns: their names, unless these may be its first record."""
    if are_names(there):
        return ", ".join(map(quoted, there)) or "none"
    return (
        f"{len(there)}, whose names aren't all texts, or are numbers or dates, so that they may be "
        "the first record, and aren't shown; name the columns of a file that doesn't, as by names= "
        "of pandas.read_csv"
    )
