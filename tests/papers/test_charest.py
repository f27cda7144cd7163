"""Charest (2010) computed again: the exact parts against enumeration and simulation, and every
claim that a note of the page makes."""

import csv
import functools
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.combining import proportions
from bayesdp.papers.charest import reproduction
from bayesdp.papers.charest.cells import EPSILONS, SPREAD_CELLS, TABLE_CELLS, run_cells, spread_row
from bayesdp.papers.charest.study import (
    Design,
    Outputs,
    covered_by_posterior,
    covered_by_rule,
    every_pair,
    moments,
    posterior_moments,
    real_posterior,
    reiter_positive,
    simulate,
)
from bayesdp.papers.charest.tables import PRINTED_VARIANCE, estimated_variance
from bayesdp.papers.reproduction import Reproduction, Table

pytestmark = pytest.mark.slow

ERRORS = 5  # Monte Carlo standard errors allowed: a false alarm in 2 million
COUNTS = np.arange(101)
FILES = [
    *("errata.csv", "figure1.csv", "figure1.png", "figure1.svg"),
    *("figure2.csv", "figure2.png", "figure2.svg"),
    *("index.html", "table1.csv", "table2.csv", "table2_estimator.csv"),
]


@pytest.fixture(scope="module")
def simulated() -> dict[tuple[Design, float | None], Outputs]:
    slow = 250.0
    return {
        (design, p): simulate(design, p, 1000 if design.epsilon == slow else 10_000, 2010)
        for design, p in TABLE_CELLS
    }


@functools.cache
def spread_table(replicates: int, seed: int) -> Table:
    return reproduction.spread_table([spread_row(*cell, replicates, seed) for cell in SPREAD_CELLS])


@pytest.fixture(scope="module")
def progress() -> list[tuple[str, float]]:
    return []


@pytest.fixture(scope="module")
def result(tmp_path_factory, progress) -> Reproduction:
    folder = tmp_path_factory.mktemp("reproduced") / "charest"
    return reproduction.reproduce(
        folder, replicates=1000, seed=3, progress=lambda what, done: progress.append((what, done))
    )


# --- what is exact ---


def test_table_1_exact():
    """ERRATA: the exact values at epsilon = 2, p = .25."""
    biases = [100 * moments(Design(2.0, m), 0.25).bias for m in (1, 2, 5, 10)]
    assert np.round(biases, 2).tolist() == [5.96, 13.45, 20.07, 22.51]
    for m, bias in zip((1, 2, 5, 10), biases, strict=True):
        a = 100 / np.expm1(2 / m)
        assert bias == pytest.approx(100 * ((a + 25) / (2 * a + 100) - 0.25), rel=1e-12)


@pytest.mark.parametrize(("design", "p"), TABLE_CELLS)
def test_moments_are_those_of_the_enumerated_law(design: Design, p: float):
    law, q = np.exp(design.law()), COUNTS / 100
    weights = stats.binom.pmf(COUNTS, 100, p)
    mean, square = q @ law, q**2 @ law
    between = weights @ (square - mean**2)
    bias = weights @ mean - p
    found = moments(design, p)
    assert found.bias == pytest.approx(bias, abs=1e-13)
    assert found.between == pytest.approx(between, rel=1e-10)
    assert found.variance == pytest.approx(
        weights @ mean**2 - (weights @ mean) ** 2 + between / design.copies, rel=1e-10
    )
    assert found.within == pytest.approx(weights @ ((q * (1 - q) / 100) @ law), rel=1e-10)


@pytest.mark.parametrize(("epsilon", "p"), list(PRINTED_VARIANCE))
def test_every_pair_is_the_law_of_two_copies(epsilon: float, p: float):
    design = Design(epsilon, 2)
    pairs, exact = every_pair(design, p), moments(design, p)
    q = pairs.copies / 100
    assert pairs.average(np.ones(101**2))[0] == pytest.approx(1, abs=1e-12)
    assert pairs.average(q.mean(axis=0))[0] - p == pytest.approx(exact.bias, abs=1e-12)
    assert pairs.sd(q.mean(axis=0)) ** 2 == pytest.approx(exact.variance, rel=1e-9)
    between, within = q.var(axis=0, ddof=1), (q * (1 - q)).mean(axis=0) / 100
    assert pairs.average(between)[0] == pytest.approx(exact.between, rel=1e-9)
    assert pairs.average(within)[0] == pytest.approx(exact.within, rel=1e-9)


