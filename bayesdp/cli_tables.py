"""Tables on the command line, as wide as their numbers need."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_WIDEST = 1000  # columns


def print_table(table: Table) -> None:
    """Print a table whole: in a narrow terminal its lines break, and no number is cut."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    needed = Measurement.get(console, console.options.update_width(_WIDEST), table).maximum
    Console(width=max(console.width, needed)).print(table)
