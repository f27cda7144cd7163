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
    table = _summary(idata)
    typer.echo(table.head(_SHOWN).to_string(na_rep="undefined"))
    if len(table) > _SHOWN:
        typer.echo(f"and {len(table) - _SHOWN:,} more, in the posterior")


def summary_of(idata: Any) -> dict[str, Any]:
    """A fit's engine and verdict, and ArviZ's summary of each number, to all digits."""
    table = _summary(idata, round_to="none")
    said = {name: idata.attrs.get(name) for name in ("engine", "engine_reason", "verdict")}
    return said | {"summary": rows_of(table.rename_axis("name").reset_index())}


def _summary(idata: Any, **rounding: Any) -> Any:
    """ArviZ's summary, in which a number that never moves has no R-hat and effective sizes.

    ArviZ says as many as there are draws.
    """
    import numpy as np

    from bayesdp.engines.draws import import_arviz

    moves = {"moves": lambda draws: float(np.ptp(draws) > 0)}
    with np.errstate(divide="ignore", invalid="ignore"):  # of what doesn't move
        table = import_arviz().summary(idata, stat_funcs=moves, **rounding)
    still = table.pop("moves") == 0
    table.loc[still, ["ess_bulk", "ess_tail", "r_hat"]] = np.nan
    return table
