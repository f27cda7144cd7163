"""A study of 2,000 short replicates, killed ten times at random, is the study never killed."""

import os
import random
import signal
import subprocess
import sys
import time
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

import bayesdp as bdp
from tests.evaluation.studies.parts import short, until_killed

ROOT = Path(__file__).parents[3]


class Script:
    """A process of its own from its start, whose workers import its file; as a forked one."""

    def __init__(self, *arguments: object) -> None:
        self._running = subprocess.Popen(
            [sys.executable, "-m", "tests.evaluation.studies.parts", *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.DEVNULL,
        )
        self.kill, self.join = self._running.kill, self._running.wait

    @property
    def exitcode(self) -> int | None:
        return self._running.poll()


def started(processes: ForkServerContext, *arguments: object) -> Script | BaseProcess:
    """A process that runs the study: forked, unless it has workers."""
    if arguments[1] is not None:
        return Script(*arguments)
    forked = processes.Process(target=until_killed, args=arguments)
    forked.start()
    return forked


def kill(running: Script | BaseProcess, folder: Path, began: Path, after: float, parts: str) -> int:
    """Kill the study so long after it began to compute, and `parts` of it are there.

    These are a pattern of files. Returned is how the process ended.
    """
    start = time.monotonic()
    while not (began.exists() and any(folder.glob(parts))) and running.exitcode is None:
        assert time.monotonic() - start < 600
        time.sleep(0.005)
    time.sleep(after)
    running.kill()
    running.join()
    assert running.exitcode is not None
    return running.exitcode


STUDY = """
seed = 1
replicates = 100_000
[data]
law = "bernoulli"
n = 50
p = 0.3
[grid]
epsilon = [1.0]
[synthesizers.copies]
name = "beta_binomial"
[analyses.posterior]
family = "binomial"
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes are others there")
def test_interrupted_at_the_terminal(tmp_path):
    """Ctrl-C goes to the workers too: nobody shows a traceback, and what was finished is kept."""
    (tmp_path / "s.toml").write_text(STUDY)
    running = subprocess.Popen(
        [sys.executable, "-m", "bayesdp", "study", "s.toml", "--workers", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    start = time.monotonic()
    while not list(tmp_path.glob("s/part-*")) and running.poll() is None:
        assert time.monotonic() - start < 600
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    said, _ = running.communicate(timeout=600)
    assert running.returncode == 130
    assert said.startswith("stopped; what was finished is kept in s, ")
    assert "Traceback" not in said
    assert len(bdp.evaluate.StudyResults.load(tmp_path / "s").frame) > 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_ten_times(tmp_path, processes):
    """Three times with workers, which end too; the last bits agree, and no row is twice."""
    folder, began = tmp_path / "s", tmp_path / "began"
    moments, ends, counts = random.Random(5), [], []
    for k in range(10):
        client = "local" if k in (1, 4, 7) else None
        parts = "part-*" if k == 9 else "*"  # at least one of the ten wrote something
        began.unlink(missing_ok=True)
        running = started(processes, folder, client, began)
        ends.append(kill(running, folder, began, moments.uniform(0.0, 1.0), parts))
        try:
            counts.append(len(bdp.evaluate.StudyResults.load(folder).frame))
        except bdp.errors.InvalidInput:  # killed before the first part
            counts.append(0)
    assert ends == [-signal.SIGKILL] * 10
    assert counts == sorted(counts)  # nothing is ever lost
    assert 0 < counts[-1] < 2000
    # What the next run has to do is what isn't there yet.
    told: list[tuple[int, int]] = []
    found = short(seconds=0.001).run(folder, client=None, progress=lambda *done: told.append(done))
    assert told[0] == (counts[-1], 2000)
    key = ["synthesizer", "epsilon", "n", "analysis", "replicate"]
    assert len(found.frame) == len(found.frame.drop_duplicates(key)) == 2000
    short(seconds=0.001).run(tmp_path / "undisturbed", client=None)
    one, two = (path / "results.parquet" for path in (folder, tmp_path / "undisturbed"))
    assert one.read_bytes() == two.read_bytes()
