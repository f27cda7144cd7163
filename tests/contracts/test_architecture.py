"""Who may import whom, what importing costs, and what the repository may not say."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bayesdp.mechanisms.families.base import Family

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bayesdp"
FILES = sorted(PACKAGE.rglob("*.py"))

# Each room may import from those named, from itself, and from the modules at the top.
MAY_IMPORT = {
    "cli": {
        "privacy",
        "mechanisms",
        "release",
        "schema",
        "synthesis",
        "engines",
        "inference",
        "evaluation",
        "papers",
        "report",
    },
    "core": set(),
    "display": set(),
    "kernels": set(),
    "privacy": set(),
    "mechanisms": {"core", "privacy", "networks", "kernels", "schema"},
    "release": {"core", "privacy", "mechanisms", "networks"},
    "schema": {"core"},
    "synthesis": {"core", "privacy", "mechanisms", "release", "schema", "engines", "networks"},
    "engines": {"core", "privacy", "mechanisms", "release", "kernels"},
    "inference": {
        "core",
        "privacy",
        "mechanisms",
        "release",
        "schema",
        "engines",
        "networks",
        "kernels",
    },
    "evaluation": {
        "core",
        "privacy",
        "mechanisms",
        "release",
        "schema",
        "synthesis",
        "engines",
        "inference",
        "networks",
        "report",
    },
    "networks": {"kernels"},
    "papers": {
        "privacy",
        "mechanisms",
        "release",
        "synthesis",
        "engines",
        "inference",
        "evaluation",
        "networks",
    },
    "report": {
        "core",
        "privacy",
        "mechanisms",
        "release",
        "schema",
        "engines",
        "inference",
        "evaluation",
    },
}
TOP = {
    *("checks", "declared_files", "errors", "headers", "lazy", "private_folder", "progress"),
    *("_version", "optional", "registry", "renamed", "resources", "storage", "threads", "warned"),
    "table_files",
    "display",  # cards and pictures, which know nothing of what they show
}


def imports(path: Path) -> set[str]:
    """Rooms that a module imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "bayesdp":
                names = [f"bayesdp.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "bayesdp" and len(parts) > 1:
                found.add(parts[1])
    return found


@pytest.mark.slow
def test_imports_point_one_way():
    wrong = {}
    for path in FILES:
        inside = path.relative_to(PACKAGE).parts
        room = inside[0].removesuffix(".py")
        if room in MAY_IMPORT and (more := imports(path) - MAY_IMPORT[room] - {room} - TOP):
            wrong["/".join(inside)] = more
    assert wrong == {}


def test_every_room_is_listed():
    rooms = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}
    assert rooms == set(MAY_IMPORT)


def test_importing_loads_nothing_heavy():
    """And so costs milliseconds: the command line's help too."""
    code = (
        "import sys, json, bayesdp, bayesdp.cli; "
        "print(json.dumps([m for m in sys.modules if '.' not in m or 'bayesdp.papers' in m]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "pandas", "pyarrow", "pymc", "arviz", "pydantic", "matplotlib"}
    heavy |= {"sqlalchemy", "psycopg", "dp_accounting", "absl", "tree", "numba", "networkx"}
    heavy |= {"dask", "distributed", "cloudpickle", "threadpoolctl", "filelock", "bayesdp.papers"}
    assert not heavy & set(json.loads(out.stdout))


@pytest.mark.slow
def test_files_stay_small_and_validate_without_assert():
    """One concept a file: one of more than 600 lines has several."""
    texts = {path: path.read_text() for path in FILES}
    assert [path for path, text in texts.items() if len(text.splitlines()) > 600] == []
    assert [
        path
        for path, text in texts.items()
        if any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(text)))
    ] == []


def test_constraints_are_plain_versions():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or (line.count("==") == 1 and "/" not in line), line


def test_the_skeleton_of_a_family_is_that_of_today():
    """It has the members that the protocol asks for, and no others."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    skeletons = {
        node.name: node
        for block in blocks
        for node in ast.parse(block).body
        if isinstance(node, ast.ClassDef)
    }
    found = set()
    for node in skeletons["MyFamily"].body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    asked = {name for name in {*vars(Family), *Family.__annotations__} if not name.startswith("_")}
    assert found - {"__post_init__"} == asked | {"bounds"}


def test_nothing_else_lies_at_the_top():
    """Of what is under version control; a folder without any of it is somebody's own."""
    tracked = subprocess.run(
        ["git", "ls-files"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    if tracked.returncode:
        pytest.skip("this copy isn't a git checkout")
    top = {Path(name).parts[0] for name in tracked.stdout.splitlines()}
    assert top <= {
        *(
            ".ci",
            ".gitignore",
            ".mkdocs.yml",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "LICENSE",
            "Makefile",
            "README.md",
        ),
        *("bayesdp", "constraints.txt", "models", "notebooks", "pyproject.toml", "stan", "tests"),
    }
