"""The wheel holds what it needs, and works where nothing else of the project is."""

import email
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bayesdp import resources
from bayesdp.errors import BayesDPError

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("kind", "name"), [("stan", "binomial.stan"), ("models", "fair.toml")])
def test_the_checkout_has_both_folders(kind, name):
    assert (resources.shipped(kind) / name).is_file()


def test_a_damaged_installation_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "bayesdp")
    with pytest.raises(BayesDPError, match="reinstall"):
        resources.shipped("stan")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    alone = ("--no-deps", "--no-build-isolation", "--no-index")  # without a network
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", *alone, "-w", str(folder), ROOT],
        check=True,
    )
    (made,) = folder.glob("*.whl")
    return made


def environment(folder: Path, wheel: Path) -> tuple[Path, Path]:
    """The Python and site-packages of an empty environment with the wheel unpacked in it."""
    venv.create(folder / "env", with_pip=False)
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    return folder / "env" / "bin" / "python", site


def run_there(python: Path, folder: Path, *arguments: str) -> str:
    """Standard output; nothing of this process's paths reaches it."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [python, *arguments], capture_output=True, text=True, check=False, cwd=folder, env=clean
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_is_pure_and_says_what_it_needs(wheel):
    """Any platform, no compiler; and pip would install what pyproject.toml lists."""
    assert wheel.name.endswith("-py3-none-any.whl")
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    assert "bayesdp/py.typed" in names
    assert "bayesdp/_shipped/stan/binomial.stan" in names
    assert "bayesdp/report/binomial.html" in names
    assert not any(name.startswith(("tests/", "stan/", "notebooks/")) for name in names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
    required = email.message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    always = {Requirement(line) for line in required if "extra ==" not in line}
    assert always == {Requirement(line) for line in project["dependencies"]}
    assert email.message_from_bytes(archive.read(metadata))["Requires-Python"] == ">=3.11"
    (scripts,) = [name for name in names if name.endswith("entry_points.txt")]
    assert "bayesdp = bayesdp.cli:main" in archive.read(scripts).decode()


@pytest.mark.slow
def test_a_wheel_installed_elsewhere_finds_both(wheel, tmp_path):
    """Unpacked by itself, for its import needs nothing else, and asked from another folder."""
    python, _ = environment(tmp_path, wheel)
    code = (
        "from bayesdp.resources import shipped; import bayesdp;"
        "print(bayesdp.__file__, (shipped('stan') / 'binomial.stan').is_file(),"
        " (shipped('stan') / 'include').is_dir(), (shipped('models') / 'fair.toml').is_file())"
    )
    where, *found = run_there(python, tmp_path, "-c", code).split()
    assert where.startswith(str(tmp_path))
    assert found == ["True", "True", "True"]


@pytest.mark.slow
def test_an_installed_wheel_runs_the_demo(wheel, tmp_path):
    """With this environment's copies of its dependencies, which are those that are tested.

    A path file appends them after the wheel's own folder, and path files in there aren't followed:
    so the checkout, which is installed that way, isn't found, and every module, model and template
    of bayesdp is the wheel's. That pip finds the dependencies, its metadata's test says.
    """
    python, site = environment(tmp_path, wheel)
    here = sysconfig.get_path("purelib")
    (site / "dependencies.pth").write_text(f"{here}\n{sysconfig.get_path('platlib')}\n")
    where = run_there(python, tmp_path, "-c", "import bayesdp, pymc; print(bayesdp.__file__)")
    assert where.startswith(str(site))
    out = run_there(python, tmp_path, "-m", "bayesdp", "demo", "--no-table")
    assert f"report: {tmp_path / 'demo' / 'report' / 'index.html'}" in out
    assert (tmp_path / "demo" / "report" / "index.html").stat().st_size > 10_000
    assert (tmp_path / "demo" / "release" / "manifest.json").is_file()
