"""Liu's Table 1 and Figures 6 to 8 again: small runs, stopped runs, labels, costs and claims."""

import contextlib
import functools
import io
import math
import re
import sys
from itertools import pairwise

import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp import cli
from bayesdp.papers.catalogue import PAPERS, find_paper
from bayesdp.papers.liu import cells as liu_cells
from bayesdp.papers.liu import posterior_tables as liu_posterior_tables
from bayesdp.papers.liu import reproduction as liu
from bayesdp.papers.liu.claims import claim_table
from bayesdp.papers.liu.posterior_tables import COVERAGES, RATIO, posterior_tables
from bayesdp.papers.liu.tables import BINARY, GAUSSIAN, agreement_table, cost_table

pytestmark = pytest.mark.slow

SMALL = {"replicates": 20, "seed": 5}
FILES = sorted(
    ["index.html"]
    + [f"{name}.csv" for name in ("table1a", "table1b", "agreement", "posterior",
                                  "posterior_normal",
                                  "posterior_unknown", "truncation", "claims", "choices",
                                  "errata")]
    + [f"figure{k}.{ending}" for k in ("6a", "6b", "6c", "7", "8")
       for ending in ("csv", "png", "svg")]
)  # fmt: skip


@pytest.fixture(scope="module")
def progress() -> list[tuple[str, float]]:
    return []


@pytest.fixture(scope="module")
def printed() -> list[str]:
    return []


@pytest.fixture(scope="module")
def made() -> dict:
    """The cells of `result`."""
    return {}


@pytest.fixture(scope="module")
def result(tmp_path_factory, progress, printed, made):
    """Of the command, on both cores; fewer cells and replicates where each takes seconds."""
    folder = tmp_path_factory.mktemp("reproduced") / "liu"
    kept = []

    @functools.wraps(liu.reproduce)
    def reproduce(out, **options):
        shown = options.pop("progress")

        def told(what, done):
            progress.append((what, done))
            shown(what, done)

        kept.append(liu.reproduce(out, **options, progress=told))
        return kept[0]

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setattr(liu_cells, "MOST_PAIRS", 2)
        designs = [
            design
            for design in liu_cells.posterior_designs()
            if design.share is None or (design.n, design.share) == (1000, 0.5)
        ]
        for module in (liu_cells, liu_posterior_tables):
            patch.setattr(module, "posterior_designs", lambda: designs)
        patch.setitem(PAPERS, "liu", reproduce)
        run = liu.run_cells
        patch.setattr(liu, "run_cells", lambda *a, **k: made.update(run(*a, **k)) or made)
        line = ["bayesdp", "reproduce", "liu", "--replicates", "20", "--out", str(folder)]
        patch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit) as end:
            cli.main()
    assert not end.value.code
    printed.append(out.getvalue())
    return kept[0]


def test_small_run_writes_everything(result, progress):
    assert sorted(path.name for path in result.folder.iterdir()) == FILES
    assert not list(result.folder.parent.glob("*.jsonl"))
    done = [fraction for _, fraction in progress]
    assert done == sorted(done)
    assert progress[-1] == ("draw and write", 0.95)


def test_the_command_prints_it(result, printed):
    (out,) = printed
    assert "Table 1(a)" in out
    assert f"tables and figures written to {result.folder}" in out.replace("\n", "")
    assert result.settings == {"replicates": 20, "seed": 2016}


def test_page_says_what_is_true(result):
    page = (result.folder / "index.html").read_text()
    assert page.count("<svg") == 5
    assert "http" not in page.replace("http://www.w3.org", "")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page)).replace("&#39;", "'")
    for shown in (*result.findings, *(table.note for table in result.tables)):
        assert shown.replace(">", "&gt;").replace("<", "&lt;") in text or shown in text


