"""Options of the command line from the fields of a class, and what its docstring says of them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bayesdp.cli import options
from bayesdp.errors import InvalidInput, quoted

ANY_OPTION = {"ignore_unknown_options": True, "allow_extra_args": True}
"""Settings of a command that is made for what is typed."""
REQUIRED = "required"
"""What stands in place of a default where a field has none."""
_SENTENCE = re.compile(r"(.+?\.)(\s|$)")
_DEFAULT = re.compile(r"\bDefault[:,] (.+?)\.(\s|$)")


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
    def usual(self) -> str:
        """Its default alone, without the word."""
        return self.default.removeprefix("default: ")

    @property
    def needed(self) -> bool:
        """True if it has no default."""
        return self.default == REQUIRED

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
            return options.pair(self.name, given, "1,2")  # bounds or a prior's parameters
        found = parsed(given)
        several = self.kind.startswith(("Sequence", "tuple"))
        return [found] if several and not isinstance(found, list | dict) else found


def fields_of(cls: Any, more: Mapping[str, Any] | None = None) -> list[Field]:
    """The fields of a dataclass, and settings of its `release`, with what is said of them."""
    more, own = more or {}, [each for each in dataclasses.fields(cls) if each.init]
    said = described(getattr(cls, "release", None), more) | described(cls)
    made = [(each.name, str(each.type), default_of(each)) for each in own]
    made += [(name, type(usual).__name__, usual) for name, usual in more.items()]
    fields = []
    for name, kind, value in made:
        shown, line, otherwise = said.get(name, ("", "", ""))
        default = f"default: {otherwise if value is None and otherwise else _shown(value)}"
        needed = value is dataclasses.MISSING
        fields.append(Field(name, kind, shown, line, REQUIRED if needed else default))
    return fields


def default_of(field: Any) -> Any:
    """A dataclass field's default, or MISSING."""
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def described(
    documented: Any, only: Collection[str] | None = None
) -> dict[str, tuple[str, str, str]]:
    """Read a docstring in numpydoc style: by name, each parameter's type, sentence and default.

    The sentence is its first, and the default what it says after "Default:" or "Default,".
    """
    lines = (inspect.getdoc(documented) or "").splitlines()
    found = {}
    for heading, text in _entries(lines):
        names, _, kind = heading.partition(" : ")
        sentence, default = _SENTENCE.match(text), _DEFAULT.search(text)
        for name in names.split(", "):
            if only is None or name in only:
                line = sentence.group(1) if sentence else text
                found[name] = kind, line, default.group(1) if default else ""
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
    """A value from text: a number, whatever TOML writes, a list such as 0,500000, or the text.

    A mapping may also be written as in Python or JSON, as messages show one.
    """
    for read in (int, float, _toml, _mapping):
        try:
            return read(text)
        except ValueError:
            continue
    return [parsed(part.strip()) for part in text.split(",")] if "," in text else text


def command_with_fields(
    common: Any, cls: Any, fields: Sequence[Field], line: str, run: Callable[..., None]
) -> Any:
    """Make a command of a function's options and of a class's fields.

    Parameters
    ----------
    common : callable
        Its parameters are the options that don't depend on the class; a field of the same name
        isn't offered again.
    cls : type
    fields : sequence of Field
    line : str
        The help of the command.
    run : callable
        Called with the fields that were typed, by name, and with all other options by keywords.
    """
    usual = inspect.signature(common, eval_str=True).parameters
    offered = [field for field in fields if field.name not in usual]

    def command(**given: Any) -> None:
        values = {each.name: each.value(given.pop(each.name)) for each in offered}
        run({name: value for name, value in values.items() if value is not None}, **given)

    panel = f"Fields of {getattr(cls, '__name__', None)}"
    own = [field.parameter(panel) for field in offered]
    made: Any = command
    made.__signature__ = inspect.Signature([*usual.values(), *own])
    made.__annotations__ = {}
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(help=line)(made)
    return typer.main.get_command(app)


def run_command(command: Any, context: typer.Context, name: str) -> None:
    """Run a command that was made for what is typed, by its name in an error."""
    known = [option for each in command.params for option in (*each.opts, *each.secondary_opts)]
    known = [option for option in (*known, "--help") if option.startswith("--")]
    for typed in (arg.partition("=")[0] for arg in context.args):
        if typed.startswith("--") and typed != "--" and typed not in known:
            raise InvalidInput(f"{typed}: `{name}` has no such option; it has {', '.join(known)}")
    status = command.main(context.args, prog_name=context.command_path, standalone_mode=False)
    if isinstance(status, int) and status:  # as 130 of an interrupt
        raise typer.Exit(status)


def given_options(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each option that is typed, with the text that follows it; those of --set too."""
    for k, arg in enumerate(args):
        name, equals, text = arg.partition("=")
        text = text if equals else (args[k + 1] if k + 1 < len(args) else "")
        yield name, text
        if name == "--set":
            yield f"--{text.partition('=')[0].strip()}", text


def once(declared: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return what is declared and more; InvalidInput if a name is given twice."""
    for name in more:
        if name in declared:
            raise InvalidInput(f"{name} is given twice; give it once")
    return declared | more


def _toml(text: str) -> Any:
    return tomllib.loads(f"it = {text}")["it"]


def _mapping(text: str) -> dict[Any, Any]:
    try:
        made = ast.literal_eval(text) if text.startswith("{") else None
    except (SyntaxError, RecursionError, MemoryError):
        made = None
    if not isinstance(made, dict):
        raise ValueError("not a mapping")
    return made


def _shown(value: Any) -> str:
    """A default in words: of a class's instance, its fields as they are typed."""
    if value is None or value == {}:
        return "none"
    if dataclasses.is_dataclass(value):
        own = dataclasses.fields(value)
        return ", ".join(f"{each.name} = {_shown(getattr(value, each.name))}" for each in own)
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value) if isinstance(value, str | int | float) else quoted(value)
