"""Errors of a schema that says two things at once, or of records that it doesn't hold."""

from __future__ import annotations

from collections.abc import Iterable

from bayesdp.declared_files import Fault, said_of
from bayesdp.errors import InvalidInput


class Contradiction(InvalidInput):
    """A schema's declaration isn't allowed; a file's reader adds the lines."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(said_of, self.faults)))


class Unfit(Exception):
    """A column's records aren't of its kind: what is wrong, and the way out, without a value."""
