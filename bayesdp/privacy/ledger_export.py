"""Exports of a ledger: its whole history as lines of JSON, ended by a head that may be signed.

An export is ASCII, a JSON object a line, each in its one spelling (`ledger_chain.canonical`): what
it is; every row of each dataset with its hash, as it is stored, the datasets in the order of their
creation; and the head, which has each dataset's budget, number of entries and last hash. It holds
what the ledger holds, and so nothing confidential. A line that was changed, moved, inserted or
lost is found and named without the database.

What a signature shows
----------------------
A head is signed by HMAC-SHA256 of that line without its signature. Its hashes bind every row, so
whoever doesn't have the key can't write another history, budget or list of datasets that goes with
the signature.

It doesn't show that the head is the newest. Who brings back an old copy of the database, or cuts
its chain back, ends at a head that was once signed in truth. `check_extends` finds that for whoever
has kept a later head: each dataset must still hold the kept hash at the kept position. Nor does it
say anything of entries after the head, until the next is signed; and who signs without comparing
with the last head (`extends`) signs whatever the database holds by then.

HMAC has one key for signing and verifying. An auditor without it can follow the chain and compare
with heads that she kept herself, and can't check a signature; one who has it could have signed as
well, so that it convinces nobody else. So the auditor makes the key, signs what she exports, and
gives it to nobody who may write to the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bayesdp.display.words import count_of
from bayesdp.errors import InvalidInput, LedgerCorrupted, quoted
from bayesdp.privacy.ledger_chain import Chain, Row, canonical
from bayesdp.privacy.ledger_key import is_signature, read_key, signature

_ROWS, _HEAD, _VERSION = "bayesdp ledger export", "bayesdp ledger head", 1
_FIRST = canonical({"format": _ROWS, "version": _VERSION})
_ADVICE = (
    "the file was changed after it was written, or is only a part of one: take another copy of it"
)


@dataclass(frozen=True, slots=True)
class Kept:
    """An export or a head in a file, sound in itself: the state of a ledger at some moment.

    Attributes
    ----------
    name : str
        The file.
    datasets : list of mapping
        Each dataset's name, budget, number of entries and last hash, in the order of creation.
    chains : list of Chain
        Their histories; none where the file is a head alone.
    """

    name: str
    datasets: list[dict[str, Any]]
    chains: list[Chain]

    def histories(self) -> list[Chain]:
        """The chains, or InvalidInput where the file is a head alone."""
        if self.datasets and not self.chains:
            raise InvalidInput(
                f"{quoted(self.name)} is a head, without the entries; give it as extends "
                "(--extends), or take a whole export"
            )
        return self.chains

    def check_extended(self, chains: Sequence[Chain]) -> None:
        """Raise LedgerCorrupted unless these histories begin with all that was kept."""
        for k, kept in enumerate(self.datasets):
            name = kept["dataset"]
            if k >= len(chains) or chains[k].dataset != name:
                raise _not_extended(self.name, name, None, "is gone, or not in its place")
            entries, chain = kept["entries"], chains[k]
            if len(chain.entries) < entries:
                raise _not_extended(
                    self.name, name, len(chain.hashes),
                    f"has {count_of(len(chain.entries), 'entry')} left of {entries}",
                )  # fmt: skip
            if chain.hashes[entries] != kept["head"]:
                raise _not_extended(self.name, name, None, "has another history")
            if _facts(chain)["budget"] != kept["budget"]:
                raise _not_extended(self.name, name, 0, "has another budget")


def written(chains: Sequence[Chain], key: Path | str | None = None, *, head: bool = False) -> str:
    """Return an export's text, or that of its head alone; signed where a key's file is given."""
    last = _head([_facts(chain) for chain in chains])
    if key is not None:
        last["signature"] = signature(canonical(last), read_key(key))
    return "".join(f"{line}\n" for line in [*([] if head else _rows(chains)), canonical(last)])


def read(path: Path | str, key: Path | str | None = None) -> Kept:
    """Read an export or a head, checking every line, and its signature where a key is given.

    Raises
    ------
    LedgerCorrupted
        At the first line that isn't what was written; or if there is a key, and the head isn't
        signed with it.
    InvalidInput
        If there is no such file, it is of another kind or a newer version, or the key can't be
        read.
    """
    secret = None if key is None else read_key(key)
    file = Path(path)
    lines = _lines(file)
    name, number = str(file), len(lines)
    head = _object(name, number, lines[-1])
    if head.get("format") != _HEAD:
        _refuse(name, number, "it is the last, and isn't the head that the file ends with")
    signed = head.pop("signature", None)
    if secret is not None and signed is None:
        _refuse(name, number, "the head isn't signed, and a key is given")
    if secret is not None and not is_signature(str(signed), canonical(head), secret):
        _refuse(name, number, "the head was changed, or is signed with another key")
    datasets = _datasets(name, number, head)
    chains = list(_chains(name, lines, datasets)) if number > 1 else []
    return Kept(name, datasets, chains)


def _head(datasets: list[dict[str, Any]]) -> dict[str, Any]:
    return {"format": _HEAD, "version": _VERSION, "datasets": datasets}


def _rows(chains: Sequence[Chain]) -> list[str]:
    rows = [row for chain in chains for row in zip(chain.bodies, chain.hashes, strict=True)]
    return [_FIRST, *(canonical({"body": body, "hash": hash}) for body, hash in rows)]


def _facts(chain: Chain) -> dict[str, Any]:
    """Summarise a dataset as the head does."""
    budget = chain.budget
    said = {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "conversion_delta": budget.conversion_delta,
        "neighbours": budget.neighbours.value,
    }
    entries = len(chain.entries)
    return {"dataset": chain.dataset, "budget": said, "entries": entries, "head": chain.head}


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="ascii") if file.is_file() else None
    except (OSError, ValueError):
        text = None
    if text is None or not text.startswith("{"):
        raise InvalidInput(
            f"{quoted(file)} is no export of a ledger, or can't be read; `bayesdp ledger export` "
            "writes one, and a ledger itself is named by its URL, such as sqlite:///budget.db"
        )
    lines = text.split("\n")
    if lines.pop():
        _refuse(str(file), len(lines) + 1, "it is the last, and doesn't end: it was cut off")
    return lines


def _object(name: str, number: int, line: str) -> dict[str, Any]:
    """A line's JSON object, in its one spelling."""
    try:
        found = json.loads(line)
        spelled = canonical(found)
    except (RecursionError, ValueError):
        _refuse(name, number, "it can't be read")
    if not isinstance(found, dict) or spelled != line:
        _refuse(name, number, "it isn't spelled as it was written")
    return found


