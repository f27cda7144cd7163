"""Noisy moments as values and as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.columns import decode_numbers, encode_numbers

if TYPE_CHECKING:
    from bayesdp.mechanisms.noisy_moments import NoisyMomentsMechanism

_FARTHEST = 2.0**53  # steps: floats are exact up to there


def check_output(self: NoisyMomentsMechanism, output: Any) -> tuple[float, ...]:
    """The output as a tuple of floats, or InvalidInput."""
    values = output.tolist() if isinstance(output, np.ndarray) else output
    if not isinstance(values, Sequence) or len(values) != len(self.parts):
        raise InvalidInput(
            f"output is {output!r}; this mechanism releases {len(self.parts)} numbers a copy: "
            f"{', '.join(self.numbers)}"
        )
    for name, value, part in zip(self.numbers, values, self.parts, strict=True):
        step = part.step
        if not (is_number(value) and abs(value) / step <= _FARTHEST and value % step == 0):
            raise InvalidInput(
                f"output has {value!r} for {name}; this mechanism releases multiples of {step!r}"
            )
    return tuple(map(float, values))


def records(self: NoisyMomentsMechanism, output: Any) -> NDArray[Any]:
    """The released numbers with their names: a structured array."""
    names = np.array(self.numbers)
    table = np.empty(len(names), dtype=[("number", names.dtype), ("value", np.float64)])
    table["number"], table["value"] = names, output
    return table


def encode(self: NoisyMomentsMechanism, outputs: Sequence[Any]) -> dict[str, Any]:
    """One row a number: columns copy, component, value."""
    return encode_numbers(outputs)


def decode(self: NoisyMomentsMechanism, columns: Mapping[str, Any]) -> list[Any]:
    """The outputs, in the order of their copies; raises InvalidInput if a row is missing."""
    return [self.check_output(z) for z in decode_numbers(columns)]
