"""Command `bayesdp report`: a page about a posterior. Heavy imports wait until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.options import Force, Out
from bayesdp.errors import InvalidInput, quoted


def report(
    posterior: Annotated[Path, typer.Argument(help="The posterior.nc that `bayesdp fit` wrote.")],
    release: Annotated[Path, typer.Argument(help="The release folder it was fitted to.")],
    out: Out,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    force: Force = False,
) -> None:
    """Write an HTML page on a release, its promise, and the posterior given it."""
    from bayesdp.engines.draws import import_arviz
    from bayesdp.release import Release
    from bayesdp.report.html import write_report

    if not posterior.is_file():
        raise InvalidInput(f"posterior is {quoted(posterior)}, but there is no such file")
    released = Release.load(release)
    try:
        idata = import_arviz().from_netcdf(str(posterior))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{posterior} can't be read as a posterior: {error}") from error
    page = write_report(idata, released, out, level=level, title=title, force=force)
    typer.echo(f"report written to {page}")
