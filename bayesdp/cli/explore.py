"""Command `bayesdp explore`: a page with sliders for a release's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli import options


def explore(
    release: Annotated[Path, typer.Argument(help="Release folder of a proportion.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("explore.html"),
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    prior: Annotated[str, typer.Option(help="The beta prior of the proportion.")] = "1,1",
    n: Annotated[
        int | None, typer.Option(help="Number of records, where the release doesn't say it.")
    ] = None,
    group: options.Group = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier file there.")] = False,
) -> None:
    """Write a page with sliders for epsilon, copies and n that shows what a release would tell.

    The page needs no server and no network: it computes in the browser.
    """
    from bayesdp.inference.counts.binomial import BinomialModel
    from bayesdp.release import Release
    from bayesdp.report.explorer import write_explorer

    whole = Release.load(release)
    released = options.of_group(whole, group)
    title = title or options.title_of_group(whole, group)
    model = BinomialModel(options.pair("prior", prior), n=n)
    page = write_explorer(released, out, model=model, level=level, title=title, force=force)
    typer.echo(f"explorer written to {page}")
    if show:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
