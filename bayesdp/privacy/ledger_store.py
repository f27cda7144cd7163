"""Storage of a ledger: tables and transactions, on SQLite or PostgreSQL.

A spend is one transaction that holds the dataset's lock from before its history is read
until the new row is on disk, so that two processes can't both take the last unit.

SQLite gives `BEGIN IMMEDIATE` to one process at a time; on PostgreSQL the dataset's row is
read `FOR UPDATE`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bayesdp.errors import InvalidInput, LedgerCorrupted, quoted
from bayesdp.privacy.ledger_chain import GENESIS, Chain, Row, link, seal
from bayesdp.privacy.ledger_database import Database
from bayesdp.privacy.ledger_names import alike

VERSION = 1
"""The version of the tables that this bayesdp writes."""

MIGRATIONS: dict[int, Callable[[Connection], None]] = {}
"""Statements that turn a version's tables into those of the next, within one transaction."""

_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")

_metadata = sa.MetaData()
_ledger = sa.Table(
    "bayesdp_ledger",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("datasets", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("seal", sa.String(64), nullable=False),
)
_dataset = sa.Table(
    "bayesdp_dataset",
    _metadata,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("seal", sa.String(64), nullable=False),
)
_entry = sa.Table(
    "bayesdp_entry",
    _metadata,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)

# Built once: most of a spend's time would else go into building them.
_find = (
    sa.select(_dataset, _ledger.c.version)
    .select_from(_dataset.join(_ledger, _ledger.c.id == 1))
    .where(_dataset.c.name == sa.bindparam("dataset"))
)
_find_and_lock = _find.with_for_update(of=_dataset)
_rows_from = (
    sa.select(_entry.c.position, _entry.c.body, _entry.c.hash)
    .where(_entry.c.dataset == sa.bindparam("dataset"))
    .where(_entry.c.position >= sa.bindparam("start"))
    .order_by(_entry.c.position)
)
_add_row = _entry.insert()
_move_head = _dataset.update().where(_dataset.c.name == sa.bindparam("dataset"))


class Store:
    """The tables of one ledger.

    Raises
    ------
    InvalidInput
        If the URL is malformed, of another database, or in memory.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self.name = self._database.name

    def exists(self) -> bool:
        """Return True if the tables exist; migrate those of an older version.

        Raises
        ------
        InvalidInput
            If they are of a newer version, or the file's folder doesn't exist.
        LedgerCorrupted
            If they are of a version that never existed.
        LedgerUnavailable
            If the database can't be reached.
        """
        if self._database.is_missing:
            return False
        with self._database.transaction(write=False) as connection:
            version = _version(connection, self.name)
        if version is not None and version < VERSION:
            with self._database.transaction(write=True) as connection:
                self._database.lock(connection)
                _migrate(connection)
        return version is not None

    def is_file(self, path: Path) -> bool:
        """Return True if the tables lie in this file."""
        return self._database.is_file(path)

    def names(self) -> list[str]:
        """The datasets, in the order of their creation."""
        with self._database.transaction(write=False) as connection:
            rows = connection.execute(sa.select(_dataset.c.name).order_by(_dataset.c.number))
            names = [name for (name,) in rows]
        if strange := [name for name in names if not isinstance(name, str)]:
            raise Chain(repr(strange[0])).corrupted(None, "its name was changed")
        return names

    def create(self, name: str, body: str) -> None:
        """Write a dataset's budget, and the tables if there are none yet.

        Raises
        ------
        InvalidInput
            If there is such a dataset, or one whose name looks the same.
        """
        if self._database.is_missing:
            self._database.make()
        with self._database.transaction(write=True) as connection:
            self._database.lock(connection)
            if _version(connection, self.name) is None:
                _make_tables(connection)
            row = connection.execute(sa.select(_ledger).with_for_update()).one()
            names = connection.execute(sa.select(_dataset.c.name).order_by(_dataset.c.number))
            if there := alike(names.scalars(), name):
                raise InvalidInput(
                    f"dataset {quoted(there[0])} exists already in {self.name}, and a budget is "
                    "never changed or started afresh; use ledger.dataset(...) with this name"
                )
            first = Row(0, body, link(GENESIS, body))
            _add_dataset(connection, row.datasets, name, [first])
            _close_list(connection, row.datasets + 1, link(row.head, first.hash))

    def restore(self, chains: Sequence[Chain]) -> None:
        """Write datasets with their whole histories, as they are, where there is none yet.

        Raises
        ------
        InvalidInput
            If there is any dataset already.
        """
        if self._database.is_missing:
            self._database.make()
        with self._database.transaction(write=True) as connection:
            self._database.lock(connection)
            if _version(connection, self.name) is None:
                _make_tables(connection)
            connection.execute(sa.select(_ledger).with_for_update()).one()
            if there := connection.execute(sa.select(_dataset.c.name)).scalars().first():
                raise InvalidInput(
                    f"the ledger {self.name} has datasets already ({quoted(there)}), and a history "
                    "is never mixed with another; restore into an empty place"
                )
            head = GENESIS
            for number, chain in enumerate(chains):
                rows = [Row(k, body, chain.hashes[k]) for k, body in enumerate(chain.bodies)]
                _add_dataset(connection, number, chain.dataset, rows)
                head = link(head, chain.hashes[0])
            _close_list(connection, len(chains), head)

    def read(self, chain: Chain) -> None:
        """Bring a chain up to what is stored, checking every row that is new to it."""
        with self._database.transaction(write=False) as connection:
            self._catch_up(connection, chain, lock=False)

    def append(self, chain: Chain, decide: Callable[[], str]) -> str:
        """Write one more row, durably, and return its hash.

        Parameters
        ----------
        chain : Chain
            Brought up to what is stored first, under the dataset's lock.
        decide : function
            Called under that lock; returns the new row's body. If it raises, nothing is changed.
        """
        with self._database.transaction(write=True) as connection:
            self._catch_up(connection, chain, lock=True)
            body, position = decide(), len(chain.hashes)
            head = link(chain.head, body)
            row = {"dataset": chain.dataset, "position": position, "body": body, "hash": head}
            connection.execute(_add_row, row)
            end = {"rows": position + 1, "head": head}
            end["seal"] = seal(chain.dataset, position + 1, head)
            connection.execute(_move_head, end | {"dataset": chain.dataset})
        chain.append(Row(position, body, head))  # so that its loss would be noticed
        return head

    def chains(self) -> list[Chain]:
        """Every dataset's rows, all checked from the first, as of one moment.

        Raises
        ------
        LedgerCorrupted
            At the first bad entry; or if the list of datasets is wrong.
        """
        with self._database.transaction(write=False) as connection:
            row = connection.execute(sa.select(_ledger)).first()
            datasets = connection.execute(sa.select(_dataset).order_by(_dataset.c.number)).all()
            chains = [Chain(str(dataset.name)) for dataset in datasets]
            for chain in chains:
                self._catch_up(connection, chain, lock=False)
            owners = set(connection.execute(sa.select(_entry.c.dataset).distinct()).scalars())
        head = GENESIS
        for chain in chains:
            head = link(head, chain.hashes[0])
        facts = (len(chains), head)
        counted = [dataset.number for dataset in datasets] == list(range(len(datasets)))
        sealed = row is not None and row.seal == seal(row.datasets, row.head)
        if row is None or not (sealed and counted) or facts != row[2:4]:
            raise LedgerCorrupted(
                f"the list of datasets in {self.name} was changed: it names "
                f"{[chain.dataset for chain in chains]}, which isn't what was written; restore it "
                "from a backup that holds every spend",
                None,
                None,
            )
        for stray in sorted(owners - {chain.dataset for chain in chains}):
            raise LedgerCorrupted(f"dataset {quoted(stray)} has entries but no budget", stray, 0)
        return chains

    def _catch_up(self, connection: Connection, chain: Chain, *, lock: bool) -> None:
        key = {"dataset": chain.dataset}
        row = connection.execute(_find_and_lock if lock else _find, key).first()
        if row is None:
            raise chain.corrupted(None, "it is gone from the list of datasets")
        _check_version(row.version, self.name)
        if not isinstance(row.rows, int):
            raise chain.corrupted(None, "its count or last hash was changed")
        stored = connection.execute(_rows_from, key | {"start": chain.overlap})
        chain.extend(Row(*each) for each in stored)
        chain.check_end(row.rows, row.head)
        if row.seal != seal(chain.dataset, row.rows, row.head):
            raise chain.corrupted(None, "its count or last hash was changed")


def roles(auditor: str, spender: str) -> str:
    """SQL of PostgreSQL's roles for who only reads a ledger, and for who only adds to it.

    A spend adds a row and moves its dataset's count and last hash, the only columns that a
    spender may update. One that is set wrong is found by every reader; no entry can be changed or
    deleted, so that nothing spent is lost. Roles are a server's and not a database's: those that
    are there already are used as they are.

    Raises
    ------
    InvalidInput
        If a role isn't a plain name, or both are the same.
    """
    for argument, name in (("auditor", auditor), ("spender", spender)):
        if not _ROLE.fullmatch(name):
            raise InvalidInput(
                f"{argument} is {quoted(name)}; it must be a name of at most 63 lower-case "
                "letters, digits and _"
            )
    if auditor == spender:
        raise InvalidInput(f"auditor and spender are both {quoted(auditor)}; give two names")
    tables = ", ".join(table.name for table in (_ledger, _dataset, _entry))
    there = "EXCEPTION WHEN duplicate_object THEN NULL"
    return f"""\
BEGIN;
DO $$ BEGIN CREATE ROLE {auditor}; {there}; END $$;
DO $$ BEGIN CREATE ROLE {spender}; {there}; END $$;
REVOKE ALL ON {tables} FROM PUBLIC, {auditor}, {spender};
GRANT SELECT ON {tables} TO {auditor}, {spender};
GRANT INSERT ON {_entry.name} TO {spender};
GRANT UPDATE (rows, head, seal) ON {_dataset.name} TO {spender};
COMMIT;
"""


def _version(connection: Connection, where: str) -> int | None:
    """The version of the tables, or None if there are none."""
    if not sa.inspect(connection).has_table(_ledger.name):
        return None
    version = connection.execute(sa.select(_ledger.c.version)).scalar()
    if version is None:
        raise LedgerCorrupted(
            f"the own row of the ledger {where} is missing; restore it from a backup that holds "
            "every spend",
            None,
            None,
        )
    _check_version(version, where)
    return int(version)


def _check_version(version: Any, where: str) -> None:
    if not isinstance(version, int) or version < 1:
        raise LedgerCorrupted(
            f"the ledger {where} has version {quoted(version)}, which no bayesdp has written; "
            "restore it from a backup that holds every spend",
            None,
            None,
        )
    if version > VERSION:
        raise InvalidInput(
            f"the ledger {where} has version {version}, written by a newer bayesdp; this one "
            f"uses up to version {VERSION}: pip install --upgrade bayesdp"
        )


def _make_tables(connection: Connection) -> None:
    _metadata.create_all(connection)
    connection.execute(
        _ledger.insert().values(
            id=1, version=VERSION, datasets=0, head=GENESIS, seal=seal(0, GENESIS)
        )
    )


def _add_dataset(connection: Connection, number: int, name: str, rows: Sequence[Row]) -> None:
    head = rows[-1].hash
    own = {"number": number, "rows": len(rows), "head": head, "seal": seal(name, len(rows), head)}
    connection.execute(_dataset.insert().values(name=name, **own))
    connection.execute(_add_row, [{"dataset": name, **row._asdict()} for row in rows])


def _close_list(connection: Connection, count: int, head: str) -> None:
    connection.execute(_ledger.update().values(datasets=count, head=head, seal=seal(count, head)))


def _migrate(connection: Connection) -> None:
    version = connection.execute(sa.select(_ledger.c.version).with_for_update()).scalar_one()
    for old in range(version, VERSION):
        MIGRATIONS[old](connection)
        connection.execute(_ledger.update().values(version=old + 1))
