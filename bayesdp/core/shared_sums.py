r"""Contradictions of noisy marginals in sums over the columns that two of them share.

What two marginals count in a cell of the columns that both have is the same number, so that the
difference d of their sums there is noise alone, whatever the records are. With psi the logarithm of
the moment generating function of all that noise, Chernoff's bound is

    Pr[|noise| >= |d|] <= 2 exp(min over lambda of psi(lambda) - lambda |d|),

where a Gaussian adds sigma^2 lambda^2 / 2 to psi and a Laplace variable -log(1 - t^2 lambda^2); the
discrete ones add no more. The bound, times the number of differences looked at, is below a given
rate with a probability below that rate where the marginals are of the same records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import MarginalsView, view_of

Floats = NDArray[np.float64]

_RATE = 1e-9  # of false alarms, over all differences of a release


@dataclass(frozen=True)
class Counted:
    """Noisy counts of one marginal, each with independent noise of one law.

    Attributes
    ----------
    columns : tuple of str
        Its columns; none, of the number of all records.
    counts : ndarray of float, an axis for each column
    scale : float
        Of each noise: sigma of a Gaussian, else t of Laplace; 0 where there is none.
    gaussian : bool
    noises : ndarray of float, or float
        How many noises are in each count: more than one in a sum, or in the mean of copies.
    """

    columns: tuple[str, ...]
    counts: Floats
    scale: float
    gaussian: bool
    noises: Floats | float = 1.0

    def sums(self, shared: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Return the sums over the columns that aren't shared, and how many noises are in each."""
        others = tuple(k for k, name in enumerate(self.columns) if name not in shared)
        kept = [name for name in self.columns if name in shared]
        order = [kept.index(name) for name in shared]
        noises = np.broadcast_to(np.asarray(self.noises, dtype=np.float64), self.counts.shape)
        counts, numbers = (each.sum(axis=others) for each in (self.counts, noises))
        return np.transpose(counts, order).ravel(), np.transpose(numbers, order).ravel()

    def psi(self, slope: Floats, noises: Floats) -> Floats:
        """Logarithm of the moment generating function of as many noises."""
        square = np.square(slope * self.scale)
        if self.gaussian:
            return noises * square / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(square < 1, -np.log1p(-np.minimum(square, 1.0)), np.inf)
            return np.where(noises > 0, noises * each, 0.0)

    @property
    def variance(self) -> float:
        """Variance of each noise, or more."""
        return self.scale**2 * (1 if self.gaussian else 2)


def contradiction(tables: Sequence[Counted]) -> str | None:
    """Say which two of some marginals contradict each other most; None where noise explains all.

    Of those that share some columns, each is compared with the one that has the least noise there.

    Parameters
    ----------
    tables : sequence of Counted
        Of the same records, with noise that is independent of one another.
    """
    looked_at, worst = 0, (0.0, "")
    for names in _shared(tables):
        holding = [table for table in tables if names <= {*table.columns}]
        if len(holding) < 2:
            continue
        order = tuple(name for name in holding[0].columns if name in names)
        best = min(holding, key=lambda table: float(table.sums(order)[1].sum() * table.variance))
        for table in holding:
            if table is not best:
                log_chance, cells, said = _difference(best, table, order)
                looked_at += cells
                worst = min(worst, (log_chance, said))
    explained = not looked_at or worst[0] + np.log(2.0 * looked_at) >= np.log(_RATE)
    return None if explained else worst[1]


def _shared(tables: Sequence[Counted]) -> list[frozenset[str]]:
    """List the columns that two of the marginals or more have in common, and none: all records."""
    columns = [frozenset(table.columns) for table in tables]
    found = {frozenset[str](): None}
    found |= dict.fromkeys(one & other for one, other in combinations(columns, 2))
    return list(found)


def of_release(mechanism: Any, outputs: Any) -> list[Counted]:
    """List the marginals that a mechanism counts, of its outputs' mean; none of other outputs."""
    view = view_of(mechanism, MarginalsView)
    if view is None:
        return []
    return list(_of_marginals(view, np.array(outputs, dtype=np.float64), mechanism.n))


def _of_marginals(view: MarginalsView, outputs: Floats, n: int | None) -> Iterator[Counted]:
    copies, start = len(outputs), 0
    mean, cell = outputs.mean(axis=0), view.count
    for columns, places in zip(view.marginals, view.places, strict=True):
        shape = [view.possible.shape[k] for k in places]
        stop = start + int(np.prod(shape))
        counts, laplace = mean[start:stop].reshape(shape), cell.noise.laplace
        yield Counted(tuple(columns), counts, cell.scale / copies, not laplace, float(copies))
        start = stop
    if n is not None:
        yield Counted((), np.array(float(n)), 0.0, True)


def _difference(one: Counted, other: Counted, shared: tuple[str, ...]) -> tuple[float, int, str]:
    """Bound the chance of the least likely difference; with how many there are, and words on it."""
    (first, own), (second, others) = one.sums(shared), other.sums(shared)
    away = np.abs(first - second)
    variance = own * one.variance + others * other.variance
    widest = max((table.scale for table in (one, other) if not table.gaussian), default=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(away > 0, away / variance, 0.0)  # the best where all noise is Gaussian,
        if widest:  # and where all is Laplace of one scale; any other gives a bound too
            ratio = away / widest / (own + others)
            slope = ratio / (1 + np.sqrt(1 + ratio**2)) / widest
        bound = one.psi(slope, own) + other.psi(slope, others) - slope * away
    log_chance = np.where(np.isfinite(slope), bound, -np.inf)
    least = int(np.argmin(log_chance))
    said = _said(one, other, shared, (float(first[least]), float(second[least])))
    return float(log_chance[least]), away.size, said


def _said(one: Counted, other: Counted, shared: tuple[str, ...], sums: tuple[float, float]) -> str:
    names = [" x ".join(table.columns) or "the number of records" for table in (one, other)]
    of = f"of a cell of {' x '.join(shared)}" if shared else "of all records"
    return (
        f"noise hardly explains what was released: {names[0]} and {names[1]} contradict each "
        f"other, with sums {of} of {sums[0]:,.6g} and {sums[1]:,.6g}, which noise is so far apart "
        f"with a probability below {_RATE:g}; check whether they are of the same records, and of "
        "noise at the scale that is said"
    )
