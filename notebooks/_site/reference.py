"""The reference: every public name, from `bayesdp.__all__` and the namespaces that it holds."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterator
from pathlib import Path

import bayesdp

PACKAGE = Path(bayesdp.__file__).parent
SECTIONS = {
    "curator": "Curator: synthesizers and releases",
    "mechanisms": "Mechanisms",
    "families": "Families of records",
    "privacy": "Privacy: guarantees, accounting, ledger, audit",
    "analyst": "Analyst: models",
    "evaluation": "Evaluation: combining rules, utility, risk, reports",
    "networks": "Networks",
    "distributional": "Distributional privacy",
    "errors": "Errors",
}
# Where a name belongs, by the room of the package that it is defined in.
ROOMS = {
    "synthesis": "curator",
    "release": "curator",
    "engines": "analyst",
    "inference": "analyst",
    "report": "evaluation",
}


def public_names() -> dict[str, list[str]]:
    """Dotted names of each section. One that is public in two places is in the first alone."""
    pages: dict[str, list[str]] = {section: [] for section in SECTIONS}
    seen: dict[int, str] = {}
    for namespace, names in _namespaces():
        for name in names:
            thing = getattr(namespace, name)
            dotted = f"{_public(namespace)}.{name}"
            if isinstance(thing, types.ModuleType) or seen.setdefault(id(thing), dotted) != dotted:
                continue
            pages[_section(namespace, thing)].append(dotted)
    return pages


def _namespaces() -> Iterator[tuple[types.ModuleType, list[str]]]:
    """The package and the public modules in it, each with its public names."""
    names = [name for name in bayesdp.__all__ if name != "__version__"]
    yield bayesdp, sorted(names)
    for name in names:
        thing = getattr(bayesdp, name)
        if isinstance(thing, types.ModuleType):
            yield thing, sorted(thing.__all__)


def _public(namespace: types.ModuleType) -> str:
    """How users write it: `bayesdp.families`, wherever the module lies."""
    if namespace is bayesdp:
        return "bayesdp"
    return f"bayesdp.{namespace.__name__.rpartition('.')[2]}"


def _section(namespace: types.ModuleType, thing: object) -> str:
    if namespace is not bayesdp:
        return _public(namespace).rpartition(".")[2]
    room = str(getattr(thing, "__module__", "")).split(".")[1]
    return ROOMS.get(room, room)


def pages() -> dict[str, dict[str, list[str]]]:
    """Each section's pages and the names on each: one, or `plan` and then `Plan`.

    A file system that ignores case would take the pages of two such for one.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for section, names in public_names().items():
        alike: dict[str, list[str]] = {}
        for dotted in names:
            alike.setdefault(_last(dotted).casefold(), []).insert(0, dotted)
        found[section] = {_last(each[0]): each for each in alike.values()}
    return found


def title(names: list[str]) -> str:
    """What a page is called in the menu."""
    return ", ".join(map(_last, names))


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def page(names: list[str]) -> str:
    """A page, in the directives that mkdocstrings reads."""
    directives = [f"::: {dotted}\n    options: {{heading_level: 1}}\n" for dotted in names]
    return "\n".join([f"---\ntitle: {title(names)}\n---\n", *directives])


def contents(section: str) -> str:
    """The section's own page: its names, and what each is."""
    lines = [f"# {SECTIONS[section]}\n"]
    for dotted in public_names()[section]:
        summary = (inspect.getdoc(thing_of(dotted)) or "").partition("\n\n")[0]
        lines.append(f"- [`{dotted}`][{dotted}]: {' '.join(summary.split())}")
    return "\n".join(lines) + "\n"


@functools.cache
def proofs() -> dict[str, str]:
    """Modules whose own docstring is an argument of some length: name and docstring."""
    found = {}
    for room in ("mechanisms", "privacy", "synthesis", "evaluation/planning"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            if len(text.splitlines()) >= 8 and path.name != "__init__.py":
                parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
                found[".".join(parts)] = text
    return found


def proofs_page() -> str:
    """Those docstrings as they stand: their formulas are laid out in plain text."""
    parts = [
        "# Proofs\n",
        "What the package's modules say of their own mathematics, as their docstrings have it: "
        "the argument for each promise, what rounding costs, and where a paper's is another.\n",
    ]
    for name, text in proofs().items():
        parts.append(f"## {name} {{ #{name} }}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def thing_of(dotted: str) -> object:
    """What a public name is of."""
    return functools.reduce(getattr, dotted.split(".")[1:], bayesdp)


def callables() -> Iterator[tuple[str, object]]:
    """Every public function and class, by its dotted name."""
    for names in public_names().values():
        for dotted in names:
            thing = thing_of(dotted)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                yield dotted, thing
