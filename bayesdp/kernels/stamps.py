"""Stamps of kernels: what their machine code depends on, and nothing else.

A stamp is a digest of a kernel's syntax tree without docstrings, annotations and comments, of the
constants and the kernels that it names, of theirs in turn, and of the versions and the processor
that compile it. A word in a docstring doesn't change a stamp; a sign in a kernel, or in one that it
calls from another file, does.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def stamp(compiled: Any) -> str:
    """SHA-256 of everything that determines the machine code of a kernel.

    Raises
    ------
    OSError
        If the file of a kernel can't be read.
    TypeError
        If a kernel names something that can't be stamped.
    """
    import llvmlite
    import numba
    from llvmlite import binding

    texts: dict[str, str] = {}
    waiting = [compiled]
    while waiting:
        each = waiting.pop()
        if _name(each.py_func) not in texts:
            text, called = _described(each)
            texts[_name(each.py_func)] = text
            waiting += called
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    processor = (binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())
    whole = repr((_name(compiled.py_func), sorted(texts.items()), versions, processor))
    return hashlib.sha256(whole.encode()).hexdigest()


def _described(compiled: Any) -> tuple[str, list[Any]]:
    """A kernel's own text, with what its names stand for, and the kernels among these."""
    function = compiled.py_func
    tree, names = _function(*_file(function), function.__name__)
    named, called = [], []
    own = {*function.__code__.co_varnames, *function.__code__.co_cellvars}
    for name in names:
        if name in function.__globals__ and name not in own:
            meant = function.__globals__[name]
            if hasattr(meant, "py_func"):
                called.append(meant)
            named.append((name, _meaning(meant, f"{_name(function)} names {name}")))
    return repr((tree, sorted(compiled.targetoptions.items()), named)), called


def _meaning(value: Any, where: str) -> str:
    """Describe what a kernel's name stands for, by value; a kernel by its name."""
    if hasattr(value, "py_func"):
        return f"kernel {_name(value.py_func)}"
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple):
        return f"tuple {[_meaning(each, where) for each in value]}"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return f"fields {value.__name__} {value._fields}"
    if hasattr(value, "_defn"):  # an intrinsic: all of its file, which makes it
        return f"intrinsic {value._name} {ast.dump(_stripped(_parsed(*_file(value._defn))))}"
    home = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    if home.partition(".")[0] in ("numpy", "math", "numba", "builtins"):
        return f"{home} {getattr(value, '__name__', value)}"
    raise TypeError(
        f"{where}, which is {type(value).__name__} of {home}; a kernel's names must be kernels, "
        "numbers, arrays, named tuples, or of numpy or math"
    )


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _file(function: Callable[..., Any]) -> tuple[Path, int, int]:
    """The file of a function, with its modification time and size."""
    path = Path(function.__code__.co_filename)
    status = path.stat()
    return path, status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=256)
def _parsed(path: Path, changed: int, size: int) -> ast.Module:
    return ast.parse(path.read_bytes())


@functools.lru_cache(maxsize=1024)
def _function(path: Path, changed: int, size: int, name: str) -> tuple[str, tuple[str, ...]]:
    """A function at the top of a file: arguments' names, defaults and body; names in it, sorted."""
    for node in reversed(_parsed(path, changed, size).body):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            tree = _stripped(node)
            names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
            return ast.dump(tree), tuple(sorted(names))
    raise OSError(f"{name} isn't in {path}")


def _stripped(tree: Any) -> Any:
    """A copy of a tree without docstrings, annotations and decorators."""
    return _Strip().visit(ast.parse(ast.unparse(tree)))


class _Strip(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list, node.returns = [], None
        return self._without_docstring(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def _without_docstring(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.body = [
            each
            for each in node.body
            if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        ]
        return node  # type: ignore[no-any-return]
