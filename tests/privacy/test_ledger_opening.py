"""The ledger: opening and naming one, and what is refused."""

import errno
import math
import os
import time
import traceback
from pathlib import Path

import pytest
import sqlalchemy as sa

import bayesdp as bdp
from bayesdp.privacy import ledger_chain, ledger_store
from tests.privacy.ledgers import promise


def test_a_reopened_ledger_is_unchanged(url):
    account = bdp.Ledger.open(url).create("s", epsilon=4.0, neighbours="node")
    made = account.spend(promise(0.1, neighbours="node"), {"name": "laplace", "scale": 0.1})
    ledger = bdp.Ledger.open(url)
    assert ledger.datasets() == ["s"]
    assert ledger.dataset("s").history() == [made]
    assert ledger.dataset("s").budget == account.budget
    assert ledger.verify({"s": made.hash}) == {"s": made.hash}


def test_a_file_appears_with_the_first_budget_and_never_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = bdp.Ledger.open("sqlite:///b.db")
    assert ledger.datasets() == []
    with pytest.raises(bdp.errors.InvalidInput, match="is empty"):
        ledger.dataset("s")
    with pytest.raises(bdp.errors.InvalidInput, match=r"no ledger at sqlite:///b\.db"):
        ledger.verify()
    assert not Path("b.db").exists()
    account = ledger.create("s", epsilon=1.0, neighbours="edge")
    monkeypatch.chdir("/")  # the path was resolved once
    assert account.remaining().epsilon == 1.0
    (tmp_path / "b.db").unlink()
    with pytest.raises(bdp.errors.LedgerUnavailable, match="unable to open"):
        account.spend(promise(0.1, neighbours="edge"))
    assert not (tmp_path / "b.db").exists()


def test_an_empty_file_is_no_new_ledger(tmp_path, monkeypatch):
    """It may be what a crash left of one, whose spends would be forgotten."""
    path, url = tmp_path / "b.db", f"sqlite:///{tmp_path}/b.db"
    ledger = bdp.Ledger.open(url)
    path.touch()
    refused = pytest.raises(bdp.errors.LedgerCorrupted, match=r"a file of 0 bytes.*remove the file")
    with refused:
        ledger.create("s", epsilon=1.0, neighbours="edge")
    with refused:
        bdp.Ledger.open(url)
    path.unlink()
    for links in (os.link, no_link):  # it is never empty, not even while it is made
        monkeypatch.setattr(os, "link", links)
        ledger._store._database.make()
        assert path.stat().st_size
        assert bdp.Ledger.open(url).datasets() == []
        ledger._store._database.make()  # as another process may have done meanwhile
        ledger.create("s", epsilon=1.0, neighbours="edge")
        assert bdp.Ledger.open(url).datasets() == ["s"]
        assert [*tmp_path.iterdir()] == [path]
        path.unlink()


def test_a_file_too_short_for_any_ledger_is_no_new_one(tmp_path):
    """SQLite takes one byte for an empty database, in which all spends would be forgotten."""
    (tmp_path / "b.db").write_text("\n")
    with pytest.raises(bdp.errors.LedgerCorrupted, match=r"a file of 1 byte, .*remove the file"):
        bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")


def test_a_file_with_two_names_is_refused(tmp_path):
    """What a killed process left is undone by its name alone, with the other's later spends."""
    path, url = tmp_path / "b.db", f"sqlite:///{tmp_path}/b.db"
    account = bdp.Ledger.open(url).create("s", epsilon=1.0, neighbours="edge")
    path.with_name("link.db").symlink_to(path)
    linked = bdp.Ledger.open(f"sqlite:///{tmp_path}/link.db").dataset("s")
    linked.spend(promise(0.1, neighbours="edge"))
    path.with_name(".b.db-0123abcd").hardlink_to(path)  # as while it is made
    account.spend(promise(0.1, neighbours="edge"))
    path.with_name(".b.db-0123abcd").unlink()
    path.with_name("second.db").hardlink_to(path)
    refused = pytest.raises(bdp.errors.LedgerUnavailable, match=r"2 names .*nothing was drawn")
    with refused:
        account.spend(promise(0.1, neighbours="edge"))
    with refused:
        bdp.Ledger.open(f"sqlite:///{tmp_path}/second.db")
    path.with_name("second.db").unlink()
    assert len(account.history()) == 2


