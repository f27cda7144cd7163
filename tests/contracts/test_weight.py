"""What the first use of a release loads: counted in modules, which no other process disturbs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import bayesdp as bdp
from tests.contracts.examples import EXAMPLES

MODULES = 60
"""Of bayesdp, that a release and half of the mechanisms may need."""
MOST = 100
"""That a release may need whose mechanism holds others."""
HEAVY = {"pandas", "numba", "sqlalchemy", "networkx", "dp_accounting", "mpmath", "matplotlib"}
HEAVY |= {"pymc", "arviz", "cmdstanpy", "dask", "distributed", "scipy.stats", "statsmodels"}
LAZY = HEAVY | {"pyarrow", "scipy.special", "scipy.optimize"}


def loaded(code: str, *arguments: str) -> set[str]:
    """The modules of a fresh process that has run it."""
    code = f"import sys, json; {code}; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", code, *arguments]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(json.loads(found.stdout))


def test_a_release_is_light():
    found = loaded("import bayesdp; bayesdp.Release")
    assert len([name for name in found if name.split(".")[0] == "bayesdp"]) < MODULES / 2
    assert not found & LAZY
    assert not any(name.startswith("bayesdp.mechanisms.counts") for name in found)


@pytest.mark.slow
def test_loading_one_loads_its_mechanism_alone(tmp_path: Path):
    """Of each mechanism, in a process that is a copy of one with nothing but pyarrow loaded."""
    for example in {example.mechanism.name: example for example in EXAMPLES}.values():
        release = bdp.Release.of(example.mechanism, [example.outputs[0]], delta=example.delta)
        release.save(tmp_path / example.mechanism.name)
    found = json.loads(
        subprocess.run(
            [sys.executable, "-c", FORKS, str(tmp_path)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    assert len(found) == len({example.mechanism.name for example in EXAMPLES})
    ours = {
        name: sum(module.split(".")[0] == "bayesdp" for module in modules)
        for name, modules in found.items()
    }
    assert ours["beta_binomial"] < MODULES / 2 + 10
    assert sorted(ours.values())[len(ours) // 2] < MODULES
    assert {name: count for name, count in ours.items() if count >= MOST} == {}
    for name, modules in found.items():
        compiled = {"numba"} if "bayesdp.networks.formula" in modules else set()  # its terms
        assert HEAVY & set(modules) <= compiled, name


FORKS = """
import json, os, sys, pathlib
import pyarrow.parquet
import bayesdp

bayesdp.Release
found = {}
for folder in pathlib.Path(sys.argv[1]).iterdir():
    read, write = os.pipe()
    if not (child := os.fork()):
        bayesdp.Release.load(folder)
        with os.fdopen(write, "w") as pipe:
            json.dump(sorted(sys.modules), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        found[folder.name] = json.load(pipe)
    os.waitpid(child, 0)
print(json.dumps(found))
"""
