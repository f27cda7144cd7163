"""Uniform part of a law on a box, which hides a record in an exact sum.

A law whose density is at least h everywhere on a box is a mixture: a uniform record with
probability volume = h |box|, and anything with probability 1 - volume. The bounds on sums use
nothing else of it than that volume, and how wide the law's support is relative to the box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted


@dataclass(frozen=True, slots=True)
class UniformPart:
    """A box on which a law's density is at least a height.

    Parameters
    ----------
    box : sequence of (float, float)
        Lower and upper end of the box in each of d coordinates.
    height : float
        A lower bound of the density on the box, or of the law's density part.
    support : sequence of (float, float)
        Bounds on every record in each coordinate; they contain the box.

    Raises
    ------
    InvalidInput
        If an interval is empty or unbounded, the box leaves the support, or the box would have a
        probability above 1.
    """

    box: tuple[tuple[float, float], ...]
    height: float
    support: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        box, support = check_intervals("box", self.box), check_intervals("support", self.support)
        if len(box) != len(support):
            raise InvalidInput(
                f"box has {len(box)} intervals and support {len(support)}; give one for each "
                "coordinate"
            )
        for (low, high), (least, most) in zip(box, support, strict=True):
            if low < least or high > most:
                raise InvalidInput(
                    f"the box's interval ({low}, {high}) isn't within the support's ({least}, "
                    f"{most}); a density that is positive there is part of the support"
                )
        if not is_number(self.height) or not 0 < self.height < math.inf:
            raise InvalidInput(
                f"height is {quoted(self.height)}; it must be a positive finite number"
            )
        object.__setattr__(self, "box", box)
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "height", float(self.height))
        if self._raw_volume() > 1 + 1e-12:
            raise InvalidInput(
                f"a density of at least {self.height} on the box {box} would give it the "
                f"probability {self._raw_volume():.6g}, above 1: lower the height or shrink the box"
            )

    @property
    def volume(self) -> float:
        """Share of the records that is uniform on the box, in (0, 1]."""
        return min(1.0, self._raw_volume())

    @property
    def widths(self) -> tuple[float, ...]:
        """The support's widths, one for each coordinate, in units of the box's widths."""
        pairs = zip(self.box, self.support, strict=True)
        return tuple((most - least) / (high - low) for (low, high), (least, most) in pairs)

    def _raw_volume(self) -> float:
        return self.height * math.prod(high - low for low, high in self.box)


def check_intervals(name: str, intervals: Sequence[Any]) -> tuple[tuple[float, float], ...]:
    """Return intervals as pairs of floats, else raise InvalidInput."""
    try:
        pairs = tuple((low, high) for low, high in intervals)
    except (TypeError, ValueError):
        pairs = ()
    if not pairs or not all(is_number(end) for pair in pairs for end in pair):
        raise InvalidInput(
            f"{name} is {quoted(intervals)}; it must be a list of (lower, upper), one for each "
            "coordinate"
        )
    for low, high in pairs:
        if not (math.isfinite(low) and math.isfinite(high)):
            raise InvalidInput(
                f"{name} has the interval ({low}, {high}); it must be finite: no exact sum hides "
                "a record that may be arbitrarily large. Top-code the records first, and say so "
                "in the law"
            )
        if not low < high:
            raise InvalidInput(
                f"{name} has the interval ({low}, {high}); its lower end must be below its upper"
            )
    return tuple((float(low), float(high)) for low, high in pairs)
