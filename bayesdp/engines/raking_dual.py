r"""The dual of a table's raking, and its minimization.

`bayesdp.engines.raked_tables` has the dual, of one multiplier a cell. It is steep in some
directions and flat in others: a level's cells are in many marginals, and columns depend on one
another. Its second derivatives are

    V + M' W M / rho,

V the noise's variances and M' W M the weights of the records in both of two cells. Their Cholesky
factor makes units in which they are the identity, and L-BFGS takes few steps there. The tables of a
chain are alike, so that one table's factor serves the next; where a round of steps ends before the
optimum, they are computed again where it ended, as by Newton's method. Of the adult census's 14
columns (3,295 cells, epsilon 1) a table took 300 steps in units of the diagonal, which ended before
the optimum; in these it takes 36, and a seventh of the time. Where cells are so many that a factor
would take too much memory, the units are the diagonal's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from bayesdp.kernels.table.raking import Marginals, cross, tilt

Floats = NDArray[np.float64]

_DENSE = 6000
"""Most cells whose second derivatives are factored: 288 MB a chain."""
_ROUNDS, _STEPS, _KEPT = 6, 50, 60
_NEAR = 0.02
"""Root mean square of the dual's slope, in standard deviations of noise, that is as good as 0."""


def counted(marginals: Marginals, runs: NDArray[np.uint16], cells: int) -> Floats:
    """Count records in all cells of some marginals."""
    weights, counts = np.empty(len(runs)), np.empty(cells)
    tilt(marginals, runs, np.zeros(cells), 0.0, weights, counts)
    return counts


@dataclass
class Dual:
    """The dual of a table's raking, and the weights and counts at the multipliers last tried.

    Attributes
    ----------
    marginals : Marginals
    variances : ndarray, shape (all cells,)
        Of the noise.
    runs : ndarray of uint16, shape (n, d)
    aims : ndarray, shape (all cells,)
        Released counts, with fresh noise.
    rho : float
        Weight of a latent record beside a real one.
    weights, counts, slope : ndarray, shapes (n,), (all cells,) and (all cells,)
    """

    marginals: Marginals
    variances: Floats
    runs: NDArray[np.uint16]
    aims: Floats
    rho: float
    weights: Floats = field(init=False)
    counts: Floats = field(init=False)
    slope: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.weights, self.counts = np.empty(len(self.runs)), np.empty(self.aims.size)

    def at(self, given: Floats) -> float:
        """Return the dual at these multipliers, and keep its slope."""
        tilt(self.marginals, self.runs, given, 1 / self.rho, self.weights, self.counts)
        self.slope = given * self.variances + self.aims - self.counts
        value = given @ (given * self.variances) / 2 + given @ self.aims
        return float(value + self.rho * self.weights.sum())

    def curvature(self) -> Floats:
        """Compute the second derivatives where it was last tried, on and below the diagonal."""
        found = np.empty((self.aims.size, self.aims.size))
        cross(self.marginals, self.runs, self.weights, found)
        found /= self.rho
        found[np.diag_indices_from(found)] += self.variances
        return found

    @property
    def off(self) -> float:
        """Root mean square of the slope, in standard deviations of the noise."""
        return math.sqrt(float(np.mean(self.slope**2 / self.variances)))


class Metric:
    """Units of the multipliers in which a dual's second derivatives are about the identity."""

    def __init__(self) -> None:
        self._factor: Floats | None = None  # upper triangle, or the root of the diagonal

    def measure(self, dual: Dual) -> None:
        """Take the units from the second derivatives where the dual was last tried."""
        if dual.aims.size <= _DENSE:
            square = dual.curvature().T  # in the order in which LAPACK overwrites it
            try:
                self._factor = linalg.cholesky(square, overwrite_a=True, check_finite=False)
                return
            except linalg.LinAlgError:  # by rounding alone: V is at least among the eigenvalues
                pass
        self._factor = np.sqrt(dual.variances + dual.counts / dual.rho)

    def multipliers(self, given: Floats) -> Floats:
        """Return the multipliers of numbers in these units."""
        return self._solved(given, 0)

    def slope(self, given: Floats) -> Floats:
        """Return the slope by numbers in these units, from that by the multipliers."""
        return self._solved(given, 1)

    @property
    def known(self) -> bool:
        """True once the units were taken from some dual."""
        return self._factor is not None

    def _solved(self, given: Floats, transposed: Literal[0, 1]) -> Floats:
        factor: Any = self._factor
        if factor.ndim == 1:
            return np.asarray(given / factor)
        return np.asarray(
            linalg.solve_triangular(factor, given, trans=transposed, check_finite=False)
        )


def minimize(dual: Dual, metric: Metric) -> None:
    """Minimize a dual, and leave its weights, counts and slope at the optimum, or near it.

    Parameters
    ----------
    dual : Dual
    metric : Metric
        Of a dual that is like this one; measured anew where it proves not to be.
    """
    start = np.zeros(dual.aims.size)
    dense = dual.aims.size <= _DENSE
    if not (dense and metric.known):
        dual.at(start)
        metric.measure(dual)
    rounds = _ROUNDS if dense else 1  # a diagonal that is measured again is no better
    for _ in range(rounds):
        start = _descended(dual, metric, start, _ROUNDS * _STEPS // rounds)
        if dual.off < _NEAR:
            return
        metric.measure(dual)


def _descended(dual: Dual, metric: Metric, start: Floats, steps: int) -> Floats:
    """Take some steps at most; return where they ended, at which the dual was tried last."""

    def both(u: Floats) -> tuple[float, Floats]:
        value = dual.at(start + metric.multipliers(u))
        return value, metric.slope(dual.slope)

    def near_enough(u: Floats) -> None:  # whose slope was the last to be computed
        if dual.off < _NEAR:
            raise StopIteration

    options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": _KEPT, "ftol": 0.0, "gtol": 0.0}
    about: Any = {"jac": True, "method": "L-BFGS-B", "callback": near_enough, "options": options}
    found = optimize.minimize(both, np.zeros(start.size), **about)
    end = np.asarray(start + metric.multipliers(found.x))
    if dual.off >= _NEAR:  # else the search stopped where it was tried last
        dual.at(end)
    return end
