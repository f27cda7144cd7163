"""A study's folder: written whole, of one study, whatever happens on the way."""

import errno
import functools
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import bayesdp as bdp
from bayesdp.evaluation.studies import store as study_store
from bayesdp.evaluation.studies.identity import fingerprint
from bayesdp.evaluation.studies.store import opened
from tests.evaluation.studies.parts import bernoulli, compared, refuses, share, slow, study

pytestmark = pytest.mark.slow
ROOT = Path(bdp.__file__).parents[1]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def every_batch(monkeypatch):
    """A part a replicate."""
    monkeypatch.setattr(study_store, "_WAIT", -1.0)
    monkeypatch.setattr(study_store, "_SHARE", 0.0)


def plain(generator, n):
    return bernoulli(generator, n).data


def other_share(release):
    return {"mean": np.mean(release.outputs) / release.mechanism.size + 1}


other_share.__name__ = other_share.__qualname__ = "share"
other_share.__module__ = share.__module__


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"seed": 8}, "the seed"),
        ({"data": [0, 1] * 50, "grid": {"epsilon": [1.0]}}, "the data"),
        ({"data": plain, "truth": 0.4}, "the truth"),
        ({"synthesizers": {"copies": functools.partial(bdp.BetaBinomialSynthesizer, copies=2)}},
         "synthesizer 'copies'"),
        ({"analyses": [other_share]}, "analysis 'share'"),
        ({"grid": {"epsilon": [1.0], "n": [50], "copies": [2]}}, "the grid's keys, epsilon, n"),
    ],
)  # fmt: skip
def test_another_study_is_refused_and_nothing_changed(tmp_path, changed, what):
    study(2).run(tmp_path / "s", client=None)
    before = contents(tmp_path / "s")
    with pytest.raises(bdp.errors.InvalidInput, match="results of another study") as caught:
        study(2, **changed).run(tmp_path / "s", client=None)
    assert what in str(caught.value)
    assert contents(tmp_path / "s") == before


def test_another_version_is_refused(tmp_path, monkeypatch):
    study(2).run(tmp_path / "s", client=None)
    monkeypatch.setattr(study_store, "__version__", "99.0")
    with pytest.raises(bdp.errors.InvalidInput, match="bayesdp 0"):
        study(2).run(tmp_path / "s", client=None)


def test_strange_folders_are_refused(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    with pytest.raises(bdp.errors.InvalidInput, match="holds other files"):
        study(1).run(tmp_path / "other", client=None)
    assert contents(tmp_path / "other") == {"thesis.tex": b"years of work"}
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't exist"):
        study(1).run(tmp_path / "no" / "such", client=None)
    with pytest.raises(bdp.errors.InvalidInput, match="which isn't a folder"):
        study(1).run(tmp_path / "other" / "thesis.tex", client=None)
    with pytest.raises(bdp.errors.InvalidInput, match=r"no readable study\.json"):
        bdp.evaluate.StudyResults.load(tmp_path / "other")
    (tmp_path / "empty").mkdir()
    assert len(study(1).run(tmp_path / "empty", client=None).frame) == 6


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{", "no readable"),
        ("[]", "isn't a study's manifest"),
        ('{"kind": "bayesdp study", "version": 9}', "has version 9"),
    ],
)
def test_strange_manifests_are_refused(tmp_path, manifest, message):
    (tmp_path / "study.json").write_text(manifest)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        study(1).run(tmp_path, client=None)
    assert (tmp_path / "study.json").read_text() == manifest


def test_one_process_at_a_time(tmp_path):
    with (
        opened(tmp_path / "s", {"a": 1}, {}, ["x"]),
        pytest.raises(bdp.errors.StudyStopped, match="another process is running"),
        opened(tmp_path / "s", {"a": 1}, {}, ["x"]),
    ):
        pass
    with pytest.raises(bdp.errors.InvalidInput, match="has no results yet"):
        bdp.evaluate.StudyResults.load(tmp_path / "s")


def test_a_full_disk(tmp_path, monkeypatch, every_batch):
    """The error names it, what was written before is kept, and the study goes on later."""
    whole = study(5).run(tmp_path / "whole", client=None)
    written, real = [], pq.write_table

    def full(table, path):
        if len(written) == 4:
            path.write_bytes(b"PAR1 and no mo")
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        real(table, path)

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(bdp.errors.StudyStopped, match="No space left on device"):
        study(5).run(tmp_path / "s", client=None)
    monkeypatch.setattr(pq, "write_table", real)
    parts = sorted(path.name for path in (tmp_path / "s").glob("*.parquet"))
    assert parts == [f"part-{k:06d}.parquet" for k in (1, 2, 3, 4)]
    assert not list((tmp_path / "s").glob(".part*"))
    assert len(bdp.evaluate.StudyResults.load(tmp_path / "s").frame) == 8
    told: list = []
    found = study(5).run(tmp_path / "s", client=None, progress=lambda *done: told.append(done))
    assert told[0] == (4, 15)
    assert found.frame.equals(whole.frame)
    assert (
        contents(tmp_path / "s")["results.parquet"]
        == contents(tmp_path / "whole")["results.parquet"]
    )


