"""Command `bayesdp fit`: draws from the posterior, by any model.

Its options are those below and the fields of the model, which is typed or read off the release, so
that the command is made then. Heavy imports wait until it runs.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli import options
from bayesdp.cli.analyses import run_analysis
from bayesdp.cli.completion import command_with_more_options, model_names
from bayesdp.cli.fields import (
    command_with_fields,
    fields_of,
    first_line,
    given_options,
    once,
    run_command,
)
from bayesdp.cli.options import Force, Json
from bayesdp.cli.posteriors import print_summary, summary_of
from bayesdp.cli.printed import print_json, print_next
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import MODELS, family_of

if TYPE_CHECKING:
    from bayesdp.release import Release

_USUAL = "binomial"
"""The family whose refusal says which models read a release, where none here does."""


def fit(context: typer.Context) -> None:
    """Draw from the posterior given a release, or run a whole analysis."""
    command, name = _command(context.args)
    run_command(command, context, name)


def _command(args: Sequence[str]) -> tuple[Any, str]:
    """The command with the options of the model that is typed, or reads the release; its name."""
    line = "Draw from the posterior given a release, or run a whole analysis."
    family, read = dict(given_options(args)).get("--family"), {}
    if family is None:
        read = _releases_among(args)
        family = next(map(_family_of, read.values()), None)

    def run(typed: dict[str, Any], **given: Any) -> None:
        _run(read, typed, **given)

    if family is None:  # an analysis, which declares its model, or nothing as yet
        return command_with_fields(_options, None, (), line, run), "bayesdp fit"
    from bayesdp.evaluation.declarations import model_named

    cls = model_named(family)
    line = f"{line} By `{family}`: {first_line(cls)}"
    name = f"bayesdp fit --family {family}"
    return command_with_fields(_options, cls, fields_of(cls), line, run), name


Completed = command_with_more_options(lambda args: _command(args)[0])


def _options(
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
            help=f"Model family: {', '.join(MODELS)}; default: the one that reads the release "
            "and needs the least beside it. Its fields are options too: --family NAME --help.",
            autocompletion=model_names,
        ),
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="Numbers of the prior, such as 1,1 for a beta prior.")
    ] = None,
    n: Annotated[
        str | None,
        typer.Option(
            help="Number of records, or a range if it is confidential: 500:1500; or each group's: "
            "north=400,south=50:70."
        ),
    ] = None,
    group: options.Group = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", help="A field of the model, as TOML: 'prior.sd = 1.5'."),
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
    """Options that don't depend on the model."""


def _run(read: dict[str, Release], typed: dict[str, Any], **given: Any) -> None:
    """Fit the model with the fields that are typed, or run the analysis.

    `read` has the release, by its folder, if it was read to know the model.
    """
    target, out, force, as_json = (given[name] for name in ("target", "out", "force", "as_json"))
    sampling = {name: given[name] for name in ("engine", "draws", "chains", "warmup", "seed")}
    sampling |= options.parameters(given["settings"] or [], "setting")
    sampling = {name: value for name, value in sampling.items() if value is not None}
    declared = _declared(typed, given)
    if _is_analysis(target):
        from bayesdp.evaluation.analysis import find_analysis

        find_analysis(target)  # so that a folder that isn't there is said to be
        if declared or given["family"] or given["group"]:
            raise InvalidInput(
                f"{quoted(target)} is an analysis, which declares its model: family, prior, n, "
                "group, set and a model's fields are for a release folder; leave them out"
            )
        run_analysis(target, out or Path(Path(target).stem), force, sampling, as_json=as_json)
        return
    from bayesdp.evaluation.analysis import checked_fit
    from bayesdp.evaluation.declarations import model_of
    from bayesdp.release import Release
    from bayesdp.storage import check_file, whole_file

    out = out or Path("posterior.nc")
    check_file(out, force=force)  # before the fit, which may take long
    whole = read[target] if target in read else Release.load(target)
    release = options.of_group(whole, given["group"])
    family = given["family"] or _family_of(release)
    _check_complete(family, declared)
    model = model_of(family, declared)
    arguments = checked_fit(model, {"progress": sys.stderr.isatty(), **sampling})
    idata = model.fit(release, **arguments)
    with whole_file(out) as work:
        idata.to_netcdf(str(work))
    line = f"bayesdp report {shlex.quote(str(out))} {shlex.quote(target)} --out report/"
    if given["group"] is not None:
        line += f" --group {shlex.quote(given['group'])}"
    if as_json:
        print_json({"posterior": str(out), **summary_of(idata), "next": line})
        return
    print_summary(getattr(idata, "pooled", idata))  # a grid's cells would fill a screen
    typer.echo(
        f"posterior written to {out} (engine {idata.attrs['engine']}: "
        f"{idata.attrs['engine_reason']})"
    )
    print_next(line)


def _declared(typed: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The model's fields: those that are typed, by options of their own, by --set, --prior, --n."""
    declared = once(typed, options.parameters(given["parameters"] or []))
    if given["prior"] is not None:
        declared = once(declared, {"prior": options.prior(given["prior"])})
    if given["n"] is not None:
        declared = once(declared, {"n": options.sizes_by_group(given["n"])})
    return declared


def _check_complete(family: str, declared: dict[str, Any]) -> None:
    """Raise InvalidInput, which names the option, if a field that the model needs isn't there."""
    for field in fields_of(MODELS.find(family, InvalidInput)):
        if field.needed and field.name not in declared:
            raise InvalidInput(
                f"{field.option} is missing, which the model {family} needs. {field.line}"
            )


def _releases_among(args: Sequence[str]) -> dict[str, Release]:
    """Read the first release folder among the words, if there is one; by its name."""
    from bayesdp.release import MANIFEST, Release

    folders = (word for word in args if (Path(word) / MANIFEST).is_file())
    return {folder: Release.load(folder) for folder in islice(folders, 1)}


def _family_of(release: Release) -> str:
    return family_of(release.parts[0].mechanism) or _USUAL


def _is_analysis(target: str) -> bool:
    """Return True for a file, and a shipped analysis, also beside a result of its name."""
    from bayesdp.evaluation.analysis import shipped_analyses
    from bayesdp.release import MANIFEST

    if target.endswith(".toml") or not Path(target).exists():
        return True
    return target in shipped_analyses() and not (Path(target) / MANIFEST).exists()
