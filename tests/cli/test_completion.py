"""What the Tab key offers: commands, names, and the options of the synthesizer that is typed."""

from pathlib import Path

import pytest

from bayesdp.cli.fields import fields_of
from bayesdp.evaluation.declarations import SYNTHESIZERS


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, run_cli):
    """What bash is told to offer for the last word of a line."""

    def run(line: str) -> list[str]:
        monkeypatch.setenv("_BAYESDP_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", f"bayesdp {line}")
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" "))))
        status, out, err = run_cli("")
        assert (status, err) == (0, "")
        return out.split()

    return run


CASES = {
    "syn": ["synthesize", "synthesizers"],
    "ledger sh": ["show"],
    "init beta": ["beta_binomial"],
    "synthesizers edge": ["edge_flip"],
    "models table": ["table"],
    "fit r --family hier": ["hierarchical_binomial", "hierarchical_gaussian"],
    "plan --mec": ["--mechanisms"],
    "reproduce ": ["charest", "groce", "hu", "liu", "zheng"],
    "synthesize d.csv --synthesizer discrete": ["discrete_laplace"],
    "synthesize d.csv --synthesizer modips --fam": ["--family"],
    "synthesize d.csv --epsilon 2 --gr": ["--groups"],
    "synthesize d.csv --copies 3 --pri": ["--prior"],
    "synthesize d.csv --synthesizer nothing --ep": [],
    "synthesize d.csv --column ": [],
}


@pytest.mark.parametrize("line", CASES)
def test_what_is_offered(offered, line):
    assert offered(line) == CASES[line]


@pytest.mark.parametrize("name", ["table", "edge_flip", "sequential_modips"])
def test_every_option_of_a_synthesizer(offered, name):
    found = offered(f"synthesize d.csv --synthesizer {name} --")
    assert {field.option for field in fields_of(SYNTHESIZERS[name])} <= set(found)
    assert {"--column", "--ledger", "--json"} <= set(found)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(run_cli, shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    status, out, _ = run_cli(f"--show-completion {shell}")
    assert status == 0
    assert "_BAYESDP_COMPLETE" in out
    assert f"complete_{shell}" in out


def test_installing(run_cli, monkeypatch, tmp_path: Path):
    """In a home of its own."""
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    status, out, _ = run_cli("--install-completion bash")
    assert status == 0
    assert "bash completion installed" in out
    assert any("bayesdp" in path.name for path in tmp_path.rglob("*"))