def test_places_that_cannot_be_looked_at_are_named(tmp_path):
    (tmp_path / "circle.db").symlink_to("circle.db")
    for name in ("circle.db", "x" * 300):
        with pytest.raises(bdp.errors.LedgerUnavailable, match="can't be reached"):
            bdp.Ledger.open(f"sqlite:///{tmp_path}/{name}")


def no_link(*paths):
    raise OSError(errno.EPERM, "Operation not permitted")


def test_unknown_and_second_datasets(survey, url):
    ledger = bdp.Ledger.open(url)
    with pytest.raises(bdp.errors.InvalidInput, match=r"'surwey', which isn't .*: it has 'survey'"):
        ledger.dataset("surwey")
    survey.spend(promise(3.0))
    with pytest.raises(bdp.errors.InvalidInput, match="exists already"):
        ledger.create("survey", epsilon=100.0, neighbours="edge")
    assert survey.remaining().epsilon == 1.0


def test_a_url_is_opened(url):
    for store in (url, None):
        with pytest.raises(bdp.errors.InvalidInput, match=r"store is .*bdp\.Ledger\.open"):
            bdp.Ledger(store)


def test_a_url_in_place_of_a_store_isn_t_quoted_as_it_may_have_a_password():
    with pytest.raises(bdp.errors.InvalidInput, match=r"bdp\.Ledger\.open\(") as caught:
        bdp.Ledger("postgresql+psycopg://me:s3cret@host/budget")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ann:s3cret@127.0.0.1:1/budget",
        "postgresql+psycopg://ann:s3cret@more@127.0.0.1:1/budget",
        "postgresql+psycopg://127.0.0.1:1/budget?user=ann&password=s3cret",
        "sqlite:///budget.db?key=s3cret",
    ],
)
def test_no_message_nor_repr_of_a_ledger_has_a_password(url):
    said = []
    try:
        ledger = bdp.Ledger.open(url)
        said += [repr(ledger), ledger._repr_html_()]
        ledger.create("survey", epsilon=1.0)
    except bdp.errors.BayesDPError as error:
        said += traceback.format_exception(error, limit=0)
    assert said
    assert not any("s3cret" in text for text in said)


SPELLINGS = ["Z\u00fcrich 2026", "Zu\u0308rich 2026", "  Z\u00fcrich 2026 ", "Zu\u0308rich 2026\t"]


@pytest.mark.parametrize("written", SPELLINGS[:3])
def test_names_that_look_the_same_are_one_budget(url, written):
    ledger = bdp.Ledger.open(url)
    ledger.create(written, epsilon=1.0, neighbours="edge").spend(promise(0.9, neighbours="edge"))
    assert ledger.datasets() == [SPELLINGS[0]]
    for other in SPELLINGS:
        with pytest.raises(bdp.errors.InvalidInput, match="exists already"):
            ledger.create(other, epsilon=1.0, neighbours="edge")
        with pytest.raises(bdp.errors.BudgetExceeded):
            ledger.dataset(other).spend(promise(0.9, neighbours="edge"))
        assert ledger.verify({other: ledger.verify()[SPELLINGS[0]]})


