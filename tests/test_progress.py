"""Progress of fits: who sees it, when, and that it changes nothing."""

import io
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp import progress
from bayesdp.networks import BayesianERGM, Network, NormalPrior
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


def graph_fit(**options):
    release = bdp.Release.of(
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0), outputs=[Network(6, [[0, 1], [1, 2]])]
    )
    model = bdp.models.ERGMModel("edges + triangle", prior=NormalPrior(0, 1))
    return model.fit(
        release, draws=120, warmup=110, chains=2, auxiliary=200, seed=1, **options
    ).posterior["theta"]


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
