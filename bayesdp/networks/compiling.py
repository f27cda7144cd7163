"""Compilation of the networks' kernels: decorators that set numba's options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import types
from numba.extending import intrinsic

from bayesdp.kernel_cache import kept

F = TypeVar("F", bound=Callable[..., Any])
_OWN = Path(__file__).parent


def kernel(function: F) -> F:
    """Compile on the first call, without the GIL, and keep the machine code on disk."""
    return kept(numba.njit(nogil=True, error_model="numpy")(function), function, _OWN)


def leaf(function: F) -> F:
    """Compile a kernel that makes no array: without reference counts."""
    compiled = numba.njit(nogil=True, error_model="numpy", _nrt=False)(function)
    return kept(compiled, function, _OWN)


def inlined(function: F) -> F:
    """Compile into its callers: for small functions that take a whole graph."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function)  # type: ignore[no-any-return]


def _on_words(instruction: Callable[[Any, Any], Any]) -> Any:
    """Make one machine instruction on a 64-bit word a function that kernels call."""

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
