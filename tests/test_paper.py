"""The paper: of its length, with the sections of its form, and every number in it held."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from bayesdp.papers.errata import ERRATA, evidence
from tests.benchmarks import choosing
from tests.test_site import part_of_the_site

ROOT = Path(__file__).parents[1]
paper = part_of_the_site("paper")
PAGE = paper.PAGE.read_text(encoding="utf-8")
HEAD, BODY = PAGE.removeprefix("---\n").split("\n---\n", 1)
TEXT, REFERENCES = BODY.split("\n## References\n")
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
# Numbers that the example declares, in its code or before it.
DECLARED = {"400", "0.3", "95%", "2", "1"}


def widths() -> dict[str, str]:
    """Mean widths of the intervals of a proportion at an epsilon of 1, by mechanism."""
    stored = json.loads(choosing.STORED.read_text(encoding="utf-8"))["proportion"]
    rows = [row for row in stored if row["epsilon"] in (1, None)]
    return {row["mechanism"]: f"{row['width']:.3g}" for row in rows}


def test_its_form():
    """JOSS asks for 750 to 1750 words, and for these sections."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", PROSE).split()
    assert 750 <= len(words) <= 1750
    assert "- name: The bayesdp developers" in HEAD
    assert re.findall(r"^## (.+)$", BODY, re.MULTILINE)[:3] == [
        "Summary",
        "Statement of need",
        "State of the field",
    ]
    assert BODY.count("![") == 1


def test_what_is_cited_is_listed_and_what_is_listed_is_cited():
    listed = re.findall(r"^- ([^,]+), .*?\((\d{4})\)\.", REFERENCES, re.MULTILINE)
    assert len(listed) == REFERENCES.count("\n- ")
    flat = " ".join(TEXT.split())
    names = r"([A-Z][\w-]+)(?: & [A-Z][\w-]+| et al\.)?,? \(?((?:\d{4}(?:, )?)+)"
    cited = {(name, year) for name, years in re.findall(names, flat) for year in years.split(", ")}
    assert cited == set(listed)


def test_every_number_is_held():
    found = widths()
    false = sum(erratum.flaw.value == "false" for erratum in ERRATA)
    (theorem,) = [e for e in ERRATA if (e.paper, e.place) == ("zheng", "Theorem 7.12")]
    shown = evidence(theorem)[0]
    assert "n = 100" in shown.case
    assert shown.printed == 1
    held = {
        f"1,000 records at ε = 1 a 95% interval from five such copies is "
        f"{found['beta_binomial, 5 copies']} wide",
        f"from one count with discrete Laplace noise {found['discrete_laplace']}, and without "
        f"privacy {found['without privacy']} ",
        f"against {len(ERRATA)} printed statements, of which {false} are false",
        f"gives {shown.found:.3f}: Theorem 7.12 of Zheng (2015), with 100 records",
        "brute force in 50 digits to a relative 1e-12",  # as the test beside it is written
        "Apache 2.0.",
    }
    flat = " ".join(PROSE.split())
    for sentence in held:
        assert sentence in flat, sentence
        flat = flat.replace(sentence, "")
    flat = re.sub(r"\]\([^)]*\)|`[^`]*`|\b(19|20)\d\d\b|Figure 1", "", flat)
    assert set(re.findall(r"\d[\d.,]*\d%?|\d%?", flat)) <= DECLARED


def test_the_tests_that_it_cites_are_there():
    cited = re.findall(r"`(tests/[\w/]+\.py)`", TEXT)
    assert len(cited) == 3
    for name in cited:
        assert (ROOT / name).is_file()
    exact = (ROOT / cited[0]).read_text(encoding="utf-8")
    assert "workdps(50)" in exact
    assert "rel=1e-12" in exact


@pytest.mark.slow
def test_its_example_prints_what_it_says_and_its_figure_shows_it():
    results, printed = paper.run(PAGE)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert printed.split() == shown.split()
    held = {name: sum(row[-1] for row in paper.covered(results, name)) for name, *_ in paper.PANELS}
    assert "hold the truth" in PAGE
    assert held == {"naive": 0, "posterior": 20}  # as the picture's description has it
    figure = paper.drawn(results)
    texts = [axis.get_title() for axis in figure.axes]
    assert [re.findall(r"\d+", text) for text in texts] == [["0", "20"], ["20", "20"]]
    plt.close(figure)
