"""Results at an address: one file, whole, without what only the study's folder needs."""

import json
import sys
import traceback

import pandas as pd
import pyarrow.parquet as pq
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput, MissingDependency, ReleaseExists, StudyStopped
from bayesdp.evaluation.studies import addresses
from bayesdp.evaluation.studies.store import NOTE
from tests.evaluation.studies.parts import study

URL = "memory://bucket/study.parquet"
Results = bdp.evaluate.StudyResults


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return study(3).run(tmp_path_factory.mktemp("here") / "s", client=None)


@pytest.mark.parametrize("address", [URL, "file://FOLDER/study.parquet"])
def test_what_is_saved_is_loaded(results, tmp_path, address):
    url = address.replace("FOLDER", tmp_path.as_posix())
    results.save(url)
    loaded = Results.load(url)
    pd.testing.assert_frame_equal(loaded.frame, results.frame)
    pd.testing.assert_frame_equal(loaded.summary(), results.summary())
    assert (loaded.keys, loaded.folder) == (results.keys, url)
    assert url in str(loaded)
    assert url in loaded._repr_html_()


def test_it_is_one_file_without_fingerprints(results, tmp_path):
    """The folder's manifest has a salt and hashes of the data, which need not leave with it."""
    results.save(f"file://{tmp_path.as_posix()}/study.parquet")
    (path,) = tmp_path.iterdir()
    told = json.loads(pq.read_schema(path).metadata[b"bayesdp"])
    assert told.keys() == {"kind", "version", "bayesdp", "note", "keys"}
    assert told["note"] == NOTE
    kept = json.loads((results.folder / "study.json").read_text(encoding="utf-8"))
    assert kept["salt"].encode() not in path.read_bytes()


def test_what_is_there_is_replaced_by_force_alone(results):
    results.save(URL)
    fewer = Results(results.frame.head(2), results.keys, results.folder)
    with pytest.raises(ReleaseExists, match="already, and nothing was written"):
        fewer.save(URL)
    assert len(Results.load(URL).frame) == len(results.frame)
    fewer.save(URL, force=True)
    assert len(Results.load(URL).frame) == 2


@pytest.mark.parametrize(
    "url", ["copy/", "C:\\study.parquet", "C://study.parquet", 3, "nonesuch://a/b"]
)
def test_what_is_no_address(results, url):
    with pytest.raises(InvalidInput, match="it must be an address, as 's3://bucket"):
        results.save(url)


def test_options_go_to_the_file_system(results, tmp_path):
    with pytest.raises(StudyStopped, match=r"can't be written to 'file://.*FileNotFoundError"):
        results.save(f"file://{tmp_path.as_posix()}/new/study.parquet")
    url = f"file://{tmp_path.as_posix()}/new/study.parquet"
    results.save(url, options={"auto_mkdir": True})
    assert len(Results.load(url, options={"auto_mkdir": False}).frame) == len(results.frame)
    with pytest.raises(InvalidInput, match="options goes with an address"):
        Results.load(results.folder, options={})


def test_what_cannot_be_loaded(results, monkeypatch):
    import fsspec

    with pytest.raises(InvalidInput, match=r"can't be read from 'memory://.*FileNotFoundError"):
        Results.load(URL)
    for content in (b"nothing", b""):
        fsspec.filesystem("memory").pipe_file("/bucket/study.parquet", content)
        with pytest.raises(InvalidInput, match="holds no results of a study"):
            Results.load(URL)
    results.frame.to_parquet("memory://bucket/other.parquet")
    with pytest.raises(InvalidInput, match="holds no results of a study"):
        Results.load("memory://bucket/other.parquet")
    monkeypatch.setattr(addresses, "_VERSION", 2)
    results.save("memory://bucket/newer.parquet")
    monkeypatch.undo()
    with pytest.raises(InvalidInput, match="results of version 2; this bayesdp reads 1"):
        Results.load("memory://bucket/newer.parquet")


@pytest.mark.parametrize(
    ("url", "absent", "message"),
    [
        (URL, "fsspec", r'needs fsspec, .*: pip install "bayesdp\[studies\]"'),
        ("s3://bucket/study.parquet", "s3fs", r"of s3:// needs a package .*: pip install s3fs"),
        ("gs://bucket/study.parquet", "gcsfs", r"of gs:// needs a package .*: pip install gcsfs"),
    ],
)
def test_what_is_missing_is_named(results, monkeypatch, url, absent, message):
    for name in [name for name in sys.modules if name.partition(".")[0] == absent]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingDependency, match=message):
        results.save(url)


def test_no_message_has_a_password_or_a_signature(results, monkeypatch):
    for url in ("nonesuch://ann:secret@host/a", "http://ann:secret@127.0.0.1:1/a?sig=secret"):
        with pytest.raises(InvalidInput, match="/a") as caught:
            Results.load(url)
        assert "secret" not in "".join(traceback.format_exception(caught.value, limit=0))
    address = "memory://bucket/b.parquet?sig=secret"
    results.save(address)
    loaded = Results.load(address)
    for said in (repr(loaded), str(loaded), loaded._repr_html_(), str(loaded.folder)):
        assert "bucket/b.parquet?***" in said
        assert "secret" not in said
    with pytest.raises(InvalidInput, match="out is") as caught:
        study(2).run(address, client=None)
    assert "secret" not in str(caught.value)


def test_a_study_runs_in_a_folder(tmp_path, monkeypatch):
    """Which has a lock, and an address hasn't."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"out is 's3://.*\.save\('s3://bucket/s.parquet'\)"):
        study(2).run("s3://bucket/s", client=None)
    assert not list(tmp_path.iterdir())
