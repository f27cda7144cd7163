"""Hu, Williams and Savitsky's supplement again: small runs, stopped runs, and their numbers."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

import bayesdp as bdp
from bayesdp.evaluation.papers import hu
from bayesdp.evaluation.papers.hu_figures import PLANS, TRUTHS, values
from bayesdp.evaluation.papers.hu_study import EPSILONS, replicate, run_study, utilities

SMALL = {"replicates": 3, "records": 100, "seed": 5}
FILES = sorted(
    ["index.html", "table1.csv", "averages.csv", "promises.csv", "choices.csv"]
    + [f"figure{k}.{ending}" for k in range(1, 11) for ending in ("csv", "png", "svg")]
)


@pytest.fixture(scope="module")
def progress() -> list[tuple[str, float]]:
    return []


@pytest.fixture(scope="module")
def result(tmp_path_factory, progress):
    folder = tmp_path_factory.mktemp("reproduced") / "hu"
    return hu.reproduce(
        folder, **SMALL, workers=2, progress=lambda what, done: progress.append((what, done))
    )


@pytest.fixture(scope="module")
def study():
    return [replicate(SMALL["seed"], k, SMALL["records"]) for k in range(SMALL["replicates"])]


def test_small_run_writes_everything(result, progress):
    assert sorted(path.name for path in result.folder.iterdir()) == FILES
    assert not list(result.folder.parent.glob("*.jsonl"))
    done = [fraction for _, fraction in progress]
    assert done == sorted(done)
    assert progress[-1] == ("draw and write", 0.93)


def test_processes_and_order_change_nothing(result, study):
    for plan in PLANS:
        with (result.folder / f"figure{plan.number}.csv").open() as file:
            rows = list(csv.DictReader(file))
        written = [float(row[plan.words]) for row in rows]
        expected = [
            value
            for panel in plan.panels
            for name in plan.synthesizers
            for value in values(study, plan, panel, name)
        ]
        assert written == expected


def test_page_says_what_is_true(result):
    page = (result.folder / "index.html").read_text()
    for text in ("not differentially private", "replace-one", "add/remove-one", "165.7", "√n = 45"):
        assert text in page
    assert page.count("<svg") == 10
    assert "http" not in page.replace("http://www.w3.org", "")


def test_table_1(result):
    table = result.tables[0]
    assert table.numbers("median", synthesizer="Censor_w", factor=1.0, numbers="printed") == [425]
    ours = table.numbers("max", synthesizer="Censor_w", factor=1.0, numbers="ours")[0]
    assert 0 <= ours <= SMALL["records"]


def test_truths():
    """The dashed lines, from the density by quadrature."""
    for name, level in (("q15", 0.15), ("median", 0.5), ("q90", 0.9)):
        # With y = t^2 the density y^(-1/2) (1 - y)^2 / (16/15) is smooth.
        mass = integrate.quad(lambda t: 2 * (1 - t * t) ** 2, 0, np.sqrt(TRUTHS[name]))[0]
        assert mass / (16 / 15) == pytest.approx(level, rel=1e-9)
    assert TRUTHS["mean"] == pytest.approx(1 / 7, rel=1e-12)


def test_utilities_by_hand():
    low, middle, high, mean, distance = utilities(
        np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.15, 0.25, 0.9, 0.95, 0.99])
    )
    assert (low, middle, high) == pytest.approx((0.145, 0.25, 0.37))
    assert mean == pytest.approx(0.25)
    assert distance == pytest.approx(1 - 0.4)
    one, two = np.random.default_rng(1).random((2, 500))
    assert utilities(one, two)[4] == pytest.approx(stats.ks_2samp(one, two).statistic)


def test_bounds_of_a_replicate(study):
    for outcome in (o for outcomes in study for o in outcomes):
        if outcome.synthesizer in ("Weighted-e", "Censor_w", "Censor_uw"):
            assert outcome.lipschitz <= outcome.epsilon / 2
        assert (outcome.lipschitz is None) == (outcome.synthesizer == "PH")
        assert outcome.removed == 0 or outcome.synthesizer == "Weighted-e"
    assert {o.epsilon for o in study[0]} == set(EPSILONS)


def test_a_killed_run_continues(tmp_path: Path, study):
    """Killed without warning, with a line half written, it goes on to the same bits."""
    out, journal = tmp_path / "hu", tmp_path / "hu.replicates.jsonl"
    code = (
        "import sys; from pathlib import Path; from bayesdp.evaluation.papers import hu\n"
        f"hu.reproduce(Path(sys.argv[1]), replicates=1000, records={SMALL['records']}, "
        f"seed={SMALL['seed']}, workers=1)"
    )
    running = subprocess.Popen([sys.executable, "-c", code, str(out)], cwd=Path.cwd())
    try:
        waited = time.monotonic()
        while not journal.exists() or journal.read_bytes().count(b"\n") < 2:
            assert running.poll() is None
            assert time.monotonic() - waited < 600
            time.sleep(0.02)
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    assert not out.exists()
    kept = b"".join(journal.read_bytes().splitlines(keepends=True)[:2])
    journal.write_bytes(kept + b'{"task": 1, "fou')
    told: list[str] = []
    options = {"seed": SMALL["seed"], "records": SMALL["records"], "workers": 1}
    again = run_study(journal, replicates=3, **options, tell=lambda what, _: told.append(what))
    assert told == [f"{k} of 3 replicates" for k in (1, 2, 3)]
    assert again == study
    assert journal.read_bytes().startswith(kept)
    told.clear()
    assert run_study(journal, replicates=3, **options, tell=lambda what, _: told.append(what))
    assert told == ["3 of 3 replicates"]


def test_another_study_is_not_continued(tmp_path: Path):
    journal = tmp_path / "j"
    run_study(journal, replicates=1, seed=1, records=100, workers=1)
    before = journal.read_bytes()
    with pytest.raises(bdp.InvalidInput, match="of another study"):
        run_study(journal, replicates=1, seed=2, records=100, workers=1)
    assert journal.read_bytes() == before
    journal.write_bytes(b'{"bayes')  # killed while the first line was written
    assert len(run_study(journal, replicates=1, seed=2, records=100, workers=1)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replicates": 1}, "replicates is 1"),
        ({"records": 99}, "records is 99"),
        ({"workers": 0}, "workers is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, arguments, message):
    with pytest.raises(bdp.InvalidInput, match=message):
        hu.reproduce(tmp_path / "out", **arguments)
    assert not list(tmp_path.iterdir())


def test_folder_is_replaced_only_on_request(result):
    with pytest.raises(bdp.ReleaseExists, match="exists already"):
        hu.reproduce(result.folder, **SMALL)
