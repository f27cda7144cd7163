"""The Stan engine, through PyStan: draws, silence, and what goes wrong."""

import asyncio
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from bayesdp.engines.draws import Draws, import_arviz
from bayesdp.engines.stan import programs as stan_programs
from bayesdp.engines.stan import pystan as stan_pystan
from bayesdp.engines.stan import sampling as stan
from bayesdp.engines.stan.replicates import replicates
from bayesdp.errors import EngineFailed, InvalidInput
from tests.conftest import require_pystan

pytestmark = pytest.mark.slow

# Three groups with 3, 1 and 4 cells; group 0 may have had no records at all.
DATA: dict[str, Any] = {
    "G": 3,
    "K": 8,
    "first": np.array([1, 4, 5]),
    "last": np.array([3, 4, 8]),
    "log_weight": np.array([-0.5, 0.3, 1.2, 0.0, 3.0, 1.0, -2.0, -np.inf]),
    "successes": np.array([0, 1, 4, 30, 0, 2, 5, 6]),
    "failures": np.array([0, 3, 2, 10, 9, 7, 4, 1]),
    "prior_a": 1.5,
    "prior_b": 2.0,
    **replicates(()),
}


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, empty; short, as the names of Unix sockets must be."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of this module's own; its one program is compiled in that of all tests, if it isn't.

    PyStan must be there in CI.
    """
    require_pystan()
    backend, program = stan_pystan.PyStan(), stan_programs.read_program("binomial")
    compiled = stan_programs.compiled(
        program, backend.fingerprint(), lambda folder: backend.compile(program, folder)
    )
    root = tmp_path_factory.mktemp("stan-cache")
    shutil.copytree(compiled, root / "stan" / compiled.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAYESDP_CACHE", str(root))
        yield root / "stan"


def draw(data: dict[str, Any] | None = None, **options: Any) -> Draws:
    options = {"variables": ["p"], "draws": 50, "warmup": 50, "seed": 1, **options}
    return stan.sample("binomial", DATA if data is None else data, backend="pystan", **options)


def posterior_mean(group: int) -> float:
    """Mean of p by quadrature."""
    cells = slice(DATA["first"][group] - 1, DATA["last"][group])
    weight = np.exp(DATA["log_weight"][cells])
    a = DATA["successes"][cells] + DATA["prior_a"] - 1
    b = DATA["failures"][cells] + DATA["prior_b"] - 1

    def density(p: float) -> float:
        return float(np.sum(weight * p**a * (1 - p) ** b))

    return float(quad(lambda p: p * density(p), 0, 1)[0] / quad(density, 0, 1)[0])


@pytest.mark.usefixtures("cache")
def test_posterior_means_are_those_of_quadrature() -> None:
    az = import_arviz()
    p = draw(draws=2000, warmup=1000, seed=20).posterior["p"]
    assert p.shape == (4, 2000, 3)
    errors = az.mcse(az.convert_to_dataset({"p": p}))["p"].to_numpy()
    expected = np.array([posterior_mean(group) for group in range(3)])
    assert (errors < 0.01).all()
    # 5.2 standard errors: a false alarm has probability 6e-7 over the three groups.
    assert (np.abs(p.mean(axis=(0, 1)) - expected) < 5.2 * errors).all()


@pytest.mark.usefixtures("cache")
def test_statistics_have_the_names_shapes_and_types_of_arviz() -> None:
    result = draw(chains=3)
    types = {name: values.dtype.kind for name, values in result.sample_stats.items()}
    assert types == {
        "lp": "f",
        "acceptance_rate": "f",
        "step_size": "f",
        "tree_depth": "i",
        "n_steps": "i",
        "diverging": "b",
        "energy": "f",
    }
    assert all(values.shape == (3, 50) for values in result.sample_stats.values())
    assert all(np.isfinite(values).all() for values in result.sample_stats.values())
    # A chain has one step size after warmup, so the axes are not swapped.
    assert all(len(set(chain)) == 1 for chain in result.sample_stats["step_size"])
    assert len(set(result.sample_stats["step_size"][:, 0])) == 3
    assert result.engine == "stan"
    assert result.versions["pystan"] == importlib.metadata.version("pystan")
    assert re.fullmatch(r"2\.\d+\.\d+", result.versions["stan"])


@pytest.mark.usefixtures("cache")
def test_a_seed_fixes_the_draws_and_no_seed_does_not() -> None:
    first, again, random = draw(seed=5), draw(seed=5), draw(seed=None)
    assert np.array_equal(first.posterior["p"], again.posterior["p"])
    assert not np.array_equal(first.posterior["p"], random.posterior["p"])
    assert not np.array_equal(first.posterior["p"][0], first.posterior["p"][1])


@pytest.mark.usefixtures("cache")
def test_every_seed_has_draws_of_its_own() -> None:
    found = [draw(seed=seed).posterior["p"] for seed in (0, 1, 2**31 - 1, 2**31, 2**64, 2**64 + 1)]
    assert len({values.tobytes() for values in found}) == len(found)


def test_a_second_call_uses_the_compiled_program(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw()
    (marker,) = cache.glob(f"*/{stan_programs.MARKER}")
    written = marker.stat().st_mtime_ns
    monkeypatch.setattr(stan_pystan.PyStan, "compile", lambda *_: pytest.fail("compiled again"))
    draw()
    assert marker.stat().st_mtime_ns == written


def test_nothing_is_printed_and_nothing_is_left(
    cache: Path,
    temporary: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    draw()
    capfd.readouterr()
    before = sorted(cache.rglob("*"))
    for name in ("working", "xdg"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path / "working")
    draw()
    with pytest.raises(EngineFailed):
        draw({**DATA, "prior_a": -1.0})
    assert capfd.readouterr() == ("", "")
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "working", tmp_path / "xdg"]
    assert list(temporary.iterdir()) == []
    assert sorted(cache.rglob("*")) == before


@pytest.mark.usefixtures("cache")
def test_progress_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    draw(progress=True)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "Sampling: 100%" in printed.err
    assert all(re.match("Sampling|Compiling", line) for line in printed.err.splitlines())


@pytest.mark.usefixtures("cache")
def test_works_inside_a_running_event_loop() -> None:
    async def notebook_cell() -> Draws:
        return draw()

    assert asyncio.run(notebook_cell()).posterior["p"].shape == (4, 50, 3)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prior_a": -7.25}, r"prior_a is …, but must be greater than or equal to …"),
        ({"last": [3, 725, 8]}, r"last\[2\] is …, but must be less than or equal to …"),
        ({"successes": [725.0, 1]}, r"variable name=successes; .*dims declared=\(…\)"),
        ({"log_weight": [-np.inf] * 8}, r"Rejecting initial value"),
        ({"G": 72.5}, r"non-int values; .*variable name=G"),
    ],
)
def test_rejected_data_are_not_quoted(change: dict[str, Any], said: str) -> None:
    with pytest.raises(EngineFailed, match=said) as failure:
        draw({**DATA, **change})
    assert "binomial.stan" in str(failure.value)
    assert "725" not in str(failure.value).replace(".", "")
    assert failure.value.__cause__ is None


@pytest.mark.usefixtures("cache")
def test_unknown_variables_are_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"binomial\.stan has no q; choose from: p"):
        draw(variables=["p", "q"])


@pytest.mark.usefixtures("cache")
def test_a_program_that_does_not_compile_says_what_stanc_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    (tmp_path / "broken.stan").write_text("parameters { real y; }\nmodel { z ~ 1 }")
    monkeypatch.setattr(stan_programs, "shipped", lambda kind: tmp_path)
    with pytest.raises(EngineFailed, match=r"broken\.stan") as failure:
        stan.sample("broken", {}, variables=["y"], draws=1, backend="pystan")
    assert "Syntax error" in str(failure.value)
    assert not list(cache.glob("broken*"))
    assert not list(cache.glob("building-*"))


PROGRAM = stan_programs.Program("some", "parameters { real y; }")

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="PyStan doesn't run on Windows")


@on_posix
def test_a_worker_that_dies_is_reported(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stan_pystan, "_WORKER", tmp_path / "worker.py")
    (tmp_path / "worker.py").write_text("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(EngineFailed, match="ended with status -9, perhaps out of memory"):
        stan_pystan.PyStan().compile(PROGRAM, tmp_path)
    assert list(temporary.iterdir()) == []


def has_ended(pid: str) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", pid], check=False, capture_output=True, text=True
    ).stdout
    return not state.strip() or state.startswith("Z")


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("waited for ten minutes")


@on_posix
def test_an_interrupt_ends_the_worker_and_its_children(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    monkeypatch.setattr(stan_pystan, "_WORKER", tmp_path / "worker.py")
    (tmp_path / "worker.py").write_text(
        "import os, pathlib, time\n"
        "if child := os.fork():\n"
        f"    pathlib.Path({str(started)!r}).write_text(f'{{os.getpid()}} {{child}}')\n"
        "time.sleep(600)\n"
    )

    def interrupt(*_: object) -> None:
        wait_for(lambda: started.exists() and started.read_text() != "")
        raise KeyboardInterrupt

    monkeypatch.setattr(stan_pystan, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stan_pystan.PyStan().compile(PROGRAM, tmp_path)
    assert list(temporary.iterdir()) == []
    for pid in started.read_text().split():
        wait_for(lambda pid=pid: has_ended(pid))  # type: ignore[misc]
