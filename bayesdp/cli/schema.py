"""Commands `bayesdp schema`: a template of a table's schema, and its check."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli import options
from bayesdp.cli.printed import print_json, print_next
from bayesdp.errors import InvalidInput, quoted

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.schema.schema import Schema

app = typer.Typer(help="What each column of a table may hold, in a file.", no_args_is_help=True)


@app.command()
def template(
    data: Annotated[
        Path,
        typer.Argument(
            help="A CSV, Parquet, Excel, Stata or SPSS file; its columns' names alone are read."
        ),
    ],
    out: Annotated[Path, typer.Option(help="File to write, - to print.")],
    force: options.Force = False,
) -> None:
    """Write a schema to be filled in, from the names of columns alone."""
    from bayesdp.schema.schema import Schema
    from bayesdp.storage import check_file, whole_file

    if str(out) == "-":
        typer.echo(Schema.template(data), nl=False)
        return
    check_file(out, force=force)
    text = Schema.template(data)
    with whole_file(out) as work:
        work.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {out}: fill it in from the codebook; no record was read")
    print_next(f"bayesdp schema check {shlex.quote(str(out))} {shlex.quote(str(data))}")


@app.command()
def check(
    schema: Annotated[Path, typer.Argument(help="The schema, a TOML file.")],
    data: Annotated[
        Path | None,
        typer.Argument(help="Confidential data: a CSV, Parquet, Excel, Stata or SPSS file."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show a schema and, with data, whether all records fit; no value is shown, and no number."""
    from bayesdp.schema.schema import Schema

    declared = Schema.load(schema)
    if not as_json:
        _show(declared)
    if data is not None and (faults := list(_faults(declared, data))):
        raise InvalidInput(f"{data} doesn't fit: " + "; ".join(faults))
    others = [] if data is None else _others(declared, data)
    if as_json:
        fits = None if data is None else True
        print_json(_told(declared) | {"fits": fits, "left_out": others})
    if data is None or as_json:
        return
    typer.echo(f"all records of {data} fit")
    if others:
        typer.echo(f"left out, as the schema doesn't have them: {', '.join(map(quoted, others))}")
    files = f"{shlex.quote(str(data))} --schema {shlex.quote(str(schema))}"
    print_next(f"bayesdp synthesize {files} --epsilon 1 --out release/")


def _told(schema: Schema) -> dict[str, Any]:
    columns = [
        {"column": name, "type": each.type, "cells": each.cells, "public": each.public}
        for name, each in schema.columns.items()
    ]
    return {"columns": columns, "cells": math.prod(schema.cells.values())}


def _show(schema: Schema) -> None:
    from rich.table import Table

    from bayesdp.cli.tables import print_table
    from bayesdp.schema.columns import private_bins
    from bayesdp.schema.units import Person

    private = private_bins(schema.columns)
    table = Table("column", "type", "cells", "", "cut points")
    for name, column in schema.columns.items():
        public = "public" if column.public else "confidential"
        share = f"private, share {private[name].share:g}" if name in private else ""
        table.add_row(name, column.type, f"{column.cells:,}", public, share)
    print_table(table)
    unit = schema.unit
    of = (
        f"person ({unit.person}), at most {unit.most} records"
        if isinstance(unit, Person)
        else "record"
    )
    cells = math.prod(schema.cells.values())
    rules = len(schema.zeros)
    told = f"{rules} rule{'' if rules == 1 else 's'} of zeros"
    typer.echo(f"{cells:,} cells in all, {told}; unit: {of}")


def _others(schema: Schema, data: Path) -> list[str]:
    """The file's columns that a release by the schema leaves out."""
    from bayesdp.schema.units import Person
    from bayesdp.table_files import names_in

    ids = [schema.unit.person] if isinstance(schema.unit, Person) else []
    return [name for name in names_in(data) if name not in (*ids, *schema.columns)]


def _faults(schema: Schema, data: Path) -> Iterator[str]:
    """Yield what doesn't fit, each column once."""
    from bayesdp.schema.columns import private_bins
    from bayesdp.schema.units import Person
    from bayesdp.synthesis.scan import scan
    from bayesdp.synthesis.tables import read_table
    from bayesdp.table_files import batches_of, names_in, seem_names

    there = names_in(data)
    ids = [schema.unit.person] if isinstance(schema.unit, Person) else []
    wanted = [*ids, *schema.columns]
    if absent := [name for name in wanted if name not in there]:
        yield from (f"column {quoted(name)} isn't there" for name in absent)
        if not seem_names(there, wanted):
            yield "its first line has no name like these, may be a record and isn't shown"
            return
        yield from (f"column {quoted(name)} isn't in the schema" for name in _others(schema, data))
        return
    whole = schema.with_cuts({name: [] for name in private_bins(schema.columns)})
    types = dict.fromkeys(ids, "string") | whole.types
    if batches_of(data) is None:
        texts = [name for name, kind in types.items() if kind == "string"]
        yield from _faults_of(whole, read_table(data, list(types), text=texts), ids).values()
        return
    found: dict[str, str] = {}
    try:
        for batch in scan(data, list(types)).typed(types):
            found |= _faults_of(whole, batch, ids, found)
    except InvalidInput:  # of Arrow's, that a file can't be read with these types
        found = dict(_unreadable(data, types, whole)) or found
        if not found:
            raise
    yield from found.values()


def _faults_of(
    schema: Schema, batch: pd.DataFrame, ids: Sequence[str], known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what doesn't fit in a batch, by column, its persons' ids among them."""
    known, found = known or {}, {}
    if ids and batch[ids].isna().to_numpy().any():
        said = "has missing values; give each record its person's"
        found[ids[0]] = f"column {quoted(ids[0])} {said}"
    return found | _unfit(schema, batch[list(schema.columns)], {**known, **found})


def _unfit(schema: Schema, batch: pd.DataFrame, known: Mapping[str, str]) -> dict[str, str]:
    """Return what doesn't fit in a batch, by column; "" is for combinations."""
    from bayesdp.schema.schema import Schema

    found = {}
    codes = {}
    for name, column in schema.columns.items():
        try:
            codes[name] = Schema({name: column}).coded(batch[[name]])[name]
        except InvalidInput as error:
            found[name] = known.get(name, str(error))
    if not found and not known and schema.impossible(batch.assign(**codes)).any():
        found[""] = "there are records that zeros say there are none of"
    return found


def _unreadable(data: Path, types: Mapping[str, str], schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the columns that can't be read with their types; raise where no line can be split."""
    from bayesdp.synthesis.scan import READ_AS, scan

    any_one = next(iter(types))
    for _ in scan(data, [any_one]).typed({any_one: "binary"}):  # which takes all that is a field
        pass
    for name, kind in types.items():
        try:
            for _ in scan(data, [name]).typed({name: kind}):
                pass
        except InvalidInput:
            way = f"; {schema.columns[name].way_out_of_file}" if name in schema.columns else ""
            yield name, f"column {quoted(name)} has values that aren't {READ_AS[kind]}{way}"