def test_a_ledger_with_names_as_they_were_typed_stays_one_budget_a_name(url):
    """As an older version has written them."""
    ledger = bdp.Ledger.open(url)
    for typed in ("s ", "t", "  s"):
        budget = ledger_chain.Budget(1.0, 0.0, bdp.Neighbours.EDGE, ledger_chain.now())
        writes_names_as_typed(ledger, typed, budget.body(typed))
    assert ledger.datasets() == ["s ", "t", "  s"]
    assert len(ledger.verify()) == 3
    for name in ("s", "s ", " s"):
        assert ledger.dataset(name).name == "s "
        with pytest.raises(bdp.errors.InvalidInput, match="'s ' exists already"):
            ledger.create(name, epsilon=1.0, neighbours="edge")
    ledger.dataset("s").spend(promise(0.9, neighbours="edge"))
    second = ledger.dataset("  s")
    assert (second.name, second.history()) == ("  s", [])
    with pytest.raises(bdp.errors.InvalidInput, match="looks like 's '"):
        second.spend(promise(0.9, neighbours="edge"))
    with pytest.raises(bdp.errors.BudgetExceeded):
        ledger.dataset("s").spend(promise(0.9, neighbours="edge"))
    assert len(ledger.verify()) == 3


def writes_names_as_typed(ledger, name, body):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_store, "alike", lambda names, name: [])
        ledger._store.create(name, body)


