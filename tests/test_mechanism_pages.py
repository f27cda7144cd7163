"""The pages on mechanisms: each has its section, what it says it links to, and its code runs."""

import importlib.util
import re
from pathlib import Path

import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.inference.readers import models_of
from bayesdp.mechanisms.registry import REGISTRY
from tests.contracts.examples import EXAMPLES
from tests.test_site import part_of_the_site, reference

FOLDER = Path(__file__).parents[1] / "notebooks" / "mechanisms"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
EVERYTHING = "\n".join(TEXTS.values())
ANCHOR = re.compile(r"^#+ .+ \{ #(\w+) \}$", re.MULTILINE)


def sections() -> dict[str, str]:
    """The text below each anchor, up to the next."""
    found = {}
    for text in TEXTS.values():
        _, *parts = ANCHOR.split(text)
        found |= dict(zip(parts[::2], parts[1::2], strict=True))
    return found


def test_each_mechanism_has_one_section():
    anchors = [name for text in TEXTS.values() for name in ANCHOR.findall(text)]
    assert sorted(anchors) == sorted(REGISTRY)


@pytest.mark.parametrize("name", REGISTRY)
def test_its_section_says_what_is_needed(name: str):
    text = sections()[name]
    for part in ("**For** ", "**Promise.**", "**Limits.**"):
        assert part in text, part
    assert "**Law.**" in text or name == "censored_posterior"  # its page begins with it
    assert "```python" in text
    assert re.search(r"In\s+full:\s+`bayesdp\.", text)
    assert f"#{name})" in TEXTS["index.md"]


@pytest.mark.parametrize(
    "dotted",
    [
        dotted
        for dotted, thing in reference.callables()
        if thing.__module__.startswith("bayesdp.synthesis.") and isinstance(thing, type)
    ],
)
def test_each_synthesizer_is_linked(dotted: str):
    if dotted.endswith(".PseudoPosterior") or ".extending." in dotted:
        return  # what a synthesizer's method returns, and their bases
    assert f"][{dotted}]" in EVERYTHING


def test_each_section_says_what_to_cite():
    citations = part_of_the_site("citations")
    for name, text in TEXTS.items():
        page = citations.cited(text)
        assert page.count("**Cite.**") == len(ANCHOR.findall(text)), name
    counts = citations.cited(TEXTS["counts.md"])
    beta_binomial, dirichlet = counts.split("{ #dirichlet_multinomial }")
    assert "**Cite.** Charest (2010), section 4.2, and [this package]" in beta_binomial
    assert "**Cite.** Machanavajjhala, Kifer, Abowd, Gehrke and Vilhuber (2008), and" in dirichlet
    assert citations.cited(TEXTS["index.md"]) == TEXTS["index.md"]


def test_modules_that_are_named_exist():
    named = set(re.findall(r"`(bayesdp\.[\w.]+)`", EVERYTHING))
    assert len(named) > 20
    for name in named:
        assert importlib.util.find_spec(name), name


def test_the_table_lists_the_models_that_errors_name():
    """And no others, but those that read what a mechanism can't tell of itself."""
    rows = [line for line in TEXTS["index.md"].splitlines() if line.startswith("| [")]
    listed = {(row, model) for row in rows for model in re.findall(r"`(\w+Model)`", row)}
    numbers = bdp.synthesizers.NumericColumns({"a": (0, 1), "b": (0, 1)})
    declared = bdp.synthesizers.SequentialModipsSynthesizer([numbers])
    people = pd.DataFrame({"a": [0.1, 0.7, 0.4], "b": [0.2, 0.5, 0.9]})
    examples = (getattr(each, "values", (each,))[0].mechanism for each in EXAMPLES)
    read = set()
    for mechanism in (*examples, declared.release(people).mechanism):
        (row,) = [line for line in rows if f"#{mechanism.name})" in line]
        read |= {(row, model) for model in models_of(mechanism)}
    assert not read - listed
    assert {model for _, model in listed - read} == {"RecordModel"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TEXTS if name != "index.md"])
# What is released is random, and so is whether short chains mix: a fit that didn't says so.
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_every_block_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXTS[name], re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), {})
