"""Command `bayesdp estimate`: what a whole table's posterior, or copies of it, say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesdp.cli import options
from bayesdp.cli.posteriors import read_posterior
from bayesdp.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

_FAMILY = "linear"
_TARGET, _DRAWS = "population", 200


def estimate(
    posterior: Annotated[
        Path,
        typer.Argument(
            help="The file that `bayesdp fit` wrote for a whole table, or the folder of copies "
            "that `bayesdp copies` wrote."
        ),
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
        typer.Option(
            help="Regression by moments of the released counts, or by latent tables; default: "
            "moments where they will do."
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(help="The population's answer, or that of the confidential data: data.")
    ] = _TARGET,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    draws: Annotated[int, typer.Option(help="Draws of a regression.")] = _DRAWS,
    seed: Annotated[int | None, typer.Option(help="Seed, for reproducible estimates.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Estimate a regression, or a table of some columns, with the naive answer beside it."""
    if (formula is None) == (table is None):
        raise InvalidInput("give either a formula, as 'income ~ age', or --table age,income")
    if posterior.is_dir():
        if (by, target, draws, seed) != (None, _TARGET, _DRAWS, None):
            raise InvalidInput(
                "copies are combined, for the population, without any draw: --by, --target, "
                "--draws and --seed are for a posterior"
            )
        _of_copies(posterior, formula, table, family, level, as_json)
        return
    read = read_posterior(posterior)
    from bayesdp.inference.table.posterior import TablePosterior

    fitted = TablePosterior.of(read)
    if formula is not None:
        found = fitted.regression(
            formula, family=family, by=by, target=target, draws=draws, seed=seed
        )
    else:
        found = fitted.table(options.listed(str(table)), target=target, seed=seed)
    if _printed(found.interval(level), as_json):
        return
    made = "latent tables" if found.by == "tables" else "draws of the released counts' moments"
    typer.echo(
        f"of the {found.target}, from {len(found.draws)} {made}; naive is what one "
        "synthetic copy says if it is taken for real data"
    )


def _of_copies(
    folder: Path, formula: str | None, table: str | None, family: str, level: float, as_json: bool
) -> None:
    """Combine the analyses of copies."""
    from bayesdp.evaluation.synthetic_copies import SyntheticCopies

    copies = SyntheticCopies.load(folder)
    if formula is not None:
        found = copies.regression(formula, family=family, level=level)
    else:
        found = copies.table(options.listed(str(table)), level=level)
    if not _printed(found, as_json):
        typer.echo(
            f"of the population, {len(copies.frames)} copies combined by Rubin's rule; naive is "
            "what the first copy says if it is taken for real data"
        )


def _printed(shown: pd.DataFrame, as_json: bool) -> bool:
    """Print estimates, as JSON if that is wanted, of which is returned whether it is so."""
    if as_json:
        typer.echo(shown.reset_index().to_json(orient="records", double_precision=15))
    else:
        typer.echo(shown.to_string(float_format=lambda value: f"{value:.4g}"))
    return as_json
