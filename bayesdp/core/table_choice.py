"""Choice of marginals among candidates by the exponential mechanism, and its law given scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Offered:
    """Candidate marginal of a choice, by whose score it is likely to be chosen.

    Attributes
    ----------
    columns : tuple of int
        Places of its columns in the schema; the last one moves fastest.
    shape : tuple of int
        Numbers of cells, or of pools, that it counts of each column.
    expected : ndarray, shape (..., all cells)
        Records that were expected in its cells. The score is the sum of what its confidential
        counts differ from them, less the allowance.
    allowance : ndarray, shape (...)
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    expected: Floats
    allowance: Floats


@dataclass(frozen=True)
class Chosen:
    """Choice of marginals among candidates, one after another, by the exponential mechanism.

    Attributes
    ----------
    offered : tuple of Offered
    order : tuple of int
        Places of the chosen ones among the candidates. Each was chosen among those that were left,
        with probability in proportion to exp(rate score).
    rate : float
    """

    offered: tuple[Offered, ...]
    order: tuple[int, ...]
    rate: float

    def steps(self, scores: Floats) -> Iterator[Floats]:
        """Log probabilities of the candidates at each step, given scores of shape (..., C)."""
        left = np.ones(len(self.offered), dtype=bool)
        for place in self.order:
            log = np.where(left, self.rate * scores, -np.inf)
            log -= log.max(axis=-1, keepdims=True)
            yield log - np.log(np.exp(log).sum(axis=-1, keepdims=True))
            left[place] = False

    def log_law(self, scores: Floats) -> Floats:
        """Log probability of the choice, given scores of shape (..., C)."""
        each = zip(self.steps(scores), self.order, strict=True)
        return np.asarray(sum(log[..., place] for log, place in each))