def test_a_disk_full_from_the_start(tmp_path, monkeypatch):
    def full(self, *args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(bdp.errors.StudyStopped, match="No space left on device"):
        study(1).run(tmp_path / "s", client=None)


@pytest.mark.parametrize("left", [0, 1, 4])
def test_killed_while_parts_are_merged(tmp_path, every_batch, left):
    """Between results.parquet and the last part's end: the newest row of each unit counts once."""
    out, kept = tmp_path / "s", tmp_path / "kept"
    declared = study(2, analyses=[refuses, share])
    declared.run(out, client=None)
    with opened(out, declared._identity(), declared._public(), ("epsilon", "n")) as store:
        rows = store.table().to_pylist()
        old = [{**row, "mean": -1.0} for row in rows if row["analysis"] == "share"]
        new = [row for row in rows if row["analysis"] == "share"]
        for row in (*old, *new):
            store.append([{name: value for name, value in row.items() if value is not None}])
        shutil.copytree(out, kept)
        store.merge()
    merged = contents(out)["results.parquet"]
    parts = sorted(kept.glob("part-*"))
    for part in parts[len(parts) - left :]:
        shutil.copy(part, out)
    (out / ".part-000009.parquet-x1").write_bytes(b"half")
    found = declared.run(out, client=None)
    assert len(found.frame) == len(rows)
    assert found.frame["mean"].min() >= 0
    assert contents(out)["results.parquet"] == merged
    assert not list(out.glob("*part-*"))


def test_a_damaged_part_is_named(tmp_path):
    study(1).run(tmp_path / "s", client=None)
    (tmp_path / "s" / "part-000001.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(bdp.errors.InvalidInput, match=r"part-000001\.parquet' can't be read"):
        study(2).run(tmp_path / "s", client=None)
    (tmp_path / "s" / "part-000001.parquet").unlink()
    assert len(study(2).run(tmp_path / "s", client=None).frame) == 12


def test_an_interrupted_study_keeps_what_it_has(tmp_path):
    def interrupt(done, whole):
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(5).run(tmp_path / "s", client=None, progress=interrupt)
    assert len(bdp.evaluate.StudyResults.load(tmp_path / "s").frame) == 14


def test_fingerprints():
    """The same for equal declarations, another for any other; and never without the salt."""
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})
    things = [
        *(None, True, 1, 1.0, "1", b"1", (1, 2), [1, 2], [1, [2]], {"a": 1}, {"b": 1}, {1, 2}),
        *(np.arange(3), np.arange(3.0), np.arange(3).reshape(3, 1), frame, frame.x, frame[["y"]]),
        *(frame.rename(columns={"x": "z"}), frame.iloc[::-1], share, compared, bdp.BinomialModel),
        *(bdp.BinomialModel(), bdp.BinomialModel((1, 2)), functools.partial(slow, seconds=1)),
        *(functools.partial(slow, seconds=2), lambda x: x + 1, lambda x: x + 2, bdp.Count(1, 3)),
        *(_adds(1), _adds(2), _adds(1).__call__, np.mean, np.random.default_rng(1)),
        *({bdp.Count(1, 3)}, {bdp.Count(2, 3)}, {1, 3}, {"1", "2"}),  # whatever a repr shows
    ]
    prints = [fingerprint(thing, b"salt") for thing in things]
    assert len(set(prints)) == len(things)
    assert fingerprint(1, b"other") != fingerprint(1, b"salt")
    two = [bdp.Count(1, 3), bdp.Count(2, 3)]
    assert fingerprint({*two}, b"salt") == fingerprint({*two[::-1]}, b"salt")
    for make in (lambda: _adds(3), lambda: bdp.BinomialModel((2, 2)), frame.copy):
        assert fingerprint(make(), b"salt") == fingerprint(make(), b"salt")
    compiled = numba.njit(_doubles)
    before = fingerprint(compiled, b"salt")
    assert compiled(2) == 4
    assert fingerprint(compiled, b"salt") == before != fingerprint(_doubles, b"salt")
    with pytest.raises(bdp.errors.InvalidInput, match="which can't be told from another"):
        fingerprint(threading.Lock(), b"salt")


