"""Databases that a ledger may lie in, and how a commit is made durable there.

SQLite: the journal is a rollback journal (DELETE), not a write-ahead log. Between
transactions the ledger is then one whole file, whose copy is a whole ledger, while a copy
without its log would have forgotten spends; and it works on network file systems that
lock. `synchronous = EXTRA` is FULL and, under this journal, syncs the folder too; without
that, a power cut could bring the journal back, and so the state before the spend.

PostgreSQL: a server that doesn't sync commits is refused, and a session that doesn't is
set to.

A file with two names (hard links) is refused: the journal lies beside the name that was used, so
that what a killed process left would be undone through that name alone, and with it the spends that
were recorded through the other one meanwhile. Symbolic links are followed to the one name.

Every transaction opens its own connection: nothing is shared with a forked process, no
stale connection is met, and no deleted file is written to.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from bayesdp.display.words import count_of
from bayesdp.errors import (
    InvalidInput,
    LedgerCorrupted,
    LedgerUnavailable,
    MissingDependency,
    quoted,
    without_secrets,
)

_PATIENCE = 60.0  # seconds to wait for other processes' spends
_LOCK = 0x6261796573  # PostgreSQL's advisory lock while tables are made
_SMALLEST = 100  # bytes of SQLite's header

_AWAY = "Check that the database is there, running and may be written, then try again"
_DAMAGED = (
    "The file is damaged, or is no ledger: stop releasing, and restore it from a backup that holds "
    "every spend, or correct the URL"
)


class Database:
    """An SQLite file or a PostgreSQL database.

    Raises
    ------
    InvalidInput
        If the URL is malformed, of another database, or in memory.
    MissingDependency
        If PostgreSQL's driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self._url = _parse(url)
        self.name = without_secrets(self._url.render_as_string(hide_password=False))
        self._is_file = self._url.drivername == "sqlite"
        if self._is_file:
            self._path = _resolved(str(self._url.database), self.name)
            self._engine = sa.create_engine(
                "sqlite://", creator=lambda: _open_file(self._path), poolclass=NullPool
            )
            sa.event.listen(self._engine, "begin", _begin_sqlite)
        else:
            try:
                self._engine = sa.create_engine(
                    self._url, poolclass=NullPool, isolation_level="READ COMMITTED"
                )
            except ImportError as error:
                raise MissingDependency(
                    'a PostgreSQL ledger needs psycopg: pip install "bayesdp[postgres]"'
                ) from error
            sa.event.listen(self._engine, "connect", _check_durable)

    def is_file(self, path: Path) -> bool:
        """Return True if the database is this file, by whichever name."""
        return self._is_file and path.exists() and path.samefile(self._path)

    @property
    def is_missing(self) -> bool:
        """True if the file doesn't exist yet; its folder must, and an empty one is refused."""
        if not self._is_file:
            return False
        try:
            size = self._path.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            size = None
        except OSError as error:
            raise _unreachable(self.name, error.strerror) from error
        if size is not None:
            if size < _SMALLEST and self._path.is_file():
                raise LedgerCorrupted(
                    f"the ledger {self.name} is a file of {count_of(size, 'byte')}, as no ledger "
                    "ever is: if it was one, stop releasing, and restore it from a backup that "
                    "holds every spend; if there never was one, remove the file",
                    None,
                    None,
                )
            return False
        if not self._path.parent.is_dir():
            raise InvalidInput(
                f"url is {quoted(self.name)}, but folder {quoted(self._path.parent)} doesn't "
                "exist; create it first"
            )
        return True

    def lock(self, connection: Connection) -> None:
        """Let one process at a time make or migrate tables; SQLite does already."""
        if not self._is_file:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        """Yield a connection whose changes are on disk when the block has ended well.

        What is read inside is as of one moment, or with `write` under the lock.

        Raises
        ------
        LedgerUnavailable
            If the database fails; nothing was written then, unless it failed while it confirmed the
            commit.
        """
        if self._is_file:
            self._check_one_name()
        options: dict[str, Any] = {"bayesdp_write": write}
        if not (write or self._is_file):
            options["isolation_level"] = "REPEATABLE READ"
        try:
            with (
                self._engine.connect().execution_options(**options) as connection,
                connection.begin(),
            ):
                yield connection
        except SQLAlchemyError as error:
            origin = getattr(error, "orig", None) or error
            damaged = type(origin) is sqlite3.DatabaseError  # and none of its subclasses
            raise LedgerUnavailable(
                f"the ledger {self.name} can't be used: {_said(origin)}; nothing was drawn. "
                + (_DAMAGED if damaged else _AWAY)
            ) from error
        except sqlite3.Error as error:  # from opening the file
            raise LedgerUnavailable(
                f"the ledger {self.name} can't be opened ({error}); nothing was drawn. Check "
                "that it is an SQLite database that you may read and write"
            ) from error

    def make(self) -> None:
        """Make a file for the tables, unless another process does meanwhile.

        It has SQLite's first page when it appears: an empty file is what a lost ledger leaves.
        """
        work = self._path.with_name(f"{self._prefix}{secrets.token_hex(4)}")
        try:
            with closing(sqlite3.connect(work)) as connection:
                connection.execute("PRAGMA user_version = 1")
            with suppress(FileExistsError):
                _appear(work, self._path)
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", error)
            raise LedgerUnavailable(
                f"the ledger {self.name} can't be created ({why}); choose another place"
            ) from error
        finally:
            work.unlink(missing_ok=True)

    @property
    def _prefix(self) -> str:
        return f".{self._path.name[:32]}-"

    def _check_one_name(self) -> None:
        """Refuse a file with a second name, unless it is the one under which it is being made."""
        try:
            if self._path.stat().st_nlink <= 1:
                return
            beside = (path for path in self._path.parent.iterdir() if path != self._path)
            making = [path for path in beside if path.name.startswith(self._prefix)]
            own = sum(path.exists() and path.samefile(self._path) for path in making)
            names = self._path.stat().st_nlink - own
        except OSError:  # opening it tells why
            return
        if names > 1:
            raise LedgerUnavailable(
                f"the ledger {self.name} is a file with {names} names (hard links), and a spend "
                "through one of them may be forgotten after a crash through another; nothing was "
                "drawn. Keep one name, through which all have spent, and make the others copies or "
                "symbolic links"
            )


