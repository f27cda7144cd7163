"""Writing of a folder or a file, whole or not at all, and never over somebody's work."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayesdp.checks import check_flag
from bayesdp.errors import InvalidInput, ReleaseExists, quoted

_SHOWN = 32
"""Characters of a name that are in a temporary one."""
_ROOM = 1 << 20
"""Bytes that a disk must have room for, more than nearly all results take, before one is paid."""


def check_target(target: Path, marker: str, *, force: bool, room: int = _ROOM) -> None:
    """Refuse a folder that exists, before any work is done for it.

    Parameters
    ----------
    target : Path
        Folder to write.
    marker : str
        A file by which a folder of the same kind is recognised; with `force`, only such a folder
        (or an empty one) is replaced.
    force : bool
        Whether a folder of the same kind may be replaced.
    room : int
        Bytes that there must be room for.

    Raises
    ------
    ReleaseExists
        If the folder exists and may not be replaced.
    InvalidInput
        If the folder it would be in doesn't exist or can't be written, there can be none of its
        name, or `force` is neither True nor False.
    """
    check_flag("force", force)
    _check_parent(target, room)
    if target.name in ("", "..") or target.is_mount():
        raise InvalidInput(
            f"{quoted(target)} is a folder that can't be made or replaced as a whole; name a new "
            "one, in it or beside it"
        )
    if not os.path.lexists(target):  # a link that leads nowhere is there, too
        return
    if not force:
        raise exists_already(target)
    if not target.is_dir() or (not (target / marker).is_file() and any(target.iterdir())):
        raise ReleaseExists(
            f"{quoted(target)} exists and has no {marker}, so it isn't replaced, not even with "
            "force; choose another name"
        )


def check_file(target: Path, *, force: bool) -> None:
    """Refuse a file that exists, before any work is done for it.

    Raises
    ------
    ReleaseExists
        If the file exists and may not be replaced, or is a folder.
    InvalidInput
        If the folder it would be in doesn't exist or can't be written, or `force` is neither True
        nor False.
    """
    check_flag("force", force)
    _check_parent(target, _ROOM)
    if target.is_dir():
        raise ReleaseExists(f"{quoted(target)} is a folder; name the file to write")
    if target.exists() and not force:
        raise exists_already(target)


def exists_already(target: Path) -> ReleaseExists:
    """The error for a target that exists already where `force` isn't given."""
    return ReleaseExists(
        f"{quoted(target)} exists already and nothing was written; choose another name, or "
        "replace it with force=True (--force)"
    )


@contextmanager
def whole_folder(target: Path, marker: str, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` when the block ends well.

    If the process is killed at any point, `target` is either unchanged, absent, or whole: files are
    on disk before the one rename that makes them visible.
    """
    check_target(target, marker, force=force, room=0)
    work = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
    try:
        yield work
        for path in work.rglob("*"):
            _sync(path)
        _sync(work)
        work.chmod(0o777 & ~_umask())
        _replace(work, target, marker, force=force)
        _sync(target.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `target` when the block ends well."""
    _check_parent(target, 0)
    handle, name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
    os.close(handle)
    work = Path(name)
    try:
        yield work
        _sync(work)
        work.chmod(0o666 & ~_umask())
        work.replace(target)
        _sync(target.parent)
    finally:
        work.unlink(missing_ok=True)


def _prefix(target: Path) -> str:
    """Hidden name of what becomes the target, which a long name leaves no room for."""
    return f".{target.name[:_SHOWN]}-"


def _check_parent(target: Path, room: int) -> None:
    """Refuse a target that can't be written: its folder, by a file without a name, or its name."""
    if not target.parent.is_dir():
        raise InvalidInput(f"folder {quoted(target.parent)} doesn't exist; create it first")
    try:
        with tempfile.TemporaryFile(dir=target.parent) as probe:
            probe.write(bytes(room))
    except OSError as error:
        raise InvalidInput(
            f"nothing can be written in folder {quoted(target.parent)} ({error.strerror}); "
            "choose another place"
        ) from error
    try:
        os.lstat(target)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise InvalidInput(
            f"{quoted(target)} can't be written ({error.strerror}); choose another name"
        ) from error


def _replace(work: Path, target: Path, marker: str, *, force: bool) -> None:
    check_target(target, marker, force=force, room=0)
    if not target.exists():
        try:
            work.rename(target)
        except OSError as error:  # another process was faster
            raise ReleaseExists(
                f"{quoted(target)} appeared meanwhile; nothing was written"
            ) from error
        return
    old = Path(tempfile.mkdtemp(prefix=f"{_prefix(target)}old-", dir=target.parent))
    target.rename(old / "replaced")
    work.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # a folder has no handle to sync there
        return
    # Windows syncs only what may be written, and no system opens a folder to be written.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
