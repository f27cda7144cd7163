"""Command `bayesdp fit`: draws from the posterior. Heavy imports wait until it runs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesdp.cli import options
from bayesdp.cli.analyses import run_analysis
from bayesdp.cli.completion import model_names
from bayesdp.cli.options import Force, Json
from bayesdp.cli.posteriors import print_summary, summary_of
from bayesdp.cli.printed import print_json, print_next
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import MODELS, family_of


def fit(
    target: Annotated[
        str,
        typer.Argument(help="A release folder, a TOML file, or the name of a shipped analysis."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write, or folder of an analysis; default: posterior.nc, or its name."
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help=f"Model family: {', '.join(MODELS)}; default: the only one that reads the "
            "release, else binomial.",
            autocompletion=model_names,
        ),
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="Numbers of the prior, such as 1,1 for a beta prior.")
    ] = None,
    n: Annotated[
        str | None,
        typer.Option(help="Number of records, or a range if it is confidential: 500:1500."),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another parameter of the model, as TOML: 'sd = 1.5'."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Engine: auto, or one of the model's, such as exact, pymc or stan; "
            "pathfinder or laplace for an approximation."
        ),
    ] = None,
    draws: Annotated[int | None, typer.Option(help="Draws per chain.")] = None,
    chains: Annotated[int | None, typer.Option(help="Number of chains; default: 4.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Draws that each chain discards.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed, for reproducible draws.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            help="A setting of the engine or the fit, as TOML: 'target_accept = 0.95'; "
            "`bayesdp models NAME` lists them.",
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw from the posterior given a release, or run a whole analysis."""
    given: dict[str, Any] = {"engine": engine, "draws": draws, "chains": chains}
    given |= {"warmup": warmup, "seed": seed, **options.parameters(settings or [], "setting")}
    sampling = {name: value for name, value in given.items() if value is not None}
    if _is_analysis(target):
        if (family, prior, n, parameters) != (None, None, None, None):
            raise InvalidInput(
                f"{quoted(target)} is an analysis, which declares its model: family, prior, n and "
                "set are for a release folder; leave them out"
            )
        run_analysis(target, out or Path(Path(target).stem), force, sampling, as_json=as_json)
        return
    from bayesdp.evaluation.analysis import checked_fit
    from bayesdp.evaluation.declarations import model_of
    from bayesdp.release import Release
    from bayesdp.storage import check_file, whole_file

    out = out or Path("posterior.nc")
    check_file(out, force=force)  # before the fit, which may take long
    declared = options.parameters(parameters or [])
    if prior is not None:
        declared["prior"] = options.numbers("prior", prior)
    if n is not None:
        declared["n"] = options.sizes(n)
    release = Release.load(target)
    own = family_of(release.parts[0].mechanism)
    model = model_of(family or own or "binomial", declared)
    arguments = checked_fit(model, {"progress": sys.stderr.isatty(), **sampling})
    idata = model.fit(release, **arguments)
    with whole_file(out) as work:
        idata.to_netcdf(str(work))
    line = f"bayesdp report {shlex.quote(str(out))} {shlex.quote(target)} --out report/"
    if as_json:
        print_json({"posterior": str(out), **summary_of(idata), "next": line})
        return
    print_summary(getattr(idata, "pooled", idata))  # a grid's cells would fill a screen
    typer.echo(
        f"posterior written to {out} (engine {idata.attrs['engine']}: "
        f"{idata.attrs['engine_reason']})"
    )
    print_next(line)


def _is_analysis(target: str) -> bool:
    """Return True for a file, and a shipped analysis, also beside a result of its name."""
    from bayesdp.evaluation.analysis import shipped_analyses
    from bayesdp.release import MANIFEST

    if target.endswith(".toml") or not Path(target).exists():
        return True
    return target in shipped_analyses() and not (Path(target) / MANIFEST).exists()
