"""Command `bayesdp inspect`: what a release folder holds. Heavy imports wait until it runs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli.options import Json
from bayesdp.cli.printed import print_json, print_next

if TYPE_CHECKING:
    from bayesdp.release import Release

_OF_RECORDS = ("add_remove", "replace_one")
_GROUPS = 20
_LONGEST = 60  # characters of a parameter that is shown


def inspect(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    as_json: Json = False,
) -> None:
    """Show what was released, by which law and with which promise, and which models read it."""
    from bayesdp.inference.readers import families_of
    from bayesdp.release import MANIFEST, Release

    loaded = Release.load(release)
    manifest = json.loads((release / MANIFEST).read_text(encoding="utf-8"))
    families, line = families_of(loaded.parts[0].mechanism), fit_line(loaded, release)
    if as_json:
        said = ("variable", "by", "copies", "origin", "reproducible", "parts", "guarantee")
        print_json(
            {name: manifest[name] for name in said}
            | {"fingerprint": loaded.fingerprint, "models": families, "next": line}
        )
        return
    _show(loaded, manifest)
    if families:
        typer.echo(f"read by the models {', '.join(families)}")
    else:
        from bayesdp.inference.readers import instead

        typer.echo(instead(loaded.parts[0].mechanism))
    print_next(line)


def _show(release: Release, manifest: dict[str, Any]) -> None:
    from bayesdp.cli.fields import first_line
    from bayesdp.display.words import count_of

    first, promise = release.parts[0], release.guarantee
    groups = count_of(len(release.parts), "group")
    grouped = "" if release.by is None else f", in {groups} by {release.by}"
    typer.echo(f"{release.variable}{grouped}{_copies_in(release)}")
    typer.echo(f"law: {first.mechanism.name}. {first_line(type(first.mechanism))}")
    told = manifest["parts"][0]["mechanism"]["parameters"]
    for name, value in told.items():
        if value is not None and (release.by is None or name != "n"):
            typer.echo(f"  {name} = {_short(value)}")
    if release.by is not None:
        typer.echo("  parameters are those of the first group")
        for part in release.parts[:_GROUPS]:
            size = "" if part.mechanism.n is None else f": n = {part.mechanism.n:,}"
            typer.echo(f"  {part.group}{size}")
        if len(release.parts) > _GROUPS:
            typer.echo(f"  and {len(release.parts) - _GROUPS:,} more groups")
    if first.mechanism.n is None and first.mechanism.neighbours in _OF_RECORDS:
        typer.echo("  the number of records is confidential")
    typer.echo(f"promise: {promise}")
    for assumption in promise.assumptions:
        typer.echo(f"  {assumption}")
    typer.echo(f"  source: {promise.source}")
    drawn = "drawn by bayesdp" if release.origin == "bayesdp" else "drawn elsewhere"
    typer.echo(f"{drawn}; fingerprint {release.fingerprint}")


def _copies_in(release: Release) -> str:
    """Say how many copies there are; the only output of a statistic is no copy."""
    from bayesdp.display.words import count_of

    of_records = release.parts[0].mechanism.space.from_records is not None
    if release.copies == 1 and not of_records:
        return ""
    return f", {count_of(release.copies, 'copy')}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... (whole with --json)"


def fit_line(release: Release, folder: Path) -> str | None:
    """The command that fits a release, with `...` for what the analyst has to say; or None."""
    from bayesdp.cli.fields import fields_of
    from bayesdp.inference.readers import MODELS, family_of

    mechanism = release.parts[0].mechanism
    family = family_of(mechanism)
    if family is None:
        return None
    fields = fields_of(MODELS[family])
    words = ["bayesdp", "fit", shlex.quote(str(folder)), "--family", family]
    words += [f"{each.option} ..." for each in fields if each.needed]
    # A model whose n is a whole number, and no range, does without it.
    ranged = any(each.name == "n" and not each.kind.startswith("int") for each in fields)
    if mechanism.n is None and ranged:
        words.append("--n SMALLEST:LARGEST")
    if len(release.parts) > 1 and not MODELS[family].takes_groups:
        words.append("--group NAME")
    return " ".join([*words, "--out posterior.nc"])
