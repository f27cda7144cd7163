"""Record of a chain of moves on a hidden graph and its coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Kept(NamedTuple):
    """Record of a chain's moves: coefficients, statistics, densities and acceptance.

    Attributes
    ----------
    draws : ndarray of float, shape (moves, terms)
        Coefficients.
    accepted : ndarray of bool, shape (moves,)
    statistics : ndarray of float, shape (moves, coordinates)
        Statistics of the hidden graph: the formula's, then others that were seen.
    density : ndarray of float, shape (moves, 2)
        Share of dyads that are tied in the hidden graph, and in the auxiliary one as first drawn;
        NaN for the latter where Z is known.
    variance : ndarray of float, shape (moves, terms)
        Half the squared change of the statistics while the coefficients were fixed.
    """

    draws: NDArray[np.float64]
    accepted: NDArray[np.bool_]
    statistics: NDArray[np.float64]
    density: NDArray[np.float64]
    variance: NDArray[np.float64]

    def part(self, rows: slice) -> Kept:
        """View of the record's room for these moves, which is shared."""
        draws, accepted, statistics, density, variance = self
        return Kept(draws[rows], accepted[rows], statistics[rows], density[rows], variance[rows])


def room(size: int, terms: int, coordinates: int) -> Kept:
    """Make room for a number of moves."""
    return Kept(
        np.empty((size, terms)),
        np.empty(size, dtype=np.bool_),
        np.empty((size, coordinates)),
        np.empty((size, 2)),
        np.empty((size, terms)),
    )
