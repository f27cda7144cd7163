"""Commands `bayesdp reproduce` and `bayesdp errata`: the papers' numbers again, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli_tables import progress_bar


def reproduce(
    paper: Annotated[str, typer.Argument(help="charest, groce, hu, liu or zheng")],
    out: Annotated[Path, typer.Option(help="Where to write.")],
    replicates: Annotated[int | None, typer.Option(help="Simulations for each number.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out liu's posteriors or hu's fits by Stan.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier result there.")
    ] = False,
) -> None:
    """Compute a paper's tables and figures again, beside what it printed."""
    from bayesdp.evaluation.papers.catalogue import find_paper

    reproduction = find_paper(paper, replicates, quick=quick)
    with progress_bar() as step:
        result = reproduction(out, force=force, progress=step)
    result.print()
    typer.echo(f"tables and figures written to {out}")


def errata(
    name: Annotated[
        str, typer.Argument(help="A paper, as zheng, or an erratum, as zheng-theorem-7.12.")
    ] = "",
) -> None:
    """List the papers' errors; for one of them, or one paper's, compute the evidence."""
    from bayesdp.evaluation.papers.errata import SOURCES, evidence, find_errata

    for each in find_errata(name):
        typer.secho(f"{SOURCES[each.paper]}, {each.place} ({each.flaw})", bold=True)
        typer.echo(f"  printed: {each.printed}")
        typer.echo(f"  true:    {each.true}")
        if not name:
            typer.echo(f"  shown by: {each.command}")
            continue
        for case in evidence(each):
            typer.echo(f"  {case}")