def test_folder_is_replaced_only_on_request(result):
    with pytest.raises(bdp.errors.ReleaseExists, match="exists already"):
        liu.reproduce(result.folder, **SMALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replicates": 19}, "replicates is 19"),
        ({"seed": -1}, "seed is"),
        ({"workers": 0}, "workers is 0"),
    ],
)
def test_bad_arguments_are_named(tmp_path, arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        liu.reproduce(tmp_path / "out", **arguments)
    assert not list(tmp_path.iterdir())


def test_tables_hold_printed_and_ours(result):
    binary, normal = result.tables[:2]
    where = {"ε": 1.0, "n": 100, "p": 0.1}
    assert binary.numbers("v+b/m", **where, numbers="printed") == [0.961]
    assert 0 <= binary.numbers("v+b/m", **where, numbers="ours")[0] <= 1
    assert normal.numbers("single", ε=0.5, n=100, numbers="printed") == [0.551]
    assert len(binary.values) == 2 * len(BINARY) == 32
    assert len(normal.values) == 2 * len(GAUSSIAN) == 16


def exact_coverage(n: int, p: float) -> float:
    """Of the usual interval for a proportion."""
    half = stats.norm.ppf(0.975)
    return sum(
        stats.binom.pmf(x, n, p)
        for x in range(n + 1)
        if abs(x / n - p) <= half * math.sqrt(x / n * (1 - x / n) / n)
    )


def test_the_labels_of_table_1a():
    """The original's coverage is that of 10 times the printed n, and not of the printed."""
    for (_, n, p), (original, *_) in BINARY.items():
        right, wrong = exact_coverage(n, p), exact_coverage(n // 10, p)
        error = math.sqrt(right * (1 - right) / 5000)
        assert abs(original - right) < 5 * error
        if n == 100:
            assert abs(original - wrong) > 8 * error


def truncated_epsilon(n: int, scale: float) -> float:
    """Of one truncated count, by its law for every pair of neighbours and every output."""
    laws = []
    for x in range(n + 1):
        mass = [math.exp(-abs(s - x) / scale) for s in range(n + 1)]
        laws.append([each / math.fsum(mass) for each in mass])
    return max(
        abs(math.log(a / b))
        for one, other in pairwise(laws)
        for a, b in zip(one, other, strict=True)
    )


def test_what_truncation_costs():
    table = cost_table()
    column, factor = table.columns[3:]
    for m in (2, 10, 50, 500):
        where = {"records": "binary", "n": 100, "m": m}
        (found,), (more,) = table.numbers(column, **where), table.numbers(factor, **where)
        assert found == pytest.approx(m * truncated_epsilon(100, m), rel=1e-9)
        assert m * truncated_epsilon(100, m * more) == pytest.approx(1, rel=1e-6)
    assert all(1.4 < each < 2 for each in table.numbers(column))


def test_a_stopped_run_continues(tmp_path, monkeypatch):
    some = [cell for cell in liu_cells.cells() if cell.part == "single"][:6]
    monkeypatch.setattr(liu_cells, "cells", lambda: some)
    journal, other = tmp_path / "j", tmp_path / "k"
    whole = liu_cells.run_cells(journal, **SMALL, workers=1)
    lines = journal.read_bytes().splitlines(keepends=True)
    other.write_bytes(b"".join(lines[:3]) + lines[3][:9])
    told: list[str] = []
    again = liu_cells.run_cells(other, **SMALL, workers=2, tell=lambda what, _: told.append(what))
    assert again == whole
    assert told == [f"{k} of 6 cells" for k in (2, 3, 4, 5, 6)]
    with pytest.raises(bdp.errors.InvalidInput, match="of another study"):
        liu_cells.run_cells(journal, replicates=20, seed=6)


def test_a_quick_run_leaves_the_posteriors_out_and_changes_nothing_else(
    tmp_path, monkeypatch, result, made
):
    with monkeypatch.context() as patch:
        patch.setattr(liu_cells, "compare", lambda *_: pytest.fail("a posterior in a quick run"))
        every = [cell for cell in liu_cells.cells() if cell.part != "posterior"]
        found = liu_cells.run_cells(
            tmp_path / "j", replicates=20, seed=2016, workers=1, leave_out={"posterior"}
        )
    assert set(found) == set(every)
    assert all(made[cell] == numbers for cell, numbers in found.items())
    monkeypatch.setattr(liu, "run_cells", lambda journal, **_: journal.touch() or found)
    quick = find_paper("liu", 20, quick=True)(tmp_path / "liu", workers=1)
    assert {table.name for table in result.tables} - {table.name for table in quick.tables} == {
        "posterior", "posterior_normal", "posterior_unknown"
    }  # fmt: skip
    kept = {table.name: table.values for table in result.tables}
    assert all(table.values == kept[table.name] for table in quick.tables)
    assert any("left out" in finding for finding in quick.findings)
    with pytest.raises(bdp.errors.InvalidInput, match=r"quick .* groce .*hu, liu"):
        find_paper("groce", quick=True)


def test_every_cell_is_there_once():
    every = liu_cells.cells()
    assert len(set(every)) == len(every)
    assert {d.n for part, d in map(_parts, every) if part == "figure6" and d.p} == {
        100, 1000, 10_000, 100_000
    }  # fmt: skip


def _parts(cell):
    return cell.part, cell.design


# Of binary records; of normal ones, whose means are in the middle of the bounds and not.
SOME = [(1.0, 100, 0.1), (10.0, 100, 0.0), (0.5, 10, 2.0)]


@pytest.mark.parametrize("where", [SOME, pytest.param(None, marks=pytest.mark.calibrate)])
def test_claims_and_printed_numbers(where, monkeypatch):
    """At 2000 replicates: Table 1 reproduces, and what is said of Figure 6(a) at 100 times n."""
    designs = [
        design
        for design in liu_cells.posterior_designs()
        if design.share is None  # those of unknown sd are for test_liu_study.py
        if where is None or (design.epsilon, design.n, design.truth) in where
    ]
    assert where is None or len(designs) == len(where)
    cells = {}
    for place, cell in enumerate(liu_cells.cells()):
        of_normal_records = cell.design.bounds and cell.part.startswith("figure")
        if cell.part != "posterior":  # what is said of those figures isn't asserted
            few = where is not None and of_normal_records
            cells[cell] = liu_cells.numbers(2016, (place, cell, 20 if few else 2000))
        elif cell.design in designs:
            cells[cell] = liu_cells.numbers(2016, (place, cell, 500))
    monkeypatch.setattr(liu_posterior_tables, "posterior_designs", lambda: designs)
    claims = claim_table(cells, 2000)
    verdicts: dict[str, list[str]] = {}
    for where, _, _, verdict in claims.values:
        verdicts.setdefault(str(where), []).append(str(verdict))
    assert verdicts["5.1, binary"] == ["false; true at 100 times n"] * 5
    assert verdicts["5.2, Table 1"] == ["true", "false", "true", "true", "true"]
    agreement = agreement_table(cells, 2000)
    assert max(map(abs, agreement.numbers("furthest, standard errors"))) < 5
    binary, normal, _ = posterior_tables(cells)
    assert max(binary.numbers(RATIO)) < 1.005
    for ratio, error in zip(
        normal.numbers(RATIO, n=100), normal.numbers("its standard error", n=100), strict=True
    ):
        assert ratio < 1 + 5 * error
    error = liu_cells.standard_error(0.95, 500)
    assert min(normal.numbers(COVERAGES[1])) > 0.95 - 5 * error
    assert min(normal.numbers(COVERAGES[0], mean=liu_cells.OFF_MIDDLE)) < 0.95 - 5 * error
