"""Tutorials as Jupyter notebooks, to be opened and changed: `make notebook`."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCES = Path(__file__).parents[1]


def write_notebook(source: Path, folder: Path) -> Path:
    """Write a tutorial as .ipynb, without outputs; one that is there is kept, with its changes."""
    import jupytext

    target = folder / f"{source.stem}.ipynb"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        jupytext.write(jupytext.read(source), target)
    return target


def write_all(folder: Path) -> list[Path]:
    """Write all tutorials."""
    return [write_notebook(source, folder) for source in sorted(SOURCES.glob("*.py"))]


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
