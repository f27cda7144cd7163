"""Tutorials: notebooks kept as text, run when the site is built, as pages with their outputs."""

from __future__ import annotations

import base64
import html
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Tutorial:
    """A page and the pictures that lie beside it, by their file names."""

    title: str
    page: str
    pictures: dict[str, bytes] = field(default_factory=dict)


def tutorial(path: Path, run: bool) -> Tutorial:
    """The page of a notebook; without outputs where it isn't run.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    import jupytext

    notebook = jupytext.read(path)
    if run:
        from nbclient import NotebookClient

        NotebookClient(
            notebook,
            timeout=1200,
            startup_timeout=1200,
            iopub_timeout=1200,
            kernel_name="python3",
            coalesce_streams=True,
        ).execute()
    made = Tutorial(title=path.stem, page="")
    parts, heading = [], path.stem
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            headings = re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE)
            heading = headings[-1] if headings else heading
            continue
        parts.append(_code(cell))
        for output in cell.get("outputs", ()):
            parts.append(_shown(output, f"{path.stem}_{len(parts)}", heading, made))
    made.page = "\n\n".join(part for part in parts if part)
    if title := re.search(r"^# (.+)$", made.page, re.MULTILINE):
        made.title = title[1]
    return made


def _code(cell: Any) -> str:
    """A cell's source; folded away where all that it does is draw."""
    block = f"```python\n{cell.source}\n```"
    if "drawing" not in cell.metadata.get("tags", ()):
        return block
    opening = '<details class="drawing" markdown="1"><summary>Show the code that draws</summary>'
    return f"{opening}\n\n{block}\n\n</details>"


def _shown(output: Any, name: str, heading: str, made: Tutorial) -> str:
    """One output as Markdown: a picture, named after the section it is in, a table, or text."""
    if output.output_type == "stream":
        # Warnings and progress are of the machine that built the site.
        return _text(output.text) if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        made.pictures[f"{name}.png"] = base64.b64decode(data["image/png"])
        alt = html.escape(f"Figure: {heading}")
        return f'<div class="output"><img src="{name}.png" alt="{alt}"></div>'
    if "text/html" in data:
        others = r"<style(?!>\.bayesdp-card).*?</style>"  # a card's own style knows the site
        table = re.sub(others, "", data["text/html"], flags=re.DOTALL)
        joined = re.sub(r"\n\s*", "", table)  # one line, which Markdown leaves alone
        return f'<div class="output">{joined}</div>'
    return _text(data.get("text/plain", ""))


def _text(text: str) -> str:
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip()
    if not text:
        return ""
    return f'<div class="output"><pre><code>{html.escape(text)}</code></pre></div>'
