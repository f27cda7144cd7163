"""Three categories on triangles of their probabilities: log posterior, copies and their law.

The law of a copy given a triangle is in `bayesdp.mechanisms.families.triangles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import TableView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.families.grid_model import (
    Copies,
    Floats,
    GridModel,
    Integers,
    MakerOfGridCopies,
    exact,
    two_numbers,
)
from bayesdp.mechanisms.families.triangles import log_given_triangle, points_in, triangles
from bayesdp.mechanisms.randomness import generator
from bayesdp.privacy.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class CategoricalGrid:
    """Triangular cells of three categories' probabilities.

    Parameters
    ----------
    family : Categorical
    """

    family: Categorical

    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    most: ClassVar[int] = 100
    published: ClassVar[bool] = False

    @property
    def offered(self) -> bool:
        """True for three categories."""
        return self.family.k == 3

    def check_ends(self, grid: Any) -> tuple[float, float]:
        """Return the least and the largest that a probability may be, or raise InvalidInput."""
        low, high = two_numbers(grid)
        if not (0 <= low < 1 / 3 and abs(high - (1 - 2 * low)) < 1e-12):
            raise InvalidInput(
                f"grid is {quoted(grid)}; for three categories it must be the least and the "
                "largest that a probability may be, low and 1 - 2 low, for example (0, 1) or "
                "(0.05, 0.9)"
            )
        return low, high

    def model(self, grid: tuple[float, float], bins: int, n: int | None) -> GridModel:
        """Make the triangles with the log posterior on them."""
        corners = triangles(grid[0], bins)
        log_theta = np.log(corners.mean(axis=1))
        prior = log_theta @ (np.array(self.family.prior) - 1)
        unit, none = Fraction(1), Fraction(0)
        replaced = {
            Neighbours.REPLACE_ONE: ((unit, -unit, none), (unit, none, -unit), (none, unit, -unit))
        }
        each = tuple(exact(cell) for cell in log_theta)
        if n is None:
            added = {
                Neighbours.ADD_REMOVE: ((unit, none, none), (none, unit, none), (none, none, unit))
            }
            return GridModel(corners, exact(prior), each, (none,) * 3, {**added, **replaced})
        public = tuple(p + n * cell[2] for p, cell in zip(exact(prior), each, strict=True))
        ratios = tuple((cell[0] - cell[2], cell[1] - cell[2], none) for cell in each)
        return GridModel(corners, public, ratios, (none,) * 3, replaced)

    def number_of_records(self, vector: NDArray[Any]) -> Any:
        """All categories together."""
        return vector.sum()

    def parameters(self, edges: Floats, cells: Integers) -> Floats:
        """Draw uniform probabilities in each of the triangles: post-processing."""
        return points_in(edges[cells])

    def copies(self, mechanism: Copies, theta: Floats) -> NDArray[Any]:
        """Draw counts for each triple of probabilities: post-processing."""
        return np.asarray(generator().multinomial(mechanism.size, theta), dtype=np.int64)

    def log_given_cell(self, mechanism: Copies, output: Any, edges: Floats) -> Floats:
        """Log Pr[output | theta uniform in each triangle]; the outputs' axes, then the cells."""
        return log_given_triangle(output, mechanism.size, edges)

    def views(self, mechanism: MakerOfGridCopies) -> tuple[View, ...]:
        """The view of copies given the counts of categories, where tractable."""
        return (TableView(self.family.k, 0),) if mechanism.tractable else ()
