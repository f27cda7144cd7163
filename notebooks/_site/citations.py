"""What to cite for each mechanism: the publications that its own guarantee names."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import bayesdp

RELEASES = Path(__file__).parents[2] / "tests" / "data" / "releases"
SOFTWARE = "[this package](../index.md#citing)"
_SECTION = re.compile(r"^(#+ .+ \{ #(\w+) \})$", re.MULTILINE)


@functools.cache
def publications(name: str) -> str:
    """Publications in the source of a saved release's guarantee; empty where there are none."""
    source = bayesdp.Release.load(RELEASES / name).guarantee.source
    parts = [part.strip() for part in source.split(";")] if source else []
    return "; ".join(part for part in parts if not part.startswith("bayesdp."))


def cited(markdown: str) -> str:
    """The page with a last line for each mechanism that says what to cite."""
    before, *parts = _SECTION.split(markdown)
    sections = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return before + "".join(f"{head}{_with(name, text)}" for head, name, text in sections)


def _with(name: str, text: str) -> str:
    found = publications(name)
    line = (
        f"{found}, and {SOFTWARE} for the promise as it is proved here."
        if found
        else f"{SOFTWARE}, as the argument is its own, and the source that the page names."
    )
    body, heading, rest = text.partition("\n## ")  # a section without an anchor of its own
    return f"{body.rstrip()}\n\n**Cite.** {line}\n\n{heading.lstrip()}{rest}"
