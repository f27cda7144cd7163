"""Tables on the command line, as wide as their numbers need, and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_WIDEST = 1000  # columns


def print_table(table: Table) -> None:
    """Print a whole table: in a narrow terminal its lines wrap, and no number is cut."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    needed = Measurement.get(console, console.options.update_width(_WIDEST), table).maximum
    Console(width=max(console.width, needed)).print(table)


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None]]:
    """Yield a function that takes the name of the current step and the fraction done before it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("start", total=1.0)
        yield lambda description, done: bar.update(task, description=description, completed=done)
        bar.update(task, description="done", completed=1.0)
