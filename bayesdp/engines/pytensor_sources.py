"""PyTensor's generated source code, kept out of the folder of temporary files.

PyTensor writes the Python code that it hands to numba to a temporary file, a new one for every
function, and leaves it there. Its comments quote the ends of every constant.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.RLock()


class _Source:
    """In-memory stand-in for a NamedTemporaryFile."""

    name = "<pytensor>"

    def __init__(self, *, delete: bool) -> None:
        pass

    def write(self, text: bytes) -> None:
        pass

    def __enter__(self) -> _Source:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@contextmanager
def sources_in_memory() -> Iterator[None]:
    """Compile PyTensor's sources from memory inside the context, one thread at a time."""
    import pytensor.link.numba.cache
    import pytensor.link.utils

    places: list[Any] = [pytensor.link.utils, pytensor.link.numba.cache]
    with _lock:
        before = [place.NamedTemporaryFile for place in places]
        try:
            for place in places:
                place.NamedTemporaryFile = _Source
            yield
        finally:
            for place, own in zip(places, before, strict=True):
                place.NamedTemporaryFile = own
