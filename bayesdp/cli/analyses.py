"""Whole analyses on the command line: run with a progress bar, then shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from bayesdp.cli.options import estimate_line
from bayesdp.cli.posteriors import summary_of
from bayesdp.cli.printed import print_json, promise_of, rows_of
from bayesdp.cli.tables import print_table, progress_bar

_SHOWN = 60  # numbers of a posterior


def run_analysis(
    name: str,
    out: Path,
    force: bool,
    fit: Mapping[str, Any] | None = None,
    *,
    as_json: bool = False,
) -> None:
    """Run an analysis with a progress bar, then show its table; `fit` is instead of the file's."""
    from bayesdp.evaluation.analysis import REPORT, find_analysis
    from bayesdp.evaluation.analysis import run_analysis as run

    find_analysis(name)  # so that a wrong name fails before a progress bar is drawn
    with progress_bar() as step:
        result = run(name, out, force=force, fit=fit, progress=step)
    page = (result.folder / REPORT / "index.html").resolve()
    if as_json:
        print_json(_told(result) | {"report": str(page)})
        return
    if result.combined is not None:
        _print_combined(result)
    else:
        _PRINTERS.get(result.model.family, _print_posterior)(result)
    typer.echo(f"report: {page}")


def _told(result: Any) -> dict[str, Any]:
    about = {"folder": str(result.folder), "guarantee": promise_of(result.release.guarantee)}
    if result.combined is None:
        return about | summary_of(result.idata)
    rows = rows_of(result.combined.reset_index())
    return about | {"level": result.level, "combined": rows, "caveats": result.caveats}


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


def _print_combined(result: Any) -> None:
    """Print each quantity's combined interval, the naive one, the truth and the caveats."""
    from rich.markup import escape
    from rich.table import Table

    release, rows = result.release, result.combined.reset_index().to_dict("records")
    table = Table(title=escape(f"{release.variable}: {release.guarantee}"))
    table.add_column("", no_wrap=True)
    headings = [f"{which}, {result.level:.0%}" for which in ("combined", "naive")]
    if result.reference is not None:
        headings.insert(0, "true")
        table.caption = "The data are public, so what they say themselves can be shown."
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        cells = [
            f"{row[name]:.3f} [{row[f'{ends}low']:.3f}, {row[f'{ends}high']:.3f}]"
            for name, ends in (("estimate", ""), ("naive", "naive_"))
        ]
        if result.reference is not None:
            cells.insert(0, f"{row['reference']:.3f}")
        table.add_row(*map(escape, (row["component"], *cells)))
    print_table(table)
    for caveat in result.caveats:
        typer.echo(f"  {caveat}")


def _print_posterior(result: Any) -> None:
    """Print each number's posterior, the naive one, and what public data say themselves."""
    from rich.markup import escape
    from rich.table import Table

    from bayesdp.report.any_family import summarize_posterior

    release = result.release
    summary = summarize_posterior(
        result.idata, release, naive=result.naive, reference=result.reference
    )
    table = Table(title=escape(f"{release.variable}: {release.guarantee}"))
    headings = ["", "", "posterior, 95%"]
    if summary.has_reference:
        headings.insert(2, "true")
        table.caption = "The data are public, so what they say themselves can be shown."
    if summary.has_naive:
        headings.append("naive, 95%")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < 2 else "right", no_wrap=True)
    rows = [(variable.name, row) for variable in summary.variables for row in variable.rows]
    for name, row in rows[:_SHOWN]:
        cells = [escape(name), escape("" if row.label == name else row.label)]
        if summary.has_reference:
            cells.append("" if row.reference is None else f"{row.reference:.3f}")
        cells.append(f"{row.mean:.3f} [{row.low:.3f}, {row.high:.3f}]")
        if summary.has_naive:
            cells.append("" if row.naive is None else "{:.3f} [{:.3f}, {:.3f}]".format(*row.naive))
        table.add_row(*cells[:2], *map(escape, cells[2:]))
    print_table(table)
    if len(rows) > _SHOWN:
        typer.echo(f"and {len(rows) - _SHOWN:,} more, in the report")


def _print_whole_table(result: Any) -> None:
    """Print what was released of a whole table, and what can be asked; the report has the rest."""
    from bayesdp.evaluation.analysis import POSTERIOR
    from bayesdp.report.whole_table import summarize_table

    release = result.release
    summary = summarize_table(result.idata, release, reference=result.reference)
    counts = sum(each.counts for each in summary.measured)
    marginals = sum(len(each.marginals) for each in summary.measured)
    typer.echo(f"{release.variable}: {release.guarantee}")
    what = "counts, unseen," if summary.noiseless else "noisy counts"
    typer.echo(
        f"{counts:,} {what} of {marginals:,} marginal{'' if marginals == 1 else 's'} of "
        f"{len(summary.columns)} columns; the whole table has {summary.cells:,} cells"
    )
    if summary.has_reference:
        shares = [one for column in summary.columns for one in column.shares]
        held = sum(one.low <= float(one.reference or 0) <= one.high for one in shares)
        typer.echo(
            f"The data are public: {held} of the {len(shares)} shares of columns' cells are in "
            "their 95% intervals."
        )
    typer.echo(f"verdict: {result.idata.attrs['verdict']}")
    names = [column.name for column in summary.columns]
    typer.echo(f"ask it more: {estimate_line(result.folder / POSTERIOR, names[:2])}")


_PRINTERS: Mapping[str, Callable[[Any], None]] = {
    "binomial": _print_comparison,
    "table": _print_whole_table,
}
"""What is printed of families that have a way of their own."""