def _datasets(name: str, number: int, head: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read each dataset's summary in the head, of the types that it must be."""
    if type(version := head.get("version")) is int and version > _VERSION:
        raise _newer(name)
    kinds = {"dataset": str, "budget": dict, "entries": int, "head": str}
    datasets: list[dict[str, Any]] = []
    found = head.get("datasets")
    given: list[Any] = found if isinstance(found, list) else [None]
    for each in given:
        types = {key: type(each[key]) for key in each} if isinstance(each, dict) else {}
        if types != kinds or each["entries"] < 0:
            _refuse(name, number, "the head can't be read")
        datasets.append(each)
    if canonical(head) != canonical(_head(datasets)):
        _refuse(name, number, "the head isn't as it was written")
    if len({each["dataset"] for each in datasets}) < len(datasets):
        _refuse(name, number, "the head names a dataset twice")
    return datasets


def _chains(name: str, lines: list[str], datasets: list[dict[str, Any]]) -> Iterator[Chain]:
    """The history of each dataset that the head names; each takes the lines that it should."""
    if lines[0] != _FIRST:
        if _object(name, 1, lines[0]).get("format") == _ROWS:
            raise _newer(name)
        _refuse(name, 1, "it doesn't say that an export begins")
    number = 1  # lines that were read
    for kept in datasets:
        chain = Chain(kept["dataset"], _ADVICE)
        for position in range(kept["entries"] + 1):
            number += 1
            if number == len(lines):
                _refuse(name, number, f"entry {position} of {quoted(chain.dataset)} is missing")
            row = _object(name, number, lines[number - 1])
            try:
                chain.append(Row(position, row.get("body", ""), row.get("hash", "")))
            except LedgerCorrupted as error:
                raise LedgerCorrupted(
                    f"line {number} of {quoted(name)}: {error}", error.dataset, error.position
                ) from None
            if row.keys() != {"body", "hash"}:
                _refuse(name, number, "it isn't spelled as it was written")
        if canonical(_facts(chain)) != canonical(kept):
            _refuse(
                name, len(lines), f"the head of {quoted(chain.dataset)} isn't what it ends with"
            )
        yield chain
    if number + 1 < len(lines):
        _refuse(name, number + 1, "the head says that there is no such line")


def _refuse(name: str, number: int, what: str) -> NoReturn:
    raise LedgerCorrupted(f"line {number} of {quoted(name)}: {what}; {_ADVICE}", None, None)


def _newer(name: str) -> InvalidInput:
    return InvalidInput(
        f"{quoted(name)} is of a version that this bayesdp doesn't know; it was written by a newer "
        "bayesdp, then: pip install --upgrade bayesdp"
    )


def _not_extended(name: str, dataset: str, position: int | None, what: str) -> LedgerCorrupted:
    return LedgerCorrupted(
        f"dataset {quoted(dataset)} {what}, compared with {quoted(name)}: the history was "
        "rewritten, or is an old copy; stop releasing, and restore it from a backup that holds "
        "every spend",
        dataset,
        position,
    )
