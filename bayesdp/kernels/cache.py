"""Machine code of kernels, kept on the disk between runs."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile

from bayesdp.kernels.stamps import stamp

F = TypeVar("F", bound=Callable[..., Any])
_LOCK = "bayesdp-kernels.lock"


def kept(compiled: Any, function: F) -> F:
    """The kernel that numba made of `function`, its machine code kept from run to run.

    Of functions at the top of a file alone: one that is made inside another may hold what it was
    made with. Where no folder can be written to, nothing is kept.
    """
    if "<locals>" not in function.__qualname__:
        with contextlib.suppress(RuntimeError):
            compiled._cache = _Cache(compiled)
    return compiled  # type: ignore[no-any-return]


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's own, but for what its entries are found by: stamps, and neither lines nor times."""

    def __init__(self, compiled: Any) -> None:
        function = compiled.py_func
        super().__init__(function)
        python = f"py{sys.version_info[0]}{sys.version_info[1]}"
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}.{python}"
        self._cache_file = _File(self._cache_path, name, compiled)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[str, ...] | None:
        """Words alone: numba's own keys are classes, which an upgrade may have moved."""
        arguments = [_words(kind) for kind in getattr(sig, "args", sig)]
        return None if "" in arguments else (*arguments, *map(str, codegen.magic_tuple()))


def _words(kind: Any) -> str:
    """Describe an argument's type, with the fields of named tuples; "" where code isn't kept."""
    if isinstance(kind, types.BaseTuple):
        made = getattr(kind, "instance_class", tuple)
        within = [_words(each) for each in kind.types]
        named = f"{made.__module__}.{made.__qualname__}{getattr(kind, 'fields', ())}"
        return "" if "" in within else f"{named}({', '.join(within)})"
    # Functions are told apart by their addresses, which another run gives to others.
    return "" if isinstance(kind, types.Callable) or " at 0x" in str(kind) else str(kind)


class _File(IndexDataCacheFile):  # type: ignore[misc]
    """Index and code of one kernel; stamped on the first look, when all that it calls is there."""

    def __init__(self, folder: str, name: str, compiled: Any) -> None:
        self._compiled = compiled
        super().__init__(folder, name, None)

    @property
    def _source_stamp(self) -> str:
        return self._stamp

    @_source_stamp.setter
    def _source_stamp(self, stamp: None) -> None:
        pass

    @functools.cached_property
    def _stamp(self) -> str:
        return stamp(self._compiled)

    def load(self, key: Any) -> Any:
        """Code that was kept for arguments of some types, or None."""
        return None if key is None else super().load(key)

    def save(self, key: Any, data: Any) -> None:
        """Keep a kernel's code for arguments of some types; in place of numba's own `save`.

        That one lets two processes, each compiling for other types, give their code the same name,
        so that a later run calls the one for the other; and its index names code that isn't
        written yet, while under that name an earlier version of the kernel may still be there.
        """
        from filelock import FileLock

        if key is None:
            return
        lock = FileLock(Path(self._cache_path, _LOCK))
        try:
            lock.acquire()
        except (OSError, NotImplementedError):  # a disk without locks: nothing is kept
            return
        try:
            names = self._load_index()
            free = (self._data_name(k) for k in itertools.count(1))
            name = names.get(key) or next(name for name in free if name not in names.values())
            self._save_data(name, data)
            self._save_index({**names, key: name})
        finally:
            lock.release()
