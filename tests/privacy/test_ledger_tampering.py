"""The ledger: each kind of tampering is found, and the first bad entry named."""

import sqlite3

import pytest

import bayesdp as bdp
from bayesdp.privacy import ledger_chain
from tests.privacy.ledgers import promise

HASH = "0" * 64
TAMPERINGS = {
    "a changed cost": ("UPDATE bayesdp_entry SET body = replace(body, '0.625', '0.1') "
                       "WHERE position = 2 AND dataset = 's'", 2),
    "a changed parameter": ("UPDATE bayesdp_entry SET body = replace(body, 'laplace', 'gauss') "
                            "WHERE position = 3 AND dataset = 's'", 3),
    "a changed budget": ("UPDATE bayesdp_entry SET body = replace(body, '4.0', '9.0') "
                         "WHERE position = 0 AND dataset = 's'", 0),
    "a changed hash": (f"UPDATE bayesdp_entry SET hash = '{HASH}' "
                       "WHERE position = 2 AND dataset = 's'", 2),
    "a deleted row": ("DELETE FROM bayesdp_entry WHERE position = 2 AND dataset = 's'", 2),
    "a deleted tail": ("DELETE FROM bayesdp_entry WHERE position = 4 AND dataset = 's'", 4),
    "all spends deleted": ("DELETE FROM bayesdp_entry WHERE position > 0 AND dataset = 's'", 1),
    "all rows deleted": ("DELETE FROM bayesdp_entry WHERE dataset = 's'", 0),
    "an inserted tail": ("INSERT INTO bayesdp_entry SELECT dataset, 5, body, hash "
                         "FROM bayesdp_entry WHERE position = 4 AND dataset = 's'", 5),
    "an inserted row": ("UPDATE bayesdp_entry SET position = position + 10 WHERE position > 1 "
                        "AND dataset = 's'; UPDATE bayesdp_entry SET position = position - 9 "
                        "WHERE position > 1 AND dataset = 's'; INSERT INTO bayesdp_entry SELECT "
                        "dataset, 2, body, hash FROM bayesdp_entry WHERE position = 1 "
                        "AND dataset = 's'", 2),
    "two rows swapped": ("UPDATE bayesdp_entry SET position = 9 WHERE position = 2 AND dataset = "
                         "'s'; UPDATE bayesdp_entry SET position = 2 WHERE position = 3 AND "
                         "dataset = 's'; UPDATE bayesdp_entry SET position = 3 "
                         "WHERE position = 9 AND dataset = 's'", 2),
    "a row of another dataset": ("UPDATE bayesdp_entry SET body = (SELECT body FROM bayesdp_entry "
                                 "WHERE dataset = 't' AND position = 1) "
                                 "WHERE position = 1 AND dataset = 's'", 1),
    "a changed count": ("UPDATE bayesdp_dataset SET rows = 4 WHERE name = 's'", 4),
    "a deleted tail, count and head to match": (
        "DELETE FROM bayesdp_entry WHERE position = 4 AND dataset = 's'; UPDATE bayesdp_dataset "
        "SET rows = 4, head = (SELECT hash FROM bayesdp_entry WHERE position = 3 "
        "AND dataset = 's') WHERE name = 's'", None),
    "a changed seal": (f"UPDATE bayesdp_dataset SET seal = '{HASH}' WHERE name = 's'", None),
    "a changed head": (f"UPDATE bayesdp_dataset SET head = '{HASH}' WHERE name = 's'", 4),
}  # fmt: skip

OF_THE_LIST = {
    "a deleted dataset": "DELETE FROM bayesdp_dataset WHERE name = 't'; "
    "DELETE FROM bayesdp_entry WHERE dataset = 't'",
    "a deleted dataset, its entries left": "DELETE FROM bayesdp_dataset WHERE name = 't'",
    "a renumbered dataset": "UPDATE bayesdp_dataset SET number = 7 - number",
    "numbers in the old order": "UPDATE bayesdp_dataset SET number = 3 * number + 1",
    "a changed list": "UPDATE bayesdp_ledger SET datasets = 3",
}


@pytest.fixture
def tamper(url):
    ledger = bdp.Ledger.open(url)
    for name in ("s", "t"):
        account = ledger.create(name, epsilon=4.0, neighbours="edge")
        for k in range(4):
            account.spend(promise(0.5 + k / 8, neighbours="edge"), {"name": "laplace", "k": k})

    def run(statements):
        with ledger._store._database.transaction(write=True) as connection:
            for statement in statements.split("; "):
                connection.exec_driver_sql(statement)
        return ledger

    return run