def _resolved(path: str, name: str) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise _unreachable(name, "its symbolic links lead in a circle") from error


def _unreachable(name: str, why: str | None) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the ledger {name} can't be reached ({why}); nothing was drawn. Correct the URL, or ask "
        "who owns the folder"
    )


def _said(error: BaseException) -> str:
    return without_secrets(str(error).strip())


def _parse(url: str) -> URL:
    allowed = "it must look like sqlite:///budget.db or postgresql+psycopg://user@host/database"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # its text may hold a password: not repeated
        raise InvalidInput(f"url can't be read as a database's address; {allowed}") from None
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        plain = parsed.database and parsed.database != ":memory:"
        if not plain or str(parsed.database).startswith("file:") or "?" in str(url):
            raise InvalidInput(
                f"url is {quoted(str(url))}; a ledger outlives the process, so it must name a file "
                "and nothing else: sqlite:///budget.db"
            )
        return parsed.set(drivername="sqlite")
    if kind in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise InvalidInput(f"url names the database {quoted(kind)}; {allowed}")


def _open_file(path: Path) -> sqlite3.Connection:
    """Open an existing file; never make an empty ledger in the place of a lost one."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None
    )
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA fullfsync = ON")  # of macOS, where a sync stops at the disk's cache
    return connection


def _appear(work: Path, target: Path) -> None:
    """Give a file a second name, at which there must be nothing; or, on some disks, a copy."""
    try:
        os.link(work, target)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        with target.open("xb") as copy:
            copy.write(work.read_bytes())


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("bayesdp_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _check_durable(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        if cursor.execute("SHOW fsync").fetchone()[0] == "off":
            connection.close()
            raise LedgerUnavailable(
                "the PostgreSQL server has fsync = off, so a crash may forget spends; set it on"
            )
        cursor.execute(
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') = 'off'"
        )
    connection.commit()
