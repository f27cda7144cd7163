"""Progress of fits: who sees it, when, and that it and an interrupt change nothing."""

import io
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp import progress
from bayesdp.networks import BayesianERGM, Network, NormalPrior
from bayesdp.threads import Halting, in_threads
from tests.contracts.test_models import noisy_moments_of_any_size, noisy_table
from tests.networks.oracles import karate

pytestmark = pytest.mark.slow


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(shown) -> None:
    end = time.monotonic() + 60
    while not shown() and time.monotonic() < end:
        time.sleep(0.01)


def test_a_short_fit_shows_nothing(capsys):
    with progress.bar(True, 10) as step:
        step(10)
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_nothing_is_shown_unless_asked_for(at_once, capsys):
    for shown in (None, False):
        with progress.bar(shown, 10) as step:
            assert step is progress.no_step
    assert capsys.readouterr() == ("", "")


def test_lines_say_the_share_done_and_the_time_left(at_once, capsys):
    with progress.bar(True, 100, "sampling") as step:
        own = step.__self__
        wait_for(lambda: own.live is not None)
        threads = [threading.Thread(target=lambda: [step(1) for _ in range(25)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("%")[0] for line in lines] == [f"sampling: {10 * k}" for k in range(1, 11)]
    assert all(line.endswith(" left") for line in lines)
    assert own.done == 100
    assert not own.timer.is_alive()


def test_a_terminal_has_a_bar(at_once, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.bar(None, 4, "sampling") as step:
        own = step.__self__
        wait_for(lambda: own.live is not None)
        step(4)
    assert "sampling" in terminal.getvalue()
    assert "100%" in terminal.getvalue()


def test_a_fit_that_fails_leaves_no_bar_behind(at_once):
    made = []

    def fails():
        with progress.bar(True, 4) as step:
            made.append(step.__self__)
            wait_for(lambda: made[0].live is not None)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    made[0].timer.join(10)
    assert made[0].stopped
    assert not made[0].timer.is_alive()


def test_a_log_has_no_control_characters(at_once, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as CI sets it
    with progress.bar(True, 2) as step:
        wait_for(lambda: step.__self__.live is not None)
        step(2)
    said = capsys.readouterr().err
    assert said == "sampling: 100%, 0:00:00 left\n"


def test_a_counter_says_nothing_of_what_was_done_before(at_once, monkeypatch):
    with progress.counter("replicates") as tell:
        tell(1, 2)  # to nobody
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.counter("replicates") as tell:
        own = tell.__self__
        wait_for(lambda: own.live is not None)
        tell(5, 10)
        assert own._left() == ""
        own.begun -= 100
        tell(9, 10)
        assert own._left() == "0:00:25 left"
    assert "90%" in terminal.getvalue()


KERNEL = """
import os, threading, time
from bayesdp import progress, threads
progress.DELAY = 0.0
def work(k):
    for _ in range(10**6):
        time.sleep(0.02)
        halting(1)
with progress.bar(None, 10**7, "<sampling>") as step:
    halting = threads.Halting(step)
    threads.in_threads(work, [0, 1], halting)
"""
AFTER = """
print([thread.name for thread in threading.enumerate() if "ThreadPool" in thread.name])
with progress.bar(None, 10, "again") as step:
    while step.__self__.live is None:
        time.sleep(0.01)
    step(3)
    import sys; sys.stdout.flush()
"""


@pytest.mark.filterwarnings("default")  # of the kernel's machinery, not of ours
def test_a_notebook_has_a_bar_that_goes_and_can_be_interrupted(tmp_path: Path):
    """In a kernel, whose standard error is no terminal: VS Code's is the same."""
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook
    from traitlets.config import Config

    cells = [new_code_cell(code) for code in ("import os; print(os.getpid())", KERNEL, AFTER)]
    sockets = {} if sys.platform == "win32" else {"transport": "ipc", "ip": str(tmp_path / "k")}
    client = NotebookClient(
        new_notebook(cells=cells), config=Config({"KernelManager": sockets}), timeout=100,
        kernel_name="python3", allow_errors=True,
    )  # fmt: skip
    seen: list[str] = []

    def watch(content):
        seen.append(content["data"].get("text/html", ""))
        if sum(map(bool, seen)) == 3:  # it moves
            os.kill(int(cells[0].outputs[0]["text"]), signal.SIGINT)

    real = client.process_message

    def process(message, *rest):
        if message["msg_type"] in ("display_data", "update_display_data"):
            watch(message["content"])
        return real(message, *rest)

    client.process_message = process
    with client.setup_kernel():
        for k, cell in enumerate(cells):
            client.execute_cell(cell, k)
    shown, said = cells[1].outputs
    assert "&lt;sampling&gt; <progress value=" in seen[0]
    assert shown["data"] == {"text/plain": ""}
    assert said["text"].strip() == "KeyboardInterrupt"
    assert [output.get("text") or output["data"] for output in cells[2].outputs] == [
        "[]\n",
        {"text/plain": ""},
    ]


def test_a_thread_that_fails_ends_the_others():
    begun = threading.Event()
    halting, done = Halting(lambda done: None), []

    def work(k):
        if k:
            begun.wait()
            raise ValueError(k)
        begun.set()
        for moves in range(10**6):
            done[:] = [moves]
            halting(1)
            time.sleep(0.001)

    with pytest.raises(ValueError, match="1"):
        in_threads(work, [0, 1], halting)
    assert done[0] < 10**5
    assert in_threads(abs, [-2, -1]) == [2, 1]


@pytest.mark.filterwarnings("ignore:the chains of this fit", "ignore:.*were empty or complete")
def test_an_interrupted_fit_ends_soon_and_leaves_nothing(at_once, monkeypatch):
    before = graph_fit(progress=False)
    threads = set(threading.enumerate())
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    began, handlers = time.monotonic(), signal.getsignal(signal.SIGINT)
    main = threading.main_thread().ident  # whose wait another thread's signal doesn't end
    timer = threading.Timer(0.7, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        graph_fit(draws=10**6, progress=None)
    assert time.monotonic() - began < 60  # of half an hour
    timer.join()
    more = set(threading.enumerate()) - threads  # those that other tests left
    assert not [t for t in more if t.name.startswith("ThreadPool")]
    assert not any(isinstance(t, threading.Timer) for t in more)
    assert "sampling" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[?25h")  # the cursor is shown again
    assert signal.getsignal(signal.SIGINT) is handlers
    np.testing.assert_array_equal(graph_fit(progress=False), before)


def graph_fit(**options):
    release = bdp.Release.of(
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0), outputs=[Network(6, [[0, 1], [1, 2]])]
    )
    model = bdp.models.ERGMModel("edges + triangle", prior=NormalPrior(0, 1))
    sizes = {"draws": 120, "warmup": 110, "chains": 2, "auxiliary": 200, "seed": 1}
    return model.fit(release, **(sizes | options)).posterior["theta"]


def plain_fit(**options):
    return BayesianERGM("edges + gwesp(0.5)").fit(
        karate(), draws=120, tune=110, chains=2, auxiliary=1_122, seed=1, **options
    ).posterior["theta"]  # fmt: skip


def tempered_fit(**options):
    return BayesianERGM("edges + gwesp(0.5)").fit(
        karate(), draws=120, tune=110, chains=2, seed=1, **options
    ).posterior["theta"]  # fmt: skip


@pytest.mark.filterwarnings("ignore:the chains of this fit", "ignore:.*were empty or complete")
@pytest.mark.parametrize("fit", [graph_fit, plain_fit, tempered_fit])
def test_chains_report_each_move_once_and_draw_the_same(fit, monkeypatch):
    """None of them reported any."""
    told, made = [], []
    real = progress.bar

    def counted(shown, total, label="sampling"):
        made.append((shown, total))
        return real(None, total, label)

    monkeypatch.setattr("bayesdp.progress.no_step", told.append)
    for module in ("networks.hidden.sampling", "networks.bayesian"):
        monkeypatch.setattr(f"bayesdp.{module}.bar", counted)
    loud = fit(progress=True)
    assert made == [(True, sum(told))]
    assert max(told) <= (500 if fit is tempered_fit else 50)
    monkeypatch.undo()
    np.testing.assert_array_equal(loud, fit(progress=False))


@pytest.mark.parametrize(
    ("module", "model", "release"),
    [
        (
            "inference.regression.linear",
            bdp.LinearRegressionModel("y", n=range(20, 200)),
            noisy_moments_of_any_size,
        ),
        ("engines.log_linear.chains", bdp.models.LogLinearModel("a*b"), noisy_table),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # few draws
def test_other_chains_report_all_their_work(module, model, release, monkeypatch):
    made = []

    @contextmanager
    def counted(shown, total, label="sampling"):
        made.append([shown, total])
        told = []
        yield told.append
        made[-1].append(sum(told))

    monkeypatch.setattr(f"bayesdp.{module}.bar", counted)
    model.fit(release(), draws=50, warmup=50, chains=2, seed=1, progress=True)
    ((shown, total, done),) = made
    assert shown
    assert done == total
