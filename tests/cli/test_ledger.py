"""Budgets on the command line."""

import errno
import io
from pathlib import Path
from types import SimpleNamespace

import pytest

import bayesdp as bdp
from bayesdp.mechanisms import randomness

URL = "sqlite:///budget.db"


@pytest.fixture
def bayesdp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli):
    """Exit status, standard output and error of `bayesdp LINE`, in a folder with records."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("data.csv").write_text("voted\n" + "1\n0\n1\n" * 20)

    return run_cli


@pytest.mark.parametrize("how", ["", " --json"])
def test_a_budget_is_called_by_the_name_that_is_written(bayesdp, how):
    status, out, _ = bayesdp(
        f"ledger create {URL} '  voters ' --epsilon 4 --neighbours replace_one{how}"
    )
    assert (status, "  voters" in out, "voters" in out) == (0, False, True)


def test_a_budget_from_first_to_last(bayesdp, monkeypatch):
    line = f"ledger create {URL} survey --epsilon 4 --delta 1e-6 --neighbours replace_one"
    assert bayesdp(line)[0] == 0
    status, _, err = bayesdp(line)
    assert (status, "exists already" in err) == (2, True)
    release = f"synthesize data.csv --column voted --ledger {URL} --dataset survey"
    status, out, _ = bayesdp(f"{release} --epsilon 1 --out r1")
    assert status == 0
    assert "left of survey: 3.0" in out
    status, out, _ = bayesdp(
        f"ledger spend {URL} survey --epsilon 0.5 --delta 1e-7 --neighbours add_remove "
        """--mechanism gaussian --source "a paper" --parameters '{"sigma": 2.5}'"""
    )
    assert (status, "recorded as entry 2" in out) == (0, True)
    status, out, _ = bayesdp(f"ledger show {URL}")
    assert status == 0
    for cell in ("survey", "replace_one", "4.0, 1e-06", "conditional"):
        assert cell in out
    status, out, _ = bayesdp(f"ledger show {URL} survey")
    assert status == 0
    for cell in ("discrete_laplace", "gaussian", '"sigma": 2.5', "proved"):
        assert cell in out
    status, out, _ = bayesdp(f"ledger verify {URL}")
    assert status == 0
    head = out.splitlines()[0]
    assert head.startswith("survey=")
    assert "sound" in out
    assert bayesdp(f"ledger verify {URL} --head {head}")[0] == 0
    assert "rewritten" in bayesdp(f"ledger verify {URL} --head survey=00")[2]

    nothing = SimpleNamespace(urandom=lambda count: pytest.fail("drawn"))
    monkeypatch.setattr(randomness, "os", nothing)
    status, out, err = bayesdp(f"{release} --epsilon 3 --out r2")
    assert (status, out) == (2, "")
    assert "nothing was spent" in err
    assert not Path("r2").exists()
    assert "can't be read" not in err


def test_what_is_kept_for_concentrated_composition(bayesdp):
    line = f"ledger create {URL} survey --epsilon 1 --delta 1e-6 --neighbours edge"
    assert "delta = 5e-07 of it is kept" in bayesdp(line)[1]
    line = f"ledger create {URL} sums --epsilon 1 --delta 1e-6 --neighbours edge"
    assert "kept" not in bayesdp(f"{line} --conversion-delta 0")[1]
    survey = bdp.Ledger.open(URL).dataset("survey")
    promise = bdp.Guarantee(0.05, 0.0, bdp.Neighbours.EDGE, bdp.Strength.PROVED, (), "a test")
    for _ in range(18):
        survey.spend(promise)
    status, out, _ = bayesdp(f"ledger show {URL}")
    assert status == 0
    assert "0.0224953 of 0.0229374" in out
    rows = [line for line in out.splitlines() if "sums" in line]
    assert " of " not in rows[0]


def test_a_release_that_cannot_be_written_costs_nothing(bayesdp):
    bayesdp(f"ledger create {URL} survey --epsilon 4 --neighbours replace_one")
    release = f"synthesize data.csv --column voted --ledger {URL} --dataset survey --epsilon 1"
    Path("r").mkdir()
    for out in ("r", "no/where"):
        assert bayesdp(f"{release} --out {out}")[0] == 2
    assert bdp.Ledger.open(URL).dataset("survey").history() == []


@pytest.mark.parametrize(
    ("typed", "status", "said"),
    [(None, 2, "spent of survey, and stays spent. It is lost"), ("n", 1, "again?"), ("y", 0, "")],
)
def test_a_release_that_was_paid_for_is_saved_at_the_second_try(
    bayesdp, monkeypatch, typed, status, said
):
    """A full disk, on which somebody at a terminal can make room, and a script can't."""
    bayesdp(f"ledger create {URL} survey --epsilon 4 --neighbours replace_one")
    save, full = bdp.Release.save, [OSError(errno.ENOSPC, "No space left on device")]

    def saved(release, folder, **how):
        if full:
            raise full.pop()
        return save(release, folder, **how)

    monkeypatch.setattr(bdp.Release, "save", saved)
    stdin = io.StringIO(f"{typed}\n")
    monkeypatch.setattr(stdin, "isatty", lambda: typed is not None)
    monkeypatch.setattr("sys.stdin", stdin)
    release = f"synthesize data.csv --column voted --ledger {URL} --dataset survey --epsilon 1"
    ended, _, err = bayesdp(f"{release} --out r")
    assert ended == status
    assert "can't be saved in 'r' (No space left on device)" in err
    assert said in err
    assert Path("r").exists() == (typed == "y")
    assert len(bdp.Ledger.open(URL).dataset("survey").history()) == 1


