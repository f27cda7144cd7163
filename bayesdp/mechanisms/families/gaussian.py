r"""Real records in [low, high]: normal, with a known or an unknown standard deviation.

Every record is first rounded to a public grid of 2^23 to 2^24 steps h between the bounds, by a rule
that looks at that record alone, so that all sums are exact integers: U = sum u_i and V = sum u_i^2
for records low + h u_i. Let w = high - low.

Where n is public
-----------------
The statistic is the mean and, where sd is unknown, the sample variance s^2 with divisor n - 1.
Replace x by x', the mean of the other n - 1 records being c, in [low, high]. Around their own mean,
n records have a sum of squares (n - 1) s^2 = Q + (x - c)^2 (n - 1) / n, Q that of the others. So

    |mean - mean'| = |x - x'| / n <= w / n,
    |s^2 - s'^2| = |(x - c)^2 - (x' - c)^2| / n <= w^2 / n,

both attained at once by others at low, x = low and x' = high: the joint L1 sensitivity is their
sum. Liu (section 5.3) has the same, but her largest s^2, w^2 / 4, is only the limit:
floor(n / 2) records at one end and the rest at the other have floor(n^2 / 4) / (n (n - 1)) w^2.

Where n is confidential
-----------------------
With y_i the records less the middle of the bounds, the statistic is n, sum y_i and, where sd is
unknown, sum y_i^2, which one more record moves by 1, at most w / 2, and at most w^2 / 4: all at
once by a record at an end. The mean and the variance are computed from the noisy three, and moved
into their ranges; a noisy n below 1 (or 2, where sd is unknown) counts as that.

Rounding: both kinds are computed exactly and rounded once, to the nearest float, so neighbours are
apart by at most 2^-52 of the largest value more; sensitivities include it.

The posterior given mean m and variance v of n records
------------------------------------------------------
sd known: theta ~ N(m, sd^2 / n) for a flat prior; with N(m0, s0^2) the precisions n / sd^2 and
1 / s0^2 weigh m and m0. sd unknown, and the prior 1 / sigma^2 (Liu, section 5.3):

    sigma^2 ~ InverseGamma((n - 1) / 2, (n - 1) v / 2),    theta ~ N(m, sigma^2 / n),

a point where v is 0. With a normal-inverse-gamma prior (m0, k, a, b), where sigma^2 ~
InverseGamma(a, b) and theta ~ N(m0, sigma^2 / k), the usual conjugate posterior. Records are
N(theta, sigma^2), bounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.views import View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.base import (
    Floats,
    MakerOfCopies,
    NoisyStatistic,
    Number,
    Sums,
    check_interval,
)
from bayesdp.mechanisms.families.gaussian_draws import drawn
from bayesdp.mechanisms.families.gaussian_laws import gaussian_law
from bayesdp.mechanisms.families.normal_views import views_of_noisy_moments
from bayesdp.mechanisms.families.record_grid import RecordGrid, rounded_number, vector_of
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.mechanisms.noise.pure import up

_BLOCK = 1 << 14  # squares below 2^48 whose sum stays within 64 bits
_MOST = 2**29  # records, where their number is confidential: so sums stay exact floats


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Records that are normal, within public bounds.

    Parameters
    ----------
    bounds : tuple of two floats
        (low, high) of the records, chosen without the data.
    sd : float, optional
        Standard deviation of the records, where it is known; None where it is a parameter.
    prior : tuple of floats, optional
        sd known: (m0, s0), mean and standard deviation of the mean's normal prior, m0 within the
        bounds; None is flat. sd unknown: (m0, k, a, b) of a normal-inverse-gamma prior; None is
        flat in the mean and 1 / sigma^2 in the variance.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> heights = bdp.families.Gaussian(bounds=(140, 210))
    >>> print(bdp.ModipsSynthesizer(heights, epsilon=1.0).guarantee(n=500))
    epsilon = 1 (replace_one, proved)
    """

    bounds: tuple[float, float]
    sd: float | None = None
    prior: tuple[float, ...] | None = None
    kind: str = field(default="gaussian", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", check_interval(self.bounds))
        if self.sd is not None:
            object.__setattr__(self, "sd", check_positive("sd", self.sd, "records' unit"))
        if self.prior is not None:
            object.__setattr__(self, "prior", self._checked_prior())

    def _checked_prior(self) -> tuple[float, ...]:
        wanted = ("m0", "s0") if self.sd is not None else ("m0", "k", "a", "b")
        prior: Any = self.prior
        good = isinstance(prior, Sequence) and len(prior) == len(wanted)
        good = good and all(is_number(v) and math.isfinite(v) for v in prior)
        low, high = self.bounds
        if not good or not low <= prior[0] <= high or min(prior[1:]) <= 0:
            raise InvalidInput(
                f"prior is {quoted(prior)}; it must be ({', '.join(wanted)}): m0 within the "
                "bounds, the others positive and finite; or None, for the flat prior"
            )
        return tuple(map(float, prior))

    @property
    def step(self) -> float:
        """Step of the grid that records are rounded to: a power of two."""
        return self._grid.step

    @property
    def middle(self) -> float:
        """Middle of the grid, from which sums are taken where n is confidential."""
        return float(self._grid.middle)

    @property
    def _grid(self) -> RecordGrid:
        return RecordGrid(self.bounds)

    def sums(self, records: Any, *, clip: bool = False) -> Sums:
        """Sum the records' steps and their squares, (U, V), exactly."""
        u = self._grid.codes(records, clip=clip)
        blocks = np.arange(0, u.size, _BLOCK)
        squares = np.add.reduceat(u * u, blocks).tolist() if u.size else []
        return Sums(int(u.size), (int(u.sum()), sum(squares)))

    def statistic(self, sums: Sums, *, public_n: bool) -> tuple[float, ...]:
        """Compute mean and variance where n is public; else n, the sum, and the sum of squares."""
        n, (u, v) = sums.n, sums.totals
        step, low = Fraction(self.step), Fraction(self.bounds[0])
        if public_n:
            self._check_n(n)
            mean = float(low + step * u / n)
            if self.sd is not None:
                return (mean,)
            return mean, float(step**2 * Fraction(n * v - u * u, n * (n - 1)))
        if n > _MOST:
            raise InvalidInput(f"data has more than {_MOST} records, the most that n=None allows")
        k = self._grid.steps  # 2 u - k, in half steps from the middle of the grid
        centred, squares = 2 * u - n * k, 4 * v - 4 * k * u + n * k * k
        numbers = (float(n), float(step / 2 * centred), float((step / 2) ** 2 * squares))
        return numbers[: 2 if self.sd is not None else 3]

    def numbers(self, n: int | None) -> tuple[Number, ...]:
        """Numbers of the statistic; their sensitivities include rounding."""
        low, high = self.bounds
        width = Fraction(high) - Fraction(low)
        if n is None:
            half = self._grid.steps * Fraction(self.step) / 2
            made = (
                Number("n", 1.0, 0, None, whole=True),
                rounded_number("sum", half, None, None, _MOST * half),
                rounded_number("squares", half**2, 0.0, None, _MOST * half**2),
            )
            return made[: 2 if self.sd is not None else 3]
        self._check_n(n)
        furthest = max(abs(Fraction(low)), abs(Fraction(high)))
        made_mean = rounded_number("mean", width / n, low, high, furthest)
        if self.sd is not None:
            return (made_mean,)
        most = self.largest_variance(n)
        return made_mean, rounded_number("variance", width**2 / n, 0.0, up(most), most)

    def largest_variance(self, n: int) -> Fraction:
        """Largest variance of n >= 2 records within the bounds, with divisor n - 1."""
        width = Fraction(self.bounds[1]) - Fraction(self.bounds[0])
        return Fraction(n * n // 4, n * (n - 1)) * width**2

    def together(self, n: int | None) -> int:
        """Return how many numbers there are: one record can move all of them."""
        return len(self.numbers(n))

    def _check_n(self, n: int) -> None:
        if self.sd is None and n < 2:
            raise InvalidInput("n is 1; a variance needs 2 records: give sd, if it is known")

    def vector(self, statistic: Any, n: int | None) -> Floats:
        """Return the numbers along the last axis of an array, as they are."""
        return vector_of(statistic, self.numbers(n), self.bounds)

    def draw(self, noisy: NDArray[Any], mechanism: NoisyStatistic) -> Floats:
        """Draw sorted records, along a last axis of length `size`."""
        return drawn(self, noisy, mechanism)

    def logp(self, output: Any, statistic: Any, mechanism: NoisyStatistic) -> Floats:
        """Log-density of the records; see `gaussian_law` and, for a confidential n, `sums_law`."""
        if self.sd is None:
            raise InvalidInput(
                "the law of normal records is intractable where sd is unknown; analyse each copy "
                "as data and combine the results with bdp.combine, whose caveats then hold"
            )
        given = self.vector(statistic, mechanism.n)
        if mechanism.n is None:
            from bayesdp.mechanisms.families.gaussian_sums_law import sums_law

            return sums_law(self, mechanism, output, given)
        return gaussian_law(self, output, given[..., 0], mechanism)

    def views(self, mechanism: MakerOfCopies) -> tuple[View, ...]:
        """The view of copies given the mean, and the variance where sd is unknown."""
        return views_of_noisy_moments(self, mechanism)

    def pairs(self, n: int | None) -> list[tuple[Any, Any]]:
        """Pairs where one record moves between the ends, or is added, all others at one end."""
        if n is None:
            half = self._grid.steps * self.step / 2
            shown = 2 if self.sd is not None else 3
            each = [(float(k), k * s * half, k * half**2) for s in (1, -1) for k in (4, 5)]
            return [(each[i][:shown], each[i + 1][:shown]) for i in (0, 2)]
        numbers = self.numbers(n)
        width = Fraction(self.bounds[1]) - Fraction(self.bounds[0])
        worst = []
        for end, sign in zip(self.bounds, (1, -1), strict=True):
            moved = (float(Fraction(end) + sign * width / n), float(width**2 / n))
            worst.append(((end, 0.0)[: len(numbers)], moved[: len(numbers)]))
        return worst

    def space(self, size: int) -> Records:
        """Synthetic records within the bounds, sorted."""
        low, high = self.bounds
        return Records(size, (Column(low=low, high=high),), alone=True)
