"""Commands `bayesdp synthesizers` and `bayesdp models`: what there is, and its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bayesdp.cli.completion import model_names, synthesizer_names
from bayesdp.cli.fields import Field, fields_of, first_line
from bayesdp.cli.options import Json
from bayesdp.cli.printed import print_json, print_next
from bayesdp.registry import Registry


def synthesizers(
    name: Annotated[
        str | None,
        typer.Argument(help="One of them, to see its fields.", autocompletion=synthesizer_names),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the synthesizers, or one's fields: what it is declared by."""
    from bayesdp.evaluation.declarations import SYNTHESIZERS, settings_of, synthesizer_named

    if name is None:
        _list(SYNTHESIZERS, "synthesizers", as_json)
        return
    cls = synthesizer_named(name)
    if as_json:
        print_json(_told(name, cls, fields_of(cls, settings_of(cls))) | {"takes": cls.takes})
        return
    _show(name, cls, fields_of(cls, settings_of(cls)))
    typer.echo(f"it takes: {cls.takes}")
    if cls.takes != "model":
        print_next(f"bayesdp init {name}")


def models(
    name: Annotated[
        str | None,
        typer.Argument(help="One of them, to see its fields.", autocompletion=model_names),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the models, or one's fields: what it is declared by."""
    from bayesdp.engines.settings import known_settings
    from bayesdp.evaluation.declarations import model_named
    from bayesdp.inference.readers import MODELS

    if name is None:
        _list(MODELS, "models", as_json)
        return
    cls = model_named(name)
    if as_json:
        fitted = {"engines": cls.engines, "approximate_engines": cls.approximations()}
        more: dict[str, Any] = {**fitted, "settings": known_settings(cls.engines)}
        print_json(_told(name, cls, fields_of(cls)) | more)
        return
    _show(name, cls, fields_of(cls))
    typer.echo(f"engines: {', '.join(cls.engines)}")
    if approximate := cls.approximations():
        typer.echo(f"approximate engines: {', '.join(approximate)}")
    for engine, settings in known_settings(cls.engines).items():
        typer.echo(f"settings of a fit by {engine}: {', '.join(settings)}")


def _list(registry: Registry, command: str, as_json: bool) -> None:
    from bayesdp.errors import InvalidInput

    rows = [(name, first_line(registry.find(name, InvalidInput))) for name in registry.names()]
    if as_json:
        print_json(dict(rows))
        return
    widest = max(len(name) for name, _ in rows)
    for name, line in rows:
        typer.echo(f"{name:{widest}}  {line}")
    typer.echo(f"fields of one: bayesdp {command} NAME")


def _told(name: str, cls: Any, fields: Sequence[Field]) -> dict[str, Any]:
    listed = [
        {"name": each.name, "type": each.shown, "default": each.usual, "line": each.line}
        for each in fields
    ]
    return {"name": name, "line": first_line(cls), "fields": listed}


def _show(name: str, cls: Any, fields: Sequence[Field]) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    typer.echo(f"{name}: {first_line(cls)}")
    table = Table(box=SIMPLE, pad_edge=False)
    for heading in ("field", "type", "default", ""):
        table.add_column(heading, overflow="fold")
    for field in fields:
        cells = field.name, field.shown, field.usual, field.line
        table.add_row(*map(escape, cells))
    Console().print(table)
