r"""A public grid over (phi, log lambda), and exact draws from a clipped posterior on it.

A cell's weight is its prior density times exp(S) at its centre, S the clipped sum there
(`bayesdp.mechanisms.censored.sums`), an exact rational number. There are up to 2^64 cells,
of which a draw looks at few: the grid is cut into blocks with a bound on the weight in each; a
block is drawn by its bound, a cell uniformly in it, and the cell accepted with probability
weight over bound. That is the law of the whole grid, whatever the blocks are, provided that the
bounds hold.

The bound
---------
A record's log density l is concave in the shapes (a, b), as log Beta(a, b) is convex, and so is
m = min(l, high). At a block's centre it has the supergradient plane M: constant `high` where
l >= high there, else l's tangent plane. So the clipped value max(low, m) is at most max(low, M). A
plane in (a, b) = (lambda phi, lambda (1 - phi)) is affine in phi and in lambda apart, so max(low,
M) is convex in each, and so is its sum over the records: over a rectangle of (phi, lambda) it is
largest at a corner. So is the prior's part, its concave terms replaced by tangents, and hence
both together. There the sum is computed as any clipped sum is, by binary searches and prefix
sums. It exceeds the true maximum by the square of the block's width.

Rounding: every term of the bound is rounded a few times by 2^-53 of its size, log Beta and its
slopes by less than 2^-47 of theirs, and a record may fall on the wrong side of a level that it
is within its rounding of. The terms' sizes add up to less than (lambda + 2) sum(|t1| + |t2|) +
n (lambda (1 + |log lambda|) + 64 + |low| + |high|), and 2^-45 of that is added to the bound. It
costs a little acceptance, never exactness.
"""

from __future__ import annotations

import bisect
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import EngineFailed
from bayesdp.mechanisms.draws.bernoulli import bernoulli_exp
from bayesdp.mechanisms.randomness import random_words, uniform_below

if TYPE_CHECKING:
    from bayesdp.mechanisms.censored.disk_column import DiskColumn
    from bayesdp.mechanisms.censored.sums import SortedRecords, WeightedRecords

Floats = NDArray[np.float64]
_BITS = 100  # of a block's weight relative to the largest
_EXCESS = math.log(1.5)  # proposals a draw, about
_MOST_BLOCKS = 100_000


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of equal width in phi over (0, 1) and in log lambda over (smallest, largest).

    Parameters
    ----------
    bits : tuple of two ints
        log2 of the numbers of cells along phi and log lambda.
    prior_phi : tuple of two floats
        (p, q): phi ~ Beta(p, q).
    prior_lambda : tuple of two floats
        (smallest, shape): lambda ~ Pareto(smallest, shape), cut off at `largest`.
    largest : float
        The largest lambda.
    """

    bits: tuple[int, int]
    prior_phi: tuple[float, float]
    prior_lambda: tuple[float, float]
    largest: float

    @property
    def _step(self) -> float:
        return math.log(self.largest / self.prior_lambda[0]) / (1 << self.bits[1])

    def point(self, i: float, j: float) -> tuple[float, float]:
        """The (phi, lambda) at grid coordinates; cell (i, j) has its centre at i + 1/2, j + 1/2."""
        log_lambda = math.log(self.prior_lambda[0]) + self._step * j
        return min(math.ldexp(i, -self.bits[0]), 1 - 2.0**-53), math.exp(log_lambda)

    def points(self, i: Floats, j: Floats) -> tuple[Floats, Floats]:
        """The (phi, lambda) of arrays of grid coordinates, up to rounding; see `point`."""
        log_lambda = math.log(self.prior_lambda[0]) + self._step * j
        phi = np.minimum(np.ldexp(i, -self.bits[0]), 1 - 2.0**-53)
        return phi, np.exp(log_lambda)

    def log_prior(self, phi: float, lam: float) -> float:
        """Log of the prior density with respect to (phi, log lambda), less a constant."""
        p, q = self.prior_phi
        beta = (p - 1) * math.log(phi) + (q - 1) * math.log1p(-phi)
        return beta - self.prior_lambda[1] * math.log(lam)

    def log_priors(self, phi: Floats, lam: Floats) -> Floats:
        """Log prior density at arrays of parameters, up to rounding; see `log_prior`."""
        p, q = self.prior_phi
        beta = (p - 1) * np.log(phi) + (q - 1) * np.log1p(-phi)
        return np.asarray(beta - self.prior_lambda[1] * np.log(lam))

    def prior_at_corners(self, phi: tuple[Floats, Floats], lam: tuple[Floats, Floats]) -> Floats:
        """Bounds on `log_prior` over rectangles, convex in phi and lambda, at their corners.

        A concave term, such as p log(phi), is replaced by its tangent at the middle. Rounding is
        included. The shape is (rectangles, 4), lambda's ends first.
        """
        (p, q), shape = self.prior_phi, self.prior_lambda[1]
        middle, corners = 0.5 * (phi[0] + phi[1]), []
        for f, s in itertools.product(phi, lam):
            first, second = (p - 1) * np.log(f), (q - 1) * np.log1p(-f)
            if p > 1:
                first = (p - 1) * (np.log(middle) + (f - middle) / middle)
            if q > 1:
                second = (q - 1) * (np.log1p(-middle) - (f - middle) / (1 - middle))
            third = -shape * np.log(s)
            sizes = np.abs(first) + np.abs(second) + np.abs(third) + p + q + shape
            corners.append(first + second + third + 2.0**-45 * sizes)
        return np.stack(corners, axis=1)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Disjoint blocks of cells that cover the grid, with bounds on the log weights in each."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    """Their first cells along phi and log lambda."""
    wide: NDArray[np.int64]
    high: NDArray[np.int64]
    """log2 of their numbers of cells along each."""
    bound: Floats
    guess: Floats
    """What the log of the mean weight is about."""

    def mass(self, values: Floats) -> Floats:
        """Log of each block's number of cells times exp(values)."""
        return np.asarray(values + math.log(2) * (self.wide + self.high))


