"""Processes that race for the last unit, and processes that are killed at any moment."""

import json
import random
import threading
import time
from pathlib import Path

import pytest

import bayesdp as bdp
from tests.privacy import crash_worker


def run_together(processes, target, url, count):
    """Run `count` processes that start at the same moment; what each reported."""
    barrier, won = processes.Barrier(count), processes.Queue()
    racers = [processes.Process(target=target, args=(url, barrier, won)) for _ in range(count)]
    for racer in racers:
        racer.start()
    reports = [won.get(timeout=600) for _ in racers]
    for racer in racers:
        racer.join(timeout=600)
        assert racer.exitcode == 0
    won.close()
    won.join_thread()
    return reports


@pytest.mark.slow
def test_sixteen_processes_race_for_the_last_unit(url, processes):
    ledger = bdp.Ledger.open(url)
    account = ledger.create("s", epsilon=100.0, neighbours="replace_one")
    for _ in range(99):
        account.spend(crash_worker.PROMISE)
    assert sorted(run_together(processes, crash_worker.race, url, 16)) == [0] * 15 + [1]
    assert account.remaining().epsilon == 0.0
    assert len(account.history()) == 100
    ledger.verify()


@pytest.mark.slow
def test_sixteen_processes_race_for_many_units(url, processes):
    ledger = bdp.Ledger.open(url)
    account = ledger.create("s", epsilon=150.5, neighbours="replace_one")
    assert sum(run_together(processes, crash_worker.race, url, 16)) == 150
    assert account.remaining().epsilon == 0.5
    assert len(account.history()) == 150
    ledger.verify()


@pytest.mark.slow
def test_sixteen_processes_make_the_first_tables(url, processes):
    run_together(processes, crash_worker.create, url, 16)
    ledger = bdp.Ledger.open(url)
    assert len(ledger.datasets()) == 16
    ledger.verify()


def test_threads_share_a_handle(url):
    account = bdp.Ledger.open(url).create("s", epsilon=20.0, neighbours="replace_one")
    refused = []

    def work():
        for _ in range(5):
            try:
                account.spend(crash_worker.PROMISE)
            except bdp.errors.BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 20
    assert [entry.position for entry in account.history()] == list(range(1, 21))


# A thousand in all, two hundred of them in every run, each of some 0.1 s. A ledger takes 25:
# after each its whole history is read again, which takes ever longer.
KILLS_OF_ONE = 25
KILLS = [
    pytest.param("sqlite", 100, id="sqlite-100"),
    pytest.param("postgresql", 100, id="postgresql-100"),
    pytest.param("sqlite", 500, id="sqlite-500", marks=pytest.mark.calibrate),
    pytest.param("postgresql", 300, id="postgresql-300", marks=pytest.mark.calibrate),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "kills"), KILLS)
def test_killed_at_any_moment(kind, kills, new_url, processes, tmp_path):
    """After each kill the chain is sound, the budget kept, and every release has its entry.

    Two processes release at once, over and over; the older is killed some time after its
    first release, and another takes its place.
    """
    moments = random.Random(20260 + kills)
    for number in range(kills // KILLS_OF_ONE):
        folder = tmp_path / f"delivered{number}"
        folder.mkdir()
        kill_one_after_another(new_url(kind), processes, folder, moments)


def kill_one_after_another(url, processes, folder: Path, moments: random.Random) -> None:
    ledger = bdp.Ledger.open(url)
    account = ledger.create("s", epsilon=5.0, neighbours="replace_one")

    def start(number):
        first = 1 + 10_000 * number
        arguments = (url, str(folder), first)
        process = processes.Process(target=crash_worker.release_for_ever, args=arguments)
        process.start()
        return process, folder / f"{first}.working"

    running = [start(0)]
    try:
        for number in range(1, KILLS_OF_ONE + 1):
            running.append(start(number))
            victim, working = running.pop(0)
            while not working.exists():
                assert victim.is_alive()
                time.sleep(0.001)
            time.sleep(moments.uniform(0, 0.03))
            victim.kill()
            victim.join()
            victim.close()
            check(ledger, account, folder)
    finally:
        for process, _ in running:
            process.kill()
            process.join()
    check(ledger, account, folder)
    assert len(list(folder.glob("*.working"))) >= KILLS_OF_ONE  # each was killed at its work


def check(ledger: bdp.Ledger, account, folder: Path) -> None:
    """The invariants; what was delivered is listed before what was recorded."""
    delivered = {int(path.stem) for path in folder.glob("*.json")}
    ledger.verify()
    history = account.history()
    recorded = [entry.released["mechanisms"][0]["parameters"]["size"] for entry in history]
    assert delivered <= set(recorded)
    assert len(recorded) == len(set(recorded))
    assert account.spent().epsilon <= 5.0
    for path in list(folder.glob("*.json"))[-3:]:
        assert json.loads(path.read_text())["size"] == int(path.stem)


@pytest.mark.slow
def test_a_server_that_crashes_forgets_nothing(cluster, new_url):
    """Immediate shutdown: no checkpoint, so the log alone brings commits back."""
    ledger = bdp.Ledger.open(new_url("postgresql"))
    account = ledger.create("s", epsilon=50.0, neighbours="replace_one")
    for _ in range(20):
        entry = account.spend(crash_worker.PROMISE)
    cluster.stop("immediate")
    try:
        with pytest.raises(bdp.errors.LedgerUnavailable, match="can't be used"):
            account.spend(crash_worker.PROMISE)
    finally:
        cluster.start()
    assert ledger.verify() == {"s": entry.hash}
    assert account.remaining().epsilon == 30.0


def test_a_lock_that_is_never_given_back_is_an_error(tmp_path, monkeypatch):
    from bayesdp.privacy import ledger_database

    monkeypatch.setattr(ledger_database, "_PATIENCE", 0.2)
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/b.db")
    account = ledger.create("s", epsilon=5.0, neighbours="replace_one")
    with (
        ledger._store._database.transaction(write=True),
        pytest.raises(bdp.errors.LedgerUnavailable, match="locked"),
    ):
        account.spend(crash_worker.PROMISE)
    account.spend(crash_worker.PROMISE)