@pytest.mark.parametrize("copies", [2, 5])
def test_rule_is_combine_s(copies: int):
    outputs = simulate(Design(2.0, copies), 0.25, 300, 8)
    few = Outputs(outputs.p, None, outputs.copies.copy())
    few.copies[:, :3] = [[0, 100, 7]] * copies  # no variance between, and none at all
    found, covered = reiter_positive(few.copies), covered_by_rule(few)
    for k, ones in enumerate(few.copies.T):
        combined = bdp.combine(*proportions(ones, 100), rule="reiter_positive")
        assert found.estimate[k] == pytest.approx(combined.estimate)
        assert found.variance[k] == pytest.approx(combined.variance, rel=1e-9)
        assert found.df[k] == pytest.approx(combined.df, rel=1e-9)
        low, high = combined.interval(0.95)
        assert covered[k] == (low <= 0.25 <= high)


@pytest.mark.parametrize(("copies", "p"), [(1, 0.25), (5, None)])
def test_posterior_is_the_model_s(copies: int, p: float | None):
    design = Design(2.0, copies)
    outputs = simulate(design, p, 40, 8)
    mean, sd = posterior_moments(design.law(), outputs.copies)
    covered = covered_by_posterior(design.law(), outputs)
    for k, ones in enumerate(outputs.copies.T):
        release = bdp.Release.of(design.mechanism, [int(z) for z in ones])
        posterior = bdp.BinomialModel().posterior(release)
        assert mean[k] == pytest.approx(posterior.mean(), rel=1e-10)
        assert sd[k] == pytest.approx(posterior.sd(), rel=1e-8)
        low, high = posterior.interval(0.95)
        assert covered[k] == (low <= outputs.p[k] <= high)


# --- simulation against what is exact ---


def test_simulated_bias_and_variance_agree_with_exact(simulated):
    for (design, p), outputs in simulated.items():
        estimate = outputs.copies.mean(axis=0) / 100
        exact = moments(design, p)
        mean, error = outputs.average(estimate - p)
        assert abs(mean - exact.bias) < ERRORS * error, design
        mean, error = outputs.average((estimate - exact.bias - p) ** 2)
        assert abs(mean - exact.variance) < ERRORS * error, design


@pytest.mark.parametrize("inflation", [None, 1.0])
def test_simulated_estimator_agrees_with_exact(simulated, inflation):
    """E[T*_M] by enumeration at M = 2; and at any M, T_M with the formula's mean."""
    for (design, p), outputs in simulated.items():
        if design.copies == 2:
            exact, _, sd = estimated_variance(design, p, outputs, inflation=inflation)
            values = reiter_positive(outputs.copies, inflation=inflation).variance
            mean, error = outputs.average(values)
            assert abs(mean - exact) < ERRORS * error
            assert sd == pytest.approx(values.std(), rel=0.2)
        if design.copies > 1:
            q = outputs.copies / 100
            m, exact_moments = design.copies, moments(design, p)
            t = (1 + 1 / m) * q.var(axis=0, ddof=1) - (q * (1 - q)).mean(axis=0) / 100
            mean, error = outputs.average(t)
            expected = (1 + 1 / m) * exact_moments.between - exact_moments.within
            assert abs(mean - expected) < ERRORS * error


def test_simulated_coverage_agrees_with_exact(result):
    """Two copies: both intervals, at every epsilon and p; and the posterior's over the prior."""
    table = result.figures[0].data
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.values]
    assert len(rows) == 3 * 3 * len(EPSILONS) * 2
    for row in rows:
        assert (row["exact"] is None) == (row["M"] != 2 or row["p"] == "prior")
        exact = 0.95 if (row["p"], row["interval"]) == ("prior", "posterior") else row["exact"]
        if exact is not None:
            error = np.sqrt(exact * (1 - exact) / 1000)
            # Where nearly all are covered the count is Poisson, with a longer tail.
            assert abs(row["coverage"] - exact) < ERRORS * error + 0.004, row


def test_same_seed_same_numbers():
    first, again, other = (spread_table(100, seed).values for seed in (1, 1, 2))
    assert first == again != other
    runs = [simulate(Design(2.0, 5), None, 50, 1).copies for _ in range(2)]
    assert np.array_equal(*runs)


def test_a_stopped_run_continues(tmp_path, result):
    """Whatever the workers, and from a line half written, to the same bits; then the file goes."""
    journal, other = tmp_path / "j", tmp_path / "k"
    whole = run_cells(journal, replicates=100, seed=3, workers=1)
    lines = journal.read_bytes().splitlines(keepends=True)
    other.write_bytes(b"".join(lines[:5]) + lines[5][:9])
    told: list[str] = []
    again = run_cells(
        other, replicates=100, seed=3, workers=2, tell=lambda what, _: told.append(what)
    )
    assert again.coverage == whole.coverage
    assert again.spread == whole.spread
    for cell, outputs in whole.tables.items():
        assert np.array_equal(again.tables[cell].copies, outputs.copies)
        assert np.array_equal(outputs.ones, simulate(*cell, outputs.ones.size, 3).ones)
    assert told == [f"{k} of 110 cells" for k in range(4, 111)]
    with pytest.raises(bdp.errors.InvalidInput, match="of another study"):
        run_cells(journal, replicates=100, seed=4)
    assert not result.folder.with_name("charest.cells.jsonl").exists()


