"""Compilation of kernels: decorators that set numba's options."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher

from bayesdp.kernels.cache import kept

F = TypeVar("F", bound=Callable[..., Any])


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function, with one code for calls from Python and another for kernels' calls.

    Most kernels are called by kernels alone. Python's way in unpacks every array of every argument,
    which takes a compiler longer than many a kernel's own work; without it where nobody takes it, a
    whole table's chain is compiled in three quarters of the time.
    """

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.within)

    @functools.cached_property
    def within(self) -> Any:
        """The code that kernels call. A call from Python would end the process."""
        options = {**self.targetoptions, "no_cpython_wrapper": True}
        made = CPUDispatcher(self.py_func, targetoptions=options)
        return kept(made, self.py_func, "within") if self._cache.cache_path else made


def _compiled(function: F, **options: Any) -> Any:
    """Make a kernel, or return the function as it is where NUMBA_DISABLE_JIT says so."""
    made = numba.njit(**options, no_cfunc_wrapper=True)(function)
    return made if made is function else Kernel(function, targetoptions=made.targetoptions)


def kernel(function: F) -> F:
    """Compile on the first call, without the GIL, and cache the machine code on disk."""
    return kept(_compiled(function, nogil=True, error_model="numpy"), function)


def leaf(function: F) -> F:
    """Compile a kernel that makes no array: without reference counts."""
    return kept(_compiled(function, nogil=True, error_model="numpy", _nrt=False), function)


def summing(function: F) -> F:
    """Compile a loop over finite numbers whose sums may be taken in any order, several at once."""
    free = {"reassoc", "nsz", "contract", "nnan"}
    return kept(_compiled(function, nogil=True, error_model="numpy", fastmath=free), function)


def inlined(function: F) -> F:
    """Compile into callers, without reference counts: for functions of a few numbers."""
    into = {"forceinline": True, "_nrt": False}
    return _compiled(function, nogil=True, error_model="numpy", **into)  # type: ignore[no-any-return]


def guarded(function: F) -> F:
    """Compile a kernel that raises ZeroDivisionError where Python does."""
    return kept(_compiled(function, nogil=True), function)


def guarded_inlined(function: F) -> F:
    """Compile into callers, as `inlined`, and raise ZeroDivisionError where Python does."""
    return _compiled(function, nogil=True, forceinline=True, _nrt=False)  # type: ignore[no-any-return]
