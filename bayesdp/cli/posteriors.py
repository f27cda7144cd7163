"""Posteriors summarised on the command line."""

from __future__ import annotations

from typing import Any

import typer

_SHOWN = 60  # numbers of a posterior


def print_summary(idata: Any) -> None:
    """Print ArviZ's summary of each number, as far as a screen holds them."""
    from bayesdp.engines.draws import import_arviz

    table = import_arviz().summary(idata)
    typer.echo(table.head(_SHOWN).to_string())
    if len(table) > _SHOWN:
        typer.echo(f"and {len(table) - _SHOWN:,} more, in the posterior")
