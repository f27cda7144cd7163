"""Studies on Dask: workers change nothing, and what goes wrong with them is an error in words."""

import contextlib
import json
import multiprocessing
import os
import re
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.evaluation.studies import dask_clients, runner
from bayesdp.evaluation.studies.runner import run_here_or_local, run_tasks
from tests.evaluation.studies.parts import deadly, short, study

ROOT = Path(__file__).parents[3]


def squared(shared, task):
    if task == shared:
        os._exit(1)
    return task**2


def lands_in(shared, task):
    return os.getpid()


def pages_of_arrays(shared, task):
    """Pages of memory that the system gives for the arrays of a task."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        np.ones(1 << 18)  # 2 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    """Two processes, for the tests that don't need their own."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as made,
        Client(made, set_as_default=False) as client,
    ):
        yield client


def held(megabytes):
    return np.zeros(megabytes << 17)


def written_by(dask_worker):
    """Bytes of all files in a worker's own folder, and where it keeps what it holds."""
    files = [path for path in Path(dask_worker.local_directory).rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files), type(dask_worker.data).__name__


def test_local_workers_never_spill(tmp_path):
    """Not where the user's own settings ask for it, with more held than they let memory have."""
    import dask
    import distributed  # noqa: F401 (its defaults, which a setting before would take away)

    memory = {"target": 1e-6, "spill": 1e-6, "pause": False}
    settings = {f"distributed.worker.memory.{name}": value for name, value in memory.items()}
    with (
        dask.config.set({**settings, "temporary-directory": str(tmp_path)}),
        dask_clients.connected("local", 1) as client,
    ):
        kept = [client.submit(held, 8, pure=False) for _ in range(4)]
        assert [future.result().size for future in kept] == [8 << 17] * 4
        ((size, kind),) = client.run(written_by).values()
    assert size < 1 << 20
    assert kind == "dict"


def scheduler_at(port_file: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], str]:
    """A scheduler of its own, and its address."""
    running = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard",
         "--scheduler-file", str(port_file), *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    found: list[str] = []

    def is_written() -> bool:
        assert running.poll() is None
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # half of it is there
            found.append(json.loads(port_file.read_text())["address"])
        return bool(found)

    wait_for(is_written)
    return running, found[0]


def wait_for(happens, seconds: float = 600.0) -> None:
    start = time.monotonic()
    while not happens():
        assert time.monotonic() - start < seconds
        time.sleep(0.02)


@pytest.mark.slow
def test_workers_change_nothing(tmp_path, cluster):
    """None, one and two: the same file to the last byte."""
    declared = study(20)
    declared.run(tmp_path / "none", client=None)
    declared.run(tmp_path / "one", client="local", workers=1)
    declared.run(tmp_path / "two", client=cluster)
    files = {(tmp_path / name / "results.parquet").read_bytes() for name in ("none", "one", "two")}
    assert len(files) == 1
    assert cluster.status == "running"  # what was given isn't closed


def test_processes_are_spawned_as_on_every_system():
    import dask
    import distributed  # whose settings these are

    assert distributed.__version__
    assert dask.config.get("distributed.worker.multiprocessing-method") == "spawn"


def test_every_task_once(cluster):
    for longest in (None, 1, 7):
        found = [
            pair
            for batch in run_tasks(squared, -1, range(100), client=cluster, longest=longest)
            for pair in batch
        ]
        assert sorted(found) == [(k, k**2) for k in range(100)]
    assert list(run_tasks(squared, -1, [], client=cluster)) == []
    here = {found for _, found in run_here_or_local(lands_in, None, range(3), workers=1)}
    assert here == {os.getpid()}


def test_much_to_share_is_sent_once(cluster, monkeypatch):
    monkeypatch.setattr(runner, "_SMALL", 10)
    found = [pair for batch in run_tasks(squared, -1, range(20), client=cluster) for pair in batch]
    assert sorted(found) == [(k, k**2) for k in range(20)]


@pytest.mark.slow
def test_processes_end_with_an_error(tmp_path):
    """Also while the error is looked at, which keeps the frames that it came through."""
    before = set(multiprocessing.active_children())

    def stop(done: int, whole: int) -> None:
        if done:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop") as caught:
        study(20).run(tmp_path / "s", client="local", workers=1, progress=stop)
    assert set(multiprocessing.active_children()) <= before
    assert caught.tb
    assert len(bdp.evaluate.StudyResults.load(tmp_path / "s").frame)


