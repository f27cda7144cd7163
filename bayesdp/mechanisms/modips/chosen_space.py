"""Output space of a choice and the copies made after it, as one tuple of integers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import (
    LISTED,
    OutputSpace,
    decode_numbers,
    encode_numbers,
    fields_of,
    structured,
)
from bayesdp.errors import InvalidInput, quoted


@dataclass(frozen=True, slots=True)
class Chosen(OutputSpace):
    """Tuples of a chosen position, and the numbers of `each` copies, one after another.

    Attributes
    ----------
    choice, copy : OutputSpace
        Spaces of the position, and of one copy.
    each : int
        Copies made after one choice.
    shape : tuple of int
        Shape of a copy's numbers; () for a single number.
    """

    choice: OutputSpace
    copy: OutputSpace
    each: int
    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        """Number of integers in an output."""
        return 1 + self.each * math.prod(self.shape)

    def split(self, output: Any) -> tuple[int, tuple[Any, ...]]:
        """Split an output into the chosen position and the copies, or raise InvalidInput."""
        values = np.asarray(output)
        if values.shape != (self.width,) or values.dtype.kind not in "iu":
            raise InvalidInput(
                f"output is {quoted(output)}; this mechanism releases {self.width} integers: "
                "the position of the chosen family, and the numbers of the copies after it"
            )
        chosen = self.choice.check(values[0])
        return chosen, tuple(self.copy.check(each) for each in self.copies_in(values))

    def copies_in(self, output: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut copies from outputs of shape (..., width); shape (..., *shape of a copy) each."""
        apart = output[..., 1:].reshape(*output.shape[:-1], self.each, *self.shape)
        return list(np.moveaxis(apart, output.ndim - 1, 0))

    def check(self, output: Any) -> tuple[int, ...]:
        """Return the output as a tuple of integers, or raise InvalidInput."""
        self.split(output)
        return tuple(np.asarray(output).tolist())

    def records(self, output: Any) -> NDArray[Any]:
        """Synthetic records as a structured array of `family`, and `value` or their columns.

        There is a column `copy` too, where several copies follow one choice.
        """
        chosen, copies = self.split(output)
        each = [self.copy.records(copy) for copy in copies]
        shown = np.concatenate(each)
        columns = [("family", np.full(shown.size, chosen))]
        if self.each > 1:
            columns.append(("copy", np.repeat(np.arange(self.each), [one.size for one in each])))
        return structured([*columns, *fields_of(shown)])

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode outputs as columns, one row for each number of a copy, beside the choice."""
        values = np.asarray(outputs)
        chosen = np.repeat(values[:, 0], values.shape[1] - 1)
        return {**encode_numbers(values[:, 1:].tolist()), "family": chosen}

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the outputs, unchecked, in their order."""
        family = np.asarray(columns["family"])
        _, first, place = np.unique(columns["copy"], return_index=True, return_inverse=True)
        if np.any(family != family[first][place]):
            raise InvalidInput("family differs within an output; it is one choice")
        rest = {name: values for name, values in columns.items() if name != "family"}
        chosen = family[first].tolist()
        return [(one, *row) for one, row in zip(chosen, decode_numbers(rest), strict=True)]

    def every(self) -> NDArray[Any] | None:
        """List all outputs along the first axis; None if there are more than 100,000."""
        choices, copies = self.choice.every(), self.copy.every()
        if choices is None or copies is None:
            return None
        if len(choices) * len(copies) ** self.each > LISTED:
            return None
        flat = np.reshape(copies, (len(copies), -1))
        rows = itertools.product(choices, *[flat] * self.each)
        return np.array([np.concatenate([[chosen], *parts]) for chosen, *parts in rows])
