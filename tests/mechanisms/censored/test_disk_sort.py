"""Records sorted on disk: the order, and files that nobody else sees and that don't stay."""

import os
import stat
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.mechanisms.censored import disk_sort
from bayesdp.mechanisms.censored.disk_column import DiskColumn, forget, mapped

posix = pytest.mark.skipif(os.name == "nt", reason="Windows gives the file a name")
linux = pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def still_open(folder: Path) -> int:
    """Open files of this process in a folder, also those without a name."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(handle.readlink()))
        except FileNotFoundError:  # the listing's own
            continue
    return sum(name.startswith(str(folder)) for name in found)


def laws(kind: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = rng.choice([0.25, 0.5, 1e-300], n) if kind == "ties" else rng.random(n)
    if kind in ("rising", "falling"):
        y.sort()
    return y[::-1].copy() if kind == "falling" else y


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(["mixed", "ties", "rising", "falling"]),
    n=st.integers(0, 300),
    run=st.sampled_from([1, 2, 7, 64, 100, 1000]),
    cuts=st.lists(st.integers(0, 300), max_size=6),
)
def test_records_come_out_in_order_whatever_the_runs(kind, n, run, cuts):
    y = laws(kind, n, seed=n)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(disk_sort, "_RUN", run)
        found = disk_sort.sort(np.split(y, sorted(min(cut, n) for cut in cuts)))
    assert isinstance(found, np.ndarray) == (n < run)
    assert found.size == n
    assert np.array_equal(found[0:n], np.sort(y))
    if n >= run:
        assert np.array_equal(mapped(found), np.sort(y))
        forget(found)
        assert mapped(found)[n // 2] == found[n // 2 : n][0] == np.sort(y)[n // 2]
        assert found[n:].size == found[3:3].size == 0
        assert np.array_equal(found[n // 3 : n + 5], np.sort(y)[n // 3 :])


@posix
def test_a_file_is_its_owners_and_has_no_name(folder):
    made = DiskColumn.of([np.arange(5.0), np.empty(0), np.arange(3.0)])
    assert made.size == 8
    found = os.fstat(made._file.fileno())
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert found.st_nlink == 0
    assert list(folder.iterdir()) == []


@linux
def test_files_are_gone_when_nobody_has_them(folder, monkeypatch):
    monkeypatch.setattr(disk_sort, "_RUN", 10)
    made = disk_sort.sort([np.random.default_rng(1).random(105)])
    assert still_open(folder) == 1  # the runs are gone
    array = mapped(made)
    del made
    assert still_open(folder) == 1  # the array's own
    assert np.all(np.diff(array) >= 0)
    del array
    assert still_open(folder) == 0


@linux
def test_nothing_stays_after_an_exception(folder, monkeypatch):
    monkeypatch.setattr(disk_sort, "_RUN", 10)

    def broken():
        yield np.linspace(0, 1, 35)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        disk_sort.sort(broken())
    assert still_open(folder) == 0
    real, written = DiskColumn._append, []

    def full(self, values):
        written.append(values.size)
        if sum(written) > 150:  # the runs of 105 are there, and a part of what they become
            raise bdp.errors.InvalidInput("full")
        real(self, values)

    monkeypatch.setattr(DiskColumn, "_append", full)
    with pytest.raises(bdp.errors.InvalidInput, match="full") as refused:
        disk_sort.sort([np.random.default_rng(1).random(105)])
    assert refused.value.__traceback__ is not None  # which holds on to all that was
    assert still_open(folder) == 0


def test_no_place_for_files(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    monkeypatch.setattr(disk_sort, "_RUN", 10)
    assert disk_sort.sort([np.array([0.5, 0.25])]).tolist() == [0.25, 0.5]
    with pytest.raises(bdp.errors.InvalidInput, match=r"none.*No such file.*set TMPDIR") as refused:
        disk_sort.sort([np.linspace(0, 1, 11)])
    assert refused.value.__suppress_context__


@posix
def test_a_file_that_became_shorter_is_noticed(folder):
    made = DiskColumn.of([np.arange(5.0)])
    os.truncate(made._file.fileno(), 20)
    with pytest.raises(EOFError, match="shorter"):
        made[0:5]
