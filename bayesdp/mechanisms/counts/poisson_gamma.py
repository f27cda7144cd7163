"""The Poisson-gamma mechanism: synthetic counts of events by area (Quick 2021).

Area i has x_i events where e_i were expected, a public number: its population times a national
rate, say. The model is x_i ~ Poisson(theta_i), theta_i ~ Gamma(a_i, a_i / e_i), with mean e_i and
the weight of a_i events, so the posterior is Gamma(a_i + x_i, a_i / e_i + 1), and a copy's
z_i ~ Poisson(theta_i) is negative binomial, with a_i + x_i and p_i = e_i / (a_i + 2 e_i). Where a
copy has a fixed total, it is those counts given their sum. `poisson_gamma_promise` proves what
they cost.

One may instead draw a multinomial with probabilities in proportion to one draw of the theta_i.
With a_i in proportion to e_i both are Dirichlet-multinomial; otherwise that law has no closed form,
and the one here has.

An area with e_i = 0, where nobody lives, is a structural zero: theta_i is 0, and so are x_i for all
data and z_i, whatever is known of it. No event moves there, so all that is proved is about the
other areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_one_statistic
from bayesdp.core.views import FixedTotalView, Integer, IntegersView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.conjugate.categorical_outputs import all_counts
from bayesdp.mechanisms.counts import poisson_gamma_promise
from bayesdp.mechanisms.counts.cells import Axis, table
from bayesdp.mechanisms.counts.dirichlet_multinomial_promise import check_relation
from bayesdp.mechanisms.counts.negative_binomial_sums import log_coefficient
from bayesdp.mechanisms.counts.poisson_gamma_areas import NO_EVENTS, area_events
from bayesdp.mechanisms.counts.poisson_gamma_calibration import calibrated_counts
from bayesdp.mechanisms.counts.poisson_gamma_fields import check_fields, worst_pairs
from bayesdp.mechanisms.counts.table_fields import (
    check_cell_counts,
    check_table,
)
from bayesdp.mechanisms.draws.negative_binomial import (
    draws_of_a_sum,
    log_negative_binomial,
    negative_binomial_draws,
)
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.privacy.profile import Profile, pure_profile, repeated_profile

_NEGLIGIBLE = 100.0  # below the log of the largest, of an area's events


@dataclass(frozen=True, slots=True)
class PoissonGammaMechanism(Mechanism):
    """Release z_i ~ NB(prior_i + x_i, e_i / (prior_i + 2 e_i)), or these given their sum.

    Parameters
    ----------
    n : int or None
        Number of confidential events, at least 1, where it is public; None where it is
        confidential. A public n has no add/remove neighbours.
    expected : sequence of float
        The areas' expected counts e_i, two or more of them positive; 0 in an area where, by a
        public rule, no event can be. Public.
    prior : float or sequence of float
        Shapes of the gamma priors, at least 1: how many events each weighs; 0 where no event can
        be. Public.
    total : int or None
        Number of events of a copy, where it is fixed: a public number. None leaves it random, which
        has no pure epsilon.
    areas : sequence of labels, optional
        The areas' names. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    n: int | None
    expected: tuple[float, ...]
    prior: float | tuple[float, ...]
    total: int | None
    areas: tuple[Any, ...] | None = None

    name: ClassVar[str] = "poisson_gamma"
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        for name, value in check_fields(self).items():
            object.__setattr__(self, name, value)

    @classmethod
    def calibrate(
        cls,
        *,
        n: int | None,
        expected: Sequence[float],
        total: int | None,
        epsilon: float,
        copies: int = 1,
        delta: float = 0.0,
        proportions: Any = None,
        areas: Sequence[Any] | None = None,
    ) -> PoissonGammaMechanism:
        """The mechanism with the weakest prior whose `copies` copies keep (epsilon, delta).

        The same prior in every possible area, or in those `proportions`, and never below 1. On the
        safe side: that the promise is kept is certain, that no smaller prior would do is not.
        """
        return calibrated_counts(
            cls, n=n, expected=expected, total=total, epsilon=epsilon, copies=copies, delta=delta,
            proportions=proportions, areas=areas,
        )  # fmt: skip

    @property
    def neighbours(self) -> Neighbours:
        """Neighbouring relation: replace-one where a total or n is public, else add/remove-one."""
        free = self.total is None and self.n is None
        return Neighbours.ADD_REMOVE if free else Neighbours.REPLACE_ONE

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Areas that aren't structural zeros, as booleans."""
        return np.array(self.expected) > 0

    @property
    def shape(self) -> NDArray[np.float64]:
        """Priors of the possible areas, the shapes of their gamma laws."""
        prior = np.broadcast_to(np.array(self.prior, dtype=np.float64), len(self.expected))
        return np.asarray(prior[self.possible])

    @property
    def chance(self) -> NDArray[np.float64]:
        """Probabilities p of the possible areas, below 1/2."""
        expected = np.array(self.expected)[self.possible]
        return np.asarray(expected / (self.shape + 2 * expected))

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the relation that a promise is asked under, one of records; else raise."""
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        check_relation(relation, self.n)
        return relation

    def profile(self, neighbours: Neighbours | None = None, *, copies: int = 1) -> Profile:
        """The privacy profile of `copies` copies.

        Tight of one under add/remove-one where the total is random; with a fixed total, what the
        pure epsilon implies.
        """
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        if self.total is None:
            return repeated_profile(poisson_gamma_promise.free_profile(self, relation), copies)
        one = poisson_gamma_promise.fixed_total_epsilon(self, relation)
        return pure_profile(one, copies)

    def guarantee(
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> Guarantee:
        """The promise of `copies` independent copies: pure where a total is fixed, whatever delta.

        Else each copy keeps the epsilon of delta / copies, and the sum is promised; at delta = 0,
        epsilon = inf.

        Raises
        ------
        InvalidInput
            If n is public and `neighbours` is add/remove, or the relation is not one of records.
        """
        return poisson_gamma_promise.promised(self, copies, neighbours, delta)

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """Guarantee for the removal of an event: pure, or at `delta` where that is less."""
        return poisson_gamma_promise.promised_removal(self, copies, delta)

    def check_statistic(self, statistic: Any) -> NDArray[np.int64]:
        """The counts as an array if they are one table's, else raise without showing them."""
        counts = self._checked(statistic)
        check_one_statistic(counts.shape, (len(self.expected),))
        return counts

    def release(self, statistic: Any, copies: int = 1) -> NDArray[np.int64]:
        """Draw copies, exactly, from the secure generator.

        Parameters
        ----------
        statistic : array of int, shape (..., areas)
            The confidential counts; several tables at once give as many releases.
        copies : int
            Independent copies of each.

        Returns
        -------
        ndarray of int64, shape (copies, *shape of the statistic)
        """
        copies, counts = check_at_least_one("copies", copies), self._checked(statistic)
        rows = counts.reshape(-1, counts.shape[-1])[:, self.possible]
        drawn = np.stack([self._draw(row, copies) for row in rows], axis=1)
        return self._everywhere(drawn).reshape(copies, *counts.shape)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; the areas are the last axis."""
        counts, z = self._checked(statistic), np.asarray(output)
        if z.shape[-1:] != (len(self.expected),):
            raise InvalidInput(
                f"output has shape {z.shape}; its last axis must have length {len(self.expected)}"
            )
        possible = np.all(z >= 0, axis=-1) & np.all(z == np.floor(z), axis=-1)
        if self.total is not None:
            possible = possible & (z.sum(axis=-1) == self.total)
        where = self.possible
        possible = possible & ~np.any(z[..., ~where], axis=-1)
        counts, z = counts[..., where], z[..., where]
        weights, chance = self.shape + counts, self.chance
        z = np.where(possible[..., None], z, 0)
        law = log_negative_binomial(z, weights, chance).sum(axis=-1)
        if self.total is not None:
            rows = weights.reshape(-1, chance.size)
            norms = [
                log_coefficient(row, chance, self.total) + float(row @ np.log1p(-chance))
                for row in rows
            ]
            law = law - np.array(norms).reshape(weights.shape[:-1])
        return np.where(possible, law, -np.inf)

    @property
    def views(self) -> tuple[View, ...]:
        """The law of each area's copies given its events; tied together by a fixed total."""
        if self.total is None:
            k = len(self.expected)
            return (IntegersView((k,), self._each, complete=True),)
        shapes, chances = (np.zeros(len(self.expected)) for _ in range(2))
        shapes[self.possible], chances[self.possible] = self.shape, self.chance
        return (FixedTotalView(shapes, chances, self.total, self._each),)

    def _each(
        self, outputs: Sequence[Any], tilt: float = 1.0, negligible: float = _NEGLIGIBLE
    ) -> list[Integer]:
        found, z = [NO_EVENTS] * len(self.expected), np.array(outputs)
        where = np.flatnonzero(self.possible)
        for i, shape, chance in zip(where, self.shape, tilt * self.chance, strict=True):
            found[i] = area_events(z[:, i], float(shape), float(chance), negligible)
        return found

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs with one event in each of the areas that decide epsilon; or no event, and one."""
        return [
            (tuple(one.tolist()), tuple(other.tolist()))
            for one, other in (map(self._everywhere, pair) for pair in worst_pairs(self))
        ]

    def outputs(self) -> NDArray[Any] | None:
        """List all tables, shape (outputs, areas), where the total is fixed and they are few."""
        every = None if self.total is None else all_counts(self.total, len(self.chance))
        return None if every is None else self._everywhere(every)

    def check_output(self, output: Any) -> tuple[int, ...]:
        """Return `output` as a tuple of ints if this mechanism can release it, else raise."""
        return check_table(output, len(self.expected), self.total, self._zeros)

    def records(self, output: Any) -> NDArray[Any]:
        """The synthetic counts; with names, a structured array that shows the areas too."""
        if self.areas is None:
            return np.asarray(output)
        return table((Axis("area", categories=self.areas),), output)

    def _checked(self, statistic: Any) -> NDArray[np.int64]:
        return check_cell_counts(statistic, len(self.expected), self.n, self._zeros)

    @property
    def _zeros(self) -> list[int]:
        return np.flatnonzero(~self.possible).tolist()

    def _everywhere(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Spread the possible areas' counts over all areas, along the last axis."""
        made = np.zeros((*counts.shape[:-1], len(self.expected)), dtype=np.int64)
        made[..., self.possible] = counts
        return made

    def _draw(self, counts: NDArray[np.int64], copies: int) -> NDArray[np.int64]:
        weights, chance, k = self.shape + counts, self.chance, len(counts)
        shape, around = self.shape.tolist(), [e for e in self.expected if e]

        def exact(i: int) -> tuple[Fraction, Fraction]:
            prior, expected = Fraction(shape[i % k]), Fraction(around[i % k])
            return prior + int(counts[i % k]), expected / (prior + 2 * expected)

        if self.total is not None:
            return draws_of_a_sum(weights, chance, exact, self.total, copies)
        drawn = negative_binomial_draws(np.tile(weights, copies), np.tile(chance, copies), exact)
        return drawn.reshape(copies, k)
