"""Progress of a study, told to a function of the user's or shown as a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bayesdp.progress import counter

Progress = Callable[[int, int], None]
"""Called with how many replicates of cells are done, and how many there are."""


@contextmanager
def told(progress: Progress | None) -> Iterator[Progress]:
    """Return `progress` itself, or a bar on a terminal or in a notebook."""
    if progress is not None:
        yield progress
        return
    with counter("replicates") as tell:
        yield tell
