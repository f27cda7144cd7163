"""Exports of a ledger: whole, bound line by line, signed, and compared with what was kept."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.privacy.ledger_chain import GENESIS, canonical, link
from bayesdp.privacy.ledger_key import make_key, read_key, signature
from tests.privacy.ledgers import promise


def filled(url: str) -> bdp.Ledger:
    """Two datasets, with three entries and with one."""
    ledger = bdp.Ledger.open(url)
    for name, entries in (("s", 3), ("t", 1)):
        account = ledger.create(name, epsilon=4.0, delta=1e-6, neighbours="edge")
        for k in range(entries):
            account.spend(promise(0.5, neighbours="edge"), {"name": "laplace", "é": k})
    return ledger


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger, two keys, and an export that is signed with one of them."""
    folder = tmp_path_factory.mktemp("made")
    for name in ("k.key", "other.key"):
        make_key(folder / name)
    ledger = filled(f"sqlite:///{folder}/b.db")
    ledger.export(folder / "e.jsonl", key=folder / "k.key")
    return folder


@pytest.fixture
def ledger(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bdp.Ledger:
    monkeypatch.chdir(tmp_path)
    for path in made.iterdir():
        shutil.copy(path, path.name)
    return bdp.Ledger.open("sqlite:///b.db")


@pytest.fixture
def lines(ledger: bdp.Ledger) -> list[str]:
    """The lines of e.jsonl."""
    return Path("e.jsonl").read_text().splitlines()


def saved(lines: list[str], name: str = "x.jsonl") -> str:
    Path(name).write_text("".join(f"{line}\n" for line in lines))
    return name


def spend(ledger: bdp.Ledger, dataset: str = "s") -> None:
    ledger.dataset(dataset).spend(promise(0.25, neighbours="edge"))


# What an export is


def test_it_is_verified_restored_and_spent_from(url, new_url: Callable[[str], str], tmp_path: Path):
    """From each database into the other."""
    ledger, out = filled(url), tmp_path / "e.jsonl"
    text = ledger.export(out)
    assert out.read_text() == text == ledger.export()
    assert bdp.Ledger.verify_export(out) == ledger.verify()
    there = bdp.Ledger.open(new_url("sqlite" if "postgresql" in url else "postgresql"))
    assert there.restore(out) == ledger.verify() == there.verify()
    assert there.export() == text
    assert there.datasets() == ["s", "t"]
    assert there.dataset("s").history() == ledger.dataset("s").history()
    spend(there)
    there.create("u", epsilon=1.0, neighbours="edge")
    there.verify(extends=out)
    assert bdp.Ledger.open(url).dataset("s").remaining().epsilon == 2.5


def test_its_hashes_can_be_computed_by_anybody(lines):
    """As the documentation says: SHA-256 of the last hash and the body."""
    head = GENESIS
    for row in map(json.loads, lines[1:5]):
        head = link(head, row["body"])
        assert row["hash"] == head
    last = json.loads(lines[-1])
    assert last["datasets"][0] == {
        "dataset": "s",
        "budget": {"epsilon": 4.0, "delta": 1e-6, "conversion_delta": 5e-7, "neighbours": "edge"},
        "entries": 3,
        "head": head,
    }
    signed = last.pop("signature")
    assert signed == signature(canonical(last), read_key("k.key"))


def test_it_is_restored_into_an_empty_place_alone(ledger, lines):
    before = Path("b.db").read_bytes()
    with pytest.raises(bdp.errors.InvalidInput, match=r"has datasets already \('s'\)"):
        ledger.restore("e.jsonl")
    assert Path("b.db").read_bytes() == before
    saved([*lines[:3], lines[4]])
    with pytest.raises(bdp.errors.LedgerCorrupted, match="line 4"):
        bdp.Ledger.open("sqlite:///c.db").restore("x.jsonl")
    assert not Path("c.db").exists()


def test_a_file_is_replaced_if_that_is_asked_for(ledger, lines):
    with pytest.raises(bdp.errors.ReleaseExists, match="exists already"):
        ledger.export("e.jsonl")
    spend(ledger)
    ledger.export("e.jsonl", force=True)
    assert bdp.Ledger.verify_export("e.jsonl") == ledger.verify()


def test_a_ledger_is_not_replaced_by_its_export(ledger):
    Path("link.jsonl").symlink_to("b.db")
    for out in ("b.db", "link.jsonl"):
        with pytest.raises(bdp.errors.InvalidInput, match="the ledger itself"):
            ledger.export(out, force=True)
    assert len(ledger.dataset("s").history()) == 3


def test_line_ends_of_another_system_are_read(lines):
    Path("x.jsonl").write_bytes(("\r\n".join(lines) + "\r\n").encode())
    bdp.Ledger.verify_export("x.jsonl", key="k.key")


def test_no_ledger_is_no_empty_export(tmp_path):
    with pytest.raises(bdp.errors.InvalidInput, match="there is no ledger"):
        bdp.Ledger.open(f"sqlite:///{tmp_path}/none.db").export()


# What was changed in one


def faults(lines: list[str]) -> Iterator[tuple[str, list[str], int]]:
    """Each kind of fault at each place, and the line to be named: the first that is wrong."""
    for k in range(1, len(lines)):
        yield f"cut after {k}", lines[:k], k
    for k in range(len(lines)):
        yield f"without {k + 1}", lines[:k] + lines[k + 1 :], min(k + 1, len(lines) - 1)
        yield f"{k + 1} twice", [*lines[: k + 1], *lines[k:]], k + 2
        yield (
            f"spaces in {k + 1}",
            [*lines[:k], lines[k].replace(":", ": ", 1), *lines[k + 1 :]],
            k + 1,
        )
        yield f"{k + 1} empty", [*lines[:k], "", *lines[k + 1 :]], k + 1
        yield f"{k + 1} no object", [*lines[:k], "[]", *lines[k + 1 :]], k + 1
        yield f"{k + 1} too deep", [*lines[:k], "[" * 10**5, *lines[k + 1 :]], k + 1
        yield f"{k + 1} not finite", [*lines[:k], '{"a":NaN}', *lines[k + 1 :]], k + 1
        for j in range(k):
            swapped = list(lines)
            swapped[j], swapped[k] = lines[k], lines[j]
            last = k == len(lines) - 1
            yield f"{j + 1} and {k + 1} swapped", swapped, k + 1 if last else j + 1


def test_every_fault_is_refused_by_its_line(lines):
    """A lost or doubled line shows where the next one should be, and the lack of a head last."""
    for what, changed, number in faults(lines):
        if changed[0][:1] != "{":
            with pytest.raises(bdp.errors.InvalidInput, match="no export"):
                bdp.Ledger.verify_export(saved(changed))
            continue
        with pytest.raises(bdp.errors.LedgerCorrupted) as caught:
            bdp.Ledger.verify_export(saved(changed))
        told = int(str(caught.value).split()[1])
        assert "isn't the head" in str(caught.value) or not what.startswith("cut"), what
        doubled_last = what == f"{len(lines)} twice"
        assert told == (number - 1 if doubled_last else number), (what, str(caught.value))


@pytest.mark.parametrize(
    ("number", "old", "new", "told"),
    [
        (1, "export", "exports", 1),
        (2, "4.0", "9.0", 2),
        (3, "0.5", "0.1", 3),
        (3, '"hash":"', '"hash":"f', 3),
        (3, '{"body"', '{"a":1,"body"', 3),
        (4, "laplace", "gauss", 4),
        (4, "edge", "\\u00e9dge", 4),
        (8, '"entries":3', '"entries":2', 8),
        (8, '"entries":3', '"entries":4', 6),
        (8, '"entries":1', '"entries":0', 8),
        (8, '"entries":1', '"entries":9', 8),
        (8, '"entries":1', '"entries":true', 8),
        (8, '"entries":1', '"entries":-1', 8),
        (8, '"epsilon":4.0', '"epsilon":9.0', 8),
        (8, '"dataset":"t"', '"dataset":"u"', 6),
        (8, '"dataset":"t"', '"dataset":"s"', 8),
        (8, '"head":"', '"head":"f', 8),
        (8, '"version":1', '"version":true', 8),
        (8, '"version":1', '"version":1,"z":1', 8),
        (8, '{"datasets":[', '{"datasets":[1,', 8),
    ],
)
def test_every_edit_is_refused_by_its_line(lines, number, old, new, told):
    assert len(lines) == 8
    assert old in lines[number - 1].replace('\\"', '"')
    changed = lines[number - 1].replace(old, new, 1)
    saved([*lines[: number - 1], changed, *lines[number:]])
    with pytest.raises(bdp.errors.LedgerCorrupted, match=rf"^line {told} of 'x\.jsonl': "):
        bdp.Ledger.verify_export("x.jsonl")


def test_a_missing_entry_is_named(lines):
    saved([*lines[:-1], lines[-1].replace('"entries":1', '"entries":2')])
    with pytest.raises(bdp.errors.LedgerCorrupted, match=r"line 8 .* entry 2 of 't' is missing"):
        bdp.Ledger.verify_export("x.jsonl")


def test_a_last_line_that_does_not_end_was_cut(lines):
    text = "".join(f"{line}\n" for line in lines)
    for cut in (1, 2, 40):
        Path("x.jsonl").write_text(text[:-cut])
        with pytest.raises(bdp.errors.LedgerCorrupted, match=r"^line 8 .* cut off"):
            bdp.Ledger.verify_export("x.jsonl")


def test_another_file_or_version_is_no_export(lines):
    saved([lines[0].replace("1", "2"), *lines[1:]])
    with pytest.raises(bdp.errors.InvalidInput, match="a newer bayesdp"):
        bdp.Ledger.verify_export("x.jsonl")
    saved([*lines[:-1], lines[-1].replace('"version":1', '"version":2')])
    with pytest.raises(bdp.errors.InvalidInput, match="a newer bayesdp"):
        bdp.Ledger.verify_export("x.jsonl")
    for other in ("b.db", "nowhere", ".", "k.key"):
        with pytest.raises(bdp.errors.InvalidInput, match="is no export of a ledger"):
            bdp.Ledger.verify_export(other)


# Who writes another history


def forged(lines: list[str], old: str = "0.5", new: str = "0.25") -> list[str]:
    """Another history, whole and consistent, by somebody without the key."""
    first, *rows, last = map(json.loads, lines)
    heads = {}
    for row in rows:
        body = row["body"].replace(f'"epsilon":{old}', f'"epsilon":{new}')
        said = json.loads(body)
        before = heads[said["dataset"]] if said["position"] else GENESIS
        heads[said["dataset"]] = row["hash"] = link(before, body)
        row["body"] = body
    for each in last["datasets"]:
        each["head"] = heads[each["dataset"]]
        if each["budget"]["epsilon"] == float(old):
            each["budget"]["epsilon"] = float(new)
    return [canonical(each) for each in (first, *rows, last)]


@pytest.mark.parametrize(("old", "new"), [("0.5", "0.25"), ("4.0", "9.0")])
def test_another_consistent_history_is_found_by_its_signature(lines, old, new):
    saved(forged(lines, old, new))
    bdp.Ledger.verify_export("x.jsonl")  # consistent in itself
    with pytest.raises(bdp.errors.LedgerCorrupted, match=r"line 8 .* the head was changed"):
        bdp.Ledger.verify_export("x.jsonl", key="k.key")
    with pytest.raises(bdp.errors.LedgerCorrupted, match="'s' has another history"):
        bdp.Ledger.verify_export("x.jsonl", extends="e.jsonl")
    made = bdp.Ledger.open("sqlite:///c.db")
    with pytest.raises(bdp.errors.LedgerCorrupted, match=r"line 8 .* the head was changed"):
        made.restore("x.jsonl", key="k.key")
    made.restore("x.jsonl")
    assert made.verify()
    for check in (made.verify, made.export):
        with pytest.raises(bdp.errors.LedgerCorrupted, match="'s' has another history"):
            check(extends="e.jsonl", key="k.key")


def test_a_signature_is_by_one_key(lines):
    assert bdp.Ledger.verify_export("e.jsonl", key="k.key")
    with pytest.raises(bdp.errors.LedgerCorrupted, match="another key"):
        bdp.Ledger.verify_export("e.jsonl", key="other.key")
    bare = {key: value for key, value in json.loads(lines[-1]).items() if key != "signature"}
    saved([*lines[:-1], canonical(bare)])
    bdp.Ledger.verify_export("x.jsonl")
    for value in (None, "", 1, "\ud800", "é" * 64):
        saved([*lines[:-1], canonical(bare if value is None else bare | {"signature": value})])
        with pytest.raises(bdp.errors.LedgerCorrupted, match="line 8 "):
            bdp.Ledger.verify_export("x.jsonl", key="k.key")


@pytest.mark.parametrize(
    ("old", "new"),
    [('"entries":3', '"entries":2'), ('"epsilon":4.0', '"epsilon":9.0'), ('"edge"', '"node"'),
     ('"head":"', '"head":"f'), ('"dataset":"s"', '"dataset":"z"'),
     ('"delta":1e-06', '"delta":0.1')],
)  # fmt: skip
def test_the_signature_covers_entries_head_and_budget(ledger, old, new):
    text = ledger.export("h.json", key="k.key", head_only=True)
    assert ledger.verify(extends="h.json", key="k.key")
    assert old in text
    Path("h.json").write_text(text.replace(old, new, 1))
    with pytest.raises(bdp.errors.LedgerCorrupted, match=r"line 1 .* the head was changed"):
        ledger.verify(extends="h.json", key="k.key")


def test_a_head_that_says_another_budget_is_not_extended(ledger):
    text = ledger.export(head_only=True)
    Path("h.json").write_text(text.replace('"epsilon":4.0', '"epsilon":9.0', 1))
    with pytest.raises(bdp.errors.LedgerCorrupted, match="'s' has another budget"):
        ledger.verify(extends="h.json")


def test_a_head_is_no_export(ledger):
    ledger.export("h.json", head_only=True)
    for take in (bdp.Ledger.verify_export, bdp.Ledger.open("sqlite:///c.db").restore):
        with pytest.raises(bdp.errors.InvalidInput, match="is a head, without the entries"):
            take("h.json")


@pytest.mark.parametrize("head_only", [False, True])
def test_an_old_copy_is_found_by_a_later_head_and_not_by_a_signature(ledger, head_only):
    """Rollback: the database and an export of before the last spend, both right once."""
    ledger.export("old.jsonl", key="k.key")
    shutil.copy("b.db", "old.db")
    spend(ledger, "t")
    ledger.export("kept", key="k.key", extends="old.jsonl", head_only=head_only)
    old = bdp.Ledger.open("sqlite:///old.db")
    assert old.verify(extends="old.jsonl", key="k.key")
    assert bdp.Ledger.verify_export("old.jsonl", key="k.key")
    empty = bdp.Ledger.open("sqlite:///c.db")
    checks = [
        lambda: old.verify(extends="kept", key="k.key"),
        lambda: bdp.Ledger.verify_export("old.jsonl", extends="kept", key="k.key"),
        lambda: old.export("new.jsonl", extends="kept", key="k.key"),
        lambda: empty.restore("old.jsonl", extends="kept", key="k.key"),
    ]
    for check in checks:
        with pytest.raises(bdp.errors.LedgerCorrupted, match="'t' has 1 entry") as caught:
            check()
        assert (caught.value.dataset, caught.value.position) == ("t", 2)
    assert not Path("new.jsonl").exists()
    assert not Path("c.db").exists()


def test_a_dataset_that_is_gone_is_found(ledger):
    other = bdp.Ledger.open("sqlite:///c.db")
    other.create("t", epsilon=4.0, delta=1e-6, neighbours="edge")
    with pytest.raises(bdp.errors.LedgerCorrupted, match="'s' is gone, or not in its place"):
        other.verify(extends="e.jsonl")


@pytest.mark.parametrize(
    "body",
    [
        "[]", "{}", "1", "\ud800", "{", "[" * 10**5,
        '{"dataset":"s","position":1,"kind":"spend","guarantee":[],"epsilon":1.0}',
        '{"dataset":"s","position":1,"kind":"spend","guarantee":{},"epsilon":1' + "0" * 400 + "}",
    ],
    ids=lambda body: body[:9],
)  # fmt: skip
def test_a_body_of_no_entry_is_refused(lines, body):
    """With a hash that fits, where it has one."""
    hashed = link(json.loads(lines[1])["hash"], body.encode(errors="ignore").decode())
    saved([*lines[:2], canonical({"body": body, "hash": hashed}), *lines[3:]])
    with pytest.raises(bdp.errors.LedgerCorrupted, match=r"^line 3 of .* entry 1: its content"):
        bdp.Ledger.verify_export("x.jsonl")


@pytest.mark.parametrize("cost", ["-3.0", "NaN", "Infinity"])
def test_no_entry_gives_budget_back(lines, cost):
    saved(forged(lines, "0.5", cost))
    with pytest.raises(bdp.errors.LedgerCorrupted, match=r"line 3 of .* entry 1: .*a cost of"):
        bdp.Ledger.verify_export("x.jsonl")


def test_more_than_the_budget_is_no_history(lines):
    saved(forged(lines, "0.5", "2.5"))
    with pytest.raises(bdp.errors.LedgerCorrupted, match="more was spent than the budget"):
        bdp.Ledger.verify_export("x.jsonl")


# Keys


def test_a_key_is_its_owners_and_in_no_message(ledger, tmp_path):
    content = Path("k.key").read_text()
    assert len(read_key("k.key")) == 32
    assert read_key("k.key") != read_key("other.key")
    if os.name == "posix":
        assert Path("k.key").stat().st_mode & 0o777 == 0o600
        for mode in (0o640, 0o604, 0o620, 0o610):
            Path("k.key").chmod(mode)
            with pytest.raises(bdp.errors.InvalidInput, match=r"chmod 600 k\.key") as caught:
                ledger.export("x.jsonl", key="k.key")
            assert content.strip() not in str(caught.value)
        Path("k.key").chmod(0o600)
    with pytest.raises(bdp.errors.ReleaseExists, match="never replaced"):
        make_key("k.key")
    assert Path("k.key").read_text() == content
    for given in (content, content.strip(), f"{content}/x", "\0", "."):
        with pytest.raises(bdp.errors.InvalidInput, match="names no file") as caught:
            ledger.export("x.jsonl", key=given)
        assert content.strip() not in str(caught.value)
    Path("other.key").write_text(content.strip()[:-2])
    with pytest.raises(bdp.errors.InvalidInput, match="holds no key") as caught:
        ledger.export("x.jsonl", key="other.key")
    assert content[:8] not in str(caught.value)
    with pytest.raises(bdp.errors.InvalidInput, match="can't be written"):
        make_key("no/where")
    assert not Path("x.jsonl").exists()


def test_a_key_is_written_nowhere(ledger):
    secret = read_key("k.key")
    ledger.export("new.jsonl", key="k.key", extends="e.jsonl")
    ledger.verify(extends="e.jsonl", key="k.key")
    bdp.Ledger.open("sqlite:///c.db").restore("e.jsonl", key="k.key")
    for path in Path().iterdir():
        if path.suffix != ".key":
            content = path.read_bytes()
            assert secret not in content
            assert secret.hex().encode() not in content


def test_a_key_needs_something_signed(ledger):
    ledger.export("bare.jsonl")
    with pytest.raises(bdp.errors.InvalidInput, match="give a signed export"):
        ledger.verify(key="k.key")
    with pytest.raises(bdp.errors.LedgerCorrupted, match="isn't signed"):
        ledger.verify(extends="bare.jsonl", key="k.key")
