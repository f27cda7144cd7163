"""Names of datasets: those that look the same are one, so that nobody has two budgets unawares.

Since a name is written down as `normal` makes it, only a ledger of an older version may hold
several that look the same. Each is still found by its exact spelling, with its history; the one
that was created first is the only one that is spent from.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from bayesdp.errors import InvalidInput, quoted

_LONGEST = 200


def normal(name: str) -> str:
    """A name without outer spaces, its letters composed (Unicode's NFC)."""
    return unicodedata.normalize("NFC", name).strip()


def alike(names: Iterable[str], name: str) -> list[str]:
    """List the names that look the same as `name`, in their order."""
    return [each for each in names if normal(each) == normal(name)]


def check_name(dataset: Any) -> str:
    """Return a new dataset's name as it is written down, or raise InvalidInput."""
    name = normal(dataset) if isinstance(dataset, str) else ""
    if not 0 < len(name) <= _LONGEST or not name.isprintable():
        raise InvalidInput(
            f"dataset is {quoted(dataset)}; it must be a string of 1 to {_LONGEST} printable "
            "characters"
        )
    return name


def find_name(names: Sequence[str], name: Any, ledger: str) -> tuple[str, str]:
    """The dataset that a name means, and the first of those that look the same.

    Raises
    ------
    InvalidInput
        If there is none; the message lists those there are.
    """
    there = alike(names, name) if isinstance(name, str) else []
    if not there:
        known = f"it has {', '.join(map(repr, names))}" if names else "it is empty"
        raise InvalidInput(
            f"dataset is {quoted(name)}, which isn't in the ledger {ledger}: {known}. "
            "Give a dataset its budget first: ledger.create(name, epsilon=..., ...)"
        )
    return name if name in there else there[0], there[0]
