"""Nothing in the package is of one system alone, unless it asks which one it runs on.

Read, not run: these tests run on Linux. `mypy --platform win32` and `--platform darwin` find more
names that a system's modules lack (CONTRIBUTING.md).
"""

import ast
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp import cli
from bayesdp.cli import doctor
from bayesdp.privacy.ledger_database import _open_file

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "bayesdp").rglob("*.py"), *(ROOT / "notebooks" / "_site").glob("*.py")]
POSIX = {"crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource"}
WINDOWS = {"msvcrt", "winreg", "winsound", "_winapi"}
ONE_SYSTEMS = POSIX | WINDOWS | {"spwd", "syslog", "termios", "tty"}
# What os, signal and mmap lack on Windows.
LACKING = re.compile(
    r"\b(os\.(fork|forkpty|kill(pg)?|wait(pid|3|4)?|get(e?[ug]id|pgrp|pgid|pwuid|loadavg)|set(sid|pgrp)"
    r"|mkfifo|mknod|chown|fchmod|nice|uname|sysconf|pread|pwrite|sched_\w+|O_(DIRECTORY|NOFOLLOW))"
    r"|signal\.(SIGKILL|SIGHUP|SIGUSR[12]|SIGALRM|SIGCHLD|alarm|setitimer|pthread_\w+)"
    r"|mmap\.(MADV_\w+|PROT_\w+|MAP_\w+))\b"
)
ASKS = re.compile(r"sys\.platform|os\.name|platform\.system")
NOT_FILES = {"Ledger", "webbrowser", "os", "dask_clients"}
TEXT = {"read_text": 0, "write_text": 1}  # places of the encoding


def alone(body: list[ast.stmt]) -> Iterator[str]:
    """Modules of one system that are imported when a module is, whatever the system."""
    for node in body:
        if isinstance(node, ast.If) and ASKS.search(ast.unparse(node.test)):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in ONE_SYSTEMS)
        elif isinstance(node, ast.ImportFrom):
            yield from ({node.module or ""} & ONE_SYSTEMS)
        elif isinstance(node, ast.If | ast.With | ast.ClassDef | ast.Try):
            yield from alone(node.body)
            yield from alone(getattr(node, "orelse", []))


def unguarded(tree: ast.Module) -> Iterator[str]:
    """Names that Windows lacks, in functions that don't ask for the system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            text = ast.unparse(node)
            if not ASKS.search(text):
                yield from (found[0] for found in LACKING.finditer(text))


def without_encoding(tree: ast.Module) -> Iterator[str]:
    """Calls that read or write text in whatever encoding the system has."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        given = {each.arg: each.value for each in node.keywords}
        if "encoding" in given or None in given:
            continue
        called = ast.unparse(node.func)
        name = called.rpartition(".")[2]
        if name in TEXT and len(node.args) <= TEXT[name]:
            yield ast.unparse(node)
        elif name in ("open", "fdopen") and called.rpartition(".")[0] not in NOT_FILES:
            modes = [*node.args[0 if "." in called else 1 :], given.get("mode")]
            if not any(isinstance(m, ast.Constant) and "b" in str(m.value) for m in modes):
                yield ast.unparse(node)
        elif called.startswith("subprocess.") and {"text", "universal_newlines"} & given.keys():
            yield ast.unparse(node)


MAY = {  # quickly said: files that may have any
    alone: re.compile(rf"\b({'|'.join(ONE_SYSTEMS)})\b"),
    unguarded: LACKING,
    without_encoding: re.compile(r"read_text|write_text|open\(|subprocess"),
}


@pytest.mark.parametrize("find", MAY)
def test_no_module_is_of_one_system(find):
    found = {}
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if not MAY[find].search(text):
            continue
        tree = ast.parse(text)
        if seen := list(find(tree.body if find is alone else tree)):
            found[path.relative_to(ROOT).as_posix()] = seen
    assert found == {}


