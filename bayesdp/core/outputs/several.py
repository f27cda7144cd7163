"""Space of several outputs released together, all from the same space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import LISTED, OutputSpace, fields_of, structured
from bayesdp.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Several(OutputSpace):
    """Tuples of `count` outputs of one space, numbered within a copy by a column of their own.

    Attributes
    ----------
    inner : OutputSpace
        Space of each output.
    count : int
        Outputs in a tuple.
    column : str
        Name of the column that numbers them.
    limit : str
        Name of the mechanism's parameter that is `count`, for a message.
    """

    inner: OutputSpace
    count: int
    column: str = "draw"
    limit: str = "draws"

    def check(self, output: Any) -> tuple[Any, ...]:
        """Return the output as a tuple of the inner space's, or raise InvalidInput."""
        try:
            each = list(output)
        except TypeError:  # not a sequence
            each = []
        if len(each) != self.count:
            raise InvalidInput(
                f"output doesn't hold {self.limit} = {self.count} copies, which this mechanism "
                "releases together"
            )
        return tuple(map(self.inner.check, each))

    def records(self, output: Sequence[Any]) -> NDArray[Any]:
        """Records of all outputs, a structured array: the column, and `value` or their own.

        Where there is a function that shows an output, they are what it returns.
        """
        if self.shown is not None:
            return self.shown(output)
        each = [self.inner.records(one) for one in output]
        place = np.repeat(np.arange(self.count), [one.size for one in each])
        return structured([(self.column, place), *fields_of(np.concatenate(each))])

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as the inner space's columns, with the column beside `copy`."""
        columns = self.inner.encode([one for output in outputs for one in output])
        place = np.asarray(columns["copy"])
        return columns | {"copy": place // self.count, self.column: place % self.count}

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the copies, unchecked, in their order."""
        rest = {name: values for name, values in columns.items() if name != self.column}
        rest["copy"] = np.asarray(columns["copy"]) * self.count + np.asarray(columns[self.column])
        flat = self.inner.decode(rest)
        return [flat[i : i + self.count] for i in range(0, len(flat), self.count)]

    def every(self) -> NDArray[Any] | None:
        """List all outputs along the first axis; None if there are more than 100,000."""
        one = self.inner.every()
        if one is None or len(one) ** self.count > LISTED:
            return None
        places = np.unravel_index(np.arange(len(one) ** self.count), (len(one),) * self.count)
        return np.asarray(one[np.stack(places, axis=-1)])
