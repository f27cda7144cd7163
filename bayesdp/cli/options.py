"""Options that commands share, and values of options, parsed from text."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.errors import InvalidInput, quoted

if TYPE_CHECKING:
    from bayesdp.release import Release

Out = Annotated[Path, typer.Option(help="Where to write.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an earlier result there.")]
Group = Annotated[str | None, typer.Option(help="Label of one group, to take it alone.")]


@contextmanager
def said_as(option: str, argument: str) -> Iterator[None]:
    """Name the option in an error about the argument that it becomes, which nobody typed."""
    try:
        yield
    except InvalidInput as error:
        told = str(error)
        if not told.startswith(f"{argument} is "):
            raise
        raise InvalidInput(option + told.removeprefix(argument)) from error


def of_group(release: Release, group: str | None) -> Release:
    """Return the release of the group whose label is written so, or all of it if there is none."""
    if group is None:
        return release
    labels = {str(label): label for label in release.groups if label is not None}
    if group not in labels:
        raise InvalidInput(f"group is {quoted(group)}; this release has {list(labels) or 'none'}")
    return release[labels[group]]


def title_of_group(release: Release, group: str | None) -> str | None:
    """Return a page's title where it is about one group of the release, or None."""
    return None if group is None else f"{release.variable}, {release.by} {group}"


def pair(name: str, text: str, example: str = "1,1") -> tuple[float, float]:
    """Parse two numbers from text such as 1,1."""
    values = numbers(name, text, example)
    if len(values) != 2:
        raise InvalidInput(f"{name} is {quoted(text)}; it must be two numbers, as {example}")
    return values[0], values[1]


def numbers(name: str, text: str, example: str = "1,1") -> tuple[float, ...]:
    """Parse numbers from text such as 0,0.01,2,1."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"{name} is {quoted(text)}; it must be numbers, as {example}") from None


def prior(text: str, name: str = "prior") -> float | tuple[float, ...]:
    """Parse a prior's numbers; one alone is a number, and no tuple."""
    made = numbers(name, text)
    return made[0] if len(made) == 1 else made


def sizes(text: str, name: str = "n") -> range | int:
    """Parse a size from text such as 500, or a range of sizes from 500:1500."""
    try:
        low, *high = (int(part) for part in text.split(":"))
    except ValueError:
        low, high = 0, [0, 0]
    if len(high) > 1:
        raise InvalidInput(
            f"{name} is {quoted(text)}; it must be one or two whole numbers, as 500:1500"
        )
    return range(low, high[0] + 1) if high else low


def sizes_by_group(text: str) -> range | int | dict[str, range | int]:
    """Parse a size, or those of groups in a list such as north=400,south=50:70."""
    if "=" not in text:
        return sizes(text)
    made: dict[str, range | int] = {}
    for part in listed(text):
        label, _, size = part.rpartition("=")
        label = label.strip()
        if not label or label in made:
            raise InvalidInput(
                f"n is {quoted(text)}; it must be a number, a range as 500:1500, or each group's "
                "by its label, once, as north=400,south=50:70; one that has a comma is in double "
                "quotes"
            )
        made[label] = sizes(size, f"n[{quoted(label)}]")
    return made


def parameters(lines: list[str], name: str = "set") -> dict[str, Any]:
    """Parse parameters from lines of TOML."""
    import tomllib

    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            f"{name} is {', '.join(map(quoted, lines))}; each must be a line of TOML: {error}"
        ) from error


def listed(text: str) -> list[str]:
    """Parse texts with commas between them, as a,b; one that has a comma is in double quotes."""
    try:
        return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        raise InvalidInput(f"{quoted(text)} has several lines; write a,b in one") from None


def estimate_line(file: Path, columns: Iterable[str]) -> str:
    """Line that asks a posterior, or copies, in a file for the table of some columns."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(columns)  # as `listed` reads it
    return f"bayesdp estimate {shlex.quote(str(file))} --table {shlex.quote(written.getvalue())}"


def groups(text: str) -> dict[str, Any]:
    """Parse group labels by how they are written: integers if all are, whatever the data hold.

    Codes that begin with 0, as 01, are texts.
    """
    labels = listed(text)
    whole = all(part.lstrip("-").isdecimal() and str(int(part)) == part for part in labels)
    return {part: int(part) if whole else part for part in labels}
