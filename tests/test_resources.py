"""The wheel holds what it needs, and works where nothing else of the project is."""

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import lazy_loader
import pytest

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


@pytest.mark.slow
def test_a_wheel_installed_elsewhere_finds_both(tmp_path):
    """Built, unpacked beside what its import needs alone, and asked from another folder."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), ROOT],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "bayesdp/_shipped/stan/binomial.stan" in names
    assert "bayesdp/report/binomial.html" in names
    assert not any(name.startswith(("tests/", "stan/", "notebooks/")) for name in names)
    venv.create(tmp_path / "env", with_pip=False)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    shutil.copytree(Path(lazy_loader.__file__).parent, site / "lazy_loader")
    code = (
        "from bayesdp.resources import shipped; import bayesdp;"
        "print(bayesdp.__file__, (shipped('stan') / 'binomial.stan').is_file(),"
        " (shipped('stan') / 'include').is_dir(), (shipped('models') / 'fair.toml').is_file())"
    )
    out = subprocess.run(
        [tmp_path / "env" / "bin" / "python", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    where, *found = out.stdout.split()
    assert where.startswith(str(tmp_path))
    assert found == ["True", "True", "True"]
