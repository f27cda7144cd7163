"""Command `bayesdp study`: replicated simulation. Heavy imports wait until it runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli.options import Force, Json
from bayesdp.cli.printed import print_json, rows_of
from bayesdp.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.evaluation.studies.results import StudyResults

_MEASURES = (("bias", "rmse", "coverage"), ("bias", "rmse"), ("mean", "sd"), ("mean",), ())
"""Those that are shown: the first of these that the analyses have."""
_SUMMARY = "summary.csv"


def study(
    file: Annotated[
        str,
        typer.Argument(
            help="The study's TOML file; or an address that --save wrote, to show what is there."
        ),
    ],
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
    save: Annotated[
        str | None,
        typer.Option(
            help="Address to save the results at as well, as one Parquet file: "
            "s3://bucket/study.parquet."
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Release simulated or public data many times over a grid, and analyse every release.

    The same command resumes a study that was stopped; with more replicates, it adds them.
    """
    from bayesdp.errors import StudyStopped, without_secrets
    from bayesdp.evaluation.studies import addresses
    from bayesdp.evaluation.studies.file import load_study
    from bayesdp.storage import whole_file

    if addresses.is_address(file):
        _check_alone(out, workers, replicates, save, retry_failed)
        _show_saved(file, as_json=as_json)
        return
    declared, loaded = load_study(Path(file), replicates=replicates)
    folder = out or (Path(file).parent / declared.out if declared.out else Path(Path(file).stem))
    if save is not None:
        addresses.check(save, force=force)  # before hours of work
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
    where = f"{folder / 'results.parquet'}; averages and standard errors: {folder / _SUMMARY}"
    told = {"title": declared.title, "folder": str(folder)}
    if save is not None:
        results.save(save, force=force)
        told["saved"] = without_secrets(save)
        where += f"; saved at {told['saved']}"
    _tell(told, where, results, summary, as_json=as_json)
    if len(results.failures) == len(results.frame):
        raise StudyStopped(
            "every replicate failed, as shown above; mend the study and give it another folder, or "
            "where the fault lay elsewhere, run it again with --retry-failed"
        )


def _check_alone(*given: Any) -> None:
    """Raise InvalidInput if options of a run are given where results are only shown."""
    if any(given):
        raise InvalidInput(
            "file is an address, whose results are shown as they are; leave out, workers, "
            "replicates, save and retry-failed out, or give the study's TOML file"
        )


def _show_saved(address: str, *, as_json: bool) -> None:
    """Print the results at an address."""
    from bayesdp.evaluation.studies.results import StudyResults

    results = StudyResults.load(address)
    told = {"title": "Study", "saved": str(results.folder)}
    _tell(told, str(results.folder), results, results.summary(), as_json=as_json)


def _tell(
    told: dict[str, str], where: str, results: StudyResults, summary: pd.DataFrame, *, as_json: bool
) -> None:
    """Print the results, as JSON or in words."""
    if as_json:
        rows = {"rows": len(results.frame), "failed": len(results.failures), "note": results.note}
        print_json(told | rows | {"summary": rows_of(summary)})
    else:
        _print(told["title"], where, results, summary)


def _print(title: str, where: str, results: StudyResults, summary: pd.DataFrame) -> None:
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
    typer.echo(f"{len(results.frame):,} rows: {where}\n{results.note}")


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
