"""Command `bayesdp reproduce`: a paper's numbers again. Heavy imports wait until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.completion import paper_names
from bayesdp.cli.options import Json
from bayesdp.cli.printed import print_json
from bayesdp.cli.tables import progress_bar


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            help="The paper: charest, groce, hu, liu or zheng.", autocompletion=paper_names
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    replicates: Annotated[int | None, typer.Option(help="Simulations for each number.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out Liu's posteriors or Hu's fits by Stan.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier result there.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Recompute a paper's tables and figures, beside the printed ones."""
    from bayesdp.papers.catalogue import find_paper

    reproduction = find_paper(paper, replicates, quick=quick)
    with progress_bar() as step:
        result = reproduction(out, force=force, progress=step)
    if as_json:
        said = ("title", "source", "findings", "settings")
        tables = [
            {name: getattr(table, name) for name in ("name", "title", "columns", "values", "note")}
            for table in result.tables
        ]
        told = {name: getattr(result, name) for name in said}
        print_json(told | {"tables": tables, "folder": str(out)})
        return
    result.print()
    typer.echo(f"tables and figures written to {out}")
