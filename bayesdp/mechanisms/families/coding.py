"""Coding of a family's copies by the space of its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from bayesdp.core.outputs import OutputSpace


class Coded:
    """Base of families whose copies of `size` records are of one space of outputs."""

    __slots__ = ()

    def space(self, size: int) -> OutputSpace:
        """The copies of `size` records that there may be."""
        raise NotImplementedError

    def outputs(self, size: int) -> NDArray[Any] | None:
        """List all copies, where they are few enough."""
        return self.space(size).every()

    def check_output(self, output: Any, size: int) -> Any:
        """Return the output as a Python number or a tuple of them, or raise InvalidInput."""
        return self.space(size).check(output)

    def records(self, output: Any, size: int) -> NDArray[Any]:
        """Synthetic records of a copy."""
        return self.space(size).records(self.check_output(output, size))

    def encode(self, outputs: Sequence[Any], size: int) -> Mapping[str, Any]:
        """Encode copies as columns."""
        return self.space(size).encode(outputs)

    def decode(self, columns: Mapping[str, Any], size: int) -> list[Any]:
        """Decode the copies, in their order."""
        return [self.check_output(output, size) for output in self.space(size).decode(columns)]
