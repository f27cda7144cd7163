"""References of a function's code: global values, attributes of modules, and what it imports."""

from __future__ import annotations

import dis
import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_GLOBAL, _ATTRIBUTE = ("LOAD_GLOBAL", "LOAD_NAME"), ("LOAD_ATTR", "LOAD_METHOD")
_INSTALLED = {"site-packages", "dist-packages"}


def is_own(module: Any) -> bool:
    """Return True for the name of a user's own module: a script, a notebook or a file beside them.

    What Python has, or is installed, is known by its name: a change of its version isn't seen.
    """
    return _is_own(str(module).partition(".")[0])


@functools.cache
def _is_own(top: str) -> bool:
    if top in ("", "__main__"):
        return True
    if top in sys.stdlib_module_names or top == "bayesdp":
        return False
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):  # a module that was made by hand
        spec = None
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
    return not any(_INSTALLED & {*Path(place).parts} for place in places if place)


def references(function: FunctionType) -> Iterator[Any]:
    """Yield the names of what a function of a user's own refers to, each with its value.

    Those of its inner functions are among them. A module's attribute stands for the module; what
    is looked up by a text, as by `getattr`, isn't seen.
    """
    for code in _codes(function.__code__):
        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
        for k, step in enumerate(steps):
            if step.opname in _GLOBAL and step.argval in function.__globals__:
                yield step.argval
                yield _reached(function.__globals__[step.argval], steps[k + 1 :])
            elif step.opname == "IMPORT_NAME":
                level, names = steps[k - 2].argval, steps[k - 1].argval
                package = function.__globals__.get("__package__")
                yield from _imported("." * level + step.argval, package, names or ())


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _reached(value: Any, steps: list[dis.Instruction]) -> Any:
    """Return what attributes of a user's own module, and of those in it, lead to."""
    for step in steps:
        own = isinstance(value, ModuleType) and is_own(value.__name__)
        if not own or step.opname not in _ATTRIBUTE or not hasattr(value, step.argval):
            break
        value = getattr(value, step.argval)
    return value


def _imported(name: str, package: str | None, attributes: tuple[str, ...]) -> Iterator[Any]:
    """Yield what an import inside of a function gives, if it is of a user's own module."""
    try:
        absolute = importlib.util.resolve_name(name, package)
        if not is_own(absolute):
            return
        module = importlib.import_module(absolute)
    except ImportError:  # it may be tried for, where it isn't installed
        return
    yield absolute
    yield from ([getattr(module, each, None) for each in attributes] if attributes else [module])
