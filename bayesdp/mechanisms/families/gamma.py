r"""Positive records in [low, high]: exponential, or gamma with a known shape.

The model is x ~ Gamma(k, theta), of density theta^k x^(k-1) exp(-theta x) / Gamma(k), its shape k
known and public; k = 1 is the exponential law. Every record is first rounded to a public grid
between the bounds, by a rule that looks at that record alone (`RecordGrid`), so that the sum of n
records is exact. Let w = high - low.

Where n is public
-----------------
The statistic is the sum S of the records. Replace x by x', both in [low, high]:

    |S - S'| = |x - x'| <= w,

attained by x = low and x' = high. The range of S is [n low, n high].

Where n is confidential
-----------------------
With c the middle of the bounds, the statistic is n and Y, the sum of x_i - c, which one more record
moves by 1 and at most w / 2, both at once by a record at an end. The sum that the posterior is
given is n* c + Y*, moved into [n* low, n* high]; a noisy n* below 1 counts as 1.

Rounding: S and Y are computed exactly and rounded once, to the nearest float, so neighbours are
apart by at most 2^-52 of the largest value more; sensitivities include it.

A noisy sum that no records have
--------------------------------
Noise may take S* below n low, and below 0. The mechanism's `bounding` is the public rule that keeps
it within n low >= 0 and n high: moved to the nearest end ("inflated"), which reads no record and so
is post-processing, or drawn given the range ("truncated"), which costs what
`bayesdp.mechanisms.noise.pure` proves. So S* >= 0, and with b > 0 the posterior below is a gamma
law whatever the noise.

The posterior given the sum S* of n records, and copies
-------------------------------------------------------
With the prior theta ~ Gamma(a, b),

    theta ~ Gamma(a + n k, b + S*),    y_1, ..., y_size ~ Gamma(k, theta).

Bounds are of the confidential records, which must be bounded for a sum to have a sensitivity;
copies are of the model, as published, and may be beyond them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.views import View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.mechanisms.families.base import (
    Floats,
    MakerOfCopies,
    NoisyStatistic,
    Number,
    Sums,
    check_interval,
)
from bayesdp.mechanisms.families.gamma_law import gamma_law, views_of_noisy_sum
from bayesdp.mechanisms.families.record_grid import RecordGrid, rounded_number, vector_of
from bayesdp.mechanisms.randomness import generator

_MOST = 2**29  # records, where their number is confidential: so sums stay exact floats
_SHAPES = 2.0**-10, 2.0**20
LEAST, LARGEST = 2.0**-1000, 2.0**900
"""Ends of a synthetic record, which is positive and finite."""


@dataclass(frozen=True, slots=True)
class Gamma:
    """Records that are exponential, or gamma with a known shape, within public bounds.

    Parameters
    ----------
    bounds : tuple of two floats
        (low, high) of the confidential records, low at least 0, chosen without the data. Copies
        may be beyond them.
    shape : float
        Shape k of the records' law, which is known; 1 is the exponential law.
    prior : tuple of two floats, optional
        (a, b), shape and rate of the gamma prior of the records' rate. None is (k, c) with c the
        middle of the bounds: worth one record there.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> waits = bdp.families.Gamma(bounds=(0, 240))
    >>> print(bdp.ModipsSynthesizer(waits, epsilon=1.0).guarantee(n=500))
    epsilon = 1 (replace_one, proved)
    """

    bounds: tuple[float, float]
    shape: float = 1.0
    prior: tuple[float, float] | None = None
    kind: str = field(default="gamma", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", check_positive_interval(self.bounds))
        object.__setattr__(self, "shape", check_shape(self.shape))
        if self.prior is not None:
            object.__setattr__(self, "prior", check_prior(self.prior, law="gamma"))

    @property
    def rate_prior(self) -> tuple[float, float]:
        """Shape and rate of the gamma prior of the records' rate."""
        return self.prior or (self.shape, self.middle)

    @property
    def middle(self) -> float:
        """Middle of the grid, from which sums are taken where n is confidential."""
        return float(self._grid.middle)

    @property
    def _grid(self) -> RecordGrid:
        return RecordGrid(self.bounds)

    def sums(self, records: Any, *, clip: bool = False) -> Sums:
        """Sum the records' steps exactly."""
        u = self._grid.codes(records, clip=clip)
        return Sums(int(u.size), (int(u.sum()),))

    def statistic(self, sums: Sums, *, public_n: bool) -> tuple[float, ...]:
        """Compute the sum where n is public; else n, and the sum from the middle of the bounds."""
        n, (u,), grid = sums.n, sums.totals, self._grid
        step = Fraction(grid.step)
        if public_n:
            return (float(n * Fraction(self.bounds[0]) + step * u),)
        if n > _MOST:
            raise InvalidInput(f"data has more than {_MOST} records, the most that n=None allows")
        return float(n), float(step / 2 * (2 * u - n * grid.steps))

    def numbers(self, n: int | None) -> tuple[Number, ...]:
        """Numbers of the statistic; their sensitivities include rounding."""
        low, high = map(Fraction, self.bounds)
        if n is None:
            half = self._grid.steps * Fraction(self._grid.step) / 2
            count = Number("n", 1.0, 0, None, whole=True)
            return count, rounded_number("sum", half, None, None, _MOST * half)
        return (rounded_number("sum", high - low, float(n * low), float(n * high), n * high),)

    def together(self, n: int | None) -> int:
        """Return how many numbers there are: one record can move all of them."""
        return len(self.numbers(n))

    def vector(self, statistic: Any, n: int | None) -> Floats:
        """Return the numbers along the last axis of an array, as they are."""
        return vector_of(statistic, self.numbers(n), self.bounds)

    def draw(self, noisy: NDArray[Any], mechanism: NoisyStatistic) -> Floats:
        """Draw sorted records, along a last axis of length `size`."""
        (a, b), rng = self.rate_prior, generator()
        n, total = self._n_and_total(noisy, mechanism.n)
        # A gamma variable of a small shape may round to 0: then the records are as large as can be.
        over = np.maximum(rng.standard_gamma(a + n * self.shape), LEAST)
        shape = (*total.shape, mechanism.size)
        with np.errstate(over="ignore"):
            records = rng.standard_gamma(self.shape, shape) * ((b + total) / over)[..., None]
        return np.sort(np.clip(records, LEAST, LARGEST), axis=-1)

    def _n_and_total(self, noisy: NDArray[Any], public: int | None) -> tuple[Floats, Floats]:
        """Number and sum of records that noisy numbers stand for, the sum within its range."""
        if public is not None:
            return np.full(noisy.shape[:-1], float(public)), noisy[..., 0].astype(np.float64)
        low, high = self.bounds
        n = np.maximum(noisy[..., 0].astype(np.float64), 1.0)
        total = n * self.middle + noisy[..., 1]
        return n, np.clip(total, n * low, n * high)

    def logp(self, output: Any, statistic: Any, mechanism: NoisyStatistic) -> Floats:
        """Log-density of the records; see `gamma_law`."""
        return gamma_law(self, output, self.vector(statistic, mechanism.n), mechanism)

    def views(self, mechanism: MakerOfCopies) -> tuple[View, ...]:
        """The view of copies given the sum."""
        return views_of_noisy_sum(self, mechanism)

    def pairs(self, n: int | None) -> list[tuple[Any, Any]]:
        """Pairs where one record moves between the ends, or is added, all others at one end."""
        if n is None:
            half = self._grid.steps * self._grid.step / 2
            each = [(float(k), k * s * half) for s in (1, -1) for k in (4, 5)]
            return [(each[0], each[1]), (each[2], each[3])]
        low, high = map(Fraction, self.bounds)
        least, most = (n * low, (n - 1) * low + high), (n * high, (n - 1) * high + low)
        return [((float(one),), (float(other),)) for one, other in (least, most)]

    def space(self, size: int) -> Records:
        """Positive synthetic records, sorted."""
        return Records(size, (Column(low=0.0, ends=False),), alone=True)


def check_shape(shape: Any) -> float:
    """Return the known shape of a gamma law as a float, or raise InvalidInput."""
    least, most = _SHAPES
    checked = as_float(shape)
    if not least <= checked <= most:
        raise InvalidInput(
            f"shape is {quoted(shape)}; it must be a number from {least:.3g} to {most:.3g}, and 1 "
            "for exponential records"
        )
    return checked


def check_positive_interval(bounds: Any) -> tuple[float, float]:
    """Return public bounds of records that aren't negative as two floats, or raise InvalidInput."""
    low, high = check_interval(bounds)
    if low < 0:
        raise InvalidInput(
            f"bounds is ({low}, {high}); records of a gamma law aren't negative, so the lower "
            "bound must be at least 0, for example (0, 240)"
        )
    return low, high
