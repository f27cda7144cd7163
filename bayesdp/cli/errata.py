"""Command `bayesdp errata`: the papers' errors. Heavy imports wait until it runs."""

from __future__ import annotations

from typing import Annotated

import typer


def errata(
    name: Annotated[
        str,
        typer.Argument(help="A paper, such as zheng, or an erratum, such as zheng-theorem-7.12."),
    ] = "",
) -> None:
    """List the papers' errors; for one erratum, or those of one paper, compute the evidence."""
    from bayesdp.papers.errata import SOURCES, evidence, find_errata

    for each in find_errata(name):
        typer.secho(f"{SOURCES[each.paper]}, {each.place} ({each.flaw})", bold=True)
        typer.echo(f"  printed: {each.printed}")
        typer.echo(f"  true:    {each.true}")
        if not name:
            typer.echo(f"  shown by: {each.command}")
            continue
        for case in evidence(each):
            typer.echo(f"  {case}")
