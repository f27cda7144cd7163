"""Roles of PostgreSQL: an auditor reads a ledger, a spender adds to it, and neither changes it."""

from collections.abc import Callable
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.privacy.ledger_store import roles
from tests.privacy.conftest import Cluster
from tests.privacy.ledgers import promise

psycopg = pytest.importorskip("psycopg")

TABLES = ("bayesdp_ledger", "bayesdp_dataset", "bayesdp_entry")
ROLES = ("auditor_of_a_test", "spender_of_a_test")
CHANGES = {
    "an entry": "UPDATE bayesdp_entry SET body = replace(body, '0.5', '0.1')",
    "an entry's hash": "UPDATE bayesdp_entry SET hash = repeat('0', 64)",
    "all entries": "DELETE FROM bayesdp_entry",
    "the last entry": "DELETE FROM bayesdp_entry WHERE position = 2",
    "a dataset": "DELETE FROM bayesdp_dataset",
    "a name": "UPDATE bayesdp_dataset SET name = 'other'",
    "an order": "UPDATE bayesdp_dataset SET number = 7",
    "the list": "UPDATE bayesdp_ledger SET datasets = 0",
    "the list's row": "DELETE FROM bayesdp_ledger",
    "a new dataset": "INSERT INTO bayesdp_dataset VALUES ('u', 1, 1, '', '')",
    "another list": "INSERT INTO bayesdp_ledger VALUES (2, 1, 0, '', '')",
    **{f"emptied {table}": f"TRUNCATE {table} CASCADE" for table in TABLES},
    **{f"dropped {table}": f"DROP TABLE {table}" for table in TABLES},
    **{f"altered {table}": f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in TABLES},
}


@pytest.fixture
def where(cluster: Cluster, new_url: Callable[[str], str]):
    """A ledger with two entries, and the addresses under which each role sees it."""
    owner = new_url("postgresql")
    survey = bdp.Ledger.open(owner).create("survey", epsilon=4.0, neighbours="edge")
    for _ in range(2):
        survey.spend(promise(0.5, neighbours="edge"))
    database = owner.split("/")[3].split("?")[0]
    for _ in range(2):  # again in another database of the server: the roles are there
        cluster.sql(roles(*ROLES), database)
    for role in ROLES:
        cluster.sql(f"ALTER ROLE {role} LOGIN", database)
    yield {"owner": owner, **{role[:7]: owner.replace("tester", role) for role in ROLES}}
    for role in ROLES:
        cluster.sql(f"DROP OWNED BY {role}", database)
        cluster.sql(f"DROP ROLE {role}", database)


def run(url: str, statement: str) -> int:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        return connection.execute(statement).rowcount


def test_an_auditor_verifies_and_exports_and_cannot_spend(where, tmp_path: Path):
    owner, ledger = bdp.Ledger.open(where["owner"]), bdp.Ledger.open(where["auditor"])
    assert ledger.verify() == owner.verify()
    assert ledger.export(tmp_path / "e.jsonl") == owner.export()
    assert ledger.verify(extends=tmp_path / "e.jsonl") == owner.verify()
    assert ledger.dataset("survey").remaining().epsilon == 3.0
    attempts = [
        lambda: ledger.dataset("survey").spend(promise(0.1, neighbours="edge")),
        lambda: ledger.create("other", epsilon=1.0, neighbours="edge"),
        lambda: ledger.restore(tmp_path / "e.jsonl"),
    ]
    for attempt in attempts:
        with pytest.raises(bdp.errors.LedgerUnavailable, match="permission denied"):
            attempt()
    statement = "INSERT INTO bayesdp_entry VALUES ('survey', 3, '{}', '')"
    head = "UPDATE bayesdp_dataset SET rows = 1"
    for change in (*CHANGES.values(), statement, head):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(where["auditor"], change)
    assert owner.export() == (tmp_path / "e.jsonl").read_text()


def test_a_spender_spends_and_cannot_change_history(where):
    owner, ledger = bdp.Ledger.open(where["owner"]), bdp.Ledger.open(where["spender"])
    ledger.dataset("survey").spend(promise(0.5, neighbours="edge"))
    assert ledger.verify() == owner.verify()
    before = owner.export()
    with pytest.raises(bdp.errors.LedgerUnavailable, match="permission denied"):
        ledger.create("other", epsilon=1.0, neighbours="edge")
    for change in CHANGES.values():
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(where["spender"], change)
    assert owner.export() == before
    # What a spender may update is found when it is wrong, and loses nothing that was spent.
    assert run(where["spender"], "UPDATE bayesdp_dataset SET rows = 2") == 1
    with pytest.raises(bdp.errors.LedgerCorrupted, match="entry 2: it was inserted"):
        owner.verify()
    run(where["owner"], "UPDATE bayesdp_dataset SET rows = 4")
    assert owner.export() == before


def test_the_changes_are_ones_that_can_be_made(where):
    """By the owner: so that what the roles are refused is refused for their lack of a right."""
    for change in CHANGES.values():
        with psycopg.connect(where["owner"].replace("+psycopg", "")) as connection:
            connection.execute(change)
            connection.rollback()


@pytest.mark.parametrize("name", ["", "Ann", "a b", "a;drop", '"a"', "a" * 64, "1a", "é"])
def test_a_role_is_a_plain_name(name: str):
    for pair in ((name, "b"), ("b", name)):
        with pytest.raises(bdp.errors.InvalidInput, match="must be a name"):
            roles(*pair)


def test_an_auditor_is_no_spender():
    with pytest.raises(bdp.errors.InvalidInput, match="give two names"):
        roles("a", "a")


@pytest.mark.parametrize("name", ["public", "user"])
def test_a_name_that_is_taken_gives_nobody_anything(
    name: str, cluster: Cluster, new_url: Callable[[str], str]
):
    """All or nothing, also by psql, which goes on after an error: it is one transaction."""
    owner = new_url("postgresql")
    bdp.Ledger.open(owner).create("survey", epsilon=4.0, neighbours="edge")
    database = owner.split("/")[3].split("?")[0]
    rights = "SELECT relacl FROM pg_class WHERE relname LIKE 'bayesdp%' AND relkind = 'r'"
    with psycopg.connect(owner.replace("+psycopg", ""), autocommit=True) as connection:
        for line in roles("auditor_by_name", name).splitlines():
            try:
                connection.execute(line)
            except psycopg.Error:
                continue
    assert cluster.sql(rights, database) == [(None,)] * 3
