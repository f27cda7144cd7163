"""How the kernels of this room are compiled, and kept between runs."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])
_OWN = Path(__file__).parent


def kernel(function: F) -> F:
    """Compile on the first call, without the GIL, and keep the machine code on disk.

    numba throws a kept kernel away when its own file changes, but not when a kernel that it
    calls from another file does. So it is stamped with a digest of every file of its folder and
    of this one.
    Where no folder can be written to, nothing is kept.
    """
    return _kept(numba.njit(nogil=True, error_model="numpy")(function), function)


def _kept(compiled: Any, function: F) -> F:
    try:
        compiled.enable_caching()
    except RuntimeError:
        return compiled  # type: ignore[no-any-return]
    folder = Path(function.__code__.co_filename).parent
    compiled._cache._cache_file._source_stamp = _digest(folder) + _digest(_OWN)
    return compiled  # type: ignore[no-any-return]


def leaf(function: F) -> F:
    """A kernel that makes no array: without reference counts."""
    return _kept(numba.njit(nogil=True, error_model="numpy", _nrt=False)(function), function)


def inlined(function: F) -> F:
    """Compile into its callers: for small functions that take a whole graph."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function)  # type: ignore[no-any-return]


@functools.cache
def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _on_words(instruction: Callable[[Any, Any], Any]) -> Any:
    """One machine instruction on a 64-bit word, as a function that kernels call."""

    def make(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return instruction(builder, arguments[0])

        return types.int64(types.uint64), generate

    return intrinsic(make)


count_ones = _on_words(lambda builder, word: builder.ctpop(word))
"""Number of ones in a 64-bit word."""
lowest_one = _on_words(lambda builder, word: builder.cttz(word, _true()))
"""Place of the lowest one in a 64-bit word that isn't zero."""


def _true() -> Any:
    from llvmlite import ir

    return ir.Constant(ir.IntType(1), 1)
