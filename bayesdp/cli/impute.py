"""Command `bayesdp impute`: a whole table's posterior had everybody answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.options import Force, Json, estimate_line, listed
from bayesdp.cli.posteriors import read_posterior
from bayesdp.cli.printed import print_json, print_next
from bayesdp.errors import InvalidInput

_OUT = Path("imputed.nc")


def impute(
    posterior: Annotated[
        Path, typer.Argument(help="The file that `bayesdp fit` wrote for a whole table.")
    ],
    columns: Annotated[
        str | None, typer.Option(help="Columns to impute: income,votes; by default all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="File to write.")] = _OUT,
    seed: Annotated[int | None, typer.Option(help="Seed, for reproducible values.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Impute a whole table's missing values, if they are missing at random given other columns."""
    from bayesdp.storage import check_file, whole_file

    check_file(out, force=force)
    read = read_posterior(posterior)
    from bayesdp.inference.table.posterior import TablePosterior

    fitted = TablePosterior.of(read)
    found = fitted.imputed(None if columns is None else listed(columns), seed=seed)
    if found is fitted:
        raise InvalidInput(
            "posterior has no column that may have missing values; estimate from it as it is"
        )
    with whole_file(out) as work:
        found.to_netcdf(str(work))
    names = json.loads(found.attrs["imputed"])
    line = estimate_line(out, names[:1])
    if as_json:
        said = {"imputed": names, "assumed": found.attrs["assumed"]}
        print_json({"posterior": str(out), **said, "next": line})
        return
    typer.echo(f"{found!r} written to {out}; assumed: {found.attrs['assumed']}")
    print_next(line)