@pytest.mark.slow
def test_a_task_that_ends_its_process(tmp_path):
    """It is recorded, alone, and the rest goes on; a reproduction stops."""
    import dask

    declared = study(10, analyses=[deadly], grid={"n": [100]}, synthesizers={
        "one": lambda: bdp.BetaBinomialSynthesizer(epsilon=1.0)})  # fmt: skip
    # Not the module's cluster, whose workers would still be starting again in the next test. Dask
    # would give up those that aren't back in this time.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}):
        found = declared.run(tmp_path / "s", client="local", workers=2)
    failed = found.failures
    assert len(found.frame) == 10
    assert 0 < len(failed) < 10
    assert set(failed["error"]) == {"WorkerDied"}
    with pytest.raises(bdp.errors.StudyStopped, match="a worker process ended"):
        list(run_here_or_local(squared, 3, range(8), workers=2))


@pytest.mark.slow
def test_no_worker_comes_back(tmp_path, monkeypatch):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(runner, "_LOOK", 0.1)
    monkeypatch.setattr(runner, "_ABSENCE", 1.0)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0",
                     silence_logs=50) as made,
        Client(made, set_as_default=False) as client,
    ):  # fmt: skip

        def leave(done: int, whole: int) -> None:
            if done > 40:
                made.scale(0)

        with pytest.raises(
            bdp.errors.StudyStopped, match="none has come back in 1 seconds; what was fin"
        ):
            short(seconds=0.01).run(tmp_path / "s", client=client, progress=leave)
    assert 40 < len(bdp.evaluate.StudyResults.load(tmp_path / "s").frame) < 2000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no count of pages there")
def test_processes_keep_their_memory():
    """Dask's own setting has each array's memory mapped anew: 512 pages for each of 200."""
    with contextlib.closing(
        run_here_or_local(pages_of_arrays, None, range(6), workers=2, longest=1)
    ) as running:
        pages = [found for _, found in running]
    assert statistics.median(pages) < 20_000


def test_what_cannot_be_sent(tmp_path, cluster):
    lock = threading.Lock()

    def locked(release):
        with lock:
            return {"mean": 1.0}

    with pytest.raises(bdp.errors.InvalidInput, match="can't be sent to another process"):
        study(2, analyses=[locked]).run(tmp_path / "s", client=cluster)
    assert not (tmp_path / "s").exists()


def test_what_a_worker_cannot_take(monkeypatch):
    with pytest.raises(bdp.errors.InvalidInput, match="a worker can't load the study"):
        runner._batch(b"nothing", bdp.__version__, [1])
    with pytest.raises(
        bdp.errors.InvalidInput, match=r"a worker has bayesdp .*, and this process 99\.0"
    ):
        runner._batch(runner.packed((squared, -1)), "99.0", [1])


@pytest.mark.parametrize(
    ("packages", "python", "message"),
    [
        ({"bayesdp": "99.0"}, None, r"worker at tcp://b:2 has bayesdp 99\.0, and this process"),
        ({"bayesdp": None}, None, "worker at tcp://b:2 has no bayesdp, .* pip install bayesdp=="),
        ({}, "2.7.18.final.0", r"worker at tcp://b:2 has Python 2\.7, and this process 3\."),
    ],
)
def test_a_worker_of_another_version(packages, python, message):
    own = ".".join(map(str, sys.version_info))
    same = {"host": {"python": own}, "packages": {"bayesdp": bdp.__version__}}
    other = {"host": {"python": python or own}, "packages": same["packages"] | packages}
    dask_clients._check_versions({"tcp://a:1": same})
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        dask_clients._check_versions({"tcp://a:1": same, "tcp://b:2": other})


