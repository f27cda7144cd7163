"""The guides: figures are those that were measured, blocks run, and no page is a dead end."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from tests.benchmarks import choosing

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
PAGES = [*NOTEBOOKS.glob("*.py"), *NOTEBOOKS.glob("*.md"), *NOTEBOOKS.glob("mechanisms/*.md")]
STORED = json.loads(choosing.STORED.read_text(encoding="utf-8"))


def text_of(name: str) -> str:
    return (NOTEBOOKS / f"{name}.md").read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_benchmark():
    tables = choosing.tables(STORED)
    found = re.findall(r"<!-- table: (\w+) -->\n\n(.*?)\n\n<!-- end -->", text_of("choosing"), re.S)
    assert dict(found) == tables


def test_every_way_was_measured_at_every_epsilon():
    measured = {(q, row["mechanism"], row["epsilon"]) for q in STORED for row in STORED[q]}
    for way in choosing.WAYS:
        for epsilon in choosing.EPSILONS:
            assert (way.question, way.mechanism, epsilon) in measured


@pytest.mark.parametrize(("question", "mechanism"), [("proportion", "discrete_laplace, 5 copies")])
def test_a_figure_can_be_had_again(question: str, mechanism: str):
    (way,) = [w for w in choosing.WAYS if (w.question, w.mechanism) == (question, mechanism)]
    (row,) = [r for r in STORED[question] if (r["mechanism"], r["epsilon"]) == (mechanism, 1.0)]
    again = choosing.measured(way, 1.0)
    assert again["width"] == pytest.approx(row["width"], rel=1e-9)
    assert again["coverage"] == row["coverage"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["choosing", "your_own_data"])
# What is released is random, and so is whether chains mix: a fit that didn't says so.
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_every_block_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"voted": ["yes", "no", "no"] * 100}).to_csv("yours.csv", index=False)
    blocks = re.findall(r"```python\n(.*?)```", text_of(name), re.DOTALL)
    assert len(blocks) > 1
    for block in blocks:
        exec(compile(block, name, "exec"), {"__name__": "block"})


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_says_what_it_is_for_and_leads_on(path: Path):
    text = path.read_text(encoding="utf-8")
    assert "This page is for" in text or path.stem == "01_a_whole_survey"
    assert re.search(r"\]\((\.\./)?\w+(/\w+)?\.md", text) or path.stem == "01_a_whole_survey"


def test_data_and_releases_are_seeded_apart():
    """From one seed both have the same random bits, so that noise goes with what it is added to."""
    blocks = re.findall(r"```python\n(.*?)```", text_of("how_to"), re.DOTALL)
    for text in (*blocks, *(path.read_text(encoding="utf-8") for path in NOTEBOOKS.glob("*.py"))):
        data, releases = (
            set(re.findall(rf"{name}\((\d+)\)", text)) for name in ("default_rng", "reproducible")
        )
        assert not data & releases


def test_tutorials_are_numbered_without_a_gap():
    names = sorted(path.stem for path in NOTEBOOKS.glob("*.py"))
    assert [int(name[:2]) for name in names] == list(range(len(names)))


def test_the_start_page_leads_to_all():
    start = (NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")
    for path in PAGES:
        if path.parent == NOTEBOOKS:
            assert f"](notebooks/{path.name}" in start, path.name
