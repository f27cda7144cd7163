"""Options of the command line from the fields of a class, and what its docstring says of them."""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bayesdp.cli import options
from bayesdp.errors import InvalidInput, quoted

_SENTENCE = re.compile(r"(.+?\.)(\s|$)")


@dataclass(frozen=True)
class Field:
    """A public parameter: its name, what is said of it, and its default in words."""

    name: str
    kind: str
    """Its type, as annotated."""
    shown: str
    """Its type, as documented."""
    line: str
    default: str

    @property
    def option(self) -> str:
        """Name of its option."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def told(self) -> str:
        """Its type and default."""
        return f"{self.shown}; {self.default}" if self.shown else self.default

    def parameter(self, panel: str) -> inspect.Parameter:
        """Its option, as a parameter of a command; None where it isn't given."""
        from rich.markup import escape

        told = f"{escape(self.line)} [dim]({escape(self.told)})[/dim]"
        declared: tuple[str, ...] = (self.option,)
        kind: Any = str | None
        if self.kind == "bool":
            declared, kind = (f"{self.option}/--no-{self.option[2:]}",), bool | None
        option = typer.Option(*declared, help=told, show_default=False, rich_help_panel=panel)
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=None,
            annotation=Annotated[kind, option],
        )  # fmt: skip

    def value(self, given: Any) -> Any:
        """The field's value from the option's text."""
        if not isinstance(given, str) or self.kind.startswith("str"):
            return given
        if self.kind.startswith("tuple[float, float]"):
            return options.pair(self.name, given)
        found = parsed(given)
        several = self.kind.startswith(("Sequence", "tuple"))
        return [found] if several and not isinstance(found, list | dict) else found


def fields_of(cls: Any, more: Sequence[str] = ()) -> list[Field]:
    """The fields of a dataclass, and arguments of its `release`, with what is said of them."""
    said = described(getattr(cls, "release", None), more) | described(cls)
    made = []
    for field in dataclasses.fields(cls):
        if field.init:
            given = field.default, field.default_factory
            needed = given == (dataclasses.MISSING, dataclasses.MISSING)
            default = "required" if needed else f"default: {_shown(field)}"
            made.append((field.name, str(field.type), default))
    made += [(name, "float | None", "default: its own") for name in more]
    return [Field(name, kind, *said.get(name, ("", "")), default) for name, kind, default in made]


def described(documented: Any, only: Sequence[str] | None = None) -> dict[str, tuple[str, str]]:
    """Read a docstring in numpydoc style: each parameter's type and first sentence, by name."""
    lines = (inspect.getdoc(documented) or "").splitlines()
    found = {}
    for heading, text in _entries(lines):
        names, _, kind = heading.partition(" : ")
        sentence = _SENTENCE.match(text)
        for name in names.split(", "):
            if only is None or name in only:
                found[name] = kind, sentence.group(1) if sentence else text
    return found


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each entry of the section Parameters: its heading, and its text in one line."""
    starts = [k for k, line in enumerate(lines[:-1]) if line == "Parameters" and lines[k + 1][:1]]
    if not starts:
        return
    heading, text = "", list[str]()
    for k in range(starts[0] + 2, len(lines)):
        line = lines[k]
        ends = k + 1 < len(lines) and line and set(lines[k + 1]) == {"-"}
        if line[:1].strip() and heading:
            yield heading, " ".join(text)
        if ends:
            return
        if line[:1].strip():
            heading, text = line, []
        elif line.strip():
            text.append(line.strip())
    if heading:
        yield heading, " ".join(text)


def first_line(cls: Any) -> str:
    """The first line of a class's docstring."""
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def parsed(text: str) -> Any:
    """A value from text: a number, whatever TOML writes, a list such as 0,500000, or the text."""
    for read in (int, float, _toml):
        try:
            return read(text)
        except ValueError:
            continue
    return [parsed(part.strip()) for part in text.split(",")] if "," in text else text


def check_options(args: Sequence[str], known: Sequence[str], what: str) -> None:
    """Raise InvalidInput if an option isn't among the known ones; the message has them all."""
    for name in (arg.partition("=")[0] for arg in args if arg.startswith("--") and arg != "--"):
        if name not in known:
            raise InvalidInput(f"{name}: {what} has no such option; it has {', '.join(known)}")


def _toml(text: str) -> Any:
    return tomllib.loads(f"it = {text}")["it"]


def _shown(field: Any) -> str:
    given = field.default
    value = field.default_factory() if given is dataclasses.MISSING else given
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value) if isinstance(value, str | int | float) else quoted(value)
