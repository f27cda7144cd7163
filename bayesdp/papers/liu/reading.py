"""Interpretation of the claims on Liu's figures and tables: their words as numbers.

Words have to mean something before they can be true. Coverage is near nominal from 0.93 to 0.97,
severely short below 0.9, and close to always from 0.98 on. A bias, or a difference of biases, is
visible if it is beyond 4 standard errors of the simulation. Standard deviations are alike within
15%, and one is at its peak if within 5% of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

from bayesdp.papers.liu.cells import Cell, Numbers
from bayesdp.papers.liu.study import Design

NEAR = (0.93, 0.97)
SEVERE = 0.9
VISIBLE = 4.0  # standard errors
ALIKE = 1.15
ALWAYS = 0.98
AT_PEAK = 0.95

Cells = Mapping[Cell, Numbers]
Answer = tuple[str, bool]
Found = list[tuple[Design, Numbers]]


@dataclass(frozen=True, slots=True)
class Study:
    """Cells of the study, and how many replicates each has."""

    cells: Cells
    replicates: int

    def of(self, part: str, where: Callable[[Design], bool] = lambda d: True) -> Found:
        """Select the part's designs for which a condition holds, with their numbers."""
        return [(c.design, f) for c, f in self.cells.items() if c.part == part and where(c.design)]

    def visible(self, numbers: Numbers) -> float:
        """Bias in standard errors."""
        return numbers["bias"] / numbers["spread"] * sqrt(self.replicates)


def span(values: Iterable[float], form: str = ".3f") -> str:
    """Range of values from smallest to largest, as text."""
    every = list(values)
    low, high = format(min(every), form), format(max(every), form)
    return low if low == high else f"{low} to {high}"


def inside(values: Iterable[float], low: float = NEAR[0], high: float = NEAR[1]) -> bool:
    """Return True if all values are within the bounds."""
    return all(low <= each <= high for each in values)


def coverages(rows: Found, rule: str = "liu") -> list[float]:
    """List the coverages of a rule's intervals."""
    return [f[f"{rule}_coverage"] for _, f in rows]
