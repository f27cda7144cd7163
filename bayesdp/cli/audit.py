"""Command `bayesdp audit`: a release's promise, tested. Heavy imports wait until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli.options import Json
from bayesdp.cli.printed import print_json, promise_of
from bayesdp.display.words import one_line
from bayesdp.errors import quoted
from bayesdp.warned import warn_about

if TYPE_CHECKING:
    from bayesdp.privacy.audit import Audit
    from bayesdp.release import Release


def audit(
    release: Annotated[Path, typer.Argument(help="A release folder whose promise is tested.")],
    trials: Annotated[
        int, typer.Option(help="Draws from each member of a pair of neighbours.")
    ] = 100_000,
    as_json: Json = False,
) -> None:
    """Test the promise of a release's mechanism on draws from worst-case neighbours.

    The data are made up, with the release's public parameters, so that no privacy is spent. The
    exit status is 1 if a promise is refuted, or the draws aren't of the law by which it is tested.
    They are this installation's draws: a warning says where others made the release.
    """
    from bayesdp.privacy.audit import audit as run_audit
    from bayesdp.release import Release

    loaded, found = Release.load(release), []
    if (doubt := _doubt(release, loaded)) is not None:
        warn_about(doubt, "audit", stacklevel=1)
    for part in loaded.parts:
        result = run_audit(part.mechanism, trials=trials, delta=loaded.delta)
        found.append((part.group, result))
        if not as_json:
            typer.echo(f"{'' if part.group is None else f'{part.group}: '}{result}")
    if as_json:
        print_json(
            [{"group": group, "doubt": doubt, **_numbers(result)} for group, result in found]
        )
    raise typer.Exit(int(any(each.convicted or not each.follows_law for _, each in found)))


def _doubt(folder: Path, release: Release) -> str | None:
    """Say that other draws were released than those that are tested; None where there are none."""
    from bayesdp._version import __version__
    from bayesdp.release.manifest import parse_manifest
    from bayesdp.release.parts import MANIFEST

    text = (folder / MANIFEST).read_text(encoding="utf-8")
    here, by = f"bayesdp {__version__}", parse_manifest(text, quoted(folder)).software
    if release.origin == "elsewhere":
        by = "another program, elsewhere"
    if by == here:
        return None
    return (
        f"this audit tests draws of this installation, {here}, and {quoted(folder)} was drawn by "
        f"{one_line(by)}: no violation here says nothing of what drew it; audit it there"
    )


def _numbers(result: Audit) -> dict[str, Any]:
    shown = ("convicted", "epsilon_lower", "epsilon_exact", "epsilon_attainable", "smallest_fault")
    counted = ("alpha", "pairs", "trials", "searched", "impossible", "departures", "repeats")
    return {"claim": promise_of(result.claim)} | {
        name: getattr(result, name) for name in (*shown, *counted)
    }
