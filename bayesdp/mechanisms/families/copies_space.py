"""Output space of a family that checks and writes its copies itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from bayesdp.core.outputs import OutputSpace


@dataclass(frozen=True, slots=True)
class Copies(OutputSpace):
    """Copies of `size` records, as the family's own methods have them."""

    family: Any
    size: int

    def check(self, output: Any) -> Any:
        """Return the output as a Python number or a tuple of them, or raise InvalidInput."""
        return self.family.check_output(output, self.size)

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as columns."""
        return dict(self.family.encode(outputs, self.size))

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the copies, in their order."""
        return list(self.family.decode(columns, self.size))

    def records(self, output: Any) -> NDArray[Any]:
        """Synthetic records of a copy."""
        shown: NDArray[Any] = self.family.records(output, self.size)
        return shown

    def every(self) -> NDArray[Any] | None:
        """List all copies, where they are few."""
        listed: NDArray[Any] | None = self.family.outputs(self.size)
        return listed
