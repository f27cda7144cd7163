r"""The normalising constant of a model as a weighted sum over points that represent all graphs.

    Z(theta)  =  sum over graphs y of exp(theta . s(y))  =  sum over k of exp(theta . s_k + w_k)

exactly where all graphs are listed, with w_k the logarithm of how many have the statistics s_k
(`listing`); otherwise estimated, from a chain that wanders over many coefficients (`tempering`).
Where pairs of nodes are independent, Z is a product over them instead (`dyad_table`). In all cases
it is a function of theta that costs one pass over points or rows: a posterior needs no auxiliary
graphs, which might stay in the phase in which they start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.kernels.graphs.normalizer import Points
from bayesdp.networks.dyad_table import DyadTable

Floats = NDArray[np.float64]


def no_points(terms: int) -> Points:
    """Make no points, where Z isn't known and auxiliary graphs are drawn."""
    return Points(np.empty((terms, 0)), np.empty(0))


@dataclass(frozen=True, eq=False)
class Normalizer:
    """The normalising constant as a sum over points, with its accuracy.

    Attributes
    ----------
    points : Points
    ties : ndarray of float, shape (points,)
        Number of ties of the graphs at each point.
    count : ndarray of float, shape (points,)
        How often each point was drawn; where all graphs are listed, the number of its graphs.
    parts : ndarray of float, shape (chains, points)
        Logarithms of each chain's weights, -inf for points that it never visited; summed over
        chains they are the points' weights up to a factor. One row where all graphs are listed.
    low, high : ndarray of float, shape (terms,)
        Coefficients between which points are fine enough for log Z; infinite where all graphs are
        listed.
    exact : bool
        Whether all graphs are added up, so that log Z has no error.
    pairs : DyadTable, or None
        Table of pairs of nodes whose constants multiply that of the points.
    """

    points: Points
    ties: Floats
    count: Floats
    parts: Floats
    low: Floats
    high: Floats
    exact: bool = False
    pairs: DyadTable | None = None

    @classmethod
    def of_pairs(cls, pairs: DyadTable) -> Normalizer:
        """Make the constant of a model whose pairs of nodes are independent, from a known graph."""
        terms, one, whole = len(pairs.names), np.zeros(1), np.full(len(pairs.names), np.inf)
        points = Points(np.zeros((terms, 1)), one, pairs.changes, -pairs.weight)
        return cls(points, one, np.ones(1), one[None], -whole, whole, True, pairs)

    def log(self, theta: Floats) -> Floats:
        """Log of the constant Z, of shape (...,), at coefficients of shape (..., terms)."""
        value = np.asarray(special.logsumexp(self._logs(theta), axis=-1))
        if self.pairs is None:
            return value
        return np.asarray(value + theta @ self.pairs.observed - self.pairs.log_likelihood(theta))

    def _logs(self, theta: Floats) -> Floats:
        return np.asarray(theta @ self.points.statistics + self.points.log_weight)

    def effective(self, theta: Floats) -> Floats:
        """Effective number of equally weighted draws behind log Z, shape (...,) (Kish 1965)."""
        weight = special.softmax(self._logs(theta), axis=-1)
        share = weight**2 / self.count
        return np.asarray(1.0 / share.sum(axis=-1))

    def error(self, theta: Floats) -> Floats:
        """Standard errors of log Z minus its mean over the coefficients given, shape (thetas,).

        They are by the jackknife over chains; a posterior needs log Z only up to a constant.
        """
        chains = len(self.parts)
        if chains < 2:
            return np.zeros(len(theta))
        power = theta @ self.points.statistics
        each = np.array([special.logsumexp(power + part, axis=1) for part in self.parts])
        without = np.empty_like(each)
        for c in range(chains):
            rest = np.arange(chains) != c
            without[c] = special.logsumexp(each[rest], axis=0)
        without -= without.mean(axis=1, keepdims=True)
        spread = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
        return np.asarray(np.sqrt((chains - 1) / chains * spread))

    def within(self, theta: Floats) -> NDArray[np.bool_]:
        """Test whether coefficients lie where points are fine enough, shape (...,)."""
        return np.asarray(((theta >= self.low) & (theta <= self.high)).all(axis=-1))

    def mean_ties(self, theta: Floats) -> Floats:
        """Expected number of ties of the model, shape (...,)."""
        if self.pairs is not None:
            return self.pairs.mean_ties(theta)
        return np.asarray(special.softmax(self._logs(theta), axis=-1) @ self.ties)

    def draw_ties(self, theta: Floats, generator: np.random.Generator) -> Floats:
        """Draw the number of ties of a graph at each of the coefficients, shape (thetas,)."""
        if self.pairs is not None:
            return self.pairs.draw_ties(theta, generator)
        reached = special.softmax(self._logs(theta), axis=-1).cumsum(axis=-1)
        mark = generator.random(len(theta)) * reached[:, -1]
        return np.asarray(self.ties[(reached < mark[:, None]).sum(axis=-1)])


def merged(statistics: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the first of all rows that agree to nine decimals, and the kind of every row."""
    kind = np.zeros(len(statistics), dtype=np.int64)
    for column in statistics.T:
        own = np.unique(column.round(9), return_inverse=True)[1]
        kind = np.unique(kind * (own.max() + 1) + own, return_inverse=True)[1]
    first = np.zeros(kind.max() + 1, dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]
    return first, kind
