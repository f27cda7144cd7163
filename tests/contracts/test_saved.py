"""Releases and a ledger that an earlier version wrote are read, and say and give the same.

They lie in `tests/data/`, with what they said then; `tests/data/write.py` made them.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import bayesdp as bdp
from bayesdp.mechanisms.registry import REGISTRY
from tests.data import write

EXPECTED = json.loads(write.EXPECTED.read_text("utf-8"))
RELEASES, LEDGER = EXPECTED["releases"], EXPECTED["ledger"]
INFERRED = [(name, *each) for name, said in RELEASES.items() for each in said["inferred"]]


def test_each_mechanism_has_a_saved_release():
    saved = {part[1] for said in RELEASES.values() for part in said["parts"]}
    assert saved == set(REGISTRY), "run python -m tests.data.write"
    assert set(RELEASES) == {folder.name for folder in write.RELEASES.iterdir()}


@pytest.mark.parametrize("name", RELEASES)
def test_a_saved_release_says_what_it_said(name: str):
    release = bdp.Release.load(write.RELEASES / name)
    said = {key: value for key, value in RELEASES[name].items() if key != "inferred"}
    assert write.as_json(write.content(release)) == said
    assert len(release.to_frames()) == release.copies


def test_a_signature_of_then_is_checked():
    folder = write.RELEASES / "groups"
    assert bdp.Release.load(folder, key=write.KEY).groups == ("a", "b", "c")
    with pytest.raises(bdp.errors.InvalidRelease, match="key"):
        bdp.Release.load(folder, key=write.KEY[::-1])


def test_all_kinds_of_exact_fit_are_among_them():
    assert {family for _, family, _, _ in INFERRED} == {name for name, _ in write.MODELS}
    assert len(INFERRED) > 15


@pytest.mark.parametrize(
    ("name", "family", "parameters", "then"), INFERRED, ids=[f"{n}-{f}" for n, f, *_ in INFERRED]
)
def test_a_saved_release_is_fitted_the_same(
    name: str, family: str, parameters: dict[str, Any], then: dict[str, float]
):
    release = bdp.Release.load(write.RELEASES / name)
    assert write.inferred(release, family, parameters) == pytest.approx(then, rel=1e-12)


@pytest.fixture
def ledger(tmp_path: Path) -> bdp.Ledger:
    """A copy: opening the original must not change it either."""
    shutil.copy(write.LEDGER, tmp_path / "ledger.db")
    return bdp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")


def test_a_saved_ledger_says_what_it_said(ledger: bdp.Ledger):
    assert write.as_json(write.ledger_content(ledger)) == LEDGER


def test_a_saved_export_is_verified_and_restored(ledger: bdp.Ledger, tmp_path: Path):
    key = write.write_key(tmp_path)
    assert bdp.Ledger.verify_export(write.EXPORT, key=key) == LEDGER["heads"]
    restored = bdp.Ledger.open(f"sqlite:///{tmp_path / 'restored.db'}")
    restored.restore(write.EXPORT, key=key)
    assert write.as_json(write.ledger_content(restored)) == LEDGER
    assert ledger.export(key=key) == write.EXPORT.read_text()


def test_a_saved_ledger_is_spent_from(ledger: bdp.Ledger):
    survey = ledger.dataset("survey")
    before = LEDGER["datasets"]["survey"]
    promise = bdp.Guarantee(0.25, 0.0, "replace_one", "proved", (), "a test")
    entry = survey.spend(promise)
    assert entry.position == len(before["entries"]) + 1
    assert survey.spent().epsilon == pytest.approx(before["spent"]["epsilon"] + 0.25, rel=1e-12)
    assert ledger.verify(LEDGER["heads"])["survey"] == entry.hash
    too_much = bdp.Guarantee(before["budget"]["epsilon"], 0.0, "replace_one", "proved", (), "")
    with pytest.raises(bdp.errors.BudgetExceeded):
        survey.spend(too_much)
