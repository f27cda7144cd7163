"""Confidential numbers in a temporary file of their owner, for no longer than needed."""

from __future__ import annotations

import mmap
import sys
import tempfile
import weakref
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted

Floats = NDArray[np.float64]
_BYTES = 8
_STEP = 1 << 16  # bytes: what is written in larger steps is mapped in units of up to megabytes


class DiskColumn:
    """Floats in a temporary file that vanishes with this object, or with the process.

    The file is a `tempfile.TemporaryFile`: readable by its owner alone and without a name, or on
    Windows with a name that the system removes when the file is closed. So a killed process leaves
    nothing behind.

    Attributes
    ----------
    size : int
        Number of values in the file.

    Raises
    ------
    InvalidInput
        If there is no folder for temporary files.
    """

    def __init__(self) -> None:
        self.size = 0
        try:
            self._file: Any = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        except OSError as error:
            raise _refused(error) from None
        self.close = weakref.finalize(self, self._file.close)

    @classmethod
    def of(cls, parts: Iterable[Floats]) -> DiskColumn:
        """Store all parts in one column, one after another.

        Raises
        ------
        InvalidInput
            If the disk has no room for them. The file is then removed, as after any exception.
        """
        made = cls()
        try:
            for part in parts:
                made._append(part)
        except BaseException:
            made.close()
            raise
        return made

    def _append(self, values: Floats) -> None:
        left = np.ascontiguousarray(values).view(np.uint8)
        try:
            while left.size:
                left = left[self._file.write(left[:_STEP]) :]
        except OSError as error:
            raise _refused(error) from None
        self.size += values.size

    def __getitem__(self, part: slice) -> Floats:
        """Read the numbers of a slice without a step into memory."""
        first, last, _ = part.indices(self.size)
        values = np.empty(max(last - first, 0))
        left = values.view(np.uint8)
        self._file.seek(first * _BYTES)
        while left.size:
            read = self._file.readinto(left)
            if not read:
                raise EOFError("a temporary file is shorter than what was written to it")
            left = left[read:]
        return values

    @cached_property
    def _map(self) -> mmap.mmap:
        return mmap.mmap(self._file.fileno(), 0)

    @cached_property
    def _mapped(self) -> Floats:
        return np.frombuffer(self._map, dtype=np.float64)


def mapped(column: Floats | DiskColumn) -> Floats:
    """Map a whole column of which few numbers will be read; memory holds those that were."""
    return column._mapped if isinstance(column, DiskColumn) else column


def forget(column: Floats | DiskColumn) -> None:
    """Release the memory of a mapped column's numbers; Windows does so on its own when needed."""
    if sys.platform != "win32" and isinstance(column, DiskColumn):
        column._map.madvise(mmap.MADV_DONTNEED)


def _refused(error: OSError) -> InvalidInput:
    where = f" in {quoted(tempfile.tempdir)}" if tempfile.tempdir else ""
    return InvalidInput(
        f"records can't be kept in temporary files{where} ({error.strerror}); nothing was released "
        "or spent, and nothing is left there. Sorting takes 16 bytes a record: make room, or set "
        "TMPDIR, before Python starts, to a folder where confidential data may be"
    )
