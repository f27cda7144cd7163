"""The command line. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesdp import (
    cli_options,
    explore_cli,
    ledger_cli,
    papers_cli,
    plan_cli,
    study_cli,
    synthesize_cli,
)
from bayesdp._version import __version__
from bayesdp.cli_tables import print_table, progress_bar
from bayesdp.errors import BayesDPError, InvalidInput, quoted
from bayesdp.inference.readers import MODELS

app = typer.Typer(
    help="Bayesian inference from, and for, differentially private data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(ledger_cli.app, name="ledger")
app.command()(synthesize_cli.synthesize)
app.command()(papers_cli.reproduce)
app.command()(papers_cli.errata)
app.command()(plan_cli.plan)
app.command()(study_cli.study)

Out = Annotated[Path, typer.Option(help="Where to write.")]
_SHOWN = 60  # numbers of a posterior
Force = Annotated[bool, typer.Option("--force", help="Replace an earlier result there.")]


def main() -> None:
    """Run the command line; a bayesdp error prints its message and exits with status 2."""
    try:
        app()
    except BayesDPError as error:
        typer.secho(f"error: {error}", fg=typer.colors.RED, err=True)
        sys.exit(2)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"bayesdp {__version__}")
        raise typer.Exit


@app.command()
def fit(
    target: Annotated[
        str, typer.Argument(help="A release folder, a TOML analysis, or a shipped one's name.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="posterior.nc; for an analysis, a folder (default: its name)."),
    ] = None,
    family: Annotated[str, typer.Option(help=f"Model family: {', '.join(MODELS)}.")] = "binomial",
    prior: Annotated[
        str | None, typer.Option(help="The prior's numbers: 1,1 for a beta one.")
    ] = None,
    n: Annotated[
        str | None, typer.Option(help="A size, or those a confidential n may have: 500:1500.")
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another parameter of the model, as TOML: 'sd = 1.5'."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="auto, or one of the model's: exact, pymc, stan.")
    ] = "auto",
    draws: Annotated[int, typer.Option(help="Draws per chain.")] = 4000,
    chains: Annotated[int, typer.Option(help="Chains.")] = 4,
    seed: Annotated[int | None, typer.Option(help="For reproducible draws.")] = None,
    force: Force = False,
) -> None:
    """Draw from the posterior given a release, or run a whole analysis."""
    if target.endswith(".toml") or not Path(target).exists():
        _run(target, out or Path(Path(target).stem), force)
        return
    from bayesdp.evaluation.declarations import model_of
    from bayesdp.release import Release
    from bayesdp.storage import check_file, whole_file

    out = out or Path("posterior.nc")
    check_file(out, force=force)  # before the fit, which may take long
    declared = cli_options.parameters(parameters or [])
    if prior is not None:
        declared["prior"] = cli_options.numbers("prior", prior)
    if n is not None:
        declared["n"] = cli_options.sizes(n)
    model = model_of(family, declared)
    options: dict[str, Any] = {"engine": engine, "draws": draws, "chains": chains, "seed": seed}
    idata = model.fit(Release.load(target), progress=sys.stderr.isatty(), **options)
    with whole_file(out) as work:
        idata.to_netcdf(str(work))
    _print_summary(idata)
    typer.echo(
        f"posterior written to {out} (engine {idata.attrs['engine']}: "
        f"{idata.attrs['engine_reason']})"
    )


@app.command()
def report(
    posterior: Annotated[Path, typer.Argument(help="posterior.nc, from `bayesdp fit`.")],
    release: Annotated[Path, typer.Argument(help="The release folder it was fitted to.")],
    out: Out,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    force: Force = False,
) -> None:
    """Write one HTML page: what was released and promised, and what follows from it."""
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


app.command()(explore_cli.explore)


@app.command()
def audit(
    release: Annotated[Path, typer.Argument(help="A release folder, or one like it.")],
    trials: Annotated[int, typer.Option(help="Draws from each of a pair of neighbours.")] = 100_000,
) -> None:
    """Test the promise of a release's mechanism on draws from worst-case neighbours.

    Draws from made-up data with the release's public parameters; spends no privacy. Exits with
    status 1 if a promise is refuted.
    """
    from bayesdp.privacy.audit import audit as run_audit
    from bayesdp.release import Release

    loaded, convicted = Release.load(release), False
    for part in loaded.parts:
        found = run_audit(part.mechanism, trials=trials, delta=loaded.delta)
        convicted = convicted or found.convicted
        typer.echo(f"{'' if part.group is None else f'{part.group}: '}{found}")
    raise typer.Exit(1 if convicted else 0)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("demo"),
    force: Force = False,
) -> None:
    """Run the main job on a real survey, from confidential answers to a report."""
    _run("fair", out, force)


def _run(name: str, out: Path, force: bool) -> None:
    """Run an analysis with a progress bar, then show its table."""
    from bayesdp.evaluation.analysis import REPORT, find_analysis, run_analysis

    find_analysis(name)  # so that a wrong name fails before a progress bar is drawn
    with progress_bar() as step:
        result = run_analysis(name, out, force=force, progress=step)
    if result.model.family == "binomial":
        _print_comparison(result)
    else:
        _print_summary(result.idata)
    typer.echo(f"report: {(result.folder / REPORT / 'index.html').resolve()}")


def _print_comparison(result: Any) -> None:
    """Print each group's posterior beside the one that takes the copies for real data."""
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


def _print_summary(idata: Any) -> None:
    from bayesdp.engines.draws import import_arviz

    table = import_arviz().summary(idata)
    typer.echo(table.head(_SHOWN).to_string())
    if len(table) > _SHOWN:
        typer.echo(f"and {len(table) - _SHOWN:,} more, in the posterior")
