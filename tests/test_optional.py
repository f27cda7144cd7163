"""What works without the extras, and what says which one it needs."""

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import bayesdp as bdp

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {
    "files": ["openpyxl", "pyreadstat"],
    "jax": ["jax", "numpyro", "blackjax"],
    "networks": ["networkx"],
    "postgres": ["psycopg"],
    "stan": ["stan", "httpstan"],
    "studies": ["dask", "distributed", "fsspec"],
}
"""The modules that each brings."""
BROUGHT = {"llvmlite", "packaging", "pytensor", "xarray", "IPython"}
"""By those that are declared: numba, PyMC, ArviZ; and by the notebook that the code runs in."""

BLOCK = """
import importlib.machinery, importlib.metadata, sys

BLOCKED = set(sys.argv[1].split(","))

class Absent(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCKED else super().find_spec(name, path, target)

sys.meta_path = [
    Absent if each is importlib.machinery.PathFinder else each for each in sys.meta_path
]
if "stan" in BLOCKED:  # whose presence is looked up without importing it
    known = importlib.metadata.version

    def version(name):
        if name == "pystan":
            raise importlib.metadata.PackageNotFoundError(name)
        return known(name)

    importlib.metadata.version = version
"""

ANALYST = """
import contextlib, io
import bayesdp as bdp
from bayesdp import cli

release = bdp.Release.load(sys.argv[2])
idata = bdp.BinomialModel().fit(release, draws=50, chains=1, seed=1)
assert idata.posterior["p"].size == 50
bdp.Ledger.open("sqlite:///ledger.db").create("survey", epsilon=1.0, neighbours="edge")
with contextlib.redirect_stdout(io.StringIO()) as help:
    sys.argv = ["bayesdp", "--help"]
    with contextlib.suppress(SystemExit):
        cli.main()
assert "synthesize" in help.getvalue()
"""

NEEDED = {
    "files": "read_table('a.xlsx')",
    "jax": "bdp.BinomialModel().fit(release, engine='pymc', sampler='blackjax')",
    "networks": "bdp.networks.Network.from_edges([(1, 2)]).to_networkx()",
    "postgres": "bdp.Ledger.open('postgresql+psycopg://ann@nowhere/ledgers')",
    "stan": "bdp.BinomialModel().fit(release, engine='stan')",
    "studies": "study.run('study', client='local')",
}
FEATURE = """
import os
os.environ["CMDSTAN"] = os.environ["HOME"] = os.getcwd()  # no CmdStan
import bayesdp as bdp
from bayesdp.synthesis.tables import read_table

release = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(n=9, size=9, prior=(5, 5)), [3])
study = bdp.Study(
    data=lambda generator, n: generator.binomial(1, 0.3, n),
    synthesizers=[bdp.BetaBinomialSynthesizer],
    analyses=[lambda release: {"z": float(release.outputs[0])}],
    grid={"epsilon": [1.0], "n": [20]},
    replicates=2,
    seed=1,
)
open("a.xlsx", "w").close()
try:
    FEATURE
except bdp.errors.MissingDependency as error:
    print(error)
assert len(study.run("study", client=None).summary()) == 1
"""


def run(folder: Path, blocked: list[str], code: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", BLOCK + code, ",".join(blocked), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_an_analyst_needs_no_extra(charest_release: bdp.Release, tmp_path: Path):
    """Import, a release, a fit, a ledger and the command line."""
    saved = charest_release.save(tmp_path / "release")
    blocked = [module for modules in EXTRAS.values() for module in modules]
    run(tmp_path, blocked, ANALYST, str(saved))


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_what_needs_an_extra_says_how_to_install_it(extra: str, tmp_path: Path):
    said = run(tmp_path, EXTRAS[extra], FEATURE.replace("FEATURE", NEEDED[extra]))
    assert f'pip install "bayesdp[{extra}]"' in said


def test_the_extras_are_those_of_the_project():
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == {*EXTRAS, "all", "docs", "test"}
    light = sorted(EXTRAS.keys() - {"jax"})  # which takes 400 MB
    assert extras["all"] == [f"bayesdp[{','.join(light)}]"]
    makefile = (ROOT / "Makefile").read_text()
    assert '".[all,test]"' in makefile


@pytest.mark.slow
def test_every_import_is_declared():
    declared = {plain(line) for line in PROJECT["dependencies"]}
    for extra in EXTRAS:
        declared |= {plain(line) for line in PROJECT["optional-dependencies"][extra]}
    homes = packages_distributions()
    unknown = {}
    for path in (ROOT / "bayesdp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in {name.partition(".")[0] for name in names}:
                if name in sys.stdlib_module_names | BROUGHT or name == "bayesdp":
                    continue
                if not declared & {plain(home) for home in homes.get(name, [name])}:
                    unknown[name] = path
    assert unknown == {}


def plain(requirement: str) -> str:
    """A requirement's distribution, as "psycopg[binary]>=3.1"."""
    for sign in "[<>=!~; ":
        requirement = requirement.partition(sign)[0]
    return requirement.lower().replace("_", "-")
