r"""Exact prediction of an interval for a proportion, before there are data.

    p ~ design prior,    x | p ~ Binomial(n, p),    z | x ~ mechanism,

and the analyst will take p ~ Beta(a, b). Outputs z are few enough to list, so the joint law of
(x, z) is a table. Row by row it gives the analyst's posterior, a mixture over x of Beta(a + x,
b + n - x), its equal-tailed interval, and the probabilities of z and, given z, that p lies within.
Sums over z are then exact; outputs that are left out, less than 1e-12 of the mass, are counted as
intervals of length 1 that don't cover, so that the result is on the safe side.

The components are the same whatever the mechanism, so their distribution functions are computed
once, on a grid that is regular in the angle arcsin(sqrt(p)), where all have nearly the same
standard deviation, with 16 points to it. Between two points a cubic interpolates the values and
densities at both; lengths of intervals are correct to six digits.

Several copies of a count have no single sufficient number, and are listed only if there are few;
otherwise outputs are drawn, by inversion of the same uniform numbers at every epsilon, and the
posteriors given them are exact as before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.mechanisms.laws import beta_binomial_logpmf, binomial_logpmf

Floats = NDArray[np.float64]
Design = tuple[float, float] | float

_TO_AN_SD = 16
_EDGE = 1e-7  # angle of the first point, where p is 1e-14


@dataclass(frozen=True, eq=False)
class Proportion:
    """Setting of a proportion, for any mechanism: number of records, priors and level.

    Attributes
    ----------
    n : int
    prior : tuple of two floats
        The analyst's beta prior.
    design : tuple of two floats, or float
        Where p comes from: a beta law, or one true value.
    level : float
    """

    n: int
    prior: tuple[float, float]
    design: Design
    level: float

    @cached_property
    def belief(self) -> Floats:
        """Log Pr[x] under the analyst's prior, shape (n + 1,)."""
        return beta_binomial_logpmf(np.arange(self.n + 1), self.n, *self.prior)

    @cached_property
    def truth(self) -> Floats:
        """Log Pr[x] under the design prior."""
        x = np.arange(self.n + 1)
        if isinstance(self.design, tuple):
            return beta_binomial_logpmf(x, self.n, *self.design)
        return binomial_logpmf(x, self.n, self.design, 1 - self.design)

    @cached_property
    def angles(self) -> Floats:
        """Grid of arcsin(sqrt(p)), ever finer towards its ends."""
        step = 0.5 / math.sqrt(self.n + sum(self.prior)) / _TO_AN_SD
        count = max(64, math.ceil(math.pi / 2 / step))
        regular = np.linspace(0, math.pi / 2, count + 1)[1:-1]
        near = np.geomspace(_EDGE, regular[3], 60)
        return np.unique(np.concatenate([near, regular, math.pi / 2 - near]))

    @cached_property
    def cdf(self) -> Floats:
        """Distribution function Pr[p <= grid | x], shape (n + 1, grid); 0 and 1 if within 1e-17."""
        p = np.sin(self.angles) ** 2
        a, b = self._components
        first = np.searchsorted(p, special.betaincinv(a, b, 1e-17))
        last = np.searchsorted(p, 1 - special.betaincinv(b, a, 1e-17))
        chances = np.empty((a.size, p.size))
        for x in range(a.size):
            i, j = first[x], last[x]
            chances[x, :i], chances[x, j:] = 0, 1
            chances[x, i:j] = special.betainc(a[x], b[x], p[i:j])
        return chances

    @cached_property
    def density(self) -> Floats:
        """Density of the angle given x, shape (grid, n + 1)."""
        a, b = self._components
        sines, cosines = np.log(np.sin(self.angles)), np.log(np.cos(self.angles))
        log = np.outer(sines, 2 * a - 1) + np.outer(cosines, 2 * b - 1) - special.betaln(a, b)
        return np.asarray(2 * np.exp(log))

    @property
    def _components(self) -> tuple[Floats, Floats]:
        x = np.arange(self.n + 1)
        return np.asarray(self.prior[0] + x), np.asarray(self.prior[1] + self.n - x)

    def intervals(self, weights: Floats) -> tuple[Floats, Floats]:
        """Ends of the posteriors' intervals, from probabilities of x, shape (outputs, n + 1)."""
        below, tail = weights @ self.cdf, (1 - self.level) / 2
        low, high = self._quantile(weights, below, tail), self._quantile(weights, below, 1 - tail)
        return low, high

    def _quantile(self, weights: Floats, below: Floats, q: float) -> Floats:
        right = (below < q).sum(axis=1)
        inside = np.clip(right, 1, self.angles.size - 1)
        rows, left = np.arange(len(weights)), inside - 1
        step = self.angles[inside] - self.angles[left]
        start, end = below[rows, left], below[rows, inside]
        rise, leave = (
            step * np.einsum("zx,zx->z", weights, self.density[at]) for at in (left, inside)
        )
        low, high = np.zeros(rows.size), np.ones(rows.size)
        for _ in range(40):
            t = (low + high) / 2
            u = 1 - t
            value = (
                start * (1 + 2 * t) * u**2
                + rise * t * u**2
                + end * t**2 * (3 - 2 * t)
                - leave * t**2 * u
            )
            low, high = np.where(value < q, t, low), np.where(value < q, high, t)
        p = np.sin(self.angles[left] + step * (low + high) / 2) ** 2
        return np.where(right == 0, 0.0, np.where(right == self.angles.size, 1.0, p))

    def covered(self, low: Floats, high: Floats, given: Floats) -> Floats:
        """Coverage Pr[p within | output], from probabilities of x under the design prior."""
        if not isinstance(self.design, tuple):
            return np.asarray((low <= self.design) & (self.design <= high), dtype=np.float64)
        if self.design == self.prior:  # Bayes' theorem: the design's posterior is the analyst's
            return np.full(low.size, self.level)
        a, b = self.design
        coverage = np.empty(low.size)
        for row in range(low.size):
            x = np.flatnonzero(given[row] > 1e-15)
            law = a + x, b + self.n - x
            inside = special.betainc(*law, high[row]) - special.betainc(*law, low[row])
            coverage[row] = inside @ given[row, x]
        return coverage

    def without_privacy(self) -> tuple[Floats, Floats]:
        """Probability of each count, and the length of the interval from it."""
        a, b = self._components
        tail = (1 - self.level) / 2
        lengths = special.betaincinv(a, b, 1 - tail) - special.betaincinv(a, b, tail)
        return np.asarray(np.exp(self.truth)), np.asarray(lengths)


def width_at(n: int, about: Proportion) -> tuple[Floats, Floats]:
    """Width without privacy for another number of records; for many, at 4,000 quantiles of p."""
    if n <= 20_000:
        return Proportion(n, about.prior, about.design, about.level).without_privacy()
    if isinstance(about.design, tuple):
        p = special.betaincinv(*about.design, (np.arange(4000) + 0.5) / 4000)
    else:
        p = np.array([about.design])
    a, b = about.prior[0] + n * p, about.prior[1] + n * (1 - p)
    tail = (1 - about.level) / 2
    lengths = special.betaincinv(a, b, 1 - tail) - special.betaincinv(a, b, tail)
    return np.full(p.size, 1 / p.size), np.asarray(lengths)
