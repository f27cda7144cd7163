"""Command `bayesdp synthesize`: private copies of data, by any synthesizer.

Its options are those below and the chosen synthesizer's fields: what a command takes is known once
its name is, so that the command is made then. Heavy imports wait until it runs.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from bayesdp.cli import options
from bayesdp.cli.completion import command_with_more_options, synthesizer_names
from bayesdp.cli.config import Config, load_config
from bayesdp.cli.fields import (
    Field,
    command_with_fields,
    fields_of,
    first_line,
    given_options,
    once,
    run_command,
)
from bayesdp.cli.inspect import fit_line
from bayesdp.cli.ledger import cost_text, open_account
from bayesdp.cli.printed import print_json, print_next, promise_of
from bayesdp.errors import BayesDPError, InvalidInput, quoted

if TYPE_CHECKING:
    from bayesdp.privacy.ledger import DatasetLedger
    from bayesdp.release import Release

USUAL = "discrete_laplace"
"""The synthesizer of a yes/no answer: the shortest interval of all that `plan` compares."""
OF_COPIES = "beta_binomial"
"""The synthesizer that these options ask for, as they did when it was the only one."""
COPIED = ("--copies", "--size", "--prior", "--public-n")
HIDING_N = ("--confidential-n", "--no-public-n", "--public_n")
OF_SCHEMA = "table"
"""The synthesizer that an option --schema asks for."""
_MOST_EPSILON = 10.0


def synthesize(context: typer.Context) -> None:
    """Release private copies of data, and what they promise, by any synthesizer."""
    command, name = _command(context.args)
    run_command(command, context, f"bayesdp synthesize --synthesizer {name}")


def _command(args: Sequence[str]) -> tuple[Any, str]:
    """The command with the options of the synthesizer that is typed, and its name."""
    config, why = _chosen(args)
    cls, fields = _declared(config.name)

    def run(typed: dict[str, Any], **given: Any) -> None:
        _run(config, cls, typed, given, why)

    line = f"Release private copies of data, by `{config.name}`: {first_line(cls)}"
    return command_with_fields(_options, cls, fields, line, run), config.name


Completed = command_with_more_options(lambda args: _command(args)[0])


def _options(
    out: Annotated[Path, typer.Option(help="Release folder to write.")],
    data: Annotated[
        str | None,
        typer.Argument(
            help="Confidential data: a CSV (.csv, .tsv), Parquet, Excel (.xlsx), Stata (.dta) or "
            "SPSS (.sav) file, - for CSV from standard input, or networkx:NAME.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A TOML file that declares the release, as `bayesdp init` writes it."),
    ] = None,
    synthesizer: Annotated[
        str | None,
        typer.Option(
            help="Its name; `bayesdp synthesizers` lists all. Default: discrete_laplace, which "
            "gives the shortest interval of a proportion; beta_binomial, the synthetic copies of "
            "Charest (2010), with --copies, --size, --prior or --confidential-n; table with "
            "--schema.",
            autocompletion=synthesizer_names,
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column of the records: answers 0 and 1, say, or numbers.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Several columns, for a synthesizer of tables: a,b,c.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Column of groups.")] = None,
    counts: Annotated[
        str | None, typer.Option(help="Column of how many records each row stands for.")
    ] = None,
    ties: Annotated[
        str | None,
        typer.Option(help="Columns of the ends of a network's ties; default: from,to."),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            help="All nodes of a network: their number, 1:40, labels a,b,c or a file of them."
        ),
    ] = None,
    directed: Annotated[bool, typer.Option("--directed", help="Ties have a direction.")] = False,
    confidential_n: Annotated[
        bool, typer.Option("--confidential-n", help="Keep n confidential, and each record's group.")
    ] = False,
    groups: Annotated[
        str | None, typer.Option(help="All groups that may occur: a,b,c; their labels are public.")
    ] = None,
    all_groups: Annotated[
        bool,
        typer.Option(
            "--all-groups",
            help="Publish every label that occurs, even if most belong to one record.",
        ),
    ] = False,
    equals: Annotated[
        str | None, typer.Option(help="Value that counts as 1, as it is written; with --values.")
    ] = None,
    values: Annotated[
        str | None, typer.Option(help="All values that may occur: yes,no; public.")
    ] = None,
    above: Annotated[
        float | None, typer.Option(help="Threshold: numbers above it count as 1.")
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", help="A field of the synthesizer, as TOML: 'bounds.age = [18, 90]'."),
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="URL of the ledger to spend from.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Dataset whose budget is charged, with --ledger.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier result there.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Options that don't depend on the synthesizer; what they are called is what `_run` takes."""


