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
    "bayesdp": "bdp: what one starts with",
    "synthesizers": "bdp.synthesizers",
    "mechanisms": "bdp.mechanisms",
    "families": "bdp.families",
    "models": "bdp.models",
    "privacy": "bdp.privacy",
    "evaluate": "bdp.evaluate",
    "networks": "bdp.networks",
    "stan": "bdp.stan",
    "distributional": "bdp.distributional",
    "extending": "bdp.extending",
    "errors": "bdp.errors",
}
"""The package and its namespaces; a name that is in several has its page in the first."""


def namespaces() -> dict[str, types.ModuleType]:
    """Each section's module."""
    found = {"bayesdp": bayesdp}
    return found | {name: getattr(bayesdp, name) for name in SECTIONS if name != "bayesdp"}


def all_names() -> dict[str, list[str]]:
    """Dotted names in each namespace, those that are elsewhere too included."""
    return {
        section: [
            f"{_public(section)}.{name}"
            for name in sorted(module.__all__)
            if name != "__version__" and not isinstance(getattr(module, name), types.ModuleType)
        ]
        for section, module in namespaces().items()
    }


def public_names() -> dict[str, list[str]]:
    """Dotted names of each section. One that is public in two places is in the first alone."""
    homes = _homes()
    return {
        section: [name for name in names if homes[id(thing_of(name))] == name]
        for section, names in all_names().items()
    }


def _homes() -> dict[int, str]:
    """Where each thing has its page."""
    homes: dict[int, str] = {}
    for names in all_names().values():
        for name in names:
            homes.setdefault(id(thing_of(name)), name)
    return homes


def _public(section: str) -> str:
    """How users write it: `bayesdp.families`, wherever the module lies."""
    return section if section == "bayesdp" else f"bayesdp.{section}"


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
    homes = _homes()
    about = (inspect.getdoc(namespaces()[section]) or "").partition("\n\n")[0]
    lines = [f"# {SECTIONS[section]}\n", f"{' '.join(about.split())}\n"]
    for dotted in all_names()[section]:
        thing = thing_of(dotted)
        summary = (inspect.getdoc(thing) or "").partition("\n\n")[0]
        lines.append(f"- [`{dotted}`][{homes[id(thing)]}]: {' '.join(summary.split())}")
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
