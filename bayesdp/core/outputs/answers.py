"""Output space of records' own answers, each a category."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import OutputSpace
from bayesdp.errors import InvalidInput

_LISTED = 1 << 17  # numbers in a list of all outputs


@dataclass(frozen=True, slots=True)
class Answers(OutputSpace):
    """Answers of n records, in their order: integers from 0 to k - 1.

    Attributes
    ----------
    n, k : int
    """

    n: int
    k: int

    def check(self, output: Any) -> tuple[int, ...]:
        """Return the answers as a tuple of ints, or raise InvalidInput."""
        z = np.asarray(output)
        if z.shape != (self.n,) or z.dtype.kind not in "iu" or not np.all((z >= 0) & (z < self.k)):
            raise InvalidInput(
                f"output has type {z.dtype} and shape {z.shape}; this mechanism releases "
                f"n = {self.n} integers from 0 to {self.k - 1}"
            )
        return tuple(z.tolist())

    def encode(self, outputs: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Encode copies as columns, one row for each answer: its copy, record and category."""
        copies = len(outputs)
        return {
            "copy": np.repeat(np.arange(copies), self.n),
            "record": np.tile(np.arange(self.n), copies),
            "answer": np.asarray(outputs, dtype=np.int64).reshape(copies * self.n),
        }

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the copies, unchecked, and the answers in each, in their order."""
        copy, record, answer = (np.asarray(columns[c]) for c in ("copy", "record", "answer"))
        order = np.lexsort((record, copy))
        copies = len(np.unique(copy))
        place = np.divmod(np.arange(copy.size), self.n)
        if copy.size != copies * self.n or not np.array_equal((copy[order], record[order]), place):
            raise InvalidInput(f"the table doesn't hold each of n = {self.n} answers of every copy")
        return list(answer[order].reshape(copies, self.n))

    def every(self) -> NDArray[np.int64] | None:
        """List all outputs, shape (k^n, n); None if there are too many."""
        if self.n > 20 or self.k**self.n * self.n > _LISTED:
            return None
        return np.array(list(itertools.product(range(self.k), repeat=self.n)))