# --- what the notes claim ---


def test_note_1(simulated):
    table = reproduction.bias_table(simulated)
    where = {"epsilon": 2.0, "p": 0.25}
    assert table.numbers("relative bias, %", **where, M=10)[0] == pytest.approx(90, abs=0.5)
    assert table.numbers("z", **where, M=5)[0] == pytest.approx(6, abs=0.5)
    assert table.numbers("paper", **where, M=5) == [20.57]
    assert table.numbers("z", epsilon=250.0, M=5)[0] == pytest.approx(-3, abs=0.5)
    assert table.numbers("paper", epsilon=250.0, M=5) == [-0.50]
    assert sum(abs(z) > 2 for z in table.numbers("z")) == 2
    assert table.rows[0] == ("2", "0.25", "real", "0.16", *table.rows[0][4:])


def test_note_2(simulated):
    table = reproduction.variance_table(simulated)
    for (epsilon, p), printed in PRINTED_VARIANCE.items():
        for m, (variance, relative_bias) in printed.items():
            exact = table.numbers("exact", epsilon=epsilon, p=p, M=m)[0]
            z = (variance / exact - 1) / np.sqrt(2 / 1000)
            assert z >= 3 if epsilon == 250 and m > 2 else abs(z) <= 1.5
            row = next(r for r in table.values if r[:3] == (epsilon, p, m))
            relative, error = row[-2:]
            assert (error is None) == (m == 2)
            assert relative > relative_bias


def test_errata_on_table_2(simulated):
    """ERRATA: near 275 and 525 at M = 5, 10 for p = .25, but near 125, not 54, at M = 2."""
    table = reproduction.variance_table(simulated)
    where = {"epsilon": 2.0, "p": 0.25}
    assert table.numbers("T*_M", **where, M=2)[0] == pytest.approx(125.74, abs=0.01)
    for m, near in ((5, 275), (10, 525)):
        error = table.numbers("s.e.", **where, M=m)[0]
        assert abs(table.numbers("T*_M", **where, M=m)[0] - near) < ERRORS * error


def test_note_on_the_estimator_of_table_2(simulated):
    table = reproduction.estimator_table(simulated)
    distances = [abs(z) for z in table.numbers("z")]
    assert len(distances) == 9
    assert max(distances) < 2.5
    # Nine squared distances: a chi-squared that the data don't contradict, against one they do.
    assert stats.chi2.sf(np.square(distances).sum(), 9) > 0.05
    with_factor = [abs(z) for m in (2, 5) for z in table.numbers("z of T*_M", M=m)]
    assert len(with_factor) == 6
    assert min(with_factor) > 3
    assert f"at most {max(distances):.1f}" in table.note
    assert f"at least {min(with_factor):.1f}" in table.note
    for inside, outside in zip(
        table.numbers("without 1 + 1/M", M=10), table.numbers("T*_M", M=10), strict=True
    ):
        assert outside / inside < 1.2


def test_findings_about_coverage():
    """At epsilon = 3, M = 2, p = .25 exactly 87.0%, not 80; posterior near 95; order of M."""
    pairs = every_pair(Design(3.0, 2), 0.25)
    assert pairs.average(covered_by_rule(pairs))[0] == pytest.approx(0.8702, abs=1e-4)
    two = every_pair(Design(1.0, 2), 0.25)
    five = simulate(Design(1.0, 5), 0.25, 10_000, 1)
    share, error = five.average(covered_by_rule(five))
    assert share - two.average(covered_by_rule(two))[0] > ERRORS * error
    for copies in (5, 10):
        design = Design(2.0, copies)
        outputs = simulate(design, 0.25, 10_000, 1)
        share, error = outputs.average(covered_by_rule(outputs))
        assert share < 0.95 - ERRORS * error
        share, error = outputs.average(covered_by_posterior(design.law(), outputs))
        assert share > 0.95 - ERRORS * error