def _doubles(x):
    return 2 * x


def _adds(number):
    return lambda x: x + number


def test_the_manifest_is_readable(tmp_path):
    study(2).run(tmp_path / "s", client=None)
    manifest = json.loads((tmp_path / "s" / "study.json").read_text())
    assert manifest["grid"] == {"epsilon": [0.5, 2.0], "n": [100]}
    assert "no release behind these results carries any guarantee" in manifest["note"]
    assert "seed" not in manifest


PROGRAM = """
import functools, threading
import numpy as np
from helpers import shrunk
import helpers
LEVEL, LOCK = {level}, threading.Lock()

def centre(x):
    return 0.5 if x is None else shrunk(x, centre)

class Scaled:
    by = {by}

    def __call__(self, release):
        return {{"mean": self.by * centre(np.mean(release.outputs))}}

def share(release):
    def inner():
        with LOCK:
            return centre(release) + LEVEL
    return {{"mean": inner()}}

def by_module(release):
    return {{"mean": helpers.lower({arguments})}}

def imported(release):
    from helpers import TABLE
    return TABLE

def ordered({arguments}):
    return {arguments}

nested = {nested}
"""
HELPERS = """
import numpy as np
TABLE = {{"a": {table!r}}}
ONE = 1

def shrunk(x, centre):
    return {factor} * x + centre(None)

def lower(*x):
    return ONE
"""
USUAL = {"level": 1, "by": 2, "arguments": "data, generator", "nested": [[[1]], [2]]}
USUAL |= {"table": {"u", "v", "w"}, "factor": 3}


def prints_of(folder, **changed):
    """Fingerprints of a program's things, and of a helper module's, in a process of its own."""
    folder.mkdir()
    told = USUAL | changed
    (folder / "program.py").write_text(PROGRAM.format(**told), encoding="utf-8")
    (folder / "helpers.py").write_text(HELPERS.format(**told), encoding="utf-8")
    names = ("share", "Scaled", "by_module", "imported", "ordered", "nested")
    asked = ", ".join(f"{name!r}: fingerprint(program.{name}, b'salt')" for name in names)
    text = "import json, program\nfrom bayesdp.evaluation.studies.identity import fingerprint\n"
    return json.loads(
        subprocess.run(
            [sys.executable, "-c", f"{text}print(json.dumps({{{asked}}}))"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(["", str(ROOT)])},
            cwd=folder, check=True, capture_output=True, text=True, timeout=120,
        ).stdout
    )  # fmt: skip


def test_fingerprints_are_of_all_that_a_function_refers_to(tmp_path):
    """Each change of a global value, a helper or a class's attribute, and of nothing else."""
    first = prints_of(tmp_path / "first")
    assert prints_of(tmp_path / "again") == first  # with another order of sets
    changes = {
        "level": (2, {"share"}),
        "by": (3, {"Scaled"}),
        "factor": (4, {"share", "Scaled"}),
        "table": ({"u", "v"}, {"imported"}),
        "arguments": ("generator, data", {"by_module", "ordered"}),
        "nested": ([[[1], [2]]], {"nested"}),
    }
    for name, (value, touched) in changes.items():
        found = prints_of(tmp_path / name, **{name: value})
        assert {key for key in first if found[key] != first[key]} == touched, name


def test_a_study_of_a_changed_helper_is_refused(tmp_path, monkeypatch):
    study(2, analyses=[scaled]).run(tmp_path / "s", client=None)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    with pytest.raises(bdp.errors.InvalidInput, match="differs in analysis 'scaled'"):
        study(4, analyses=[scaled]).run(tmp_path / "s", client=None)


SCALE = 2.0


def scaled(release):
    return {"mean": SCALE * share(release)["mean"]}


def test_fingerprints_tell_levels_and_labels_of_frames():
    """Categories and their order, a Series' name, and labels that only their texts share."""
    codes = [0, 1, 0]
    frames = [
        *(pd.Series(codes, name="a"), pd.Series(codes, name="b")),
        *(pd.DataFrame({1: codes}), pd.DataFrame({"1": codes})),
        *(pd.Series(pd.Categorical(list("xyx"), each)) for each in (["x", "y"], ["y", "x"])),
        pd.Series(pd.Categorical(list("xyx"), ["x", "y"], ordered=True)),
    ]
    assert len({fingerprint(frame, b"salt") for frame in frames}) == len(frames)
