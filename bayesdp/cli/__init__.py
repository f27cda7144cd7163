"""The command line, one file for each command. Heavy imports wait until a command needs them."""

from __future__ import annotations

import codecs
import io
import sys
import warnings
from typing import Annotated, Any

import typer

from bayesdp._version import __version__
from bayesdp.cli import (
    audit,
    catalogue,
    copies,
    demo,
    doctor,
    errata,
    estimate,
    explore,
    fit,
    impute,
    init,
    inspect,
    ledger,
    plan,
    poststratify,
    report,
    reproduce,
    schema,
    study,
    synthesize,
)
from bayesdp.cli.fields import ANY_OPTION
from bayesdp.errors import BayesDPError

app = typer.Typer(
    help="Bayesian inference from, and for, differentially private data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(ledger.app, name="ledger")
app.add_typer(schema.app, name="schema")
for module, command in ((synthesize, synthesize.synthesize), (fit, fit.fit)):
    app.command(cls=module.Completed, add_help_option=False, context_settings=ANY_OPTION)(command)
app.command()(init.init)
app.command()(catalogue.synthesizers)
app.command()(catalogue.models)
app.command()(reproduce.reproduce)
app.command()(errata.errata)
app.command()(plan.plan)
app.command()(study.study)
app.command()(inspect.inspect)
app.command()(estimate.estimate)
app.command()(impute.impute)
app.command()(copies.copies)
app.command()(poststratify.poststratify)
app.command()(report.report)
app.command()(explore.explore)
app.command()(audit.audit)
app.command()(demo.demo)
app.command()(doctor.doctor)


def main() -> None:
    """Run the command line; warnings and errors print in a line, and an error exits with 2."""
    warnings.formatwarning = _line_of_warning
    for stream in (sys.stdout, sys.stderr):
        _take_any_letter(stream)
    try:
        status = app(prog_name="bayesdp", standalone_mode=False)
    except typer.Abort:
        sys.exit(1)
    except Exception as error:
        message = str(error) if isinstance(error, BayesDPError) else _usage(error)
        if message:
            typer.secho(f"error: {message}", fg=typer.colors.RED, err=True)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def _line_of_warning(message: Warning | str, *_: Any, **__: Any) -> str:
    """Say what a warning says alone: which line of code gave it tells a reader nothing."""
    return f"warning: {message}\n"


def _take_any_letter(stream: Any) -> None:
    """Have a stream show letters that it lacks, as into a file on Windows, in place of failing."""
    if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
        stream.reconfigure(errors="backslashreplace")


def _usage(error: Any) -> str:
    """Say what is wrong with a line, in Typer's words, or raise any other error again."""
    if not hasattr(error, "format_message"):
        raise error
    said = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    if not said or "\n" in said:  # no command at all: the help, shown already or in the error
        if said:
            error.show()
        return ""
    command = "bayesdp" if context is None else context.command_path
    return f"{said[0].lower()}{said[1:]} (see {command} --help)"


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"bayesdp {__version__}")
        raise typer.Exit