@pytest.mark.parametrize(
    ("find", "text", "seen"),
    [
        (alone, "try:\n    import fcntl\nexcept ImportError:\n    pass", 1),
        (alone, "if sys.platform != 'win32':\n    import fcntl", 0),
        (alone, "def f():\n    import fcntl", 0),
        (unguarded, "def f():\n    os.killpg(1, signal.SIGKILL)", 2),
        (unguarded, "def f():\n    if os.name != 'nt':\n        os.killpg(1, 9)", 0),
        (without_encoding, "p.read_text(); p.write_text('a'); open('a'); p.open('w')", 4),
        (without_encoding, "p.read_text('utf-8'); p.write_text('a', 'utf-8'); open('a', 'rb')", 0),
        (without_encoding, "subprocess.run([], text=True); Ledger.open(url); p.open('ab')", 1),
    ],
)
def test_the_searches_find_what_is_planted(find, text, seen):
    tree = ast.parse(text)
    assert len(list(find(tree.body if find is alone else tree))) == seen


def test_names_of_files_can_be_had_everywhere():
    """No two that differ in case alone, no device's name, nothing else that Windows refuses."""
    folders = ("bayesdp", "stan", "models", "tests", "notebooks")
    names = [p.relative_to(ROOT).as_posix() for f in folders for p in (ROOT / f).rglob("*")]
    names = [name for name in names if "__pycache__" not in name]
    assert len(names) > 500
    assert len({name.lower() for name in names}) == len(names)
    device = r"(^|/)(con|prn|aux|nul|com\d|lpt\d)(\.[^/]*)?(/|$)"
    refused = re.compile(rf'{device}|[<>:"|?*\\]|[ .](/|$)', re.IGNORECASE)
    assert [name for name in names if refused.search(name) or len(name) > 120] == []


def test_a_stream_without_a_letter_shows_another(monkeypatch):
    """Standard output of Windows, into a file, has some 250 letters: ε isn't among them."""
    content = io.BytesIO()
    streams = {name: io.TextIOWrapper(content, encoding="cp1252") for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "argv", ["bayesdp", "inspect", "größe-ε"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    streams["stderr"].flush()
    assert end.value.code == 2
    assert r"größe-\u03b5" in content.getvalue().decode("cp1252")


def test_caches_on_two_drives_share_no_folder():
    assert doctor._common([Path("/a/b"), Path("/a/c")]) == Path("/a")
    assert doctor._common([Path("/a"), Path("b")]) == Path("/a")  # as of C: and D:
    assert doctor._common([]) == Path()


def test_a_ledger_asks_macos_for_a_whole_sync(tmp_path):
    (tmp_path / "ledger.db").touch()
    connection = _open_file(tmp_path / "ledger.db")
    assert connection.execute("PRAGMA fullfsync").fetchone() == (1,)
    connection.close()


def test_what_is_synced_may_be_written(tmp_path, monkeypatch):
    """Windows syncs no file that was opened to be read."""
    flags, opened = [], os.open

    def watched(path, flag, *others, **more):
        if Path(path).is_file() and tmp_path in Path(path).parents:
            flags.append(flag)
        return opened(path, flag, *others, **more)

    monkeypatch.setattr(os, "open", watched)
    with bdp.reproducible(1):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1]).save(tmp_path / "release")
    synced = [flag for flag in flags if not flag & os.O_CREAT]
    assert len(synced) == 2
    assert all(flag & os.O_RDWR for flag in synced)


@pytest.mark.slow
def test_chains_that_are_spawned(tmp_path):
    """PyMC's own sampler sends the model to processes that know nothing of this one."""
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing\n"
        "import bayesdp as bdp\n"
        "if __name__ == '__main__':\n"
        "    multiprocessing.set_start_method('spawn')\n"
        "    mechanism = bdp.mechanisms.BetaBinomialMechanism(n=40, size=40, prior=(5, 5))\n"
        "    release = bdp.Release.of(mechanism, [12])\n"
        "    model = bdp.BinomialModel()\n"
        "    how = {'engine': 'pymc', 'sampler': 'pymc', 'draws': 300, 'chains': 2, 'seed': 1}\n"
        "    p = model.fit(release, **how).posterior['p']\n"
        "    print(float(p.mean()) - model.posterior(release).mean())\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert abs(float(done.stdout.split()[-1])) < 0.1  # the posterior's sd is about as large
