"""Command `bayesdp errata`: the papers' errors. Heavy imports wait until it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli.options import Json
from bayesdp.cli.printed import print_json

if TYPE_CHECKING:
    from bayesdp.papers.erratum import Erratum, Shown


def errata(
    name: Annotated[
        str,
        typer.Argument(help="A paper, such as zheng, or an erratum, such as zheng-theorem-7.12."),
    ] = "",
    as_json: Json = False,
) -> None:
    """List the papers' errors; for one erratum, or those of one paper, compute the evidence."""
    from bayesdp.papers.errata import SOURCES, evidence, find_errata

    if as_json:
        print_json([_told(each, evidence(each) if name else ()) for each in find_errata(name)])
        return
    for each in find_errata(name):
        typer.secho(f"{SOURCES[each.paper]}, {each.place} ({each.flaw})", bold=True)
        typer.echo(f"  printed: {each.printed}")
        typer.echo(f"  true:    {each.true}")
        if not name:
            typer.echo(f"  shown by: {each.command}")
            continue
        for case in evidence(each):
            typer.echo(f"  {case}")


def _told(erratum: Erratum, cases: Sequence[Shown]) -> dict[str, Any]:
    said = ("key", "paper", "place", "flaw", "printed", "true", "command")
    shown = ("case", "printed", "found", "true", "found_true", "relation")
    told: dict[str, Any] = {name: getattr(erratum, name) for name in said}
    evidence = [{name: getattr(case, name) for name in shown} for case in cases]
    return told | ({"evidence": evidence} if cases else {})
