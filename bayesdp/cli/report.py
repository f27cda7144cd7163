"""Command `bayesdp report`: a page about a posterior. Heavy imports wait until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.options import Force, Group, Out, of_group, title_of_group
from bayesdp.cli.posteriors import read_posterior


def report(
    posterior: Annotated[Path, typer.Argument(help="The posterior.nc that `bayesdp fit` wrote.")],
    release: Annotated[Path, typer.Argument(help="The release folder it was fitted to.")],
    out: Out,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    group: Group = None,
    force: Force = False,
) -> None:
    """Write an HTML page on a release, its promise, and the posterior given it."""
    from bayesdp.release import Release
    from bayesdp.report.html import write_report

    idata, whole = read_posterior(posterior), Release.load(release)
    released = of_group(whole, group)
    title = title or title_of_group(whole, group)
    page = write_report(idata, released, out, level=level, title=title, force=force)
    typer.echo(f"report written to {page}")
