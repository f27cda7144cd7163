"""Log posterior on a grid's cells, and what a family says of its copies given a cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.core.views import View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.neighbours import Neighbours

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Vector = tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class GridModel:
    """The log posterior on the cells as a function of the statistic; all of it is public.

    Parameters
    ----------
    edges : ndarray, shape (bins + 1,); of triangles their corners, shape (cells, 3, 3)
    public : tuple of Fraction
        R, one for each cell.
    coefficients : tuple of tuples of Fraction
        A, one tuple for each cell.
    origin : tuple of Fraction
        o, the public origin of each number.
    moves : mapping of Neighbours to vectors
        The extreme moves under each relation that neighbours can have.
    """

    edges: Floats
    public: Vector
    coefficients: tuple[Vector, ...]
    origin: Vector
    moves: Mapping[Neighbours, tuple[Vector, ...]]

    @property
    def width(self) -> float:
        """Width of a cell."""
        return float((self.edges[-1] - self.edges[0]) / (self.edges.size - 1))

    def furthest(self, relation: Neighbours) -> Fraction:
        """Sensitivity R: the largest range of d over cells, for neighbours by a relation; exact."""
        return _furthest(self, relation)

    def log_weights(self, v: Any) -> Floats:
        """Log weights u in floating point; the cells take the place of v's last axis."""
        away = np.asarray(v, dtype=np.float64) - np.array([float(o) for o in self.origin])
        slopes = np.array([[float(a) for a in cell] for cell in self.coefficients])
        levels = np.array([float(r) for r in self.public])
        return np.asarray(levels + away @ slopes.T)

    def units(self, v: Any, bits: int) -> list[int]:
        """Log weights u of one statistic in units of 2^-bits, each exact and then rounded once."""
        away = [Fraction(x.item()) - o for x, o in zip(np.asarray(v), self.origin, strict=True)]
        scale = 2**bits
        return [
            round(scale * (r + sum(a * m for a, m in zip(cell, away, strict=True))))
            for r, cell in zip(self.public, self.coefficients, strict=True)
        ]


@lru_cache(maxsize=64)
def _furthest(model: GridModel, relation: Neighbours) -> Fraction:
    return max(_range(model.coefficients, move) for move in model.moves[relation])


def _range(coefficients: tuple[Vector, ...], move: Vector) -> Fraction:
    d = [
        sum((a * m for a, m in zip(cell, move, strict=True)), Fraction(0)) for cell in coefficients
    ]
    return Fraction(max(d) - min(d))


class Copies(Protocol):
    """Protocol of the parts of a mechanism that a copy depends on, given the parameter."""

    @property
    def size(self) -> int:
        """Number of records in a copy."""

    @property
    def bounding(self) -> str:
        """Name of the way in which records are kept within the family's bounds."""


class MakerOfGridCopies(Copies, Protocol):
    """Protocol of the mechanism itself that chooses a cell and draws a copy given it."""

    @property
    def n(self) -> int | None:
        """Number of confidential records, where it is public."""

    @property
    def method(self) -> str:
        """Name of the way in which a cell is chosen."""

    @property
    def tractable(self) -> bool:
        """True where cells have probabilities that can be worked out."""

    @property
    def power(self) -> float:
        """Power of prior and likelihood that cells are drawn from, where tractable."""

    @property
    def model(self) -> GridModel:
        """Log posterior on the cells, as a function of the statistic."""

    def log_cells(self, statistic: Any) -> Floats:
        """Log-probabilities of the cells, where tractable; the statistic's axes, then the cells."""

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one of the family's, else raise."""

    def logp(self, output: Any, statistic: Any) -> Floats:
        """Log-law of a copy given the statistic; InvalidInput where it is intractable."""


class OnGrid(Protocol):
    """A family whose parameter has cells: their log posterior, and copies given a cell."""

    @property
    def offered(self) -> bool:
        """True if a record's log-likelihood is bounded on the family's cells."""

    @property
    def ends(self) -> tuple[float, float]:
        """Default ends of a grid."""

    @property
    def most(self) -> int:
        """Largest number of bins."""

    @property
    def published(self) -> bool:
        """True if the published calibration is offered, which is for one parameter alone."""

    def check_ends(self, grid: Any) -> tuple[float, float]:
        """Return the public ends of the parameter's grid as two floats, or raise InvalidInput."""

    def model(self, grid: tuple[float, float], bins: int, n: int | None) -> GridModel:
        """Make the cells with the log posterior on them; InvalidInput if they are too narrow."""

    def number_of_records(self, vector: NDArray[Any]) -> Any:
        """Number of records of a statistic, where it is confidential."""

    def parameters(self, edges: Floats, cells: Integers) -> Floats:
        """Draw a uniform parameter in each of the cells: post-processing."""

    def copies(self, mechanism: Copies, theta: Floats) -> NDArray[Any]:
        """Draw one copy for each parameter, from the generator of releases: post-processing."""

    def log_given_cell(self, mechanism: Copies, output: Any, edges: Floats) -> Floats:
        """Log Pr[output | theta uniform in each cell]; the outputs' axes, then the cells."""

    def views(self, mechanism: MakerOfGridCopies) -> tuple[View, ...]:
        """Views of copies' law given the statistic, or of why it is intractable."""


def two_numbers(grid: Any) -> tuple[float, float]:
    """Return a pair of numbers as floats, or of NaN if it isn't one."""
    try:
        low, high = (float(v) if is_number(v) else np.nan for v in grid)
    except (TypeError, ValueError):  # not a pair
        low = high = np.nan
    return low, high


def check_interval_of(grid: Any, where: str, *, within: tuple[float, float]) -> tuple[float, float]:
    """Return an interval's ends as two floats, or raise InvalidInput with `where` it may be."""
    low, high = two_numbers(grid)
    if not (low < high and np.isfinite(high - low) and within[0] <= low and high <= within[1]):
        raise InvalidInput(
            f"grid is {quoted(grid)}; it must be two finite numbers, the lower first, {where}: the "
            "parameter's range, chosen without the data"
        )
    return low, high


def cells_between(grid: tuple[float, float], bins: int) -> tuple[Floats, Floats]:
    """Cut an interval into equal cells: their edges and their middles.

    Raises
    ------
    InvalidInput
        If the cells are too narrow for floats.
    """
    edges = np.linspace(*grid, bins + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    if not np.all((edges[:-1] < middles) & (middles < edges[1:])):
        raise InvalidInput(
            f"grid is {quoted(grid)}, too narrow for {bins} cells in floating point; widen it"
        )
    return edges, middles


def exact(values: Floats) -> Vector:
    """Turn floats into the fractions that they are."""
    return tuple(map(Fraction, values.tolist()))
