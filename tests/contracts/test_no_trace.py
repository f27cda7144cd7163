"""Nothing derived from a confidential record is on a disk after a release, however it ends.

Releases run in processes of their own, where home, the folders of temporary files and of caches and
the working folder are a sandbox. All files there are searched for the records' bytes, and what was
kept of compiled kernels beside the package's code.
"""

import gzip
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.private_folder import PREFIX
from tests.conftest import require_pystan
from tests.contracts.traces.releases import CASES, CHAINS, Records
from tests.contracts.traces.search import traces

PACKAGE = Path(bdp.__file__).parent
RECORDS, OTHERS = Records(3), Records(20)


@dataclass(frozen=True)
class Sandbox:
    """All that a process may write to."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        places = {
            "HOME": "home",
            "TMPDIR": "tmp",
            "XDG_CACHE_HOME": "cache",
            "XDG_CONFIG_HOME": "config",
            "XDG_DATA_HOME": "data",
        }
        for name in (*places.values(), "work"):
            (self.root / name).mkdir(exist_ok=True)
        own = self.root.with_name(self.root.name + "-own")
        own.mkdir(exist_ok=True)
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith("PYTENSOR")},
            **{name: str(self.root / place) for name, place in places.items()},
            "PYTHONPATH": str(PACKAGE.parent),
            "CURATORS_OWN": str(own),
        }

    def start(self, records: Records, *names: str) -> "subprocess.Popen[bytes]":
        line = [sys.executable, "-W", "ignore", "-m", "tests.contracts.traces.releases"]
        return subprocess.Popen(
            [*line, str(records.seed), *names],
            cwd=self.root / "work",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, records: Records, *names: str) -> None:
        process = self.start(records, *names)
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()

    def found(self, records: Records, where: str = "") -> list[str]:
        return traces([self.root / where], records.sought())

    def files(self) -> set[Path]:
        return {path for path in self.root.rglob("*") if path.is_file()}

    def temporary(self) -> list[str]:
        return sorted(path.name for path in (self.root / "tmp").iterdir())


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with tempfile.TemporaryDirectory(prefix="trace-", dir="/tmp") as folder:  # short, for sockets
        (Path(folder) / "s").mkdir()
        yield Sandbox(Path(folder) / "s")


@pytest.fixture(scope="module")
def warm() -> Iterator[Sandbox]:
    """A sandbox in which other records than those that are sought have been released before."""
    with tempfile.TemporaryDirectory(prefix="trace-", dir="/tmp") as folder:
        (Path(folder) / "s").mkdir()
        made = Sandbox(Path(folder) / "s")
        require_pystan()
        made.run(OTHERS, *CHAINS)
        yield made


PLANTED: dict[str, Callable[[Path], object]] = {
    "float64": lambda path: path.write_bytes(b"x" + RECORDS.real.tobytes()),
    "one float64": lambda path: path.write_bytes(b"x" + RECORDS.real[7].tobytes()),
    "float64, the other way": lambda path: path.write_bytes(RECORDS.unit[3:4].astype(">f8").data),
    "float32": lambda path: path.write_bytes(RECORDS.weights.astype(np.float32)[5:9].tobytes()),
    "float32, sorted": lambda path: path.write_bytes(np.sort(RECORDS.unit).astype(">f4").data),
    "text": lambda path: path.write_text(f"# income{{{RECORDS.real[0]!r}}}"),
    "text, cut off": lambda path: path.write_text(f"{RECORDS.unit[0]:.16f}"[:9]),
    "text, rounded": lambda path: path.write_text(f"{RECORDS.covariate[4]:.7g}"),
    "an array's ends": lambda path: path.write_text(f"{RECORDS.real}"),
    "CSV": RECORDS.table.to_csv,
    "CSV, compressed": lambda path: RECORDS.table.to_csv(path, compression="gzip"),
    "Parquet": RECORDS.table.to_parquet,
    "pickle": lambda path: path.write_bytes(pickle.dumps(RECORDS.real.tolist())),
    "npz": lambda path: np.savez_compressed(path, RECORDS.real),
    "gzip": lambda path: path.write_bytes(b"x" + gzip.compress(RECORDS.real.tobytes())),
    "zlib in zlib": lambda path: path.write_bytes(
        zlib.compress(b"x" + zlib.compress(RECORDS.real.tobytes()))
    ),
    "bits": lambda path: path.write_bytes(RECORDS.bits.tobytes()),
    "bits, bytes": lambda path: path.write_bytes(RECORDS.bits.astype(np.int8).tobytes()),
    "bits, floats": lambda path: path.write_bytes(RECORDS.bits.astype(float).tobytes()),
    "bits, JSON": lambda path: path.write_text(f"{RECORDS.bits.tolist()}"),
    "bits, CSV": lambda path: pd.Series(RECORDS.bits).to_csv(path, index=False),
    "ties": lambda path: path.write_bytes(RECORDS.ties.tobytes()),
    "a file's name": lambda path: path.with_name(f"{RECORDS.real[0]!r}").touch(),
}


@pytest.mark.parametrize("way", PLANTED)
def test_what_is_planted_is_found(tmp_path: Path, way: str) -> None:
    PLANTED[way](tmp_path / "planted")
    assert traces([tmp_path], RECORDS.sought())
    assert not traces([tmp_path], OTHERS.sought())


def test_a_release_that_leaves_a_trace_is_found(sandbox: Sandbox) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PLANTING], cwd="/", env=sandbox.environment | {"WORK": "."}
    )
    assert process.wait() == 0
    assert [Path(path).name for path in sandbox.found(RECORDS)] == ["leak"]


PLANTING = """
import os, tempfile
from pathlib import Path
from tests.contracts.traces.releases import Records
Path(tempfile.gettempdir(), "leak").write_bytes(Records(3).unit.tobytes())
"""


def test_every_public_way_to_release_is_run() -> None:
    """What lives in the curator's room is there, so that a new synthesizer can't be left out."""
    public = (
        getattr(namespace, name)
        for namespace in (bdp, bdp.synthesizers)
        for name in namespace.__all__
        if name != "__version__"
    )
    ours = {
        thing.__name__
        for thing in public
        if getattr(thing, "__module__", "").startswith(
            ("bayesdp.schema", "bayesdp.synthesis", "bayesdp.papers")
        )
    }
    assert {name.partition("(")[0] for name in CASES | CHAINS} == ours


@pytest.mark.slow
def test_releases_leave_nothing(sandbox: Sandbox) -> None:
    started = time.time()
    sandbox.run(RECORDS, *CASES)
    assert sandbox.found(RECORDS) == []
    assert sandbox.temporary() == []
    compiled = [path for path in PACKAGE.rglob("*.nb?") if path.stat().st_mtime >= started]
    sought = RECORDS.sought()
    for path in compiled:
        data = path.read_bytes()
        assert not any(needle in data for needle in sought), path


@pytest.mark.slow
def test_chains_leave_nothing_and_compiled_code_serves_other_records(warm: Sandbox) -> None:
    """So it depends neither on the records nor on how many they are."""
    assert warm.found(OTHERS) == []
    assert warm.temporary() == []
    programs = Path(os.environ["BAYESDP_CACHE"])
    before = warm.files(), set(programs.rglob("*"))
    warm.run(RECORDS, *CHAINS)
    assert warm.found(RECORDS) == []
    assert warm.temporary() == []
    assert (warm.files(), set(programs.rglob("*"))) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "way"),
    [
        ("stan", "SIGINT"),
        ("stan", "SIGTERM"),
        ("stan", "SIGKILL"),
        ("pymc", "SIGKILL"),
        pytest.param("pymc", "SIGINT", marks=pytest.mark.calibrate),
        pytest.param("pymc", "SIGTERM", marks=pytest.mark.calibrate),
    ],
)
def test_chains_that_are_killed_leave_nothing(warm: Sandbox, engine: str, way: str) -> None:
    before = warm.files()
    sampling = warm.root / "work" / "sampling"
    process = warm.start(RECORDS, engine)
    try:
        # Stan's data are in a file then, which shows that they would be found.
        wait_for(lambda: sampling.exists() or warm.found(RECORDS, "tmp") != [])
        assert process.poll() is None
        process.send_signal(getattr(signal, way))
        assert process.wait(60) != 0
        # CmdStanPy's own folder, an empty one, stays.
        wait_for(lambda: not any(name.startswith(PREFIX) for name in warm.temporary()))
        sampling.unlink(missing_ok=True)
        assert warm.found(RECORDS) == []
        assert warm.files() == before
    finally:
        process.kill()
        process.communicate()


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("waited for ten minutes")