def _chosen(args: Sequence[str]) -> tuple[Config, str]:
    """The synthesizer, which says what other options there are, and why it was chosen."""
    given = dict(given_options(args))
    named = given.get("--synthesizer")
    if "--config" in given:
        config = load_config(Path(given["--config"]))
        if named not in (None, config.name):
            raise InvalidInput(
                f"synthesizer is {quoted(named)}, but {given['--config']} declares "
                f"{quoted(config.name)}; leave one of them out"
            )
        return config, ""
    if named is not None:
        return Config(named), ""
    if "--schema" in given:
        return Config(OF_SCHEMA), ""
    if any(option in given for option in HIDING_N):
        return Config(OF_COPIES), f"as the number of records is confidential; {USUAL} publishes it"
    for option in COPIED:
        if option in given:
            why = f"as {option} asks; without it, {USUAL} gives a shorter interval"
            return Config(OF_COPIES), why
    return Config(USUAL), (
        "as no other with a pure epsilon that `bayesdp plan` compares gives a shorter interval; "
        f"for the synthetic copies of Charest (2010): --synthesizer {OF_COPIES}"
    )


def _declared(name: str) -> tuple[Any, list[Field]]:
    from bayesdp.evaluation.declarations import settings_of, synthesizer_named

    cls = synthesizer_named(name)
    return cls, fields_of(cls, settings_of(cls))


def _run(
    config: Config, cls: Any, declared: dict[str, Any], given: dict[str, Any], why: str
) -> None:
    """Release, by a synthesizer with declared fields, from the data that the other options name."""
    from bayesdp.evaluation.declarations import located, release_of
    from bayesdp.release import MANIFEST
    from bayesdp.storage import check_target

    name, out, all_groups = config.name, given["out"], given["all_groups"]
    by = given["by"] or config.data.get("by")
    if str(out) == "-":
        raise InvalidInput("out is '-', but a release is a folder of two files; name the folder")
    check_target(out, MANIFEST, force=given["force"])  # before anything is spent or drawn
    account = open_account(given["ledger"], given["dataset"])
    listed = options.groups(given["groups"]) if given["groups"] else None
    if all_groups and (listed or not by or given["confidential_n"]):
        raise InvalidInput(
            "all-groups publishes the labels that occur in --by; it goes with neither --groups nor "
            "--confidential-n"
        )
    declared = once(declared, options.parameters(given["parameters"] or []))
    if given["confidential_n"]:
        declared = once(declared, {"public_n": False})
    declared = located(name, config.fields, config.folder) | declared
    if cls.named and not any(given[key] or config.data.get(key) for key in ("column", "columns")):
        given["columns"] = release_of(name, declared)[0].columns
    if cls.named and given["column"] and not given["columns"]:  # of a table of one
        given["columns"], given["column"] = [given["column"]], None
    section = _section(cls, given, listed, config.data)
    section.check_taken_by(name, cls)
    if listed or all_groups:
        declared["groups"] = list(listed.values()) if listed else None
    synthesizer, settings = release_of(name, declared)
    section.check_named_by(name, synthesizer)
    folder = config.folder if given["data"] is None else Path()
    if all_groups and not getattr(synthesizer, "public_n", True):
        raise InvalidInput(
            "all-groups publishes the labels that occur, and where the groups' sizes are "
            "confidential so are these; list all that may occur: --groups a,b,c"
        )
    data, labels = section.scanned(folder, synthesizer)
    if all_groups:
        from bayesdp.synthesis.groups import sorted_labels

        shown = sorted_labels(set(labels.dropna().tolist()))
        synthesizer = dataclasses.replace(synthesizer, groups=shown)
    if labels is not None:
        settings["by"] = labels
    release = synthesizer.release(data, ledger=account, **settings)
    _save(release, out, account, force=given["force"])
    left = None if account is None else account.remaining()
    line = fit_line(release, out) or f"bayesdp inspect {shlex.quote(str(out))}"
    if given["as_json"]:
        told = {"folder": str(out), "synthesizer": name, "copies": release.copies}
        promise = {"guarantee": promise_of(release.guarantee)}
        paid = {} if left is None else {"left": {"epsilon": left.epsilon, "delta": left.delta}}
        print_json(told | promise | paid | {"next": line})
        return
    _print(release, out, f"{name}, {why}" if why else "")
    if left is not None and account is not None:
        typer.echo(f"  left of {account.name}: {cost_text(left)}")
    print_next(line)


