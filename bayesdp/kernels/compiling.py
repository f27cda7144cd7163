"""Compilation of kernels: decorators that set numba's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

from bayesdp.kernels.cache import kept

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile on the first call, without the GIL, and cache the machine code on disk."""
    return kept(numba.njit(nogil=True, error_model="numpy")(function), function)


def leaf(function: F) -> F:
    """Compile a kernel that makes no array: without reference counts."""
    return kept(numba.njit(nogil=True, error_model="numpy", _nrt=False)(function), function)


def summing(function: F) -> F:
    """Compile a loop over finite numbers whose sums may be taken in any order, several at once."""
    free = {"reassoc", "nsz", "contract", "nnan"}
    return kept(numba.njit(nogil=True, error_model="numpy", fastmath=free)(function), function)


def inlined(function: F) -> F:
    """Compile into callers, without reference counts: for functions of a few numbers."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function)  # type: ignore[no-any-return]


def guarded(function: F) -> F:
    """Compile a kernel that raises ZeroDivisionError where Python does."""
    return kept(numba.njit(nogil=True)(function), function)


def guarded_inlined(function: F) -> F:
    """Compile into callers, as `inlined`, and raise ZeroDivisionError where Python does."""
    return numba.njit(nogil=True, forceinline=True, _nrt=False)(function)  # type: ignore[no-any-return]
