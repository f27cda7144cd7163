"""Machine code of kernels, cached on disk between runs."""

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


def kept(compiled: Any, function: F, kind: str = "") -> F:
    """Cache the machine code of the kernel that numba made of `function`, from run to run.

    A second `kind` of code for the same function is cached beside the first. This is for functions
    at the top of a file only: one that is made inside another may hold values that it was made
    with. Where no folder can be written to, nothing is cached, and nothing is compiled where
    NUMBA_DISABLE_JIT asks numba for the function itself.
    """
    if compiled is not function and "<locals>" not in function.__qualname__:
        with contextlib.suppress(RuntimeError):
            compiled._cache = _Cache(compiled, kind)
    return compiled  # type: ignore[no-any-return]


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache with another key for its entries: stamps instead of lines and times."""

    def __init__(self, compiled: Any, kind: str) -> None:
        function = compiled.py_func
        super().__init__(function)
        python = f"py{sys.version_info[0]}{sys.version_info[1]}"
        where = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        name = ".".join((where, *filter(None, (kind,)), python))
        self._cache_file = _File(self._cache_path, name, compiled)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[str, ...] | None:
        """Build a key of strings only: numba's own keys are classes, which an upgrade may move."""
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
    """Index and code of one kernel, stamped on first use, when everything that it calls exists."""

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
        """Load the code cached for some argument types, or return None."""
        return None if key is None else super().load(key)

    def save(self, key: Any, data: Any) -> None:
        """Cache a kernel's code for some argument types, instead of numba's own `save`.

        numba's lets two processes, each compiling for other types, give their code the same name,
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
