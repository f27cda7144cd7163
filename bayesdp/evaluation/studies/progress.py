"""A progress bar with the time left, for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Called with how many replicates of cells are done, and how many there are."""


@contextmanager
def told(progress: Progress | None) -> Iterator[Progress]:
    """Return `progress` itself, or a bar on standard error if that is a terminal."""
    if progress is not None or not sys.stderr.isatty():
        yield progress or (lambda done, whole: None)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        *(TextColumn("replicates"), BarColumn(), MofNCompleteColumn()),
        *(TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=300) as bar:
        task = bar.add_task("replicates", total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)
