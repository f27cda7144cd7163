"""Command `bayesdp copies`: synthetic copies of a whole table, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.options import Force, Json, estimate_line
from bayesdp.cli.posteriors import read_posterior
from bayesdp.cli.printed import print_json, print_next

_COPIES = 20
_OUT, _KIND = Path("copies"), "csv"


def copies(
    posterior: Annotated[
        Path, typer.Argument(help="The file that `bayesdp fit` wrote for a whole table.")
    ],
    number: Annotated[
        int, typer.Option("--copies", help="Number of copies; twenty are enough for intervals.")
    ] = _COPIES,
    out: Annotated[Path, typer.Option(help="Folder to write.")] = _OUT,
    kind: Annotated[str, typer.Option(help="Kind of the files: csv or parquet.")] = _KIND,
    seed: Annotated[
        int | None, typer.Option(help="Seed, for reproducible values within cells.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write synthetic copies of a whole table as files, and how to analyse them."""
    from bayesdp.checks import check_one_of
    from bayesdp.evaluation.synthetic_copies import ABOUT, KINDS, WORDS, SyntheticCopies
    from bayesdp.storage import check_target

    check_one_of("kind", kind, KINDS)
    check_target(out, ABOUT, force=force)
    read = read_posterior(posterior)
    from bayesdp.inference.table.posterior import TablePosterior

    made = SyntheticCopies.of(TablePosterior.of(read), number, seed=seed)
    made.save(out, kind=kind, force=force)
    line = estimate_line(out, [*made.schema.columns][:1])
    if as_json:
        said = made.about.model_dump(include={"of", "guarantee", "verdict", "assumed"})
        print_json({"copies": str(out), "number": number, **said, "next": line})
        return
    typer.echo(f"{made!r} written to {out}; {WORDS} there says how to analyse them")
    typer.echo(f"promise: {made.about.guarantee}")
    print_next(line)
