"""Rows of a ledger, and the chain of hashes that shows when one was changed.

Every row holds a body, which is canonical JSON, and

    hash = sha256(hash of the row before + body),

with 64 zeros before the first. A dataset's row 0 is its budget and row k its k-th spend;
each body names its dataset and position. So a body that was changed, deleted, inserted or
moved breaks the chain at that place, or its dataset's count and last hash, which
are kept beside it under a hash of their own.

The hashes have no secret key: whoever can write to the database and knows this file can
write another history, whole and consistent. Keep a head elsewhere, signed if others handle
it (`bayesdp.privacy.ledger_export`), and give it to `Ledger.verify`, to find that too. No
timestamp is ever compared with another.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from bayesdp.errors import InvalidInput, LedgerCorrupted, quoted
from bayesdp.privacy.conversions import pure_to_zcdp
from bayesdp.privacy.guarantee import Guarantee, Strength
from bayesdp.privacy.neighbours import Neighbours

GENESIS = "0" * 64
ADVICE = (
    "the ledger was changed by something other than bayesdp, or is a wrong or partial copy: stop "
    "releasing, and restore it from a backup that holds every spend"
)
_UNREADABLE = (
    ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError
)  # fmt: skip


class Row(NamedTuple):
    """Row of a dataset, as it is stored."""

    position: int
    body: str
    hash: str


@dataclass(frozen=True, slots=True)
class Budget:
    """Budget of a dataset: all that may ever be spent, and under which neighbouring relation.

    Attributes
    ----------
    epsilon, delta : float
        All that may ever be spent.
    neighbours : Neighbours
        The neighbouring relation under which everything is charged.
    at : str
        UTC time, for people.
    conversion_delta : float
        The part of delta that is kept for concentrated composition; 0 in ledgers written
        before there was one.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    at: str
    conversion_delta: float = 0.0

    def body(self, dataset: str) -> str:
        """The row that is written when a dataset is created."""
        return canonical(
            {
                "kind": "budget",
                "dataset": dataset,
                "position": 0,
                "epsilon": self.epsilon,
                "delta": self.delta,
                "conversion_delta": self.conversion_delta,
                "neighbours": self.neighbours.value,
                "at": self.at,
            }
        )

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Budget:
        """Read the budget from a row."""
        if body["kind"] != "budget":
            raise ValueError("not a budget")
        return cls(
            float(body["epsilon"]),
            float(body["delta"]),
            Neighbours(body["neighbours"]),
            str(body["at"]),
            float(body.get("conversion_delta", 0.0)),
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """Entry of one recorded spend.

    Attributes
    ----------
    position : int
        From 1, in the order of spending.
    epsilon, delta, rho : float
        What was charged, under the dataset's relation.
    guarantee : Guarantee
        What was promised, under its own relation.
    released : mapping
        The mechanism's name and public parameters.
    at : str
        UTC time by the spender's clock; for people, never compared.
    hash : str
        The hash of this entry and all before it.
    """

    position: int
    epsilon: float
    delta: float
    rho: float
    guarantee: Guarantee
    released: Mapping[str, Any]
    at: str
    hash: str = ""

    def body(self, dataset: str) -> str:
        """The row that is written when the release is charged."""
        promise = self.guarantee
        return canonical(
            {
                "kind": "spend",
                "dataset": dataset,
                "position": self.position,
                "epsilon": self.epsilon,
                "delta": self.delta,
                "rho": self.rho,
                "guarantee": {
                    "epsilon": promise.epsilon,
                    "delta": promise.delta,
                    "neighbours": promise.neighbours.value,
                    "strength": promise.strength.value,
                    "assumptions": list(promise.assumptions),
                    "source": promise.source,
                    "rho": promise.rho,
                },
                "released": dict(self.released),
                "at": self.at,
            }
        )

    @classmethod
    def read(cls, body: Mapping[str, Any], written: str) -> Entry:
        """Read the spend from a row."""
        if body["kind"] != "spend":
            raise ValueError("not a spend")
        promise = body["guarantee"]
        epsilon, rho = _cost(body["epsilon"]), promise.get("rho")
        return cls(
            position=int(body["position"]),
            epsilon=epsilon,
            delta=_cost(body["delta"]),
            # Before there was concentrated composition, no rho was written.
            rho=_cost(body["rho"]) if "rho" in body else pure_to_zcdp(epsilon),
            guarantee=Guarantee(
                epsilon=float(promise["epsilon"]),
                delta=float(promise["delta"]),
                neighbours=Neighbours(promise["neighbours"]),
                strength=Strength(promise["strength"]),
                assumptions=tuple(promise["assumptions"]),
                source=str(promise["source"]),
                rho=None if rho is None else float(rho),
            ),
            released=body["released"],
            at=str(body["at"]),
            hash=written,
        )


class Chain:
    """A dataset's rows, as far as they have been read and found sound."""

    def __init__(self, dataset: str, advice: str = ADVICE) -> None:
        self.dataset = dataset
        self.advice = advice
        self.entries: list[Entry] = []
        self.bodies: list[str] = []
        self.hashes: list[str] = []
        self._budget: Budget | None = None

    @property
    def budget(self) -> Budget:
        """The budget in row 0."""
        if self._budget is None:
            raise self.corrupted(0, "the budget is missing")
        return self._budget

    @property
    def head(self) -> str:
        """The last row's hash."""
        return self.hashes[-1] if self.hashes else GENESIS

    @property
    def overlap(self) -> int:
        """Position of the last row that is known; `extend` takes the rows from there."""
        return max(len(self.hashes) - 1, 0)

    def corrupted(self, position: int | None, what: str) -> LedgerCorrupted:
        """The error to raise, naming the first bad entry."""
        where = "" if position is None else f", entry {position}"
        return LedgerCorrupted(
            f"dataset {quoted(self.dataset)}{where}: {what}; {self.advice}",
            self.dataset,
            position,
        )

    def extend(self, rows: Iterable[Row]) -> None:
        """Take the rows from `overlap` on, checking each; the first must be the one known."""
        known = bool(self.hashes)
        for row in rows:
            if known:
                if (row.position, row.hash) != (len(self.hashes) - 1, self.head):
                    break
                known = False
            else:
                self.append(row)
        if known:
            raise self.corrupted(
                len(self.hashes) - 1, "it was read before, and has since been removed or replaced"
            )

    def check_end(self, count: int, head: str) -> None:
        """Compare with the count and the last hash in the dataset's own row."""
        if len(self.hashes) < count:
            raise self.corrupted(
                len(self.hashes),
                f"it is missing: {count} were written, {len(self.hashes)} are left",
            )
        if len(self.hashes) > count:
            raise self.corrupted(count, f"it was inserted: only {count} were written")
        if self.head != head:
            raise self.corrupted(count - 1, "it isn't the one that was written last")
        if not count:
            raise self.corrupted(0, "the budget is missing")

    def append(self, row: Row) -> None:
        """Take the next row, checking it."""
        position = len(self.hashes)
        if row.position != position:
            raise self.corrupted(position, f"it is missing; the next one is {row.position}")
        plain = isinstance(row.body, str) and row.body.isascii()
        if not plain or link(self.head, row.body) != row.hash:
            raise self.corrupted(position, "its content or its place doesn't match its hash")
        try:
            body = json.loads(row.body)
            if (body["dataset"], body["position"]) != (self.dataset, position):
                raise ValueError("another place")
            if position:
                self.entries.append(Entry.read(body, row.hash))
            else:
                self._budget = Budget.read(body)
        except _UNREADABLE as error:
            raise self.corrupted(position, f"its content can't be read ({error})") from error
        self.bodies.append(row.body)
        self.hashes.append(row.hash)


def _cost(value: Any) -> float:
    """A cost as written; one below zero would give budget back."""
    cost = float(value)
    if not 0 <= cost < math.inf:
        raise ValueError(f"a cost of {cost}")
    return cost


def now() -> str:
    """The current UTC time, to the second, for people to read."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def link(previous: str, body: str) -> str:
    """The hash of a row, given the hash of the one before."""
    return hashlib.sha256((previous + body).encode()).hexdigest()


def seal(*facts: str | int) -> str:
    """A hash over the facts that a table keeps about its rows."""
    return hashlib.sha256(canonical(list(facts)).encode()).hexdigest()


def canonical(value: Any) -> str:
    """JSON with one spelling: sorted keys, no spaces, ASCII, floats that read back exactly.

    Raises
    ------
    InvalidInput
        If the value isn't made of strings, finite numbers, booleans, None, lists and mappings.
    """
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"released can't be written down ({error}); give the mechanism's name and public "
            "parameters as texts, finite numbers, booleans, lists and mappings"
        ) from error
