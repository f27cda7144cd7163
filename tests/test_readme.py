"""The README's Python, and that of the recipes, runs as it stands, block after block."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import bayesdp as bdp

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
HOW_TO = (ROOT / "notebooks" / "how_to.md").read_text()


# What is released is random, and so is whether chains mix: a fit that didn't says so.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of ArviZ's, in pandas
@pytest.mark.filterwarnings("ignore:Passing a dict:DeprecationWarning")  # of ArviZ's, in Matplotlib
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto:UserWarning")
@pytest.mark.parametrize(
    ("text", "blocks", "printed"),
    [
        pytest.param(TEXT, 2, r"^epsilon = 2 \(replace_one, proved\)$", id="README"),
        pytest.param(HOW_TO, 31, r"^0\.3508", id="how_to"),
    ],
)
def test_every_block_runs(
    text: str, blocks: int, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(found) == blocks
    for block in found:
        exec(compile(block, "a page", "exec"), {})
    out = capsys.readouterr().out
    assert re.search(printed, out, re.MULTILINE)
    for shown in re.findall(r"```text\n(.*?)```", text, re.DOTALL):
        assert shown in out


def test_the_study_file_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli):
    monkeypatch.chdir(tmp_path)
    (text,) = re.findall(r"```toml\n(.*?)```", HOW_TO, re.DOTALL)
    Path("study.toml").write_text(text)
    status, out, _ = run_cli("study study.toml --client none --replicates 3")
    assert status == 0
    assert out.startswith("Which epsilon is enough: synthesizer copies, n 200, copies 1")
    assert len(bdp.evaluate.StudyResults.load("which-epsilon").frame) == 2 * 3


def test_the_commands_exist():
    from bayesdp.cli import app

    commands = {command.callback.__name__ for command in app.registered_commands}
    commands |= {group.name for group in app.registered_groups}
    assert set(re.findall(r"^bayesdp (\w+)", TEXT, re.MULTILINE)) <= commands


def test_the_citation_is_of_this_version():
    assert re.findall(r"^  version = \{(.+)\},$", TEXT, re.MULTILINE) == [bdp.__version__]


def test_its_links_and_its_picture_are_there():
    """The picture has a description, and is small enough to be sent to a phone."""
    links = [link for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link]
    assert len(links) >= 3
    for link in links:
        assert (ROOT / link.partition("#")[0]).is_file(), link
    ((alt, picture),) = re.findall(r"!\[(.+)\]\((.+)\)", TEXT)
    assert len(alt) > 80
    assert (ROOT / picture).stat().st_size < 60_000
    assert ElementTree.parse(ROOT / picture).getroot().tag.endswith("svg")
