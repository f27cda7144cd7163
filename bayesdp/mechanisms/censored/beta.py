r"""The censored beta synthesizer's mechanism: records from one draw of a clipped posterior.

Records y in (0, 1) are modelled as Beta(lambda phi, lambda (1 - phi)). Each record's log density,
times its weight, is clipped to a public interval [low, high], and one (phi, lambda) is drawn with

    Pr[cell j] = pi_j exp(S_j) / sum_k pi_k exp(S_k),    S_j = sum_i f_j(y_i),

over the cells of one fixed public grid, with pi_j > 0 public; then a point uniform in the cell,
and synthetic records given it. Hu, Williams and Savitsky (2025) clip the log-likelihood so
and draw by MCMC.

Privacy
-------
Suppose that f_j(y) is a function of j and y alone (y is a record and, if it has one, its weight),
and lies in [low - eta, high + eta] for every cell and record. Write w = high - low + 2 eta.

*Add/remove-one.* With one more record y, Pr'[j] / Pr[j] = exp(f_j(y)) / E[exp(f_k(y))], k drawn by
Pr. The expectation lies between the least and the largest exp(f_k(y)), so the ratio is in
[exp(-w), exp(w)]: only the width counts, and w is enough for the term and the normalising constant
together.

*Replace-one.* With y' in the place of y, Pr'[j] / Pr[j] = exp(d_j) / E[exp(d_k)] for
d_j = f_j(y') - f_j(y), which lies in [-w, w]: within 2 w.

Both are approached: where nearly all the mass has f = low, a cell with f = high gains w. The jitter
within the cell and the synthetic records depend on the data through the cell alone, so any number
of records costs nothing more. M copies draw M cells and cost M times as much.

Rounding
--------
The law above is the code's own, with these f_j, not an approximation to it:

* A cell's A, B, C (`bayesdp.kernels.censored.ordered`) are floating-point numbers that
  depend on the cell alone. f_j(y) is low, high or A t1(y) + B t2(y) - C, without rounding, t1 and
  t2 as there: functions of y alone.
* Which of the three is decided by cutoffs in y, found by bisection over the floats from A, B,
  C and the interval alone, so by j and y alone, whatever the other records are.
* S_j is an exact sum, and the cell an exact draw (`bayesdp.mechanisms.censored.grid`): nothing
  is left to delta.

So only eta remains, and `bayesdp.kernels.censored.ordered` proves that
eta = 2^-40 (largest lambda + 2) is enough. Weighted f_j and their eta are in
`bayesdp.mechanisms.censored.sums`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_at_least_one
from bayesdp.core.censored_views import BetaCopiesView
from bayesdp.core.fields import later
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.views import IntractableView, RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.censored import synthetic_column
from bayesdp.mechanisms.censored.grid import ClippedPosterior, Grid
from bayesdp.mechanisms.censored.inputs import (
    check_bits,
    check_bounds,
    check_interval,
    check_largest,
    check_moderate_prior,
    check_prior_lambda,
    risky_pairs,
)
from bayesdp.mechanisms.censored.records import check_statistic, in_order, with_weights
from bayesdp.mechanisms.censored.weights import (
    ATTACHED,
    PublicWeights,
    check_weighting,
    unit_scale,
)
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_of_records
from bayesdp.privacy.profile import Profile, pure_profile

Floats = NDArray[np.float64]
WIDE = 4e9
"""Epsilon of an interval that clips nothing: log densities are below 1e9 for lambda 1e6."""
_SAFE = 1 + 2.0**-50  # covers the rounding of the width and of the products below
_ATTACHED = (
    "A record's weight doesn't depend on other records: neighbours add, remove or replace a record "
    "together with its weight."
)
_TIMES = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}  # widths that a neighbour costs


@dataclass(frozen=True, slots=True)
class CensoredBetaMechanism(Mechanism):
    """Release `size` records of Beta(lambda phi, lambda (1 - phi)), (phi, lambda) one draw.

    Parameters
    ----------
    interval : tuple of two floats
        (low, high): each record's log density is clipped to it. Public.
    size : int
        Number of synthetic records in a copy. Public.
    neighbours : {"add_remove", "replace_one"}
        The relation of the promise where no other is asked for.
    prior_phi : tuple of two floats
        (p, q): phi ~ Beta(p, q), each at most 1e6. Public.
    prior_lambda : tuple of two floats
        (smallest, shape): lambda ~ Pareto(smallest, shape), smallest at least 1e-6. Public.
    largest : float
        Upper end of the grid, and so of the prior of lambda; at most 1e6. Public.
    grid : tuple of two ints
        log2 of the numbers of cells along phi, over (0, 1), and along log lambda; each from 0 to
        32. A finer grid takes no more time. By default a cell is 10^-9 wide in phi and in log
        lambda: less than half of the posterior's standard deviation for up to 10^11 records with
        phi (1 - phi) / (lambda + 1) at least 10^-6, as it is about
        sqrt(phi (1 - phi) / (n (lambda + 1))) in phi and sqrt(1 / n) in log lambda.
    n : int or None
        Number of confidential records where it is public, which requires replace-one.
    weights : None, "attached" or PublicWeights
        Factor of log densities before they are clipped: none; a weight attached to each record,
        where the statistic is a pair of records and weights; or a public function of the record.
    bounds : tuple of two floats
        Public bounds that synthetic records are rescaled to. The statistic is the confidential
        records rescaled from them to (0, 1).

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Only the release is protected: the time that a draw takes depends on the records. The module's
    docstring proves the epsilon. The law of the records is an integral over all (phi, lambda) that
    `logp` doesn't offer. A model of the records needs it only up to its normalizing constant
    (`bayesdp.engines.exchange`), where there are no weights.
    """

    interval: tuple[float, float]
    size: int
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    prior_phi: tuple[float, float] = (1.0, 1.0)
    prior_lambda: tuple[float, float] = (0.1, 1.5)
    largest: float = 1000.0
    grid: tuple[int, int] = (30, 30)
    n: int | None = None
    weights: PublicWeights | str | None = None
    bounds: tuple[float, float] = later((0.0, 1.0))

    name: ClassVar[str] = "censored_beta"
    source: ClassVar[str] = "bayesdp.mechanisms.censored.beta; Hu, Williams and Savitsky (2025)"
    pure: ClassVar[bool] = True
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        made: dict[str, Any] = {
            "interval": check_interval(self.interval),
            "size": check_at_least_one("size", self.size),
            "neighbours": check_of_records(self.neighbours),
            "prior_phi": check_moderate_prior(self.prior_phi, "prior_phi"),
            "prior_lambda": check_prior_lambda(self.prior_lambda),
            "grid": check_bits(self.grid),
            "weights": check_weighting(self.weights),
            "bounds": check_bounds(self.bounds),
        }
        made["largest"] = check_largest(self.largest, made["prior_lambda"][0])
        if self.n is not None:
            made["n"] = check_at_least_one("n", self.n, "or None if confidential")
        for name, value in made.items():
            object.__setattr__(self, name, value)
        self.epsilon()

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: float,
        copies: int = 1,
        neighbours: str = "add_remove",
        center: float = 0.0,
        **other: Any,
    ) -> CensoredBetaMechanism:
        """Make the mechanism with the widest interval around `center` whose copies cost `epsilon`.

        The width is epsilon / copies under add/remove-one and half of it under replace-one,
        less what rounding costs. InvalidInput is raised if that would leave nothing.
        """
        epsilon, copies = check_epsilon(epsilon), check_at_least_one("copies", copies)
        share, given = epsilon / copies, center
        if share > WIDE:
            raise InvalidInput(
                f"epsilon is {quoted(epsilon)} for {copies} copies; it may be at most {WIDE:g} for "
                "each, which already clips next to nothing: take that"
            )
        if not math.isfinite(center := as_float(center)):
            raise InvalidInput(f"center is {quoted(given)}; it must be a finite number")
        relation = check_of_records(neighbours)
        half = share / _TIMES[relation] / 2
        while True:
            interval = (center - half, center + half)
            if not interval[0] < interval[1]:
                raise InvalidInput(
                    f"epsilon is {quoted(epsilon)} for {copies} copies; rounding alone costs more "
                    f"around center = {quoted(center)}; take a larger epsilon, or a smaller "
                    "largest or center"
                )
            made = cls(interval, neighbours=relation, **other)
            over = made.epsilon(copies=copies) - epsilon
            if over <= 0:
                return made
            half -= max(over / (_TIMES[relation] * copies * 2), math.ulp(abs(center) + half))

    @property
    def excess(self) -> float:
        """Bound eta on how far rounding may carry a record's term beyond the interval."""
        if self.weights is None:
            return 2.0**-40 * (self.largest + 2)
        return 1 / unit_scale(*self.interval)

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, one of records.

        Raises
        ------
        InvalidInput
            If the relation isn't one of records, or is add/remove-one though n is public.
        """
        relation = check_of_records(self.neighbours if neighbours is None else neighbours)
        if relation == Neighbours.ADD_REMOVE and self.n is not None:
            raise InvalidInput(
                "neighbours is 'add_remove', but n is public, so a record added or removed "
                "shows; keep n confidential (n=None) for an add/remove promise"
            )
        return relation

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies, as their pure epsilon implies it.

        Under add/remove-one a copy's epsilon is the interval's width, and twice that under
        replace-one; rounding is included.
        """
        relation = self.relation(neighbours)
        width = (self.interval[1] - self.interval[0]) + 2 * self.excess
        times, count = _TIMES[relation], check_at_least_one("copies", copies)
        return pure_profile(times * width * _SAFE, count, count * times * width * _SAFE)

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        chosen = "The interval, the prior, the grid and the size of a copy were chosen without "
        attached = (_ATTACHED,) if self.weights == ATTACHED else ()
        return (f"{chosen}the data.", *attached, *((PUBLIC_N,) if self.n is not None else ()))

    def posterior(self, statistic: Any) -> ClippedPosterior:
        """The law of (phi, lambda) given the confidential records; for the curator only."""
        records, weights = with_weights(statistic, self.weights)
        if self.n is not None and records.size != self.n:
            raise InvalidInput(
                f"the statistic has another number of records than the mechanism's n = {self.n}"
            )
        grid = Grid(self.grid, self.prior_phi, self.prior_lambda, self.largest)
        return ClippedPosterior(grid, *self.interval, *in_order(records, weights))

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if all of it is in range, else raise without showing any of it.

        It is the confidential records, in (0, 1), any number of them in any order, or a pair of
        records and weights.
        """
        return check_statistic(statistic, self.weights)

    def draw(self, statistic: Any, copies: int) -> Floats:
        """Draw copies from the secure generator.

        They are sorted synthetic records, shape (copies, size), each copy from its own (phi,
        lambda); none is rounded to an end of the bounds.
        """
        drawn = self.posterior(statistic).drawn(copies)
        return synthetic_column.draw(drawn[:, 0], drawn[:, 1], self.size, self.bounds)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Raise InvalidInput: the law of the records is intractable."""
        raise InvalidInput(
            "the law of censored_beta's records is intractable; analyse each copy as if it were "
            "real and join the results by bdp.combine"
        )

    def pairs(self) -> Sequence[tuple[Any, ...]]:
        """Pairs of neighbouring records that differ in one near 0, near 1 or of a usual value."""
        pairs = risky_pairs(self.neighbours, self.n)
        if self.weights == ATTACHED:
            return [tuple((y, np.ones(y.size)) for y in pair) for pair in pairs]
        return pairs

    @property
    def views(self) -> tuple[View, ...]:
        """View of copies from draws of a clipped posterior, where no record has a weight."""
        if self.weights is not None:
            why = (
                "the records' log densities were weighted, and there is no law of their weights "
                "here: analyse each copy as data and join the results by bdp.combine"
            )
            return IntractableView(BetaCopiesView, why), RecordsView()
        law = BetaCopiesView(
            self.n,
            self.interval,
            self.prior_phi,
            self.prior_lambda,
            self.largest,
            self.grid,
            self.bounds,
        )
        return law, RecordsView()

    @property
    def space(self) -> Records:
        """Synthetic records between the bounds, sorted."""
        low, high = self.bounds
        return Records(self.size, (Column(low=low, high=high, ends=False),), alone=True)
