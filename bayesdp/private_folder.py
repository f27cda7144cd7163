"""Folders for confidential files, which nobody else can read and which don't outlive their use.

Only its owner can read a folder (mode 0700), and it is removed in one of three ways:

* its context ends, also by an exception or Ctrl-C;
* the process ends without that, by SIGTERM, SIGKILL or a crash: then a shell removes the folder,
  which waits for the end of the process and ignores signals that are sent to a whole group;
* that shell was killed too, or the machine stopped: the next start removes the folder (`sweep`).
  A folder in use is recognised by a lock on it (flock), which the system releases when a process
  ends, so that a reused process number can't be mistaken for the owner's.

The content of a removed file isn't overwritten, and may stay in the disk's free space until it is
used again. On Windows there are neither such a shell nor locks on folders, so the folder of a
killed process stays until it is removed by hand.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bayesdp.warned import warn_about

if sys.platform != "win32":
    import fcntl

PREFIX = "bayesdp-private-"
_SHORT = "/tmp"  # where names of sockets fit whatever TMPDIR is
_LONGEST = 52  # bytes that leave room for PREFIX, and for "/httpstan_12345678.sock", in 103
_TRIES = 20
# What a program that is ending still writes may come between, so it tries more than once.
_WATCH = """
trap "" HUP INT QUIT TERM
read -r _
for _ in 1 2 3 4 5; do rm -rf -- "$0" && exit; sleep 1; done
"""


@contextlib.contextmanager
def private_folder(*, sockets: bool = False) -> Iterator[Path]:
    """Yield a new folder for confidential files, which is removed whatever ends its use.

    Parameters
    ----------
    sockets : bool
        Whether Unix sockets will be in it, whose paths must be short; it is then in /tmp if the
        folder of temporary files has a long path.
    """
    root = tempfile.gettempdir()
    if sockets and sys.platform != "win32" and len(os.fsencode(root)) > _LONGEST:
        root = _SHORT
    sweep()
    folder, lock = _locked(root)
    watcher = None
    try:
        watcher = _watch(folder)
        yield folder
    finally:
        _remove(folder)
        if lock is not None:
            os.close(lock)
        if watcher is not None and watcher.stdin is not None:
            watcher.stdin.close()
            watcher.wait()


def sweep() -> None:
    """Remove private folders of this user that no living process has in use.

    It searches the folder of temporary files and /tmp. Nothing of another user is touched, and no
    symbolic link is followed.
    """
    if sys.platform == "win32":
        return
    for root in {tempfile.gettempdir(), _SHORT}:
        with contextlib.suppress(OSError), os.scandir(root) as entries:
            for entry in entries:
                if entry.name.startswith(PREFIX):
                    with contextlib.suppress(OSError):
                        _sweep(entry.path)


def _sweep(path: str) -> None:
    """Remove a folder if it is ours, private and not in use."""
    if sys.platform != "win32":
        status = os.lstat(path)
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if not ours or stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
            return
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError where it is in use
            shutil.rmtree(path)
        finally:
            os.close(lock)


def _locked(root: str) -> tuple[Path, int | None]:
    """Make a new folder, and return it with the handle of its lock, where there are locks."""
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        try:
            lock = _lock(folder)
        except FileNotFoundError:  # swept before it could be locked
            continue
        if folder.exists():
            return folder, lock
        if lock is not None:
            os.close(lock)
    raise OSError(f"no private folder could be made in {root}")


def _lock(folder: Path) -> int | None:
    """Lock a folder; None on Windows, which locks files alone."""
    if sys.platform != "win32":
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        # Where the disk has no locks, a sweep gets none either, and leaves the folder.
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        return lock
    return None


def _watch(folder: Path) -> subprocess.Popen[bytes] | None:
    """Start a shell that removes the folder when its input ends, as this process ends."""
    if sys.platform == "win32":
        return None
    return subprocess.Popen(
        ["/bin/sh", "-c", _WATCH, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def _remove(folder: Path) -> None:
    """Remove a folder, and retry if a program that is ending still writes to it."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)
    warn_about(
        f"folder {str(folder)!r} has confidential files and can't be removed; remove it by hand",
        "private-folder",
        stacklevel=4,
        category=RuntimeWarning,
    )