BAD_BUDGETS = [
    ({"epsilon": math.nan}, "epsilon is nan"),
    ({"epsilon": -1.0}, "epsilon is -1"),
    ({"epsilon": 0.0}, "epsilon is 0"),
    ({"epsilon": math.inf}, "epsilon is inf"),
    ({"epsilon": "4"}, "epsilon is '4'"),
    ({"delta": math.nan}, "delta is nan"),
    ({"delta": -1e-9}, "delta is -1e-09"),
    ({"delta": 1.0}, "delta is 1.0"),
    ({"delta": True}, "delta is True"),
    ({"conversion_delta": 1e-9}, "conversion_delta is 1e-09; it must be a number from 0 to delta"),
    ({"delta": 0.1, "conversion_delta": 0.2}, "conversion_delta is 0.2"),
    ({"delta": 0.1, "conversion_delta": -0.1}, "conversion_delta is -0.1"),
    ({"delta": 0.1, "conversion_delta": math.nan}, "conversion_delta is nan"),
    ({"delta": 0.1, "conversion_delta": "all"}, "conversion_delta is 'all'"),
    ({"neighbours": "replace"}, "neighbours is 'replace'; it must be one of"),
    ({"dataset": ""}, "dataset is ''"),
    ({"dataset": "  "}, "dataset is '  '"),
    ({"dataset": "a\u200b"}, "printable"),
    ({"dataset": 5}, "dataset is 5"),
    ({"dataset": "a\nb"}, "printable"),
    ({"dataset": "a" * 201}, "1 to 200"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_BUDGETS, ids=str)
def test_bad_budgets(tmp_path, bad, message):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    arguments = {"dataset": "s", "epsilon": 1.0, "delta": 0.0, "neighbours": "edge"} | bad
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        ledger.create(arguments.pop("dataset"), **arguments)
    assert ledger.datasets() == []


def test_bad_spends(survey):
    with pytest.raises(bdp.errors.InvalidInput, match="must be a Guarantee"):
        survey.spend(1.0)
    for bad in ({"f": math.nan}, {"f": object()}):
        with pytest.raises(bdp.errors.InvalidInput, match="released can't be written down"):
            survey.spend(promise(1.0), bad)
    assert survey.history() == []


BAD_URLS = {
    "budget.db": "can't be read",
    "": "can't be read",
    "sqlite://": "must name a file",
    "sqlite:///:memory:": "must name a file",
    "sqlite:///file:b.db?uri=true": "must name a file",
    "sqlite:///2026?.db": "must name a file",  # which was the ledger "2026"
    "mysql://u:secret@h/d": "names the database 'mysql'",
    "sqlite:////nowhere/at/all/b.db": "doesn't exist; create it first",
}


@pytest.mark.parametrize("url", BAD_URLS, ids=str)
def test_bad_urls(url):
    with pytest.raises(bdp.errors.InvalidInput, match=BAD_URLS[url]) as caught:
        bdp.Ledger.open(url)
    assert "secret" not in str(caught.value)


def test_databases_that_cannot_be_used(tmp_path):
    pytest.importorskip("psycopg")
    with pytest.raises(bdp.errors.LedgerUnavailable, match="can't be used") as caught:
        bdp.Ledger.open("postgresql://me:secret@127.0.0.1:1/x")
    assert "secret" not in str(caught.value)
    (tmp_path / "text.db").write_text("This is no database, but a text that is long enough.\n" * 9)
    with pytest.raises(bdp.errors.LedgerUnavailable, match=r"not a database.*a backup that holds"):
        bdp.Ledger.open(f"sqlite:///{tmp_path}/text.db")
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/half.db")
    ledger.create("s", epsilon=1.0, neighbours="edge")
    (tmp_path / "half.db").write_bytes((tmp_path / "half.db").read_bytes()[:5000])
    with pytest.raises(bdp.errors.LedgerUnavailable, match=r"malformed.*a backup that holds"):
        ledger.verify()
    with pytest.raises(bdp.errors.LedgerUnavailable):
        bdp.Ledger.open(f"sqlite:///{tmp_path}")


def test_an_unsafe_server_is_refused_and_a_hasty_session_slowed(cluster):
    cluster.sql("CREATE DATABASE hasty")
    cluster.sql("ALTER DATABASE hasty SET synchronous_commit = off")
    cluster.sql("ALTER DATABASE hasty SET default_transaction_isolation = 'serializable'")
    ledger = bdp.Ledger.open(cluster.url("hasty"))
    ledger.create("s", epsilon=1.0, neighbours="edge")
    with ledger._store._database.transaction(write=True) as connection:
        assert connection.execute(sa.text("SHOW synchronous_commit")).scalar() == "on"
    cluster.sql("ALTER SYSTEM SET fsync = off")
    try:
        reload(cluster, fsync="off")
        with pytest.raises(bdp.errors.LedgerUnavailable, match="fsync = off"):
            bdp.Ledger.open(cluster.url("hasty"))
    finally:
        cluster.sql("ALTER SYSTEM RESET fsync")
        reload(cluster, fsync="on")


def reload(cluster, fsync: str) -> None:
    """Have the server read its settings, and wait until new connections have them."""
    cluster.sql("SELECT pg_reload_conf()")
    end = time.monotonic() + 120
    while cluster.sql("SHOW fsync") != [(fsync,)]:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_newer_ledger_is_refused_and_an_older_one_migrated(url, monkeypatch):
    account = bdp.Ledger.open(url).create("s", epsilon=1.0, neighbours="edge")
    account.spend(promise(0.25, neighbours="edge"))
    before = account.history()
    monkeypatch.setattr(ledger_store, "VERSION", 2)
    moved = []
    monkeypatch.setitem(ledger_store.MIGRATIONS, 1, lambda connection: moved.append(1))
    assert bdp.Ledger.open(url).dataset("s").history() == before
    assert bdp.Ledger.open(url).verify()
    assert moved == [1]
    monkeypatch.setattr(ledger_store, "VERSION", 1)
    with pytest.raises(bdp.errors.InvalidInput, match="version 2, written by a newer bayesdp"):
        bdp.Ledger.open(url)
    with pytest.raises(bdp.errors.InvalidInput, match="version 2, written by a newer bayesdp"):
        account.spend(promise(0.25, neighbours="edge"))


def test_the_clock_means_nothing(survey, url, monkeypatch):
    for year in (2030, 1999, 2026):
        monkeypatch.setattr("bayesdp.privacy.ledger.now", lambda year=year: f"{year}-01-01")
        survey.spend(promise(0.5))
    assert [entry.at[:4] for entry in survey.history()] == ["2030", "1999", "2026"]
    assert bdp.Ledger.open(url).verify()
