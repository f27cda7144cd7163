"""Whole analyses on the command line: run with a progress bar, then shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from bayesdp.cli.posteriors import print_summary
from bayesdp.cli.tables import print_table, progress_bar


def run_analysis(name: str, out: Path, force: bool, fit: Mapping[str, Any] | None = None) -> None:
    """Run an analysis with a progress bar, then show its table; `fit` is instead of the file's."""
    from bayesdp.evaluation.analysis import REPORT, find_analysis
    from bayesdp.evaluation.analysis import run_analysis as run

    find_analysis(name)  # so that a wrong name fails before a progress bar is drawn
    with progress_bar() as step:
        result = run(name, out, force=force, fit=fit, progress=step)
    if result.model.family == "binomial":
        _print_comparison(result)
    else:
        print_summary(result.idata)
    typer.echo(f"report: {(result.folder / REPORT / 'index.html').resolve()}")


def _print_comparison(result: Any) -> None:
    """Print each group's posterior beside the one that treats the copies as real data."""
    from rich.markup import escape
    from rich.table import Table

    release = result.release
    table = Table(title=escape(f"{release.variable}: {release.guarantee}"))
    headings = [escape(release.by or ""), "n", "posterior, 95%", "naive, 95%"]
    if result.reference is not None:
        headings.insert(2, "true")
        table.caption = "The data are public, so the true proportion can be shown."
    for heading in headings:
        table.add_column(
            heading, justify="left" if heading == headings[0] else "right", no_wrap=True
        )
    for part in release.parts:
        alone = release if release.by is None else release[part.group]
        label = "all" if release.by is None else escape(str(part.group))
        cells = [label, str(part.mechanism.n or "confidential")]
        if result.reference is not None:
            true = result.reference if release.by is None else result.reference[part.group]
            cells.append(f"{true:.3f}")
        for posterior in (result.model.posterior(alone), result.model.naive_posterior(alone)):
            low, high = posterior.interval(0.95)
            cells.append(f"{posterior.mean():.3f} [{low:.3f}, {high:.3f}]")
        table.add_row(*cells)
    print_table(table)
