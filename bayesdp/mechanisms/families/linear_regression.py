r"""Records of bounded columns: a linear regression on predictors that are jointly normal.

Each column j is rescaled by its public bounds to z_j in [-1, 1], and each record, by a rule that
looks at it alone, rounded to steps of 2^-23, so that all sums are exact integers. With z_0 = 1 the
statistic is the distinct entries of the matrix of sums of z_j z_k: X'X, X'y and y'y of the
predictors, with an intercept, and the response. The sum of z_0 z_0 is n, and among the numbers only
where n is confidential; of the others,

=====================  ==========  =======================  =========================
number                 of a record  moved by a replacement  by one record more or less
=====================  ==========  =======================  =========================
sum of z_j             [-1, 1]     2                        1
sum of z_j^2           [0, 1]      1                        1
sum of z_j z_k, j < k  [-1, 1]     2                        1
=====================  ==========  =======================  =========================

One record more or less, at a corner of the box, moves all of them by as much at once. With
d = p + 1 columns the moves of a replacement sum to d^2 + 2 d = p^2 + 4 p + 3, the sensitivity in
general use (Ju, Awan, Gong and Rao 2022); but no replacement makes all of them at once, and
`bayesdp.mechanisms.families.moment_moves` proves how much it does move in L1 norm: at most
(p + 1)(p + 3)^2 / (2 (p + 2)), which is attained. Laplace noise pays for that; Gaussian noise for
the largest L2 norm, proved there too; truncated noise for all of them.

Rounding: each number is computed exactly and rounded once, to the nearest float, so neighbours are
apart by at most 2^-52 of the largest value more; sensitivities include it.

The model
---------
Of z: predictors x ~ N(mu, Sigma), and given them the response y ~ N(c_0 + c'x, sigma^2). The
likelihood depends on the records through the statistic alone, and the priors are conjugate:

    sigma^2 ~ InverseGamma(a, b),      (c_0, c) ~ N(m0, sigma^2 diag(k)^-1),
    Sigma ~ InverseWishart(nu, diag(psi)),    mu ~ N(m, Sigma / r).

A noisy matrix may be that of no records; how it is projected, and how a copy is drawn, is in
`bayesdp.mechanisms.families.linear_regression_draws`. Predictors are as confidential as the
response: copies are whole records, with predictors of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.drawn_moments import DrawnMomentsView, DrawnNumbers, places_of_sums
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.views import Cell, IntractableView, MomentsView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.families import regression_fields
from bayesdp.mechanisms.families.base import Floats, MakerOfCopies, NoisyStatistic, Number, Sums
from bayesdp.mechanisms.families.drawn_numbers import (
    of_predictors,
    of_response,
    rescaled_numbers,
)
from bayesdp.mechanisms.families.linear_regression_draws import (
    NARROW,
    bounded,
    drawn_predictors,
    drawn_regression,
    projected,
)
from bayesdp.mechanisms.families.moment_moves import largest_replacement, longest_replacement
from bayesdp.mechanisms.families.moments import (
    MOST,
    check_vector,
    in_steps,
    moment_numbers,
    moments_of,
    rescaled,
    totals_of,
)
from bayesdp.mechanisms.randomness import generator

_COMBINE = (
    "analyse each copy as data and combine the results with bdp.combine, or release "
    "bdp.synthesizers.NoisyMomentsSynthesizer"
)


@dataclass(frozen=True, slots=True)
class LinearRegression:
    """Records of several bounded columns, one of which is regressed on the others.

    Parameters
    ----------
    bounds : mapping, or sequence of pairs
        (low, high) of each column by its name, chosen without the data; two columns or more.
    response : str
        The column that is regressed on the others, in their order.
    prior : tuple (m0, k, a, b)
        Normal-inverse-gamma prior of the coefficients and of the residual variance, for columns
        rescaled to [-1, 1]: m0 and k are the coefficients' mean and precision in units of 1 /
        sigma^2, one number for all, or one for the intercept and for each predictor; a and b the
        variance's shape and scale.
    predictors_prior : tuple (m, r, nu, psi), optional
        Normal-inverse-Wishart prior of the rescaled predictors: mean (one number, or one for
        each), the number of records that it counts for, degrees of freedom above p - 1, and the
        diagonal of the scale matrix (one number, or one for each). Default: (0, 0.1, p + 2, 0.1).

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> family = LinearRegression({"age": (18, 90), "pressure": (70, 250)}, "pressure")
    >>> [number.name for number in family.numbers(100)][-1]
    'sum[age*pressure]'
    """

    bounds: tuple[tuple[str, tuple[float, float]], ...]
    response: str
    prior: tuple[Any, ...] = (0.0, 0.1, 1.0, 0.1)
    predictors_prior: tuple[Any, ...] = None  # type: ignore[assignment]
    kind: str = field(default="linear_regression", init=False)

    def __post_init__(self) -> None:
        bounds = regression_fields.check_columns(self.bounds)
        object.__setattr__(self, "bounds", bounds)
        regression_fields.check_response(self.response, self.columns)
        p = len(bounds) - 1
        object.__setattr__(self, "prior", regression_fields.check_prior(self.prior, p))
        made = regression_fields.check_predictors_prior(self.predictors_prior, p)
        object.__setattr__(self, "predictors_prior", made)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(name for name, _ in self.bounds)

    @property
    def ends(self) -> Floats:
        """Bounds of the columns, shape (columns, 2)."""
        return np.array([ends for _, ends in self.bounds])

    @property
    def place(self) -> int:
        """Index of the response among the columns."""
        return self.columns.index(self.response)

    def sums(self, records: Any, *, clip: bool = False) -> Sums:
        """Sum the columns, their squares and their products exactly, in steps.

        Parameters
        ----------
        records : DataFrame, or array of shape (n, columns)
            Other columns of a DataFrame aren't read; an array has exactly the family's, in order.
        clip : bool
            Whether values outside their column's bounds are moved to the nearest one.
        """
        x = regression_fields.table_of(records, self.columns, self.ends, clip=clip)
        return Sums(len(x), totals_of(in_steps(x, self.ends)))

    def statistic(self, sums: Sums, *, public_n: bool) -> tuple[float, ...]:
        """Compute sums of columns, squares and products, rescaled; n first if it isn't public."""
        if not public_n and sums.n > MOST:
            raise InvalidInput(f"data has more than {MOST} records, the most that n=None allows")
        scaled = rescaled(sums.totals, len(self.bounds))
        return scaled if public_n else (float(sums.n), *scaled)

    def numbers(self, n: int | None) -> tuple[Number, ...]:
        """Numbers of the statistic; their sensitivities include rounding."""
        return moment_numbers(self.columns, n)

    def together(self, n: int | None) -> int:
        """Return how many numbers there are: one record can move all of them."""
        return len(self.numbers(n))

    def joint(self, rates: Sequence[Fraction], n: int | None) -> Fraction:
        """Bound the sum of rates times moves, for two neighbours; see `moment_moves`."""
        numbers = self.numbers(n)
        apart = sum(
            (r * Fraction(x.sensitivity) for r, x in zip(rates, numbers, strict=True)), Fraction(0)
        )
        if n is None:
            return apart
        rounding = sum(rates, Fraction(0)) * Fraction(n, 2**52)
        return min(apart, largest_replacement(rates, len(self.bounds)) + rounding)

    def joint_length(self, rates: Sequence[Fraction], n: int | None) -> float:
        """Bound the L2 norm of rates times moves, by the largest rate; inf if n is confidential."""
        if n is None:
            return math.inf
        length = float(max(rates)) * math.sqrt(longest_replacement(len(self.bounds)))
        rounding = math.hypot(*map(float, rates)) * n / 2**52
        return (length + rounding) * (1 + 2.0**-48)

    def vector(self, statistic: Any, n: int | None) -> Floats:
        """Return the numbers along the last axis of an array, as they are."""
        return check_vector(statistic, self.numbers(n))

    def draw(self, noisy: NDArray[Any], mechanism: NoisyStatistic) -> Floats:
        """Draw records in their order, along two last axes: `size` and the columns."""
        rng, d, y = generator(), len(self.bounds), self.place
        others = [j for j in range(d) if j != y]
        n, mean, rows = projected(noisy, d, mechanism.n)
        centre, root = drawn_predictors(
            self.predictors_prior, n, mean[..., others], rows[..., others], rng
        )
        intercept, slopes, sd = drawn_regression(self.prior, n, mean, rows, y, others, rng)
        z = np.empty((*n.shape, mechanism.size, d))
        errors = np.zeros((*n.shape, mechanism.size, len(others)))
        for i, j in enumerate(others):
            before = np.einsum("...sk,...k->...s", errors[..., :i], root[..., i, :i])
            around, own = centre[..., i, None] + before, root[..., i, i, None]
            z[..., j] = bounded(around, own, mechanism.bounding, rng)
            errors[..., i] = (z[..., j] - around) / np.maximum(own, NARROW)
        along = np.einsum("...sk,...k->...s", z[..., others], slopes)
        around = intercept[..., None] + along
        z[..., y] = bounded(around, sd[..., None], mechanism.bounding, rng)
        low, high = self.ends.T
        x = np.clip(low + (high - low) * ((z + 1) / 2), low, high)
        return np.asarray(np.where(z <= -1, low, np.where(z >= 1, high, x)))

    def logp(self, output: Any, statistic: Any, mechanism: NoisyStatistic) -> Floats:
        """Raise InvalidInput: the law is intractable."""
        raise InvalidInput(
            "the law of a copy of regression records is intractable: its noisy matrix is projected "
            "and integrated over; bdp.LinearRegressionModel draws it with the records' sums, where "
            "n is public, or analyse each copy as data and combine the results with bdp.combine"
        )

    def views(self, mechanism: MakerOfCopies) -> tuple[View, ...]:
        """The view of numbers drawn by noisy sums, or why their law is intractable."""
        if mechanism.n is None:
            why = f"its copies were drawn by a noisy number of records too; {_COMBINE}"
            return (IntractableView(MomentsView, why),)
        if mechanism.bounding == "truncated":
            why = f"its copies' numbers were conditioned on their bounds; {_COMBINE}"
            return (IntractableView(MomentsView, why),)
        return (self._drawn(mechanism.n, mechanism.parts),)

    def _drawn(self, n: int, noises: Sequence[Cell]) -> DrawnMomentsView:
        """One step: the predictors, each given those before it, and then the response."""
        d = len(self.bounds)
        order = [*(j for j in range(d) if j != self.place), self.place]
        priors = (
            *of_predictors(self.predictors_prior, d - 1),
            of_response(self.prior, d - 1),
        )
        cells = tuple(noises[place] for place in places_of_sums(order, d))
        ends = self.ends[order]
        bounds = {self.columns[j]: self.bounds[j][1] for j in order}
        step = DrawnNumbers(tuple(range(d)), 0, priors, cells)
        return DrawnMomentsView(bounds, n, (step,), partial(rescaled_numbers, order, ends), ())

    def pairs(self, n: int | None) -> list[tuple[Any, Any]]:
        """Pairs where a record at a corner is added or moves furthest, others in the middle."""
        d = len(self.bounds)
        corner, nothing = (1.0,) * d, (0.0,) * d
        if n is None:
            return [((4.0, *moments_of(nothing)), (5.0, *moments_of(corner)))]
        signs = tuple(1.0 if j % 2 else -1.0 for j in range(d))
        others = [(-1 / (d + 1),) * d, signs, nothing]
        return [(moments_of(corner), moments_of(other)) for other in others]

    def space(self, size: int) -> Records:
        """Synthetic records within the columns' bounds, sorted."""
        return Records(size, tuple(Column(name, *ends) for name, ends in self.bounds))
