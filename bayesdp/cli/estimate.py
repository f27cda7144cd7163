"""Command `bayesdp estimate`: what a whole table's posterior says. Heavy imports wait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli.posteriors import read_posterior
from bayesdp.errors import InvalidInput

_FAMILY = "linear"
_DRAWS = 200


def estimate(
    posterior: Annotated[
        Path, typer.Argument(help="The file that `bayesdp fit` wrote for a whole table.")
    ],
    formula: Annotated[
        str | None, typer.Argument(help="A regression: 'income ~ age + C(sex)'.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="Columns of a table of shares or counts: age,income.")
    ] = None,
    family: Annotated[
        str, typer.Option(help="Regression: linear, logit, poisson or ordinal.")
    ] = _FAMILY,
    by: Annotated[
        str | None,
        typer.Option(help="Regression by moments of the released counts, or by latent tables."),
    ] = None,
    target: Annotated[
        str, typer.Option(help="The population's answer, or that of the confidential data: data.")
    ] = "population",
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    draws: Annotated[int, typer.Option(help="Draws of a regression.")] = _DRAWS,
    seed: Annotated[int | None, typer.Option(help="Seed, for reproducible estimates.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Estimate a regression, or a table of some columns, with the naive answer beside it."""
    if (formula is None) == (table is None):
        raise InvalidInput("give either a formula, as 'income ~ age', or --table age,income")
    read = read_posterior(posterior)
    from bayesdp.inference.table.posterior import TablePosterior

    fitted = TablePosterior.of(read)
    if formula is not None:
        found = fitted.regression(
            formula, family=family, by=by, target=target, draws=draws, seed=seed
        )
    else:
        found = fitted.table(str(table).split(","), target=target, seed=seed)
    shown = found.interval(level)
    if as_json:
        typer.echo(shown.reset_index().to_json(orient="records", double_precision=15))
        return
    typer.echo(shown.to_string(float_format=lambda value: f"{value:.4g}"))
    made = "latent tables" if found.by == "tables" else "draws of the released counts' moments"
    typer.echo(
        f"of the {found.target}, from {len(found.draws)} {made}; naive is what one "
        "synthetic copy says if it is taken for real data"
    )
