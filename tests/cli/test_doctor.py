"""What is installed, and whether caches hold what isn't code."""

import json
import os
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.cli import doctor


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with one compiled Stan program, and no others."""
    monkeypatch.setenv("BAYESDP_CACHE", str(tmp_path))
    program = tmp_path / "stan" / "binomial-0123"
    program.mkdir(parents=True)
    (program / "binomial").write_text("code")
    (program / "complete.json").write_text(json.dumps({"files": {"binomial": 4}}))
    monkeypatch.setattr(doctor, "_kernels", lambda: [tmp_path / "kernels"])
    monkeypatch.setattr(doctor, "_left_behind", lambda: ())
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.nbc").write_text("code")
    return tmp_path


def test_all_is_well(cache, run_cli):
    status, out, err = run_cli("doctor")
    assert (status, err) == (0, "")
    assert out.startswith(f"bayesdp {bdp.__version__}, Python 3.")
    for said in ("numpy 2", "extra stan: ", "g++: ", "CmdStan: ", "PostgreSQL: psycopg "):
        assert said in out
    assert f"compiled Stan programs: {cache}/stan, 2 files, 0.0 MB" in out
    assert out.endswith(
        "nothing is wrong: what is needed is there, and caches hold no files but code\n"
    )


@pytest.mark.parametrize(
    "place", ["stan/binomial-0123/data.json", "stan/draws.csv", "kernels/records.parquet"]
)
def test_a_planted_file_is_found(cache, run_cli, place):
    (cache / place).write_text("7919")
    status, out, _ = run_cli("doctor --json")
    assert status == 1
    found = json.loads(out)
    assert [each for one in found["caches"] for each in one["strange"]] == [str(cache / place)]
    assert len(found["faults"]) == 1
    assert "7919" not in out
    assert f"wrong: {found['faults'][0]}" in run_cli("doctor")[1]


def test_a_program_that_is_being_compiled_is_no_fault(cache, run_cli):
    """Another process puts it in its place once it is whole; what was left by a killed one goes."""
    for name in ("building-new", "building-old"):
        (cache / "stan" / name / "poisson").mkdir(parents=True)
        (cache / "stan" / name / "poisson" / "poisson.stan").write_text("model {}")
    os.utime(cache / "stan" / "building-old", (0, 0))
    status, out, _ = run_cli("doctor")
    assert status == 0
    assert f"compiled Stan programs: {cache}/stan, 3 files" in out
    assert not (cache / "stan" / "building-old").exists()


def test_a_missing_package_and_a_missing_compiler(cache, run_cli, monkeypatch):
    known = doctor._installed
    absent = {"numpy", "psycopg"}
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name in absent else known(name))
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    status, out, _ = run_cli("doctor")
    assert status == 1
    assert "wrong: numpy is not there; needed is >=2.0" in out
    assert "wrong: there is no C++ compiler" in out
    assert 'extra postgres: no psycopg: pip install "bayesdp[postgres]"' in out
    assert out.count("wrong: ") == 2


def test_a_ledger(cache, run_cli):
    url = f"sqlite:///{cache}/b.db"
    bdp.Ledger.open(url).create("a", epsilon=1.0, neighbours="edge")
    assert "ledger: opened, 1 dataset\n" in run_cli(f"doctor --ledger {url}")[1]
    status, out, _ = run_cli(f"doctor --ledger sqlite:///{cache}/no/b.db --json")
    assert status == 1
    assert json.loads(out)["ledger"]["error"] in json.loads(out)["faults"]


def test_kernels_that_are_kept_elsewhere_are_found(tmp_path, monkeypatch):
    """As where the package's own folder can't be written to."""
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    for folder in ("graphs_0123", "of_another_package"):
        (tmp_path / folder).mkdir()
    (tmp_path / "graphs_0123" / "bayesdp-kernels.lock").touch()
    found = doctor._kernels()
    assert tmp_path / "graphs_0123" in found
    assert tmp_path / "of_another_package" not in found
