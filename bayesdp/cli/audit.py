"""Command `bayesdp audit`: a release's promise, tested. Heavy imports wait until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def audit(
    release: Annotated[Path, typer.Argument(help="A release folder whose promise is tested.")],
    trials: Annotated[
        int, typer.Option(help="Draws from each member of a pair of neighbours.")
    ] = 100_000,
) -> None:
    """Test the promise of a release's mechanism on draws from worst-case neighbours.

    The data are made up, with the release's public parameters, so that no privacy is spent. The
    exit status is 1 if a promise is refuted.
    """
    from bayesdp.privacy.audit import audit as run_audit
    from bayesdp.release import Release

    loaded, convicted = Release.load(release), False
    for part in loaded.parts:
        result = run_audit(part.mechanism, trials=trials, delta=loaded.delta)
        convicted = convicted or result.convicted
        typer.echo(f"{'' if part.group is None else f'{part.group}: '}{result}")
    raise typer.Exit(1 if convicted else 0)
