"""Compiled kernels, kept on the disk between runs."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


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
    compiled._cache._cache_file._source_stamp = digest(folder) + digest(own)
    return compiled  # type: ignore[no-any-return]


@functools.cache
def digest(folder: Path) -> str:
    """Of the names and contents of a folder's Python files."""
    found = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()
