"""Command `bayesdp demo`: the main jobs on a real survey."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.analyses import run_analysis
from bayesdp.cli.options import Force

ANSWER, TABLE = "fair", "couples"
"""Analyses of one answer by groups, and of the whole table."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("demo"),
    table: Annotated[
        bool, typer.Option(help="Release the survey as a whole table too: a minute or two.")
    ] = True,
    force: Force = False,
) -> None:
    """Run the main jobs on a real survey, from confidential answers to reports."""
    run_analysis(ANSWER, out, force)
    if table:
        typer.echo("\nThe same survey, as one table:")
        run_analysis(TABLE, out / "table", force)
