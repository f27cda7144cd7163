"""No module imports, by way of others, the one that imports it: what reads alone can change alone.

Imports inside functions and under TYPE_CHECKING count. A name of a namespace is imported from where
its stub says that it lives.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import bayesdp

PACKAGE = Path(bayesdp.__file__).parent


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """Each module that is imported from, and the name; "" where it is imported itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: 1 - node.level or None] if node.level else []
            home = ".".join([*parts, *([node.module] if node.module else [])])
            yield from ((home, alias.name) for alias in node.names)


def graph_of(package: Path) -> dict[str, set[str]]:
    """The modules that each module imports."""
    modules = {name_of(path): path for path in sorted(package.rglob("*.py"))}
    homes = {}
    for path in package.rglob("*.pyi"):
        name = name_of(path)
        inside = name if path.stem == "__init__" else name.rpartition(".")[0]
        for home, attribute in imported(ast.parse(path.read_text()), inside):
            homes[name, attribute] = home

    def module_of(home: str, attribute: str) -> str:
        seen = set()
        while (home, attribute) in homes and home not in seen:
            seen.add(home)
            home = homes[home, attribute]
        whole = f"{home}.{attribute}"
        return whole if whole in modules else home

    return {
        name: {
            found
            for home, attribute in imported(ast.parse(path.read_text()), name)
            if (found := module_of(home, attribute)) in modules and found != name
        }
        for name, path in modules.items()
    }


def circles_in(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Sets of modules each of which reaches all others of its set."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        found, waiting = set(), [start]
        while waiting:
            new = graph[waiting.pop()] - found
            found |= new
            waiting += new
        reached[start] = found
    return {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in graph
        if name in reached[name]
    }


def test_a_circle_is_found_wherever_its_imports_are(tmp_path, monkeypatch):
    package = tmp_path / "made"
    package.mkdir()
    for name, text in {
        "__init__.pyi": "from .one import One as One\n",
        "__init__.py": "",
        "one.py": "def f():\n    from made.two import g\n",
        "two.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made import One\n",
        "three.py": "import made.one\n",
    }.items():
        (package / name).write_text(text)
    monkeypatch.setattr("tests.contracts.test_circles.PACKAGE", package)
    assert circles_in(graph_of(package)) == {frozenset({"made.one", "made.two"})}


def test_no_module_imports_itself_by_way_of_others():
    assert sorted(map(sorted, circles_in(graph_of(PACKAGE)))) == []
