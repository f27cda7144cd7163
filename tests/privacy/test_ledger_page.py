"""A team's budget: every command of its recipe, in order, on a server."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.privacy.conftest import Cluster, find_program

PAGE = Path(__file__).parents[2] / "notebooks" / "how_to.md"


def commands() -> list[str]:
    """Its lines of shell, joined where they go on, without comments."""
    section = PAGE.read_text(encoding="utf-8").partition("{ #a-teams-budget }")[2]
    blocks = re.findall(r"```sh\n(.*?)```", section.partition("\n##")[0], re.DOTALL)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    return [re.sub(r"\s+#.*", "", line) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("faulty", [False, True])
def test_every_command_runs(
    faulty: bool, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli
):
    """Or, where the last entry is deleted in the night, those before the first that looks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGHOST", str(cluster.folder))
    monkeypatch.setenv("PGUSER", "tester")
    for database in ("ledgers", "restored"):
        cluster.sql(f"DROP DATABASE IF EXISTS {database}")
    for role in ("ann", "bob", "ledger_auditor", "ledger_spender", "keeper"):
        cluster.sql(f"DROP ROLE IF EXISTS {role}")
    ran, refused = set(), None
    for line in commands():
        name, *words = shlex.split(os.path.expandvars(line))
        ran.add(" ".join([name, *words[:2]]) if name == "bayesdp" else name)
        if found := re.fullmatch(r"(\w+)=(.+)", name):
            place = rf"@/\1?host={cluster.folder}"
            monkeypatch.setenv(found[1], re.sub(r"@db\.office/(\w+)", place, found[2]))
            continue
        if name != "bayesdp":
            program = find_program(name) or missing("PostgreSQL", "apt-get install postgresql")
            subprocess.run([str(program), *words], check=True, capture_output=True)
            continue
        if faulty and "monday.jsonl" in words and "tuesday.jsonl" in words:
            rewrite(cluster)
        status, out, err = run_cli(shlex.join(words).partition(" '>' ")[0])
        if status:
            refused = line, err
            break
        if ">" in words:
            Path(words[-1]).write_text(out)
    if faulty:
        assert refused is not None
        assert "--extends monday.jsonl" in refused[0]
        assert "'voters-2026' has 0 entries left of 1" in refused[1]
        return
    assert refused is None, refused
    verbs = ("create", "roles", "spend", "key", "export", "verify", "restore")
    assert ran >= {f"bayesdp ledger {verb}" for verb in verbs} | {"psql", "createdb", "createuser"}
    assert Path("monday.jsonl").read_text() == Path("tuesday.jsonl").read_text()


def rewrite(cluster: Cluster) -> None:
    """Cut the history back, as the keeper could, with a count, a hash and a seal that fit."""
    from bayesdp.privacy.ledger_chain import seal

    cluster.sql("DELETE FROM bayesdp_entry WHERE position = 1", "ledgers")
    ((head,),) = cluster.sql("SELECT hash FROM bayesdp_entry", "ledgers")
    own = f"rows = 1, head = '{head}', seal = '{seal('voters-2026', 1, str(head))}'"
    cluster.sql(f"UPDATE bayesdp_dataset SET {own}", "ledgers")
