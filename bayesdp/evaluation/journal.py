"""A study's journal: a file to which each part is added when it is done, so that it can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayesdp.errors import InvalidInput


def opened(journal: Path, study: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts in a journal, made if there is none; a last line cut off is removed.

    Parameters
    ----------
    journal : Path
    study : mapping
        What the parts depend on: the journal's first line.

    Raises
    ------
    InvalidInput
        If the journal is of another study.
    """
    if journal.exists():
        whole, newline, _ = journal.read_bytes().rpartition(b"\n")
        lines = whole.split(b"\n") if newline else []
        if lines:
            if lines[0] != json.dumps(study).encode():
                raise InvalidInput(
                    f"{str(journal)!r} holds replicates of another study, "
                    f"{lines[0].decode()}; delete it, or choose another folder to write"
                )
            with journal.open("r+b") as file:
                file.truncate(len(whole) + 1)
                os.fsync(file.fileno())
            return [json.loads(line) for line in lines[1:]]
        journal.unlink()
    append(journal, study)
    return []


def append(journal: Path, row: Mapping[str, Any]) -> None:
    """Add a part, and sync it to the disk."""
    with journal.open("ab") as file:
        file.write(json.dumps(row).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
