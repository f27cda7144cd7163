"""What the site has beside the pages that lie in this folder, and how they are put in order."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import citations
import mathematics
import paper
import reference
import tutorials
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
# The home page is the README; links from it are to files of the project.
FROM_THE_TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}

GUIDES = ("choosing.md", "what_goes_wrong.md", "your_own_data.md", "glossary.md")

HEADS = {
    "index.md": "---\nhide: [navigation]\n---\n\n",  # it would list itself alone
    "changelog.md": "---\nsearch: {boost: 0.3}\n---\n\n",  # to be found last
}


def on_config(config: Any) -> Any:
    names = sorted(path.stem for path in NOTEBOOKS.glob("*.py"))
    listed = (NOTEBOOKS / "mechanisms" / "index.md").read_text(encoding="utf-8")
    mechanisms = dict.fromkeys(re.findall(r"\]\((\w+\.md)#", listed))
    config.nav = [
        {"Home": "index.md"},
        {"Tutorials": [f"{name}.md" for name in names]},
        {"How to": ["how_to.md", *GUIDES]},
        {"Mechanisms": ["mechanisms/index.md", *(f"mechanisms/{name}" for name in mechanisms)]},
        {"Reference": [*map(_section, reference.SECTIONS), "reference/proofs.md"]},
        {"Project": [{"The paper": "paper.md"}, "contributing.md", "changelog.md"]},
    ]
    return config


def _section(section: str) -> dict[str, list[Any]]:
    """A section of the reference: its contents, and a page a name."""
    folder = f"reference/{section}"
    pages = [
        {reference.title(names): f"{folder}/{page}.md"}
        for page, names in reference.pages()[section].items()
    ]
    return {reference.SECTIONS[section].partition(":")[0]: [f"{folder}/index.md", *pages]}


def on_files(files: Files, *, config: Any) -> Files:
    def add(name: str, content: str | bytes) -> None:
        files.append(File.generated(config, name, content=content))

    for source, page in FROM_THE_TOP.items():
        text = _at_home((ROOT / source).read_text(encoding="utf-8"))
        add(page, HEADS.get(page, "") + text)
    run = not os.environ.get("BAYESDP_SITE_FAST")
    for path in sorted(NOTEBOOKS.glob("*.py")):
        made = tutorials.tutorial(path, run)
        add(f"{path.stem}.md", f"---\ntitle: {json.dumps(made.title)}\n---\n\n{made.page}")
        for name, picture in made.pictures.items():
            add(name, picture)
    for section, pages in reference.pages().items():
        add(f"reference/{section}/index.md", reference.contents(section))
        for name, names in pages.items():
            add(f"reference/{section}/{name}.md", reference.page(names))
    add("reference/proofs.md", reference.proofs_page())
    add(paper.PICTURE, paper.picture())
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    of_mechanisms = page.file.src_uri.startswith("mechanisms/")
    return citations.cited(markdown) if of_mechanisms else markdown


def on_page_content(html: str, **_: Any) -> str:
    return mathematics.rendered(_linked(html))


def _at_home(text: str) -> str:
    """A page from the top of the project: links as they are from this folder."""
    for source, page in FROM_THE_TOP.items():
        text = text.replace(f"]({source}", f"]({page}")
    text = re.sub(r"\]\(notebooks/(\w+)\.py\)", r"](\1.md)", text)
    return text.replace("](notebooks/", "](").replace('src="notebooks/', 'src="')


def _linked(html: str) -> str:
    """Names of modules whose proofs are on a page, as links to them."""
    known = reference.proofs()

    def link(found: re.Match[str]) -> str:
        name = found[1]
        if name not in known:
            return found[0]
        return f'<autoref identifier="{name}">{found[0]}</autoref>'

    return re.sub(r"<code>(bayesdp\.[\w.]+)</code>", link, html)
