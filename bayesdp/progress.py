"""Progress of a fit and the time left, once it has taken some seconds.

On a terminal there is a bar on standard error; in a notebook a bar below the cell, which goes when
the work is done; anywhere else, as in a log file, a line for each tenth, of plain text.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import escape
from typing import Any, Protocol

Step = Callable[[int], None]
"""Called with the number of further parts done, from any thread."""
DELAY = 5.0
"""Seconds before anything is shown: shorter fits stay quiet."""
_OFTEN = 0.2  # seconds between pictures in a notebook


def no_step(done: int) -> None:
    """Report progress to nobody."""


def wanted(progress: bool | None) -> bool:
    """Return True if an engine's own bar is to be shown: as given, or for None on a terminal."""
    return sys.stderr.isatty() if progress is None else bool(progress)


def in_notebook() -> bool:
    """Return True in the kernel of a notebook, such as Jupyter's and VS Code's."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", None)  # there if we are in one
    return shell is not None and hasattr(shell(), "kernel")


@contextmanager
def bar(progress: bool | None, total: int, label: str = "sampling") -> Iterator[Step]:
    """Yield a function to call as parts of `total` are done, which drives a progress bar.

    Parameters
    ----------
    progress : bool or None
        Whether to show a bar with the time left, after `DELAY` seconds; None: only if standard
        error is a terminal, or in a notebook. Elsewhere each tenth gets a line.
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
    if not _shown(progress):
        yield no_step
        return
    with _begun(_Bar(total, label)) as shown:
        yield shown.step


@contextmanager
def counter(label: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with how many parts are done, of how many, which drives a bar.

    Of parts that are done at the first call, nothing is said on how long they took.

    Parameters
    ----------
    label : str
        Text in front of the bar.
    """
    if not _shown(None):
        yield lambda done, total: None
        return
    with _begun(_Bar(0, label)) as shown:
        yield shown.tell


def _shown(progress: bool | None) -> bool:
    return wanted(progress) or (progress is None and in_notebook())


@contextmanager
def _begun(shown: _Bar) -> Iterator[_Bar]:
    try:
        shown.timer.start()
        yield shown
    finally:
        shown.stop()


class _Face(Protocol):
    """Protocol of what shows progress."""

    def show(self, done: int, total: int, left: str) -> None:
        """Show how many parts are done, of how many, and the time left."""

    def stop(self) -> None:
        """Leave the place as it should stay."""


class _Bar:
    """Progress, shown from `DELAY` on; locked, for chains step from threads."""

    def __init__(self, total: int, label: str) -> None:
        self.total, self.label, self.done = total, label, 0
        self.before: int | None = None
        self.begun = time.monotonic()
        self.lock = threading.Lock()
        self.live: _Face | None = None
        self.stopped = False
        self.timer = threading.Timer(DELAY, self._start)
        self.timer.daemon = True

    def step(self, done: int) -> None:
        with self.lock:
            self.done += done
            self._show()

    def tell(self, done: int, total: int) -> None:
        with self.lock:
            if self.before is None:
                self.before, self.begun = done, time.monotonic()
            self.done, self.total = done, total
            self._show()

    def stop(self) -> None:
        self.timer.cancel()
        with self.lock:
            self.stopped = True
            if self.live is not None:
                self.live.stop()
                self.live = None

    def _start(self) -> None:
        kind: Callable[[str], _Face] = _Lines
        if sys.stderr.isatty():
            kind = _Terminal
        elif in_notebook():
            kind = _Notebook
        with self.lock:
            if not self.stopped:
                self.live = kind(self.label)
                self._show()

    def _show(self) -> None:
        if self.live is not None:
            self.live.show(self.done, self.total, self._left())

    def _left(self) -> str:
        done = self.done - (self.before or 0)
        if done <= 0:
            return ""
        spent = time.monotonic() - self.begun
        seconds = round(spent * (self.total - self.done) / done)
        return f"{timedelta(seconds=max(seconds, 0))} left"


class _Terminal:
    """Bar on a terminal's last line."""

    def __init__(self, label: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            *(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()),
            TextColumn("{task.fields[left]}"),
        )
        self.made = Progress(*columns, console=Console(stderr=True, force_jupyter=False))
        self.task = self.made.add_task(label, total=None, left="")
        self.made.start()

    def show(self, done: int, total: int, left: str) -> None:
        self.made.update(self.task, completed=done, total=total or None, left=left)

    def stop(self) -> None:
        self.made.stop()


class _Notebook:
    """Bar below a notebook's cell, of plain HTML: it needs no widgets."""

    def __init__(self, label: str) -> None:
        from IPython.display import display

        self.label, self.shown = label, 0.0
        show: Any = display  # which has no types
        self.handle = show(self._picture(0, 0, ""), raw=True, display_id=True)

    def show(self, done: int, total: int, left: str) -> None:
        now = time.monotonic()
        if now - self.shown >= _OFTEN or done >= total:
            self.shown = now
            self.handle.update(self._picture(done, total, left), raw=True)

    def stop(self) -> None:
        self.handle.update({"text/plain": ""}, raw=True)

    def _picture(self, done: int, total: int, left: str) -> dict[str, str]:
        text = f"{100 * done // (total or 1)}% {left}".rstrip()
        picture = f'<progress value="{done}" max="{total or 1}"></progress>'
        label = escape(self.label)
        return {
            "text/plain": f"{self.label}: {text}",
            "text/html": f"<div>{label} {picture} {escape(text)}</div>",
        }


class _Lines:
    """Line for each tenth, in a log."""

    def __init__(self, label: str) -> None:
        self.label, self.tenths = label, 0

    def show(self, done: int, total: int, left: str) -> None:
        tenths = 10 * done // (total or 1)
        if tenths > self.tenths:
            self.tenths = tenths
            print(f"{self.label}: {10 * tenths}%, {left}", file=sys.stderr, flush=True)

    def stop(self) -> None:
        pass
