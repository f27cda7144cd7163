"""Distributional privacy: when may an exact number be published, and against whom.

A promise here holds against an adversary who is uncertain of the data: the records come from a law
of a declared class, and all but so many of them are unknown. It is never added to differential
privacy. The names are loaded when first used; where each lives is in `distributional.pyi`.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

# Not by lazy_loader, which would leave each name in the package itself: `compose` is another there.
_HOMES = {
    alias.name: node.module
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"bayesdp.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