def test_an_export_from_first_to_last(bayesdp):
    bayesdp(f"ledger create {URL} survey --epsilon 4 --neighbours replace_one")
    spend = f"ledger spend {URL} survey --neighbours replace_one --mechanism m --source x --epsilon"
    assert bayesdp(f"{spend} 1")[0] == 0
    status, out, _ = bayesdp("ledger key 'my key'")
    assert (status, Path("my key").read_text().strip() in out) == (0, False)
    status, printed, _ = bayesdp(f"ledger export {URL}")
    assert (status, printed.count("\n")) == (0, 4)
    status, out, _ = bayesdp(f"ledger export {URL} --out e.jsonl --key 'my key'")
    assert status == 0
    assert out == ("e.jsonl: 4 lines, signed\nnext: bayesdp ledger verify e.jsonl --key 'my key'\n")
    status, out, _ = bayesdp("ledger verify e.jsonl --key 'my key'")
    assert out.endswith("the export is sound, and signed with this key\n")
    assert bayesdp("ledger verify e.jsonl")[1].endswith("no signature was checked\n")
    head = out.splitlines()[0]
    assert bayesdp(f"ledger verify e.jsonl --head {head}")[0] == 0
    assert "rewritten" in bayesdp("ledger verify e.jsonl --head survey=00")[2]
    assert bayesdp(f"{spend} 1")[0] == 0
    status, out, _ = bayesdp(f"ledger export {URL} --out h --head-only --extends e.jsonl")
    assert out == "h: 1 line\nnext: bayesdp ledger verify URL --extends h\n"
    assert bayesdp(f"ledger verify {URL} --extends h")[0] == 0
    line = "ledger restore sqlite:///new.db e.jsonl"
    assert "has 1 entry left of 2" in bayesdp(f"{line} --extends h")[2]
    assert not Path("new.db").exists()
    status, out, _ = bayesdp(f"{line} --key 'my key'")
    assert out.startswith(f"{head}\nrestored; ")
    assert "has datasets already" in bayesdp(line)[2]
    Path("e.jsonl").write_text(Path("e.jsonl").read_text().replace("1.0", "0.1", 1))
    status, _, err = bayesdp("ledger verify e.jsonl")
    assert (status, "line 3 of 'e.jsonl'" in err) == (2, True)


def test_the_sql_of_roles(bayesdp):
    sql = bayesdp("ledger roles")[1]
    assert len(sql.splitlines()) == 8
    assert "DELETE" not in sql
    other = bayesdp("ledger roles --auditor ann --spender bob")[1]
    assert other == sql.replace("ledger_auditor", "ann").replace("ledger_spender", "bob")


def test_a_changed_ledger_is_reported(bayesdp):
    import sqlite3

    bayesdp(f"ledger create {URL} survey --epsilon 4 --neighbours replace_one")
    connection = sqlite3.connect("budget.db", isolation_level=None)
    connection.execute("UPDATE bayesdp_entry SET body = replace(body, '4.0', '9.0')")
    connection.close()
    for command in ("verify", "show"):
        status, _, err = bayesdp(f"ledger {command} {URL}")
        assert status == 2
        assert "dataset 'survey', entry 0" in err


SPEND = f"ledger spend {URL} s --neighbours edge --mechanism m --source x --epsilon"
BAD = {
    f"ledger create {URL} t --epsilon nan --neighbours edge": "epsilon is nan",
    f"ledger create {URL} t --epsilon 1 --delta 1 --neighbours edge": "delta is 1",
    f"ledger create {URL} t --epsilon 1 --neighbours all": "neighbours is 'all'",
    f"ledger create {URL} t --epsilon 1 --neighbours edge --conversion-delta 1e-6":
        "conversion_delta is 1e-06",
    "ledger create nonsense t --epsilon 1 --neighbours edge": "url can't be read",
    f"ledger show {URL} t": "it has 's'",
    "ledger show sqlite:///none.db": "is empty",
    "ledger verify sqlite:///none.db": "no ledger",
    f"ledger verify {URL} --head s": "DATASET=HASH",
    f"ledger verify {URL} --key none": "give a signed export or head, too",
    f"ledger verify {URL} --extends none": "'none' is no export",
    "ledger verify budget.db": "named by its URL, such as sqlite:///budget.db",
    f"ledger export {URL} --json": "give --out",
    f"ledger export {URL} --key none": "key names no file",
    f"ledger export {URL} --out budget.db": "--force",
    f"ledger restore {URL} none": "'none' is no export",
    "ledger key budget.db": "never replaced",
    "ledger roles --spender Bob": "spender is 'Bob'",
    f"{SPEND} 9": "Ask for no more than is left",
    f"{SPEND} -1": "epsilon is -1",
    f"{SPEND} 0.1 --strength sure": "strength is 'sure'",
    f"{SPEND} 0.1 --strength as_published": "accept_unproved",
    f"{SPEND} 0.1 --parameters x": "JSON object",
    f"{SPEND} 0.1 --parameters [1]": "JSON object",
    f"synthesize data.csv --column voted --epsilon 1 --out r --ledger {URL}": "go together",
    "synthesize data.csv --column voted --epsilon 1 --out r --dataset s": "go together",
    f"synthesize data.csv --column voted --epsilon 1 --out r --ledger {URL} --dataset s":
        "under 'edge'",
}  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_bad_input_spends_and_writes_nothing(bayesdp, line):
    assert bayesdp(f"ledger create {URL} s --epsilon 1 --neighbours edge")[0] == 0
    before = sorted(path.name for path in Path().iterdir())
    status, out, err = bayesdp(line)
    assert (status, out, err[:7]) == (2, "", "error: ")
    assert BAD[line] in err
    assert sorted(path.name for path in Path().iterdir()) == before
    assert bdp.Ledger.open(URL).datasets() == ["s"]
    assert bdp.Ledger.open(URL).dataset("s").history() == []
