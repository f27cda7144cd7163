"""Machine instructions on words of 64 bits, which kernels call as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.extending import intrinsic


def _on_words(instruction: Callable[[Any, Any], Any]) -> Any:
    """Turn one machine instruction on a 64-bit word into a function that kernels can call."""

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
