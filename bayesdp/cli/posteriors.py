"""Posteriors read and summarised on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from bayesdp.cli.printed import rows_of
from bayesdp.errors import InvalidInput, quoted

_SHOWN = 60  # numbers of a posterior


def read_posterior(path: Path) -> Any:
    """Read the InferenceData that `bayesdp fit` wrote, or raise InvalidInput."""
    from bayesdp.engines.draws import import_arviz

    if not path.is_file():
        raise InvalidInput(f"posterior is {quoted(str(path))}, but there is no such file")
    try:
        return import_arviz().from_netcdf(str(path))
    except (OSError, ValueError, KeyError):
        raise InvalidInput(
            f"posterior {quoted(str(path))} can't be read; give the file that `bayesdp fit` wrote"
        ) from None


def print_summary(idata: Any) -> None:
    """Print ArviZ's summary of each number, as far as a screen holds them."""
    from bayesdp.engines.draws import import_arviz

    table = import_arviz().summary(idata)
    typer.echo(table.head(_SHOWN).to_string())
    if len(table) > _SHOWN:
        typer.echo(f"and {len(table) - _SHOWN:,} more, in the posterior")


def summary_of(idata: Any) -> dict[str, Any]:
    """A fit's engine and verdict, and ArviZ's summary of each number, to all digits."""
    from bayesdp.engines.draws import import_arviz

    table = import_arviz().summary(idata, round_to="none")
    said = {name: idata.attrs.get(name) for name in ("engine", "engine_reason", "verdict")}
    return said | {"summary": rows_of(table.rename_axis("name").reset_index())}
