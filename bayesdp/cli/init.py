"""Command `bayesdp init`: a release's declaration, to be filled in."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.completion import synthesizer_names
from bayesdp.cli.options import Force
from bayesdp.cli.printed import print_next
from bayesdp.cli.synthesize import said_of_data


def init(
    synthesizer: Annotated[
        str,
        typer.Argument(
            help="Its name; `bayesdp synthesizers` lists all.", autocompletion=synthesizer_names
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write, - to print; default: its name, .toml.")
    ] = None,
    force: Force = False,
) -> None:
    """Write a commented file that declares a release, for `bayesdp synthesize --config`."""
    from bayesdp.cli.config import template_of
    from bayesdp.evaluation.declarations import synthesizer_named
    from bayesdp.storage import check_file, whole_file

    cls = synthesizer_named(synthesizer)
    file = Path(f"{synthesizer}.toml") if out is None else out
    printed = str(file) == "-"
    name = shlex.quote(f"{synthesizer}.toml" if printed else str(file))
    text = template_of(synthesizer, cls, said_of_data(), name)
    if printed:
        typer.echo(text, nl=False)
        return
    check_file(file, force=force)
    with whole_file(file) as work:
        work.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {file}: fill it in; no record was read")
    print_next(f"bayesdp synthesize --config {name} --out release/")