@pytest.mark.parametrize(
    ("client", "workers", "message"),
    [
        ("nearby", None, "client is 'nearby'"),
        ("http://host:1", None, "client is 'http://host:1'"),
        ("tcp://host", None, "client is 'tcp://host'"),
        ("tcp://host:port", None, "client is 'tcp://host:port'"),
        (3, None, "client is a int"),
        ("local", 0, "workers is 0"),
        (None, 2, "workers is 2; it goes with client='local' alone"),
    ],
)
def test_wrong_clients(tmp_path, client, workers, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        study(2).run(tmp_path / "s", client=client, workers=workers)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_unreachable_scheduler(tmp_path, monkeypatch):
    """Named after a bounded wait, and what was there before is kept."""
    monkeypatch.setattr(dask_clients, "_PATIENCE", 0.5)
    study(2).run(tmp_path / "s", client=None)
    before = (tmp_path / "s" / "results.parquet").read_bytes()
    start = time.monotonic()
    with pytest.raises(
        bdp.errors.StudyStopped, match=r"client is 'tcp://127\.0\.0\.1:1', but no Dask"
    ):
        study(3).run(tmp_path / "s", client="tcp://127.0.0.1:1")
    assert time.monotonic() - start < 60
    assert (tmp_path / "s" / "results.parquet").read_bytes() == before
    assert len(study(3).run(tmp_path / "s", client=None).frame) == 18


@pytest.mark.slow
def test_the_port_of_another_program(tmp_path, monkeypatch):
    """It takes the connection and says nothing: Dask alone would wait forever."""
    monkeypatch.setattr(dask_clients, "_PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(bdp.errors.StudyStopped, match="no Dask scheduler answers there"):
            study(2).run(tmp_path / "s", client=address)
    with pytest.raises(bdp.errors.InvalidInput, match="Dask has no certificates for it"):
        study(2).run(tmp_path / "s", client=address.replace("tcp", "tls"))


@pytest.mark.slow
def test_a_cluster_as_the_page_has_it(tmp_path, monkeypatch, run_cli):
    """The page's own commands, on two processes of this machine, of which one is killed."""
    from distributed import Client

    monkeypatch.chdir(tmp_path)
    page = (ROOT / "notebooks" / "how_to.md").read_text(encoding="utf-8")
    _, after = page.split("{ #cluster }")
    (block,) = re.findall(r"```sh\n(.*?)```", after, re.DOTALL)
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    block = block.replace("10.0.0.1:8786", place).replace("10.0.0.1", "127.0.0.1")
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    _, scheduler, workers, command = [
        [place.rpartition(":")[2] if word == "8786" else word for word in line] for line in lines
    ]
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(dask_clients, "_PATIENCE", 300.0)
    monkeypatch.setattr(dask_clients, "_WORKER_PATIENCE", 300.0)
    started = []
    try:
        for line in (scheduler, workers):
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", *line, "--no-dashboard"],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": str(ROOT)},
                )
            )
        status, out, error = run_cli(shlex.join([*command[1:], "--replicates", "2"]))
        assert (status, error) == (0, "")
        assert "4 rows: which-epsilon" in out
        with Client(f"tcp://{place}", set_as_default=False, timeout=300) as client:
            client.wait_for_workers(2, timeout=300)
            pids = list(client.run(os.getpid).values())

        def kill(done: int, whole: int) -> None:
            if done > 40 and pids:
                os.kill(pids.pop(), signal.SIGTERM)
                pids.clear()

        there = short(100).run(tmp_path / "there", client=f"tcp://{place}", progress=kill)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
    assert not pids
    assert len(there.failures) == 0
    short(100).run(tmp_path / "here", client=None)
    one, other = (tmp_path / name / "results.parquet" for name in ("there", "here"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_a_scheduler_is_lost(tmp_path, monkeypatch):
    """A real one: without workers, then with one, then killed while the study runs."""
    running, address = scheduler_at(tmp_path / "where.json")
    worker = None
    try:
        monkeypatch.setattr(dask_clients, "_PATIENCE", 120.0)
        monkeypatch.setattr(dask_clients, "_WORKER_PATIENCE", 1.0)
        with pytest.raises(bdp.errors.StudyStopped, match="has no worker, after 1 seconds"):
            short(2, seconds=0.01).run(tmp_path / "s", client=address)
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1",
             "--no-dashboard", "--no-nanny"],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        monkeypatch.setattr(dask_clients, "_WORKER_PATIENCE", 120.0)

        def lose(done: int, whole: int) -> None:
            if done > 40:
                running.kill()

        with pytest.raises(
            bdp.errors.StudyStopped, match="the connection to the Dask scheduler is lost"
        ):
            short(seconds=0.01).run(tmp_path / "s", client=address, progress=lose)
    finally:
        for process in (running, worker):
            if process is not None:
                process.kill()
                process.wait()
    kept = bdp.evaluate.StudyResults.load(tmp_path / "s").frame
    assert 40 < len(kept) < 2000
    told: list = []
    declared = short(20, seconds=0.01)
    declared.run(tmp_path / "s", client=None, progress=lambda *done: told.append(done))
    assert told[0][0] > 0


@pytest.mark.slow
def test_a_script_without_its_guard(tmp_path):
    """Starting processes from a script's top level fails, and says what to do."""
    script = tmp_path / "script.py"
    script.write_text(
        "from tests.evaluation.studies.parts import short\n"
        f"short(5).run({str(tmp_path / 's')!r}, workers=2)\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert ended.returncode
    # Not in the last line: the processes that were starting end with errors of their own.
    assert "StudyStopped: worker processes can't be started" in ended.stderr
    assert 'needs `if __name__ == "__main__":`' in ended.stderr
