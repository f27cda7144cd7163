"""Public names that are loaded when first used, from the stub beside a module."""

import ast
import importlib
import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

from bayesdp.renamed import RENAMED


def attach(
    module: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a module with the names of its stub.

    Nothing is kept in the module, so that a submodule of the same name never replaces it. A name in
    `RENAMED` works too, with a DeprecationWarning; `dir` doesn't show it.

    Parameters
    ----------
    module : str
        The module's `__name__`.
    file : str
        The module's `__file__`; the stub is beside it, with lines such as
        `from .there import Name as Name`.

    Returns
    -------
    tuple
        The three, to be assigned in a module without other names.
    """
    homes = _homes(module, file)
    renamed = RENAMED.get(module, {})

    def __getattr__(name: str) -> Any:
        if name in homes:
            home, attribute = homes[name]
            home_module = importlib.import_module(home)
            return getattr(home_module, attribute) if attribute else home_module
        if name in renamed:
            old = f"{module.replace('bayesdp', 'bdp', 1)}.{name}"
            warnings.warn(
                f"{old} is deprecated and will go in a later release; write bdp.{renamed[name]}",
                DeprecationWarning,
                stacklevel=2,
            )
            namespace, _, new = renamed[name].rpartition(".")
            return getattr(importlib.import_module(f"bayesdp.{namespace}".rstrip(".")), new)
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)

    names = sorted(homes)
    return __getattr__, lambda: list(names), names


def _homes(module: str, file: str) -> dict[str, tuple[str, str]]:
    """Each name's module and its name there, which is "" for a module itself."""
    package = module if file.endswith("__init__.py") else module.rpartition(".")[0]
    with open(f"{file.removesuffix('.py')}.pyi", encoding="utf-8") as stub:  # noqa: PTH123
        body = ast.parse(stub.read()).body  # without pathlib, whose import would cost as much again
    homes = {}
    for node in body:
        if isinstance(node, ast.ImportFrom):
            home = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                inside = (home, alias.name) if node.module else (f"{home}.{alias.name}", "")
                homes[alias.asname or alias.name] = inside
    return homes
