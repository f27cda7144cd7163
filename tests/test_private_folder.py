"""Private folders: whose they are, and that they go however their process ends."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp import private_folder
from bayesdp.private_folder import PREFIX, sweep

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no folder locks there")

# Says when there is something to remove, and waits to be killed.
PROGRAM = """
import signal, sys, time
from bayesdp.private_folder import private_folder
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what runs in background
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and this by what nohup starts
with private_folder() as folder:
    (folder / "inner").mkdir()
    (folder / "inner" / "records").write_text("confidential")
    print(folder, flush=True)
    if sys.argv[1:]:
        raise RuntimeError
    time.sleep(600)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of temporary files, in which alone is swept."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(private_folder, "_SHORT", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def start(root: Path) -> Iterator[Callable[..., tuple["subprocess.Popen[str]", Path]]]:
    started = []

    def run(*arguments: str) -> tuple["subprocess.Popen[str]", Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    yield run
    for process in started:
        process.kill()
        process.communicate()


def gone(folder: Path) -> bool:
    for _ in range(600):
        if not folder.exists():
            return True
        time.sleep(0.05)
    return False


def watcher_of(folder: Path) -> int:
    """The process that waits to remove a folder, by its last argument."""
    listed = subprocess.run(
        ["ps", "-eww", "-o", "pid=", "-o", "args="], capture_output=True, text=True, check=True
    )
    lines = [line for line in listed.stdout.splitlines() if line.endswith(str(folder))]
    (line,) = lines
    return int(line.split()[0])


def test_it_is_its_owner_s_alone_and_goes_with_the_context(root: Path) -> None:
    with private_folder.private_folder() as folder:
        assert folder.parent == root
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "records").write_text("confidential")
        sweep()
        assert (folder / "records").exists()
    assert list(root.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), private_folder.private_folder():
        raise KeyboardInterrupt
    assert list(root.iterdir()) == []


def test_it_goes_with_an_exception(
    start: Callable[..., tuple["subprocess.Popen[str]", Path]],
) -> None:
    process, folder = start("raise")
    assert process.wait() == 1
    assert not folder.exists()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_it_goes_when_its_process_is_killed(
    start: Callable[..., tuple["subprocess.Popen[str]", Path]], name: str
) -> None:
    process, folder = start()
    assert (folder / "inner" / "records").exists()
    process.send_signal(getattr(signal, name))
    assert process.wait() != 0
    assert gone(folder)


def test_what_is_left_goes_at_the_next_start_and_what_is_in_use_stays(
    start: Callable[..., tuple["subprocess.Popen[str]", Path]], root: Path
) -> None:
    process, folder = start()
    _, other = start()
    os.kill(watcher_of(folder), signal.SIGKILL)
    process.kill()
    process.wait()
    assert (folder / "inner" / "records").exists()
    bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1, 1])
    assert list(root.iterdir()) == [other]
    assert (other / "inner" / "records").exists()


def test_a_sweep_touches_nothing_but_private_folders(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = root / "elsewhere"
    kept.mkdir(mode=0o700)
    (kept / "file").touch()
    (root / f"{PREFIX}link").symlink_to(kept)
    (root / f"{PREFIX}open").mkdir(mode=0o755)
    (root / f"{PREFIX}file").touch(mode=0o700)
    (root / "bayesdp-mine").mkdir(mode=0o700)
    left = root / f"{PREFIX}left"
    left.mkdir(mode=0o700)
    (left / "link").symlink_to(kept)
    with monkeypatch.context() as patch:  # somebody else's
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        sweep()
    assert left.exists()
    sweep()
    assert {path.name for path in root.iterdir()} == {
        "elsewhere",
        "bayesdp-mine",
        f"{PREFIX}link",
        f"{PREFIX}open",
        f"{PREFIX}file",
    }
    assert (kept / "file").exists()


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, make = [], tempfile.mkdtemp

    def swept(*arguments: str, **options: str) -> str:
        made.append(make(*arguments, **options))
        if len(made) == 1:
            sweep()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept)
    with private_folder.private_folder() as folder:
        assert str(folder) == made[1]
        assert folder.is_dir()
    assert not Path(made[0]).exists()


def test_what_cannot_be_removed_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(private_folder, "_WATCH", "read -r _")
        patch.setattr(time, "sleep", lambda _: None)
        with (
            pytest.warns(RuntimeWarning, match="can't be removed; remove it by hand"),
            private_folder.private_folder() as folder,
        ):
            patch.setattr(shutil, "rmtree", lambda *_, **__: None)
    assert folder.exists()
    sweep()
    assert not folder.exists()


def test_names_of_sockets_in_it_are_short(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_folder, "_SHORT", "/tmp")
    monkeypatch.setattr(tempfile, "tempdir", str(root / ("x" * 60)))
    with private_folder.private_folder(sockets=True) as folder:
        assert len(bytes(folder / "httpstan_12345678.sock")) <= 103