def _save(release: Release, out: Path, account: DatasetLedger | None, *, force: bool) -> None:
    """Save a release, once more as often as somebody at a terminal says so: it may be paid for."""
    while True:
        try:
            release.save(out, force=force)
            return
        except (OSError, InvalidInput) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            spent = f"; its cost was spent of {account.name}, and stays spent" if account else ""
            said = f"the release was drawn but can't be saved in {quoted(out)} ({why}){spent}"
            if not sys.stdin.isatty():
                raise BayesDPError(
                    f"{said}. It is lost: make room before releasing again"
                ) from error
        typer.confirm(f"{said}. Make room there; try again?", abort=True, err=True)


def _print(release: Release, out: Path, why: str) -> None:
    """Print what was released, by what, and with which promise."""
    copies = "1 copy" if release.copies == 1 else f"{release.copies} copies"
    typer.echo(f"released {copies} to {out}: {release.guarantee}")
    if why:
        typer.echo(f"  {why}")
    if release.copies > 1:
        typer.echo(f"  {_cost_of_copies(release)}")
    for caution in _cautions(release):
        typer.echo(f"  careful: {caution}")
    for assumption in release.guarantee.assumptions:
        typer.echo(f"  {assumption}")


def _cost_of_copies(release: Release) -> str:
    """Say what each of several copies costs, where their costs add up to the release's."""
    from bayesdp.privacy.guarantee import shown_up

    alone = "a single one, --copies 1, would have it alone"
    if release.guarantee.delta or not math.isfinite(release.guarantee.epsilon):
        return f"all {release.copies} copies share this epsilon; {alone}"
    each = release.guarantee.epsilon / release.copies
    return f"the {release.copies} copies share this epsilon, {shown_up(each)} each; {alone}"


def _cautions(release: Release) -> Iterator[str]:
    """Yield a sentence on each thing that is done as asked, and may not be what was meant."""
    if _MOST_EPSILON < release.guarantee.epsilon < math.inf:
        yield (
            f"epsilon above {_MOST_EPSILON:g} promises next to nothing: the odds of what is true "
            f"of a record may grow by a factor of more than {math.exp(_MOST_EPSILON):,.0f}"
        )
    if any(part.mechanism.n == 1 for part in release.parts):
        yield "a release, or a group of it, is about a single record, as its public size shows"


def _section(
    cls: Any, given: dict[str, Any], listed: dict[str, Any] | None, in_file: dict[str, Any]
) -> Any:
    """The declaration of the data, as of an analysis in TOML; what is typed comes first."""
    from bayesdp.evaluation.data_section import DataSection
    from bayesdp.synthesis.network_tables import NETWORKX
    from bayesdp.synthesis.tables import check_values

    def split(text: Any) -> list[str] | None:
        return options.listed(text) if isinstance(text, str) else text

    typed = {
        "source": given["data"],
        "labels": listed if given["by"] or in_file.get("by") else None,
        "directed": given["directed"] or None,
        **{name: split(given[name]) for name in ("columns", "values", "ties")},
        **{name: given[name] for name in ("column", "by", "counts", "equals", "above", "nodes")},
    }
    known = in_file | {name: value for name, value in typed.items() if value is not None}
    if known.get("source") is None:
        raise InvalidInput("data is missing; give a file of confidential data, or networkx:NAME")
    check_values(known.get("equals"), known.get("values"), known.get("above"))  # before the records
    of_table = known.get("column") or known.get("columns") or cls.takes != "network"
    if of_table or str(known["source"]).startswith(NETWORKX):
        if "ties" not in in_file:
            known.pop("ties", None)
    else:
        known.setdefault("ties", ["from", "to"])
    return DataSection.declared(**known)


def said_of_data() -> dict[str, str]:
    """The help of each option that doesn't depend on the synthesizer, by its name."""
    common = inspect.signature(_options, eval_str=True).parameters.values()
    return {each.name: get_args(each.annotation)[1].help for each in common}
