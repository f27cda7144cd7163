"""Command `bayesdp study`: replicated simulation. Heavy imports wait until it runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli.options import Json
from bayesdp.cli.printed import print_json, rows_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.evaluation.studies.results import StudyResults

_MEASURES = (("bias", "rmse", "coverage"), ("bias", "rmse"), ("mean", "sd"), ("mean",), ())
"""Those that are shown: the first of these that the analyses have."""
_SUMMARY = "summary.csv"


def study(
    file: Annotated[Path, typer.Argument(help="The study's TOML file.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of results; default: the file's `out`, or its name.")
    ] = None,
    client: Annotated[
        str,
        typer.Option(
            help="Where to run: local, a Dask scheduler's address, or none for this process."
        ),
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(help="Number of processes of this machine; default: one per core.")
    ] = None,
    replicates: Annotated[
        int | None, typer.Option(help="Number of replicates, instead of the file's.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Compute failed replicates again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Release simulated or public data many times over a grid, and analyse every release.

    The same command resumes a study that was stopped; with more replicates, it adds them.
    """
    from bayesdp.errors import StudyStopped
    from bayesdp.evaluation.studies.file import load_study
    from bayesdp.storage import whole_file

    declared, loaded = load_study(file, replicates=replicates)
    folder = out or (file.parent / declared.out if declared.out else Path(file.stem))
    try:
        results = loaded.run(
            folder,
            client=None if client == "none" else client,
            workers=workers,
            retry_failed=retry_failed,
        )
    except KeyboardInterrupt:
        typer.echo(
            f"stopped; what was finished is kept in {folder}, and the same command goes on from it",
            err=True,
        )
        raise typer.Exit(130) from None
    summary = results.summary()
    with whole_file(folder / _SUMMARY) as work:
        summary.to_csv(work, index=False)
    if as_json:
        told = {"title": declared.title, "folder": str(folder), "rows": len(results.frame)}
        failed = {"failed": len(results.failures), "note": results.note}
        print_json(told | failed | {"summary": rows_of(summary)})
    else:
        _print(declared.title, folder, results, summary)
    if len(results.failures) == len(results.frame):
        raise StudyStopped(
            "every replicate failed, as shown above; mend the study and give it another folder, or "
            "where the fault lay elsewhere, run it again with --retry-failed"
        )


def _print(title: str, folder: Path, results: StudyResults, summary: pd.DataFrame) -> None:
    """Print what differs between cells, with the main measures; the rest is in the file."""
    words = ["synthesizer", *results.keys, "analysis", "estimand", "replicates", "failed"]
    same = [name for name in words if summary[name].nunique(dropna=False) == 1]
    measures = next(each for each in _MEASURES if set(each) <= {*summary.columns} or not each)
    columns = {name: [_text(x) for x in summary[name]] for name in words if name not in same}
    for name in measures:
        pairs = zip(summary[name], summary[f"{name}_se"], strict=True)
        columns[name] = [_with_error(value, error) for value, error in pairs]
    first = {name: _text(summary[name].iloc[0]) for name in same}
    typer.echo(f"{title}: " + ", ".join(f"{k} {v}" for k, v in first.items() if v))
    if columns:
        typer.echo(type(summary)(columns).to_string(index=False))
    _print_failures(results.failures)
    typer.echo(
        f"{len(results.frame):,} rows: {folder / 'results.parquet'}; averages and standard "
        f"errors: {folder / _SUMMARY}\n{results.note}"
    )


def _print_failures(failures: pd.DataFrame) -> None:
    """Print the number of failures of each kind, and the message of the first."""
    for error, rows in failures.groupby("error", sort=False) if len(failures) else ():
        messages = rows["message"].dropna().tolist() if "message" in rows else []
        first = f": {messages[0]}" if messages else ", whose message isn't kept"
        typer.echo(f"{len(rows):,} rows failed with {error}{first}")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:g}"
    return str(value)


def _with_error(value: float, error: float) -> str:
    """Format a value to the second significant digit of its standard error."""
    if math.isnan(value):
        return ""
    if not error > 0:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"