@pytest.mark.parametrize("kind", TAMPERINGS)
def test_tampering_is_found(tamper, kind):
    statements, position = TAMPERINGS[kind]
    ledger = tamper(statements)
    for look in (
        ledger.verify,
        ledger.dataset("s").history,
        lambda: ledger.dataset("s").spend(promise(0.001, neighbours="edge")),
    ):
        with pytest.raises(bdp.errors.LedgerCorrupted, match="dataset 's'") as caught:
            look()
        assert (caught.value.dataset, caught.value.position) == ("s", position)
    assert len(ledger.dataset("t").history()) == 4


@pytest.mark.parametrize("kind", OF_THE_LIST)
def test_tampering_with_the_list_of_datasets_is_found(tamper, kind):
    ledger = tamper(OF_THE_LIST[kind])
    with pytest.raises(bdp.errors.LedgerCorrupted):
        ledger.verify()


@pytest.mark.parametrize("version", ["0", "-1"])
def test_a_version_that_there_never_was_is_found(tamper, url, version):
    ledger = tamper(f"UPDATE bayesdp_ledger SET version = {version}")
    for look in (lambda: bdp.Ledger.open(url), ledger.datasets, ledger.verify):
        with pytest.raises(bdp.errors.LedgerCorrupted, match=f"has version {version}, which no"):
            look()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE bayesdp_ledger SET version = 'one'",
        "UPDATE bayesdp_ledger SET version = 0.5",
        "UPDATE bayesdp_dataset SET rows = 'five' WHERE name = 's'",
        "UPDATE bayesdp_entry SET body = x'00' WHERE position = 2 AND dataset = 's'",
        "UPDATE bayesdp_entry SET position = 'two' WHERE position = 2 AND dataset = 's'",
    ],
)
def test_values_of_another_type_are_found(tmp_path, statement):
    """SQLite holds any type in any column."""
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    account = ledger.create("s", epsilon=4.0, neighbours="edge")
    for _ in range(4):
        account.spend(promise(0.5, neighbours="edge"))
    with sqlite3.connect(tmp_path / "b.db") as connection:
        connection.execute(statement)
    with pytest.raises(bdp.errors.LedgerCorrupted):
        ledger.verify()


def test_a_name_of_another_type_is_found(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    ledger.create("s", epsilon=4.0, neighbours="edge")
    with sqlite3.connect(tmp_path / "b.db") as connection:
        connection.execute("UPDATE bayesdp_dataset SET name = x'ff'")
    for look in (lambda: ledger.dataset("s"), ledger.datasets, ledger.verify):
        with pytest.raises(bdp.errors.LedgerCorrupted):
            look()


def test_an_old_copy_is_found_by_who_knows_better(tmp_path):
    """By a handle that has read more, and by a hash that was kept elsewhere."""
    path = tmp_path / "b.db"
    ledger = bdp.Ledger.open(f"sqlite:///{path}")
    account = ledger.create("s", epsilon=4.0, neighbours="edge")
    account.spend(promise(1.0, neighbours="edge"))
    old = path.read_bytes()
    account.spend(promise(1.0, neighbours="edge"))
    heads = ledger.verify()
    path.write_bytes(old)
    with pytest.raises(bdp.errors.LedgerCorrupted, match="entry 2: it was read before"):
        account.spend(promise(1.0, neighbours="edge"))
    assert ledger.verify()  # consistent in itself
    with pytest.raises(bdp.errors.LedgerCorrupted, match="isn't in its history any more"):
        ledger.verify(heads)


def test_a_rewritten_history_must_still_keep_to_its_budget(tmp_path):
    """Whoever recomputes all hashes is found only by what the rows then say."""
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    account = ledger.create("s", epsilon=1.0, neighbours="edge")
    account.spend(promise(1.0, neighbours="edge"))
    first = account._chain.hashes[0]
    forgeries = {
        "more was spent": lambda body: body.replace('"epsilon":1.0', '"epsilon":7.0'),
        "can't be read": lambda body: body.replace('"kind":"spend"', '"kind":"gift"'),
        "another place": lambda body: body.replace('"position":1', '"position":2'),
    }
    with sqlite3.connect(tmp_path / "b.db") as connection:
        (body,) = connection.execute("SELECT body FROM bayesdp_entry WHERE position=1").fetchone()
    for message, forge in forgeries.items():
        head = ledger_chain.link(first, forge(body))
        connection = sqlite3.connect(tmp_path / "b.db", isolation_level=None)
        connection.execute(
            "UPDATE bayesdp_entry SET body=?, hash=? WHERE position=1", (forge(body), head)
        )
        connection.execute(
            "UPDATE bayesdp_dataset SET head=?, seal=?", (head, ledger_chain.seal("s", 2, head))
        )
        connection.close()
        with pytest.raises(bdp.errors.LedgerCorrupted, match=message):
            ledger.verify()
