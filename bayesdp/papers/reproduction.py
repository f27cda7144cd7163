"""A paper's tables and figures, recomputed: their content, and how they are written."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bayesdp._version import __version__
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.colours import COLOURS
from bayesdp.storage import check_target, whole_folder

MARKER = "index.html"
_TEMPLATE = Path(__file__).with_name("reproduction.html")
Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Table of a paper's numbers beside ours.

    Attributes
    ----------
    name : str
        File name without its extension.
    title : str
        What is tabulated, with units.
    columns : tuple of str
        Headings, shape (columns,).
    values : tuple of tuples
        Numbers or words, row by row, at full precision; None where there is nothing.
    formats : tuple of str
        How each column's numbers are shown, as format specifications such as ".2f".
    note : str
        What the paper printed, where it differs, and why.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    formats: tuple[str, ...]
    note: str = ""

    def __post_init__(self) -> None:
        widths = {len(self.columns), len(self.formats), *map(len, self.values)}
        if len(widths) > 1:
            raise InvalidInput(
                f"table {quoted(self.name)} has {len(self.columns)} columns, but rows or formats "
                f"of another length: {sorted(widths)}; give each row one value per column"
            )

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Rows of values as text, as shown."""
        return [
            tuple(_text(value, form) for value, form in zip(row, self.formats, strict=True))
            for row in self.values
        ]

    def numbers(self, column: str, **where: Value) -> list[float]:
        """Return a column's numbers, in the rows whose columns named in `where` have these values.

        Raises
        ------
        InvalidInput
            If there is no such column, or one of the values is not a number.
        """
        unknown = {column, *where} - set(self.columns)
        if unknown:
            raise InvalidInput(
                f"table {quoted(self.name)} has no column {sorted(unknown)}; it has {self.columns}"
            )
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.values]
        values = []
        for row in rows:
            if where.items() <= row.items():
                value = row[column]
                if not isinstance(value, int | float):
                    raise InvalidInput(
                        f"column {quoted(column)} has {quoted(value)} where a number is needed"
                    )
                values.append(float(value))
        return values

    def write_csv(self, path: Path) -> None:
        """Write the values at full precision; an empty cell is None."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(self.values)


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn figure, with what it shows as a table.

    Attributes
    ----------
    name, title, caption : str
        File name without its extension; what is shown; how to read it.
    svg : str
        The drawing, in the light `COLOURS`.
    png : bytes
        The drawing as pixels.
    data : Table
        The numbers drawn.
    """

    name: str
    title: str
    caption: str
    svg: str
    png: bytes
    data: Table

    def inline_svg(self) -> str:
        """Return the drawing as an HTML element, in the page's colours, with ids of its own."""
        svg = self.svg[self.svg.index("<svg") :]
        for role, (light, _) in COLOURS.items():
            svg = svg.replace(light, f"var(--{role})")
        svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", svg)
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1, flags=re.DOTALL)
        svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1, flags=re.DOTALL)
        return svg.replace("<svg", f'<svg role="img" aria-labelledby="{self.name}-title"', 1)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Reproduction of a paper: its numbers beside ours.

    Attributes
    ----------
    title, source : str
        Heading, and the paper.
    findings : tuple of str
        The results, in a sentence or two each.
    tables : tuple of Table
    figures : tuple of Figure
    settings : mapping
        Settings of the run (replicates, seed), to repeat it.
    folder : Path or None
        Folder that it was written to.
    """

    title: str
    source: str
    findings: tuple[str, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    settings: Mapping[str, Value] = field(default_factory=dict)
    folder: Path | None = None

    def write(self, folder: Path, *, force: bool = False) -> None:
        """Write the page, the tables as CSV and the figures as SVG and PNG; whole or not at all.

        Raises
        ------
        ReleaseExists
            If the folder exists, unless `force` is true and it is a folder of this kind.
        """
        with whole_folder(folder, MARKER, force=force) as work:
            for table in [*self.tables, *(figure.data for figure in self.figures)]:
                table.write_csv(work / f"{table.name}.csv")
            for figure in self.figures:
                (work / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
                (work / f"{figure.name}.png").write_bytes(figure.png)
            (work / MARKER).write_text(self.page(), encoding="utf-8")

    def page(self) -> str:
        """Render the self-contained HTML page."""
        import jinja2

        environment = jinja2.Environment(
            autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
            r=self, version=__version__, light=_palette(0), dark=_palette(1)
        )

    def print(self) -> None:
        """Print the tables and findings to the terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        console = Console()
        console.print(Text(self.title, style="bold"))
        console.print(Text(self.source))
        for table in self.tables:
            shown = RichTable(
                title=Text(table.title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
            )
            for name in table.columns:
                shown.add_column(Text(name), justify="right")
            for row in table.rows:
                shown.add_row(*map(Text, row))
            console.print()
            console.print(shown)
            console.print(Text(table.note))
        console.print()
        for finding in self.findings:
            console.print(Text(f"- {finding}"))


def compute_tables(
    out: Path,
    *,
    title: str,
    source: str,
    parts: Sequence[Callable[[], Table | Sequence[Table]]],
    findings: Callable[[dict[str, Table]], tuple[str, ...]],
    force: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> Reproduction:
    """Compute a paper's tables, and write a folder with index.html and one CSV for each table.

    Parameters
    ----------
    out : Path
        Folder to write, whole or not at all.
    title, source : str
        Heading, and the paper.
    parts : sequence of callable
        Each makes one table or several.
    findings : callable
        Takes the tables by their names; returns the findings.
    force : bool
        Whether to replace such a folder.
    progress : callable, optional
        Called with the name of the current step and the fraction done before it.

    Raises
    ------
    ReleaseExists
        If `out` exists, unless `force` is true and it is a folder of this kind.
    """
    out = Path(out)
    check_target(out, MARKER, force=force)
    tell = progress or (lambda what, done: None)
    tables: list[Table] = []
    for k, part in enumerate(parts):
        tell(part.__name__.replace("_", " "), k / len(parts))
        made = part()
        tables += [made] if isinstance(made, Table) else made
    sentences = findings({table.name: table for table in tables})
    reproduction = Reproduction(title, source, sentences, tuple(tables), figures=(), folder=out)
    reproduction.write(out, force=force)
    return reproduction


def _text(value: Value, form: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else format(value, form)


def _palette(theme: int) -> Sequence[str]:
    return [f"--{role}: {colours[theme]};" for role, colours in COLOURS.items()]
