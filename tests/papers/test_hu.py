"""Hu, Williams and Savitsky's supplement again: small runs, stopped runs, and their numbers."""

import csv
import dataclasses
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
from bayesdp.engines.stan import sampling as stan
from bayesdp.papers.catalogue import find_paper
from bayesdp.papers.hu import reproduction as hu
from bayesdp.papers.hu import stan as hu_stan
from bayesdp.papers.hu.comparators import HuComparators
from bayesdp.papers.hu.figures import PLANS, TRUTHS, values
from bayesdp.papers.hu.study import (
    EPSILONS,
    at_replicate,
    replicate,
    run_study,
    utilities,
)
from bayesdp.papers.hu.tables import APART, ERROR, RATIO

pytestmark = pytest.mark.slow

SMALL = {"replicates": 3, "records": 100, "seed": 5}
FILES = sorted(
    [
        "index.html",
        "table1.csv",
        "averages.csv",
        "promises.csv",
        "choices.csv",
        "stan.csv",
        "errata.csv",
    ]
    + [f"figure{k}.{ending}" for k in range(1, 11) for ending in ("csv", "png", "svg")]
)


@pytest.fixture(scope="module")
def progress() -> list[tuple[str, float]]:
    return []


@pytest.fixture(scope="module")
def result(tmp_path_factory, progress):
    """Without Stan, as on a machine that has none."""
    folder = tmp_path_factory.mktemp("reproduced") / "hu"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("find_cmdstan", "pystan_version"):
            patch.setattr(stan, name, lambda: None)
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
    assert progress[-1] == ("draw and write", 0.96)


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
    assert "pip install &#34;bayesdp[stan]&#34;" in page  # Stan wasn't there
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


def test_means_have_standard_errors(result, study):
    """Table 1's and the averages', by hand; and agreement is claimed only within them."""
    counts, averages = result.tables[:2]
    where = {"synthesizer": "Censor_w", "factor": 1.0}
    ours = [o.censored for k in study for o in k
            if (o.synthesizer, o.epsilon, o.factor) == ("Censor_w", 4.0, 1.0)]  # fmt: skip
    error = np.std(ours, ddof=1) / np.sqrt(3)
    found = counts.numbers(ERROR, **where, numbers="ours")
    assert found == pytest.approx([error])
    assert counts.numbers(ERROR, **where, numbers="printed") == [9.256]
    apart = (np.mean(ours) - 408) / np.hypot(error, 9.256)
    assert counts.numbers(APART, **where, numbers="ours") == pytest.approx([apart])
    ratio = np.std(ours, ddof=1) / 92.56
    assert counts.numbers(RATIO, **where, numbers="ours") == pytest.approx([ratio])
    # 100 records can't have 408 censored, and the page says so.
    assert abs(apart) > 3
    assert "0 are within 3 standard errors" in counts.note
    assert f"{apart:+.1f} standard errors" in " ".join(result.findings)
    drawn = [o.median for k in study for o in k if o.synthesizer == "PH" and o.epsilon == 5.0]
    cell = {"synthesizer": "PH", "ε": 5.0}
    assert averages.numbers("median", **cell, numbers="mean") == pytest.approx([np.mean(drawn)])
    error = np.std(drawn, ddof=1) / np.sqrt(3)
    assert averages.numbers("median", **cell, numbers="standard error") == pytest.approx([error])
    assert f"PH {np.mean(drawn):.4g} ± {error:.1g}" in result.figures[5].caption


def test_stan_draws_what_the_grid_draws():
    """Each kind of posterior, one with the weights of another, and Stan's failure."""
    try:
        stan.available_backend()
    except bdp.errors.MissingDependency as error:
        pytest.skip(str(error))
    table = hu_stan.stan_table(SMALL["seed"], SMALL["records"])
    assert len(table.values) == len(PLANS)
    assert max(map(abs, table.numbers(APART))) < 5.5  # 1e-6 of ten rows
    assert max(table.numbers("R-hat")) < 1.02
    assert "agree: at most" in hu_stan.stan_finding(table)
    with at_replicate(SMALL["seed"], 0, SMALL["records"]) as y:
        fits = HuComparators(y)
        weighted, unweighted = fits.weighted(5.0), fits.unweighted
    drawn = hu_stan.by_stan(y, weighted, 1)
    other = hu_stan.compare(PLANS[1], y, unweighted, drawn)
    assert abs(other.apart) > 20
    assert "DISAGREE" in hu_stan.stan_finding(
        dataclasses.replace(
            table, values=tuple((*row[:-2], other.apart, row[-1]) for row in table.values)
        )
    )


def test_a_quick_run_leaves_stan_out(tmp_path, monkeypatch, study):
    monkeypatch.setattr(hu, "run_study", lambda journal, **_: journal.touch() or study)
    monkeypatch.setattr(hu, "PLANS", PLANS[:1])
    monkeypatch.setattr(hu, "stan_table", lambda *_: pytest.fail("Stan in a quick run"))
    found = find_paper("hu", 3, quick=True)(tmp_path / "out")
    assert not any(table.name == "stan" for table in found.tables)
    assert found.settings["quick"] == "yes"


def test_a_stan_that_fails_is_named_on_the_page(monkeypatch):
    def fail(program):
        raise bdp.errors.EngineFailed("Stan program 'censored_beta' doesn't compile: no compiler")

    monkeypatch.setattr(stan, "compile_program", fail)
    table = hu_stan.stan_table(1, 100)
    assert "no compiler" in hu_stan.stan_finding(table)


def test_a_killed_run_continues(tmp_path: Path, study):
    """Killed without warning, with a line half written, it goes on to the same bits."""
    out, journal = tmp_path / "hu", tmp_path / "hu.replicates.jsonl"
    code = (
        "import sys; from pathlib import Path; from bayesdp.papers.hu import reproduction as hu\n"
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
    with pytest.raises(bdp.errors.InvalidInput, match="of another study"):
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
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        hu.reproduce(tmp_path / "out", **arguments)
    assert not list(tmp_path.iterdir())


def test_folder_is_replaced_only_on_request(result):
    with pytest.raises(bdp.errors.ReleaseExists, match="exists already"):
        hu.reproduce(result.folder, **SMALL)