def test_accuracy_falls_with_copies_at_one_budget():
    """The paper's Figure 2 says it rises; it does only if each copy gets the whole epsilon."""
    table = spread_table(2000, 7)
    for budget, sign in (("in all", 1), ("each copy", -1)):
        for column in ("mean sd", table.columns[-1]):
            assert np.all(sign * np.diff(table.numbers(column, budget=budget)) > 0), column
        mean, error = (table.numbers(c, budget=budget) for c in ("mean sd", "standard error"))
        steps = sign * np.diff(mean)
        assert np.all(steps > ERRORS * np.hypot(error[1:], error[:-1]))
    assert table.numbers("epsilon in all", budget="each copy") == [2, 4, 10, 20]
    assert table.numbers("epsilon in all", budget="in all") == [2] * 4
    assert min(table.numbers("mean sd")) > real_posterior().sd()


def test_mean_sd_is_exact_for_one_and_two_copies():
    table = spread_table(2000, 7)
    law = np.exp(Design(2.0, 1).law())[:, 25]
    exact = {1: law @ posterior_moments(Design(2.0, 1).law(), COUNTS[None, :])[1]}
    design = Design(2.0, 2)
    law = np.exp(design.law())[:, 25]
    pairs = np.stack(np.divmod(np.arange(101**2), 101))
    exact[2] = np.outer(law, law).ravel() @ posterior_moments(design.law(), pairs)[1]
    for m, sd in exact.items():
        mean = table.numbers("mean sd", budget="in all", M=m)[0]
        error = table.numbers("standard error", budget="in all", M=m)[0]
        assert abs(mean - sd) < ERRORS * error


# --- the folder ---


def test_folder_holds_it_all(result):
    folder = result.folder
    assert sorted(path.name for path in folder.iterdir()) == FILES
    for table in [*result.tables, *(figure.data for figure in result.figures)]:
        with (folder / f"{table.name}.csv").open(encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        assert tuple(head) == table.columns
        assert rows == [["" if v is None else str(v) for v in row] for row in table.values]
    for figure in result.figures:
        assert (folder / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
        root = ElementTree.fromstring((folder / f"{figure.name}.svg").read_text(encoding="utf-8"))
        assert root.tag.endswith("svg")


def test_page_is_self_contained_and_complete(result):
    page = (result.folder / "index.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r'(src|href)="(https?:)?//|url\(http|@import', page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', page)) <= set(ids)
    assert page.count('<svg role="img"') == len(result.figures) == 2
    body = page[page.index("<body>") :]
    for light, _ in COLOURS.values():
        assert light not in body
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", body)).replace("&#39;", "'")
    for shown in [*result.findings, *(t.note for t in result.tables)]:
        assert shown in text
    for cell in [c for table in result.tables for row in table.rows for c in row]:
        assert f"<td>{cell}</td>" in page
    assert result.settings == {"replicates": 1000, "seed": 3}


def test_progress_is_told(result, progress):
    assert result.folder.is_dir()
    done = [fraction for _, fraction in progress]
    assert done[0] == 0
    assert done == sorted(done)
    assert done[-1] < 1


def test_prints_to_a_terminal(result, capsys):
    result.print()
    shown = capsys.readouterr().out
    for text in ("Table 1", "Table 2", "20.57", "20.07", "accuracy grows with M"):
        assert text in shown


def test_folder_is_replaced_only_on_request(result, tmp_path: Path):
    with pytest.raises(bdp.errors.ReleaseExists, match="exists already"):
        reproduction.reproduce(result.folder, replicates=100)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").write_text("mine")
    with pytest.raises(bdp.errors.ReleaseExists, match=r"no index\.html"):
        reproduction.reproduce(tmp_path / "work", replicates=100, force=True)
    result.write(tmp_path / "page")
    result.write(tmp_path / "page", force=True)
    assert sorted(path.name for path in (tmp_path / "page").iterdir()) == FILES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replicates": 99}, "replicates is 99"),
        ({"replicates": 1e4}, "replicates is 10000.0"),
        ({"seed": -1}, "seed is -1"),
        ({"workers": 0}, "workers is 0"),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        reproduction.reproduce(tmp_path / "out", **arguments)
    assert not list(tmp_path.iterdir())


# --- tables ---


def test_tables_are_rectangular_and_answer():
    table = Table("t", "T", ("a", "b"), ((1, "x"), (2.5, None)), (".1f", ""))
    assert table.rows == [("1.0", "x"), ("2.5", "")]
    assert table.numbers("a") == [1.0, 2.5]
    assert table.numbers("a", b="x") == [1.0]
    with pytest.raises(bdp.errors.InvalidInput, match="no column"):
        table.numbers("c")
    with pytest.raises(bdp.errors.InvalidInput, match="'x' where a number"):
        table.numbers("b")
    with pytest.raises(bdp.errors.InvalidInput, match="another length"):
        Table("t", "T", ("a", "b"), ((1,),), ("", ""))
