"""Compiled kernels, kept on the disk between runs."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_LOCK = "bayesdp-kernels.lock"


def kept(compiled: Any, function: F, own: Path) -> F:
    """The kernel that numba made of `function`, its machine code kept from run to run.

    numba throws a kept kernel away when its own file changes, but not when a kernel that it
    calls from another file does. So it is stamped with a digest of every file of its folder and
    of the folder `own`, whose kernels it may call too. Where no folder can be written to, nothing
    is kept.
    """
    try:
        compiled.enable_caching()
    except RuntimeError:
        return compiled  # type: ignore[no-any-return]
    folder = Path(function.__code__.co_filename).parent
    file = compiled._cache._cache_file
    file._source_stamp = digest(folder) + digest(own)
    file.save = functools.partial(_save, file)
    return compiled  # type: ignore[no-any-return]


def _save(file: Any, key: Any, code: Any) -> None:
    """Keep a kernel's code for arguments of some types; in place of numba's own `save`.

    That one lets two processes, each compiling for other types, give their code the same name,
    so that a later run calls the one for the other; and its index names code that isn't written
    yet, while under that name an earlier version of the kernel may still be there.
    """
    from filelock import FileLock

    lock = FileLock(Path(file._cache_path, _LOCK))
    try:
        lock.acquire()
    except (OSError, NotImplementedError):  # a disk without locks: nothing is kept
        return
    try:
        names = file._load_index()
        free = (file._data_name(k) for k in itertools.count(1))
        name = names.get(key) or next(name for name in free if name not in names.values())
        file._save_data(name, code)
        file._save_index({**names, key: name})
    finally:
        lock.release()


@functools.cache
def digest(folder: Path) -> str:
    """SHA-256 of the names and contents of a folder's Python files."""
    found = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()
