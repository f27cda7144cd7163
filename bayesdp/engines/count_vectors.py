r"""Independent draws of a latent vector of counts, from its exact posterior.

Where the posterior is a product over the categories, given the sum of the counts,

    Pr[x | z]  proportional to  g(x_1 + ... + x_k) f_1(x_1) ... f_k(x_k),

the partial sums' laws are convolutions, and x follows from the last to the first: n, then x_k
given n, then x_{k-1} given n - x_k, and so on. A factor e^(lambda x) in every f_i, which n alone
sees, brings the f_i near what n asks for, so that all of them can be cut to where they matter.
Elsewhere all vectors are listed, where they are few.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayesdp.errors import InvalidInput

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_STEEPEST = 60.0  # of the tilt: beyond it a category is at an end
_CUT = 1e-30  # mass that a law gives up on either side
_BEYOND = -60.0  # log of the probability of what is beyond the tables


class CountPosterior(Protocol):
    """Protocol of the exact posterior of latent counts."""

    @property
    def log_evidence(self) -> float:
        """Log Pr[all outputs], the marginal likelihood."""

    def sample(self, size: int, rng: np.random.Generator) -> Integers:
        """Draw independently, shape (size, k)."""

    def log_probability(self, counts: Integers) -> Floats:
        """Posterior log-probability of counts, shape (..., k)."""

    def marginal(self, category: int) -> tuple[Integers, Integers, Floats]:
        """Posterior marginal: values of x_i, of n, and the posterior probabilities of the pairs."""


@dataclass(frozen=True)
class Listed:
    """Posterior as a list of all vectors of counts, shape (vectors, k), and log Pr[z, x]."""

    counts: Integers
    log_weights: Floats

    def __post_init__(self) -> None:
        if not self.log_evidence > -np.inf:
            raise impossible()

    @cached_property
    def log_evidence(self) -> float:
        """Log Pr[all outputs], the marginal likelihood."""
        return float(special.logsumexp(self.log_weights))

    @cached_property
    def _cumulative(self) -> Floats:
        return np.cumsum(np.exp(self.log_weights - self.log_evidence))

    def sample(self, size: int, rng: np.random.Generator) -> Integers:
        """Draw independently, shape (size, k)."""
        picks = rng.random(size) * self._cumulative[-1]
        counts: Integers = self.counts[np.searchsorted(self._cumulative, picks, side="right")]
        return counts

    def log_probability(self, counts: Integers) -> Floats:
        """Posterior log-probability of counts, shape (..., k)."""
        table = {
            tuple(row): w for row, w in zip(self.counts.tolist(), self.log_weights, strict=True)
        }
        flat = counts.reshape(-1, counts.shape[-1]).tolist()
        logs = np.array([table.get(tuple(row), -np.inf) for row in flat]) - self.log_evidence
        return logs.reshape(counts.shape[:-1])

    def marginal(self, category: int) -> tuple[Integers, Integers, Floats]:
        """Posterior marginal: values of x_i, of n, and the posterior probabilities of the pairs."""
        pairs = np.stack([self.counts[:, category], self.counts.sum(axis=1)], axis=1)
        each, where = np.unique(pairs, axis=0, return_inverse=True)
        weights = np.zeros(len(each))
        np.add.at(weights, where.ravel(), np.exp(self.log_weights - self.log_evidence))
        return each[:, 0], each[:, 1], weights


@dataclass(frozen=True)
class _Law:
    """Probabilities of the integers from `first`."""

    first: int
    pmf: Floats

    def at(self, k: Integers) -> Floats:
        inside = (k >= self.first) & (k < self.first + self.pmf.size)
        return np.where(inside, self.pmf[np.where(inside, k - self.first, 0)], 0.0)

    def cut(self) -> _Law:
        keep = np.flatnonzero(
            (np.cumsum(self.pmf) > _CUT) & (np.cumsum(self.pmf[::-1])[::-1] > _CUT)
        )
        return _Law(self.first + int(keep[0]), self.pmf[keep[0] : keep[-1] + 1])


@dataclass(frozen=True)
class Factored:
    """Posterior that is a product over the categories, given the sum.

    Attributes
    ----------
    firsts : sequence of int
        The smallest count of each category.
    tables : sequence of ndarray
        log f_i(x) for x from there on, one for each category.
    sizes : ndarray of int
        The possible n, increasing.
    log_sizes : ndarray
        log g(n).
    """

    firsts: Sequence[int]
    tables: Sequence[Floats]
    sizes: Integers
    log_sizes: Floats

    def __post_init__(self) -> None:
        if any(not table.max() > -np.inf for table in self.tables):
            raise impossible()
        if not self.log_evidence > -np.inf:
            raise impossible()

    @cached_property
    def _tilt(self) -> float:
        target_low, target_high = float(self.sizes[0]), float(self.sizes[-1])

        def mean(slope: float) -> float:
            return sum(
                first + float(special.softmax(t + slope * np.arange(t.size)) @ np.arange(t.size))
                for first, t in zip(self.firsts, self.tables, strict=True)
            )

        target = min(max(mean(0.0), target_low), target_high)
        if mean(_STEEPEST) <= target:
            return _STEEPEST
        if mean(-_STEEPEST) >= target:
            return -_STEEPEST
        return float(
            optimize.brentq(lambda slope: mean(slope) - target, -_STEEPEST, _STEEPEST, xtol=1e-10)
        )

    @cached_property
    def _each(self) -> tuple[list[_Law], float]:
        """Tilted laws of the counts, and logs of what they were divided by."""
        laws, log_scale = [], 0.0
        for first, table in zip(self.firsts, self.tables, strict=True):
            tilted = table + self._tilt * (first + np.arange(table.size))
            whole = float(special.logsumexp(tilted))
            laws.append(_Law(first, np.exp(tilted - whole)).cut())
            log_scale += whole
        return laws, log_scale

    @cached_property
    def _sums(self) -> list[_Law]:
        """Laws of the sums of the first 1, 2, ..., k counts."""
        sums: list[_Law] = []
        for law in self._each[0]:
            sums.append(_added(sums[-1], law) if sums else law)
        return sums

    @cached_property
    def _log_totals(self) -> Any:
        """Log Pr[outputs, n] of the possible n."""
        with np.errstate(divide="ignore"):
            whole = np.log(self._sums[-1].at(self.sizes))
        return np.asarray(whole + self.log_sizes - self._tilt * self.sizes + self._each[1])

    @cached_property
    def log_evidence(self) -> float:
        """Log Pr[all outputs], the marginal likelihood."""
        return float(special.logsumexp(self._log_totals))

    def sample(self, size: int, rng: np.random.Generator) -> Integers:
        """Draw independently, shape (size, k)."""
        weights = np.cumsum(np.exp(self._log_totals - self.log_evidence))
        picks = np.searchsorted(weights, rng.random(size) * weights[-1], side="right")
        left, laws = self.sizes[picks], self._each[0]
        counts = np.empty((size, len(laws)), dtype=np.int64)
        for i in range(len(laws) - 1, 0, -1):
            counts[:, i] = _shares(laws[i], self._sums[i - 1], left, rng)
            left = left - counts[:, i]
        counts[:, 0] = left
        return counts

    def log_probability(self, counts: Integers) -> Floats:
        """Posterior log-probability of counts, shape (..., k)."""
        sizes = dict(zip(self.sizes.tolist(), self.log_sizes.tolist(), strict=True))
        totals = counts.sum(axis=-1)
        logs = np.array([sizes.get(n, -np.inf) for n in totals.ravel().tolist()])
        logs = logs.reshape(totals.shape) - self.log_evidence
        for i, (first, table) in enumerate(zip(self.firsts, self.tables, strict=True)):
            x = counts[..., i] - first
            inside = (x >= 0) & (x < table.size)
            logs = logs + np.where(inside, table[np.where(inside, x, 0)], -np.inf)
        return np.asarray(logs)

    def marginal(self, category: int) -> tuple[Integers, Integers, Floats]:
        """Posterior marginal: values of x_i, of n, and the posterior probabilities of the pairs."""
        laws = self._each[0]
        one, *others_than_it = laws[category], *laws[:category], *laws[category + 1 :]
        rest = functools.reduce(_added, others_than_it)
        x = one.first + np.arange(one.pmf.size)
        others = rest.at(self.sizes[:, None] - x)
        log_n = self.log_sizes - self._tilt * self.sizes
        weights = others * one.pmf * np.exp(log_n - log_n.max())[:, None]
        at_n, at_x = np.nonzero(weights)
        return x[at_x], self.sizes[at_n], weights[at_n, at_x] / weights.sum()


def holds(
    firsts: Sequence[int],
    tables: Sequence[Floats],
    sizes: Integers,
    log_sizes: Floats,
    ends: Sequence[tuple[float, float]],
) -> bool:
    """Check that counts beyond the tables, within two ends each, are negligible a posteriori.

    With the tables tilted and divided by their sums, the probability that x_i lies beyond its table
    is at most that under its own law, divided by that of a possible sum; and beyond a table, if
    laws are log-concave there, a law falls at least as fast as at its end.
    """
    if any(not table.max() > -np.inf for table in tables):
        return False
    try:
        trial = Factored(firsts, tables, sizes, log_sizes)
    except InvalidInput:
        return False
    tilt, (_, log_scale) = trial._tilt, trial._each
    room = float(special.logsumexp(log_sizes - tilt * sizes)) - (trial.log_evidence - log_scale)
    for first, table, (low, high) in zip(firsts, tables, ends, strict=True):
        law = table + tilt * (first + np.arange(table.size))
        law = law - special.logsumexp(law)
        open_ends = (first > low, law), (first + table.size - 1 < high, law[::-1])
        if any(is_open and not _log_tail(end) + room < _BEYOND for is_open, end in open_ends):
            return False
    return True


def _log_tail(law: Floats) -> float:
    """Log of a bound on the sum beyond the first element of logs that are concave."""
    if law.size < 2 or not law[0] < law[1]:
        return np.inf
    step = float(law[0] - law[1])
    return float(law[0] + step - np.log(-np.expm1(step)))


def _shares(one: _Law, rest: _Law, totals: Integers, rng: np.random.Generator) -> Integers:
    """Draw the first of two independent counts given their sum, once for each total."""
    share, point = np.empty_like(totals), rng.random(totals.size)
    order = np.argsort(totals, kind="stable")
    each, starts = np.unique(totals[order], return_index=True)
    ends = np.append(starts[1:], totals.size)
    for total, start, end in zip(each.tolist(), starts, ends, strict=True):
        some = order[start:end]
        low = max(one.first, total - rest.first - rest.pmf.size + 1)
        high = min(one.first + one.pmf.size - 1, total - rest.first)
        own = one.pmf[low - one.first : high - one.first + 1]
        others = rest.pmf[total - high - rest.first : total - low - rest.first + 1][::-1]
        cumulative = np.cumsum(own * others)
        drawn = np.searchsorted(cumulative, point[some] * cumulative[-1], side="right")
        share[some] = low + drawn
    return share


def _added(one: _Law, other: _Law) -> _Law:
    return _Law(one.first + other.first, np.convolve(one.pmf, other.pmf)).cut()


def impossible() -> InvalidInput:
    """The error for outputs of probability zero."""
    return InvalidInput("the outputs have probability zero under the model's prior")
