"""The page "What goes wrong" has a section for every warning, verdict and error."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp import warned
from bayesdp.inference.verdict import NO_PROBLEM

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bayesdp"
TEXT = (ROOT / "notebooks" / warned.PAGE).read_text(encoding="utf-8")
PAGE = " ".join(TEXT.replace("\n> ", " ").split())
ANCHORS = re.findall(r"^#+ .+ \{ #([\w-]+) \}$", TEXT, re.MULTILINE)
# Reasons that a verdict is made of, as functions that list them begin.
REASONS = (
    *(NO_PROBLEM, "independent draws from the exact posterior", "R-hat is above 1.01"),
    *("R-hat compares chains, and only one was run", "bulk ESS is under 400"),
    *("tail ESS is under 400", "divergent transitions weren't recorded", "Pareto k is"),
    *("proposals were accepted, and still", "a region of the posterior is seldom visited"),
    *("climbs didn't end at the highest mode", "the normalising constant isn't known well enough"),
    *("don't forget where they start", "the model is degenerate where these"),
    *("hidden graphs were empty or complete", "classes don't follow what was released"),
    *("a record's cells have", "no weights of a latent table's records follow what was released"),
    *("is in cells that noise drowns", "is within its cells"),
    "nothing that was released says how alike these are",
    *("CONVICTED: the claim is false", "no violation found", "no violation could be found"),
)


def warnings_of(path: Path) -> Iterator[tuple[str, str, str | None]]:
    """The constant pieces of a warning's text, its place, and its section if it has one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or path.name == "warned.py":
            continue
        called = ast.unparse(node.func)
        if called not in ("warnings.warn", "warn_about"):
            continue
        pieces = [
            part.value
            for part in ast.walk(node.args[0])
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        section = ast.literal_eval(node.args[1]) if called == "warn_about" else None
        yield ". ".join(pieces), f"{path.name}:{node.lineno}", section


def test_every_warning_is_on_the_page():
    found = [one for path in sorted(PACKAGE.rglob("*.py")) for one in warnings_of(path)]
    assert len(found) > 15
    for text, place, section in found:
        clauses = [" ".join(part.split()[:8]) for part in re.split(r"[:;.(]", text)]
        begins = max((each for each in clauses if each in PAGE), key=len, default=text)
        said = "is deprecated" if "is deprecated" in text else begins
        assert section in ANCHORS if section else len(said) > 9 and said in PAGE, (place, said)


def test_each_section_is_there_once():
    assert len(ANCHORS) == len(set(ANCHORS))


@pytest.fixture(scope="module")
def sources() -> str:
    """All literals of the package, as one line."""
    texts = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    found = " ".join(each for text in texts for each in re.findall(r'"([^"\n]*)"', text))
    return " ".join(found.split())


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_of_a_verdict_is_there(reason: str, sources: str):
    for part in re.split(r"1\.01|400|bulk |tail ", reason):  # constants, filled in when it is said
        assert part.strip() in sources, part
    assert reason in PAGE


@pytest.mark.parametrize("name", [n for n in bdp.errors.__all__ if n != "BayesDPError"])
def test_every_error_is_there(name: str):
    assert f"[bayesdp.errors.{name}]" in TEXT


def test_a_warning_names_its_section():
    with pytest.warns(UserWarning, match=r"no finer.*\(see what_goes_wrong\.md#granularity\)"):
        bdp.mechanisms.LaplaceMechanism(scale=1.0, sensitivity=0.5, granularity=0.5)
