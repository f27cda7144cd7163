r"""The law of a network from sanitised coefficients, given the confidential graph.

A copy g of a graph x is drawn in three steps (`dp_ergm.grid`): a cell k, uniform coefficients theta
in it, and g from the model at theta. So

    Pr[g | x]  =  sum_k Pr[k | x] L_k(g),        Pr[k | x] = exp(power u(k, x)) / C(x)  by SDD,
    L_k(g)     =  mean over theta in cell k of exp(theta . s(g)) / Z(theta),

where C(x), the sum of exp(power u(k, x)) over cells, depends on x too and doesn't cancel. By SPHC
these, with power 1, are the probabilities of each draw of a noisy histogram, and Pr[k | x] is the
cell's law from that (`bayesdp.mechanisms.selection.histogram_law`). All have as many terms as there
are cells: cell and coefficients sum out, and what is left for a chain is the hidden graph alone,
which enters by its statistics s(x). L_k(g) doesn't depend on x, and is computed once, by Gauss and
Legendre's rule in each cell. Between the points where log Z is computed, which costs most, it is
the polynomial through them: it is smooth, and theta . s(g), which is steep where g is unlikely, is
linear.

What has to be known
--------------------
- R, the mechanism's own log prior - log Z at the cells' middles. Where dyads depend on each other,
  log Z is simulated there (`networks.normalizing_constant`), with an error that is part of the law.
  The simulation has a public seed, so whoever has the nodes gets the same R.
- Z(theta), of the law of g. In closed form where pairs of nodes are independent; a sum over all
  graphs, where they can be listed; else by tempered chains, for few coefficients and dyads. Beyond
  that it isn't known, and no model reads the copies.

Copies come from chains of finite length that start without ties, and are taken as exact draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.mechanisms.graphs.dp_ergm.grid import CoefficientGrid, middles_along
from bayesdp.networks.auxiliary import MOST_TEMPERED, MOST_TERMS, covers, normalizer_over
from bayesdp.networks.dyad_table import is_pairwise, known_table
from bayesdp.networks.evidence import Evidence, Histogram, SeenCopies
from bayesdp.networks.formula import BoundFormula, bind, parse
from bayesdp.networks.listing import MOST_DYADS
from bayesdp.networks.network import Network
from bayesdp.networks.normalizer import Normalizer
from bayesdp.networks.terms import TERMS

Floats = NDArray[np.float64]

_SEED = 20_201  # of tempered chains, so that a copy's evidence is always the same
_STEPS = 64_000  # of tempered chains: over a whole grid, not around one posterior
_FEWEST, _MOST_KNOWN, _MOST = 3, 8, 48  # points along each axis of a cell; of them, with log Z
_WORK = 100_000_000  # numbers that Z at all points adds up
_POINTS = 4_000_000  # of all cells
_CHUNK = 1 << 22
_LIKELY = 8.0  # of a copy's likeliest cell, in logarithms


@dataclass(frozen=True, eq=False)
class CopiesLaw:
    """The law of copies given a graph on some nodes, by the corrected SDD or SPHC.

    Parameters
    ----------
    formula : str
    empty : Network
        The nodes with their public attributes, without ties.
    grid : CoefficientGrid
    power : float
        Power of prior and likelihood in a cell's, or a draw's, probability.
    histogram : Histogram, or None
        Noisy histogram of draws that a cell was chosen from, if any.
    """

    formula: str
    empty: Network
    grid: CoefficientGrid
    power: float
    histogram: Histogram | None = None

    @cached_property
    def _bound(self) -> BoundFormula:
        return bind(self.formula, self.empty)

    @cached_property
    def _pairwise(self) -> bool:
        return is_pairwise(self._bound)

    @cached_property
    def base(self) -> Floats:
        """Power times R, shape (cells,)."""
        return np.asarray(self.power * (self.grid.public - self.grid.public.max()).ravel())

    @cached_property
    def slope(self) -> Floats:
        """Power times theta - centre at the cells' middles, shape (cells, terms)."""
        return np.asarray(self.power * (self._middles - np.array(self.grid.centre)))

    @cached_property
    def _half_widths(self) -> Floats:
        return np.array([float(w) for w in self.grid.width])

    @cached_property
    def _middles(self) -> Floats:
        return _product(middles_along(self.grid.centre, self.grid.width, self.grid.bins))

    @cached_property
    def _log_z(self) -> Callable[[Floats], Floats]:
        """Function of coefficients, shape (..., terms): log Z, up to a constant."""
        if not self._pairwise:
            return self._normalizer.log
        table = known_table(self._bound, [self.empty])
        return lambda theta: theta @ table.observed - table.log_likelihood(theta)

    @cached_property
    def _normalizer(self) -> Normalizer:
        return normalizer_over(self.formula, self.empty, self._middles, _STEPS, _SEED)

    @cached_property
    def _rule(self) -> tuple[Floats, Floats, Floats]:
        """Points of a cell around its middle, their log weights, and log Z at those of all cells.

        Shapes (points, terms), (points,), (cells, points).
        """
        cells, terms = self._middles.shape
        rows = self._rows
        known = _size(_WORK / rows / cells, terms, _MOST_KNOWN)
        points = max(known, _size(_POINTS / cells, terms, _MOST))
        (nodes, weights), (at, _) = map(np.polynomial.legendre.leggauss, (points, known))
        between = np.polynomial.legendre.legvander(nodes, known - 1) @ np.linalg.inv(
            np.polynomial.legendre.legvander(at, known - 1)
        )
        there = _product([w * at for w in self._half_widths])
        log_z = np.empty((cells, len(there)))
        at_once = max(1, _CHUNK // (rows * len(there)))
        for i in range(0, cells, at_once):
            log_z[i : i + at_once] = self._log_z(self._middles[i : i + at_once, None] + there)
        inside = _product([w * nodes for w in self._half_widths])
        log_weights = np.log(_product([weights / 2.0] * terms)).sum(axis=1)
        return inside, log_weights, log_z @ reduce(np.kron, [between] * terms).T

    @cached_property
    def _rows(self) -> int:
        """Number of terms that Z at one point adds up."""
        if self._pairwise:
            return len(known_table(self._bound, [self.empty]).weight)
        return len(self._normalizer.count)

    def log_likelihood(self, copy: Network) -> Floats:
        """Log L_k of a copy in each cell, shape (cells,), up to a constant."""
        inside, log_weights, log_z = self._rule
        statistics = self._bound.graph(copy)[1]
        powers = (inside @ statistics + log_weights) - log_z
        logs: Floats = self._middles @ statistics + special.logsumexp(powers, axis=1)
        return logs

    def evidence(self, copy: Network) -> Evidence:
        """Evidence of one copy on the hidden graph."""
        logs = self.log_likelihood(copy)
        seen = SeenCopies(self.formula, self.slope, self.base, logs[None], self.histogram)
        return Evidence.of_copies(self.empty, seen, problems=self._problems(logs))

    def _problems(self, logs: Floats) -> tuple[str, ...]:
        likely = self._middles[logs > logs.max() - _LIKELY]
        if self._pairwise or covers(self._normalizer, likely):
            return ()
        return (
            "the constant of the model that copies were drawn from isn't known well enough where "
            "these copies are likely: tempered chains can't cross the release's whole grid, whose "
            "model is degenerate in part; release with a narrower grid or another term",
        )


def _size(points: float, terms: int, most: int) -> int:
    """Number of points along an axis, where a cell affords so many."""
    return int(np.clip(points ** (1 / terms), _FEWEST, most))


def _product(axes: list[Any]) -> Floats:
    """All combinations of the axes' values, the last moving fastest, shape (points, axes)."""
    return np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)


