r"""Public weights of the records of a censored regression, by a box of its parameters.

A record's log density depends on the parameters through eta = intercept + sum over k of x_k
slope_k, which is linear in each, so that over a box it fills an interval whose ends are sums of
ends, and through sigma. `bayesdp.synthesis.censored_regression_bounds` bounds it over both.

The promise needs no bound: only that a weight is a public function of its own record, which is why
each is computed alone, from arrays of one record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, is_number, keep, plain
from bayesdp.errors import InvalidInput, kind_of, quoted

if TYPE_CHECKING:
    from bayesdp.synthesis.censored_regression_law import RegressionLaw, Rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PublicRegressionWeights:
    r"""Weights min(1, bound / Delta) of a censored regression's records, by a public box.

    Delta is the largest abs(log density) that the record has at any parameters in the box. So no
    record's weighted log density leaves [-bound, bound] for parameters in the box, and clipping to
    that does nothing there. A weight depends on its own record and on public numbers alone, so that
    a clipped term still does, and the promise is the same as without weights
    (`bayesdp.synthesis.censor`).

    Parameters
    ----------
    bound : float
        Largest absolute weighted log density, positive. With the interval's half width around 0,
        epsilon / (2 copies) under add/remove-one, nothing is clipped for parameters in the box; for
        counts and categories with its whole width, as their interval ends at 0.
    intercept : tuple of two floats
        The box's ends of the intercept, or of each category's.
    slope : tuple of pairs of floats
        The box's ends of each predictor's slope, in their order.
    sigma : tuple of two floats, optional
        The box's ends of sigma, positive, for the families that have one.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> weights = bdp.synthesizers.PublicRegressionWeights(2.0, intercept=(0.0, 2.0))
    >>> made = bdp.synthesizers.CensoredRegressionSynthesizer(
    ...     epsilon=2.0, family="poisson", weights=weights, size=9
    ... )
    >>> made.stan_data([1, 2, 40])["weight"].round(3).tolist()
    [0.371, 0.49, 0.018]
    """

    bound: float
    intercept: tuple[float, float]
    slope: tuple[tuple[float, float], ...] = ()
    sigma: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        plain(self)
        if not (is_number(self.bound) and 0 < self.bound < math.inf):
            raise InvalidInput(f"bound is {quoted(self.bound)}; it must be a positive number")
        if not isinstance(self.slope, tuple | list):
            raise InvalidInput(
                f"slope is {quoted(self.slope)}; it must be a pair of numbers for each predictor"
            )
        slope = tuple(_pair("slope", each) for each in self.slope)
        keep(self, intercept=_pair("intercept", self.intercept), slope=slope)
        if self.sigma is not None:
            keep(self, sigma=_pair("sigma", self.sigma))
            if not self.sigma[0] > 0:
                raise InvalidInput(f"sigma is {quoted(self.sigma)}; both numbers must be positive")


def check_fits(weights: PublicRegressionWeights, law: RegressionLaw) -> None:
    """Raise InvalidInput unless the weights' box has a law's parameters, and no others."""
    if len(weights.slope) != len(law.predictors):
        raise InvalidInput(
            f"weights has {len(weights.slope)} pairs in slope; it must have one for each of the "
            f"{len(law.predictors)} predictors"
        )
    if (weights.sigma is not None) != law.known.spread:
        has = "needs" if law.known.spread else "has no"
        raise InvalidInput(f"weights: family={quoted(law.family)} {has} sigma")


def weights_of(weights: PublicRegressionWeights, law: RegressionLaw, rows: Rows) -> Floats:
    """The weight of each record, computed from that record alone; shape (n,)."""
    found = [
        largest(weights, law, rows.y[i : i + 1], rows.x[i : i + 1]) for i in range(rows.y.size)
    ]
    delta = np.concatenate([np.empty(0), *found])
    return np.asarray(weights.bound / np.maximum(weights.bound, delta))


def largest(
    weights: PublicRegressionWeights, law: RegressionLaw, y: NDArray[Any], x: Floats
) -> Floats:
    """Delta of each record: infinite where its log density over the box is beyond all floats."""
    low, high = (np.full(y.shape, end) for end in weights.intercept)
    with np.errstate(all="ignore"):
        for values, (first, last) in zip(x.T, weights.slope, strict=True):
            low = low + np.minimum(values * first, values * last)
            high = high + np.maximum(values * first, values * last)
        found = law.largest(y.astype(np.float64), (low, high), weights.sigma)
    return np.where(np.isnan(found), np.inf, found)


def _pair(name: str, given: Any) -> tuple[float, float]:
    """Return two finite numbers as floats, the lower first, else raise InvalidInput."""
    ends = [as_float(end) for end in given] if isinstance(given, tuple | list) else []
    if len(ends) != 2 or not -math.inf < ends[0] <= ends[1] < math.inf:
        raise InvalidInput(
            f"{name} is or has {kind_of(given)}; it must be two finite numbers, the lower first"
        )
    return ends[0], ends[1]
