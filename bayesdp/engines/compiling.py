"""Compilation of the engines' kernels: decorators that set numba's options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from bayesdp.kernel_cache import kept

F = TypeVar("F", bound=Callable[..., Any])
_OWN = Path(__file__).parent


def kernel(function: F) -> F:
    """Compile on the first call, without the GIL, and keep the machine code on disk."""
    return kept(numba.njit(nogil=True)(function), function, _OWN)


def inlined(function: F) -> F:
    """Compile into callers, without reference counts: for functions of a few numbers."""
    return numba.njit(nogil=True, forceinline=True, _nrt=False)(function)  # type: ignore[no-any-return]
