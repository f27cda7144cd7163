"""A private PostgreSQL cluster, and ledgers on it and on SQLite."""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.privacy.ledger import DatasetLedger
from tests.conftest import missing


def find_program(name: str) -> Path | None:
    """Debian keeps PostgreSQL's programs off the PATH, in a folder a version."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    on_path = shutil.which(name)
    return found[-1] if found else Path(on_path) if on_path else None


class Cluster:
    """A PostgreSQL server on a socket in a folder of its own, with its defaults: fsync on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user: dict[str, str] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            account = pwd.getpwnam("postgres")
            os.chown(folder, account.pw_uid, account.pw_gid)
            self.user = {"user": "postgres", "group": "postgres"}

    def run(self, name: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as its user."""
        program = find_program(name)
        with (self.folder / f"{name}.out").open("a") as out:
            subprocess.run(
                [str(program), *arguments],
                check=True,
                stdout=out,
                stderr=out,
                cwd=self.folder,
                **self.user,
            )

    def make(self) -> None:
        """Make its data folder, and start it."""
        self.run("initdb", "-D", f"{self.folder}/data", "-U", "tester", "-A", "trust", "-E", "UTF8")
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-c listen_addresses='' -c max_connections=60 -k {self.folder}"
        log = str(self.folder / "server.log")
        self.run(
            "pg_ctl",
            "start",
            "-w",
            "-t",
            "300",
            "-D",
            f"{self.folder}/data",
            "-l",
            log,
            "-o",
            options,
        )

    def stop(self, mode: str) -> None:
        """Stop it: 'fast', or 'immediate', which is a crash."""
        self.run("pg_ctl", "stop", "-w", "-t", "300", "-D", f"{self.folder}/data", "-m", mode)

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql+psycopg://tester@/{database}?host={self.folder}"

    def sql(self, command: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a command outside any transaction; its rows, if it has any."""
        import psycopg

        where = f"host={self.folder} user=tester dbname={database}"
        with psycopg.connect(where, autocommit=True) as connection:
            found = connection.execute(command)
            return found.fetchall() if found.description else []


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if find_program("initdb") is None:
        missing("PostgreSQL", "apt-get install postgresql")
    pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="bayesdp-pg-", dir="/tmp"))  # sockets have short paths
    try:
        server = Cluster(folder)
        server.make()
        yield server
        server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_url(
    request: pytest.FixtureRequest, tmp_path: Path, _numbers: Iterator[int]
) -> Callable[[str], str]:
    """The address of an empty place for a ledger, on 'sqlite' or 'postgresql'."""

    def make(kind: str) -> str:
        name = f"ledger{next(_numbers)}"
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/{name}.db"
        server: Cluster = request.getfixturevalue("cluster")
        server.sql(f"CREATE DATABASE {name}")
        return server.url(name)

    return make


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, new_url: Callable[[str], str]) -> str:
    """An empty place for a ledger, on each database in turn."""
    return new_url(request.param)


@pytest.fixture
def survey(url: str) -> DatasetLedger:
    """An account with a budget, on each database in turn."""
    return bdp.Ledger.open(url).create("survey", epsilon=4.0, delta=1e-6, neighbours="replace_one")
