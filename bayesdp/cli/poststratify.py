"""Command `bayesdp poststratify`: a posterior of the population, by its known totals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bayesdp.cli.options import Force, Json, estimate_line
from bayesdp.cli.posteriors import print_summary, read_posterior, summary_of
from bayesdp.cli.printed import print_json, print_next
from bayesdp.errors import InvalidInput, quoted

_OUT = Path("poststratified.nc")


def poststratify(
    posterior: Annotated[Path, typer.Argument(help="The posterior.nc that `bayesdp fit` wrote.")],
    totals: Annotated[
        list[Path],
        typer.Argument(
            help="Table of the population, CSV or another: columns group (or area) and total; of a "
            "whole table, a file for each margin: columns of the schema, and total."
        ),
    ],
    by: Annotated[
        str | None, typer.Option(help="Column of the totals: coarser groups, an answer for each.")
    ] = None,
    out: Annotated[Path, typer.Option(help="File to write.")] = _OUT,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Weigh a posterior to the population's known totals, by groups or a whole table's columns."""
    from bayesdp.inference.poststratify import poststratify as weigh
    from bayesdp.inference.table.posterior import TablePosterior
    from bayesdp.storage import check_file, whole_file

    check_file(out, force=force)
    fitted = read_posterior(posterior)
    written = _texts(fitted)
    read = [_totals(path, written) for path in totals]
    found = weigh(fitted, read[0] if len(read) == 1 else read, by=by)
    with whole_file(out) as work:
        found.to_netcdf(str(work))
    if isinstance(found, TablePosterior):
        columns = dict.fromkeys(name for one in found.margins for name in one.columns)
        line = estimate_line(out, columns)
        if as_json:
            print_json({"posterior": str(out), "margins": len(found.margins), "next": line})
            return
        typer.echo(f"{found!r} written to {out}")
        print_next(line)
        return
    if as_json:
        print_json({"posterior": str(out), **summary_of(found)})
        return
    print_summary(found)
    typer.echo(f"posterior of the population written to {out}")


def _texts(fitted: Any) -> list[str]:
    """Columns whose labels are texts, which 01 is and a number that is read of it isn't."""
    from bayesdp.inference.table.posterior import TablePosterior

    if fitted.attrs.get("family") == "table":
        columns = TablePosterior.of(fitted).schema.columns.items()
        return [name for name, each in columns if isinstance(each.shown[0], str)]
    there = fitted.posterior.coords.items() if "posterior" in fitted.groups() else ()
    return [str(name) for name, each in there if isinstance(each.to_numpy().flat[0], str)]


def _totals(path: Path, written: list[str]) -> Any:
    """Read one file of totals, and labels that are texts as they are written."""
    from bayesdp.inference.totals import TOTAL
    from bayesdp.table_files import frame_in, is_table, said_kinds

    if not is_table(str(path)) or not path.is_file():
        raise InvalidInput(
            f"totals is {quoted(str(path))}; it must be a {said_kinds()} file that "
            "exists, with columns of labels, and a column total"
        )
    return frame_in(str(path), None, [name for name in written if name != TOTAL])
