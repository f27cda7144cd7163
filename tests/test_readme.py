"""The README's Python runs as it stands, block after block."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


# What is released is random, and so is whether chains mix: a fit that didn't says so.
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) >= 4
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "epsilon = 2 (replace_one, proved)" in printed
    assert re.search(r"^0\.3508", printed, re.MULTILINE)


def test_the_commands_exist():
    from bayesdp.cli import app

    commands = {command.callback.__name__ for command in app.registered_commands}
    commands |= {group.name for group in app.registered_groups}
    assert set(re.findall(r"^bayesdp (\w+)", TEXT, re.MULTILINE)) <= commands
