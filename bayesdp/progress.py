"""Progress of a fit and the time left, on standard error, once it has taken some seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

Step = Callable[[int], None]
"""Called with the number of further parts done, from any thread."""
DELAY = 5.0
"""Seconds before anything is shown: shorter fits stay quiet."""


def no_step(done: int) -> None:
    """Report progress to nobody."""


def wanted(progress: bool | None) -> bool:
    """Return True if progress is to be shown: as given, or for None if on a terminal."""
    return sys.stderr.isatty() if progress is None else bool(progress)


@contextmanager
def bar(progress: bool | None, total: int, label: str = "sampling") -> Iterator[Step]:
    """Yield a function to call as parts of `total` are done, which drives a progress bar.

    Parameters
    ----------
    progress : bool or None
        Whether to show a bar with the time left, after `DELAY` seconds; None: only if standard
        error is a terminal. Where it isn't one, each tenth gets a line.
    total : int
        Number of parts.
    label : str
        Text in front of the bar.

    Examples
    --------
    >>> with bar(None, 100) as step:
    ...     for _ in range(100):
    ...         step(1)
    """
    if not wanted(progress):
        yield no_step
        return
    shown = _Bar(total, label)
    try:
        yield shown.step
    finally:
        shown.stop()


class _Bar:
    """Progress bar, shown from `DELAY` on; locked, for chains step from threads."""

    def __init__(self, total: int, label: str) -> None:
        self.total, self.label, self.done, self.tenths = total, label, 0, 0
        self.begun = time.monotonic()
        self.lock = threading.Lock()
        self.live: Any = None
        self.stopped = False
        self.timer = threading.Timer(DELAY, self._start)
        self.timer.daemon = True
        self.timer.start()

    def step(self, done: int) -> None:
        with self.lock:
            self.done += done
            self._show()

    def stop(self) -> None:
        self.timer.cancel()
        with self.lock:
            self.stopped = True
            if self.live is not None:
                self.live.stop()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            *(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()),
            TextColumn("{task.fields[left]}"),
        )
        with self.lock:
            if self.stopped:
                return
            console = Console(stderr=True)
            made = Progress(
                *columns,
                console=console,
                disable=not (console.is_terminal or console.is_jupyter),
            )
            made.add_task(self.label, total=self.total, left="")
            made.start()
            self.live = made
            self._show()

    def _show(self) -> None:
        if self.live is None:
            return
        task = self.live.tasks[0]
        self.live.update(task.id, completed=self.done, left=self._left())
        tenths = 10 * self.done // self.total
        if self.live.disable and tenths > self.tenths:
            self.tenths = tenths
            print(f"{self.label}: {10 * tenths}%, {self._left()}", file=sys.stderr, flush=True)

    def _left(self) -> str:
        if not self.done:
            return ""
        spent = time.monotonic() - self.begun
        seconds = round(spent * (self.total - self.done) / self.done)
        return f"{timedelta(seconds=max(seconds, 0))} left"
