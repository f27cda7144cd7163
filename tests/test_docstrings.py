"""The examples in the docstrings of public names run, and print what they say."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import bayesdp as bdp
from tests.test_site import reference

ROOT = Path(__file__).parents[1]
SHOWN = "".join((ROOT / n).read_text("utf-8") for n in ("README.md", "notebooks/how_to.md"))
EXAMPLES = {
    dotted: thing for dotted, thing in reference.callables() if ">>>" in (thing.__doc__ or "")
}
ELSEWHERE = {"CategoricalColumns"}  # in the example of `NumericColumns`


def test_what_readme_and_recipes_use_has_an_example():
    by_name = {dotted.rpartition(".")[2]: dotted for dotted, _ in reference.callables()}
    used = set(re.findall(r"\bbdp\.(?:\w+\.)?(\w+)", SHOWN)) | set(re.findall(r"`(\w+)`", SHOWN))
    used &= set(by_name)
    assert len(used) > 25
    assert {name for name in used if by_name[name] not in EXAMPLES} <= ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize("dotted", EXAMPLES)
# What is released is random, and so is whether short chains mix: a fit that didn't says so.
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_its_example_runs(dotted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    thing = reference.thing_of(dotted)
    module = importlib.import_module(thing.__module__)
    # A class's methods too, where they have examples of their own.
    found = doctest.DocTestFinder().find(thing, dotted, module, globs=dict(vars(module)))
    reported: list[str] = []
    runner = doctest.DocTestRunner()
    for example in found:
        runner.run(example, out=reported.append)
    assert runner.summarize(verbose=False).attempted > 0
    assert not reported, "".join(reported)


def test_a_wrong_example_would_be_seen():
    wrong = doctest.DocTestParser().get_doctest(
        ">>> bdp.Count(38, 100).failures\n63\n", {"bdp": bdp}, "wrong", None, 0
    )
    reported: list[str] = []
    doctest.DocTestRunner().run(wrong, out=reported.append)
    assert "Expected:" in "".join(reported)
