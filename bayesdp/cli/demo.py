"""Command `bayesdp demo`: the main job on a real survey."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.analyses import run_analysis
from bayesdp.cli.options import Force


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("demo"),
    force: Force = False,
) -> None:
    """Run the main job on a real survey, from confidential answers to a report."""
    run_analysis("fair", out, force)