@dataclass(frozen=True, eq=False)
class ClippedPosterior:
    """Clipped posterior on a grid, given confidential records.

    Parameters
    ----------
    grid : Grid
        Public.
    low, high : float
        The interval that each record's log density is clipped to. Public.
    records : ndarray or DiskColumn
        The records in (0, 1), sorted. Confidential.
    weights : ndarray or DiskColumn, optional
        One for each record, from 0 to 1000; default: all 1.
    """

    grid: Grid
    low: float
    high: float
    records: Floats | DiskColumn
    weights: Floats | DiskColumn | None = None

    @cached_property
    def likelihood(self) -> SortedRecords | WeightedRecords:
        """The clipped sum as a function of (phi, lambda)."""
        from bayesdp.mechanisms.censored.sums import SortedRecords, WeightedRecords

        if self.weights is None:
            return SortedRecords(self.records, self.low, self.high)
        return WeightedRecords(self.records, self.weights, self.low, self.high)

    def log_weight(self, i: int, j: int) -> Fraction:
        """Log weight of a cell, exactly."""
        phi, lam = self.grid.point(i + 0.5, j + 0.5)
        return Fraction(self.grid.log_prior(phi, lam)) + self.likelihood.exact(phi, lam)

    def log_weights(self, phi: Floats, lam: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Log weights, rounded, and numbers of clipped records, at all pairs of two columns."""
        shape = (phi.size, lam.size)
        along_phi, along_lam = np.repeat(phi, lam.size), np.tile(lam, phi.size)
        values, clipped = self.likelihood.rounded(along_phi, along_lam)
        weights = values + self.grid.log_priors(along_phi, along_lam)
        return weights.reshape(shape), clipped.reshape(shape)

    @cached_property
    def blocks(self) -> Blocks:
        """Cover the grid by blocks whose bounds hold about 1.5 times the weight."""
        root = [np.array([k]) for k in (0, 0, *self.grid.bits)]
        blocks = self._bounded(*root)
        while blocks.i.size < _MOST_BLOCKS:
            bound, guess = blocks.mass(blocks.bound), blocks.mass(blocks.guess)
            top = bound.max()
            excess = np.exp(bound - top) - np.exp(guess - top)
            whole = np.exp(bound - top).sum()
            excess[(blocks.wide == 0) & (blocks.high == 0)] = 0
            if excess.sum() <= -math.expm1(-_EXCESS) * whole:
                break
            order = np.argsort(excess)[::-1]
            worst = np.searchsorted(np.cumsum(excess[order]), 0.75 * excess.sum()) + 1
            blocks = self._split(blocks, order[:worst])
        return blocks

    def _split(self, blocks: Blocks, chosen: NDArray[np.intp]) -> Blocks:
        """Split each chosen block in four, or in two where it is one cell thin."""
        i, j, wide, high = (
            np.repeat(v[chosen], 4) for v in (blocks.i, blocks.j, blocks.wide, blocks.high)
        )
        right, upper = np.tile([0, 1, 0, 1], chosen.size), np.tile([0, 0, 1, 1], chosen.size)
        real = ((wide > 0) | (right == 0)) & ((high > 0) | (upper == 0))
        wide, high = np.maximum(wide - 1, 0), np.maximum(high - 1, 0)
        new = self._bounded(
            *(v[real] for v in (i + (right << wide), j + (upper << high), wide, high))
        )
        kept = np.ones(blocks.i.size, dtype=bool)
        kept[chosen] = False
        names = ("i", "j", "wide", "high", "bound", "guess")
        return Blocks(*(np.append(getattr(blocks, v)[kept], getattr(new, v)) for v in names))

    def _bounded(self, i: Any, j: Any, wide: Any, high: Any) -> Blocks:
        phi0, lam0 = self.grid.points(i + 0.5, j + 0.5)
        phi1, lam1 = self.grid.points(i + np.ldexp(1.0, wide) - 0.5, j + np.ldexp(1.0, high) - 0.5)
        prior = self.grid.prior_at_corners((phi0, phi1), (lam0, lam1))
        bounds, guesses = self.likelihood.bounds((phi0, phi1), (lam0, lam1), prior)
        bound = bounds + 2.0**-45 * (np.abs(prior).max(axis=1) + 1)
        for k, (phi, lam) in enumerate(itertools.product((phi0, phi1), (lam0, lam1))):
            guesses[:, 1 + k] += self.grid.log_priors(phi, lam)
        guesses[:, 0] += self.grid.log_priors(0.5 * (phi0 + phi1), 0.5 * (lam0 + lam1))
        top = guesses[:, 1:].max(axis=1)
        corners = top + np.log(np.exp(guesses[:, 1:] - top[:, None]).mean(axis=1))
        return Blocks(i, j, wide, high, bound, np.minimum(guesses[:, 0], corners))

    def draw(self, count: int) -> NDArray[np.int64]:
        """Draw cells (i, j), independently and exactly, from the secure generator; (count, 2)."""
        drawn: list[tuple[int, int]] = []
        while len(drawn) < count:
            drawn += self._accepted(2 * (count - len(drawn)) + 2)
        return np.array(drawn[:count])

    @cached_property
    def _table(self) -> tuple[list[int], list[int], Fraction]:
        """Integer weights of a cell in each block, running totals over cells, and the unit.

        A weight w stands for w 2^-100 exp(top), and is at least the block's bound.
        """
        blocks = self.blocks
        top = float(blocks.bound.max())
        relative = np.exp(blocks.bound - top) * (1 + 2.0**-40)
        weights = [int(math.ldexp(v, _BITS)) + 1 for v in relative.tolist()]
        totals, total = [], 0
        for weight, bits in zip(weights, (blocks.wide + blocks.high).tolist(), strict=True):
            total += weight << bits
            totals.append(total)
        return weights, totals, Fraction(top)

    def _accepted(self, proposals: int) -> list[tuple[int, int]]:
        weights, totals, top = self._table
        blocks = self.blocks
        cells, ratios, gammas = [], [], []
        for place in uniform_below(np.array([totals[-1]] * proposals, dtype=object)):
            k = bisect.bisect_right(totals, place)
            cell = (totals[k] - 1 - place) // weights[k]
            i = int(blocks.i[k]) + (cell & ((1 << int(blocks.wide[k])) - 1))
            j = int(blocks.j[k]) + (cell >> int(blocks.wide[k]))
            cells.append((i, j))
            ratios.append(Fraction(1 << _BITS, weights[k]))
            log_weight = self.log_weight(i, j)
            if log_weight > blocks.bound[k]:
                raise EngineFailed("a block of the grid exceeds its bound; nothing was drawn")
            gammas.append(top - log_weight)
        rounded = np.array([float(g) for g in gammas])
        taken = bernoulli_exp(rounded, gammas.__getitem__, ratios)
        return [cell for cell, yes in zip(cells, taken, strict=True) if yes]

    def drawn(self, count: int) -> Floats:
        """Draw (phi, lambda), uniform in the cells of `draw`; shape (count, 2)."""
        inside = (random_words(2 * count) >> np.uint64(11)).astype(np.float64) + 0.5
        places = self.draw(count) + inside.reshape(count, 2) * 2.0**-53
        return np.array([self.grid.point(i, j) for i, j in places.tolist()])