class Gridded(Protocol):
    """Protocol of a mechanism that draws cells of a grid, by which its law is looked up."""

    def __hash__(self) -> int:
        """Hash of the mechanism, which is a frozen value."""

    @property
    def formula(self) -> str:
        """Formula of the model that copies are drawn from."""

    def public_grid(self, empty: Network) -> CoefficientGrid:
        """Make the grid, from a network without ties."""

    def choice(self, grid: CoefficientGrid) -> tuple[float, Histogram | None]:
        """Return the power that a cell's probability has, and the histogram on the way, if any."""


@dataclass(frozen=True)
class _Setting:
    """A mechanism and nodes, by which a law is looked up: networks compare no attributes."""

    mechanism: Gridded
    labels: tuple[Any, ...]
    attributes: tuple[tuple[str, tuple[Any, ...]], ...]
    empty: Network = field(compare=False)


@lru_cache(maxsize=4)
def _law_of(setting: _Setting) -> CopiesLaw:
    made, empty = setting.mechanism, setting.empty
    grid = made.public_grid(empty)
    return CopiesLaw(made.formula, empty, grid, *made.choice(grid))


def law_on(mechanism: Gridded, empty: Network) -> CopiesLaw:
    """Return the law of copies on nodes without ties, which is computed once."""
    attributes = tuple((name, tuple(v.tolist())) for name, v in empty.attributes.items())
    return _law_of(_Setting(mechanism, tuple(empty.nodes), attributes, empty))


def unknown_constant(formula: str, terms: int, dyads: int) -> str | None:
    """Say why the model's constant Z isn't known over a whole grid; None where it is."""
    apart = all(
        TERMS[call.name].dyad_independent or call.name == "mutual" for call in parse(formula)
    )
    if apart or dyads <= MOST_DYADS or (terms <= MOST_TERMS and dyads <= MOST_TEMPERED):
        return None
    return (
        f"copies are drawn from a model of {terms} coefficients on {dyads:,} dyads that depend on "
        f"each other, whose constant is known up to {MOST_TERMS} and {MOST_TEMPERED:,}"
    )
