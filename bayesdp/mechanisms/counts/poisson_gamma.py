r"""The Poisson-gamma mechanism: synthetic counts of events by area (Quick 2021).

Area i has x_i events where e_i were expected; e_i is public: the area's population times a national
rate, say. The model is x_i ~ Poisson(theta_i), theta_i ~ Gamma(a_i, a_i / e_i), with mean e_i and
the weight of a_i events, so the posterior is Gamma(a_i + x_i, a_i / e_i + 1), and a copy's z_i ~
Poisson(theta_i) is negative binomial, with a_i + x_i and p_i = e_i / (a_i + 2 e_i). Where a copy
has a fixed total, it is those counts given their sum.

One may instead draw a multinomial with probabilities in proportion to one draw of the theta_i.
With a_i in proportion to e_i both are Dirichlet-multinomial; otherwise that law has no closed form,
and the one here has.

An area with e_i = 0, where nobody lives, is a structural zero: theta_i is 0, and so are z_i and,
for all data, x_i. No event moves there, so all proofs are about the other areas.

What it costs
-------------
Before any conditioning, z_i ~ NB(r_i, p_i) with r_i = a_i + x_i and a_i >= 1; let q_i = 1 - p_i.
One more event in area i multiplies the probability of z_i by X = (r_i + z_i) q_i / r_i.

A fixed total m
---------------
Given z_1 + z_2 + ... = m, P(z | x) = prod (r_i)_{z_i} p_i^z_i / z_i! / c_m(r), where c_m is the
coefficient of x^m in prod (1 - p_i x)^(-r_i). Let Q_i(r) = c_m(r + 1 in area i) / c_m(r) >= 1, and
r the weights without the event that differs.

*Replace-one* (an event moves from area j to area i): the ratio is
[(r_i + z_i) / r_i] [r_j / (r_j + z_j)] Q_j(r) / Q_i(r), at most (1 + m / a_i) Q_j(r) / Q_i(r), at
z_i = m. Q_j / Q_i is the mean of (p_j / p_i)^l under weights p_i^l c_{m-l}(r). If p_j <= p_i it is
at most 1, which it approaches as the events elsewhere grow in number. If p_j > p_i it is largest at
r = a, with no other event: c(r) is log-concave, as r >= 1 makes it a convolution of log-concave
sequences; so for a further event anywhere, with law g, c'_n / c_n = sum_y g_y c_{n-y} / c_n
increases in n, the weights move towards small l, and the mean decreases. Hence, as a supremum over
the number of events,

    epsilon = max_i [log(1 + m / a_i) + max(0, max_j log Q_j(a) - log Q_i(a))],   exactly.

At a public n it is a bound: exact for one event, or where all a_i are in proportion to the e_i.
There all p_i are equal, the law is Dirichlet-multinomial, and this is its log(1 + m / min a).

*Adding an event* multiplies by (1 + z_i / r_i) / Q_i(r), at most 1 + m / a_i, approached as the
events elsewhere grow. *Removing* one, by Q_i(r) / (1 + z_i / r_i), at most Q_i(a): c_{m-l} / c_m
decreases with every event, as above. So add/remove-one has the epsilon
max(log(1 + m / min a), log max Q(a)), as a supremum.

No fixed total
--------------
X is unbounded: **no prior gives a pure epsilon**. But one event less multiplies by
1 / X <= 1 / q_i = (a_i + 2 e_i) / (a_i + e_i) < 2. And NB(r + s, p) is NB(r, p) plus noise that
doesn't know of the event, so both divergences decrease in r and the worst has no other event in
its area: for add/remove-one, with NB(a_i + 1, p_i) and NB(a_i, p_i),

    delta(epsilon) = max over i and both directions of their divergence,   exactly.

Given a gamma variable g of shape r, z_i is Poisson with mean s g, s = p / (1 - p), and a Poisson
variable of a smaller mean is a thinned one. So both divergences increase in p, and only areas
count of which no other has as small an a and as large a p.

*Replace-one*: with E = max_j log(1 / q_j), delta(epsilon) is at most the largest divergence of an
addition at epsilon - E: P(z_i | +1) P(z_j) is at most e^(epsilon - E) P(z_i) P(z_j) and that
divergence, and P(z_j) <= e^E P(z_j | +1). A bound, not tight.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import (
    check_at_least_one,
    check_delta,
    check_numbers,
    check_one_statistic,
    is_number,
)
from bayesdp.core.outputs.counts import CellCounts
from bayesdp.core.views import (
    DrawnEventsView,
    Ends,
    FixedTotalView,
    Floats,
    Integer,
    Integers,
    View,
)
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.cells import Axis, counted_by, shown_by
from bayesdp.mechanisms.counts.dirichlet_multinomial import check_relation
from bayesdp.mechanisms.counts.negative_binomial_sums import log_coefficient, record_ratios
from bayesdp.mechanisms.counts.table_fields import (
    check_cell_counts,
    check_prior,
    check_size,
)
from bayesdp.mechanisms.draws.negative_binomial import (
    draws_of_a_sum,
    log_negative_binomial,
    negative_binomial_draws,
)
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.privacy.profile import Profile, pure_profile, shared_profile, smallest_satisfying

_NEGLIGIBLE = 100.0  # below the log of the largest, of an area's events
_FURTHEST = 1e10  # of a prior or an expected count, either way
_SAFE = 1 + 1e-9  # the coefficients' error is below 1e-11
UNBOUNDED = (
    "A count without a fixed total has an unbounded likelihood ratio, so no pure epsilon holds: "
    "ask for a positive delta, such as 1e-6, or fix the total."
)
NO_EVENTS = Integer(lambda ends, times: (0, 0), lambda x: np.where(x == 0, 0.0, -np.inf))
"""Of an area where no event can be."""


@dataclass(frozen=True, slots=True)
class PoissonGammaMechanism(Mechanism):
    """Release z_i ~ NB(prior_i + x_i, e_i / (prior_i + 2 e_i)), possibly given their sum.

    Parameters
    ----------
    n : int or None
        Number of confidential events, at least 1, where it is public; None where it is
        confidential. A public n has no add/remove neighbours.
    expected : sequence of float
        The areas' expected counts e_i, two or more of them positive; 0 in an area where, by a
        public rule, no event can be. Public.
    prior : float or sequence of float
        Shapes of the gamma priors, at least 1, in events: one number, or one for each area, 0 where
        no event can be. Public.
    total : int or None
        Number of events of a copy, where it is fixed. Public. None leaves it random; then there is
        no pure epsilon.
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
    source: ClassVar[str] = "bayesdp.mechanisms.counts.poisson_gamma; Quick (2021)"

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
        """Make the mechanism with the weakest prior whose `copies` copies keep (epsilon, delta).

        The prior is the same in every possible area, or in proportion to `proportions`, and never
        below 1. The promise is certainly kept, but a smaller prior might keep it too.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        share, free = epsilon / check_at_least_one("copies", copies), total is None
        if free and delta == 0:
            raise InvalidInput(f"delta is 0. {UNBOUNDED}")
        ratios = np.array(1.0)
        if proportions is not None:
            possible = np.asarray(expected, dtype=np.float64) > 0
            shape = check_numbers("proportions", proportions)
            if shape.shape != possible.shape:
                raise InvalidInput(
                    f"proportions has shape {shape.shape}; it must have a number for each of the "
                    f"{possible.size} areas"
                )
            ratios = np.where(possible, shape / shape[possible].min(), 0.0)

        def at(least: float) -> PoissonGammaMechanism:
            build: Any = cls  # which takes any sequences
            calibrated: PoissonGammaMechanism = build(
                n, expected, (least * ratios).tolist(), total, areas
            )
            return calibrated

        def cost(least: float) -> float:
            if free:
                return at(least).profile().delta(share)
            return at(least).guarantee().epsilon

        most = _FURTHEST / float(ratios.max())
        if not cost(most) <= (delta / copies if free else share):
            raise InvalidInput(
                f"no prior up to {_FURTHEST:.0e} events keeps epsilon = {epsilon} with "
                f"delta = {delta}: ask for a larger epsilon or delta"
            )
        target = delta / copies * (1 - 1e-9) if free else share
        least = smallest_satisfying(cost, target, start=10.0, least=1.0, largest=most)
        more = 2.0**-50
        while at(least).guarantee(copies=copies, delta=delta).epsilon > epsilon and least < most:
            least, more = min(least * (1 + more), most), 2 * more
        return at(least)

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
        """Return the neighbouring relation asked for, one of records; else raise InvalidInput."""
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        check_relation(relation, self.n)
        return relation

    def profile(self, neighbours: Neighbours | None = None, *, copies: int = 1) -> Profile:
        """The privacy profile of `copies` copies.

        It is tight for one copy under add/remove-one where the total is random; with a fixed total,
        it is what the pure epsilon implies.
        """
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        if self.total is None:
            return shared_profile(free_profile(self, relation), copies, _SAFE)
        one = fixed_total_epsilon(self, relation)
        return pure_profile(one, copies, copies * one)

    @property
    def pure(self) -> bool:
        """True where the total is fixed: a delta then buys nothing."""
        return self.total is not None

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        public = () if self.n is None else ("The number of events is public, not protected.",)
        return (*public, "The expected counts, the prior and any fixed total are public.")

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """Guarantee for the removal of an event: pure, or at `delta` where that is less."""
        added = self.guarantee(copies=copies, neighbours=Neighbours.ADD_REMOVE, delta=delta)
        if self.total is None:
            one = float(-np.log1p(-self.chance.max()))
        else:
            one = math.log(record_ratios(self.shape, self.chance, self.total).max())
        epsilon = int(copies) * one * _SAFE
        if added.epsilon < epsilon:
            return added
        told = (*self.assumptions(Neighbours.ADD_REMOVE), COMPUTATIONAL)
        return dataclasses.replace(added, epsilon=epsilon, delta=0.0, assumptions=told)

    def check_statistic(self, statistic: Any) -> NDArray[np.int64]:
        """Return one table's counts as an array, or raise InvalidInput without showing them."""
        counts = self.check_statistics(statistic)
        check_one_statistic(counts.shape, (len(self.expected),))
        return counts

    def check_statistics(self, statistic: Any) -> NDArray[np.int64]:
        """Return the counts of one or several tables, shape (..., areas), or raise InvalidInput."""
        return check_cell_counts(statistic, len(self.expected), self.n, self._zeros)

    def draw(self, statistic: NDArray[np.int64], copies: int) -> NDArray[np.int64]:
        """Draw synthetic counts, as many tables as there are in the statistic."""
        rows = statistic.reshape(-1, statistic.shape[-1])[:, self.possible]
        drawn = np.stack([self._draw(row, copies) for row in rows], axis=1)
        return self._everywhere(drawn).reshape(copies, *statistic.shape)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; the areas are the last axis."""
        counts, z = self.check_statistics(statistic), np.asarray(output)
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
        """Views of each area's counts given its events; a fixed total ties areas together."""
        k = len(self.expected)
        shapes, chances = np.zeros(k), np.zeros(k)
        shapes[self.possible], chances[self.possible] = self.shape, self.chance
        if self.total is None:
            law = {"shapes": shapes, "chances": chances}
            return (DrawnEventsView((k,), self._each, complete=True, **law),)
        return (FixedTotalView(shapes, chances, self.total, self._each),)

    def _each(
        self, outputs: Sequence[Any], tilt: float = 1.0, negligible: float = _NEGLIGIBLE
    ) -> list[Integer]:
        laws, z = [NO_EVENTS] * len(self.expected), np.array(outputs)
        where = np.flatnonzero(self.possible)
        for i, shape, chance in zip(where, self.shape, tilt * self.chance, strict=True):
            laws[i] = area_events(z[:, i], float(shape), float(chance), negligible)
        return laws

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of one event in either of the areas that decide epsilon, or of no event and one."""
        return [
            (tuple(one.tolist()), tuple(other.tolist()))
            for one, other in (map(self._everywhere, pair) for pair in worst_pairs(self))
        ]

    @property
    def space(self) -> CellCounts:
        """Synthetic counts; with names, a structured array shows the areas too."""
        axes = None if self.areas is None else (Axis("area", categories=self.areas),)
        shown, counted = shown_by(axes), counted_by(axes)
        return CellCounts(len(self.expected), self.total, self._zeros, shown=shown, counted=counted)

    @property
    def _zeros(self) -> tuple[int, ...]:
        return tuple(np.flatnonzero(~self.possible).tolist())

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


def check_fields(made: PoissonGammaMechanism) -> dict[str, Any]:
    """Validate the mechanism's parameters and return them in their standard form."""
    expected = _check_expected(made.expected)
    zeros = [i for i, e in enumerate(expected) if e == 0]
    prior = check_prior(made.prior, len(expected), zeros)
    each = np.delete(np.broadcast_to(prior, len(expected)), zeros)
    if not 1 <= each.min() <= each.max() <= _FURTHEST:
        raise InvalidInput(
            f"prior has a number out of its range; each area's must be from 1 to {_FURTHEST:.0e} "
            "events"
        )
    areas = made.areas
    if areas is not None:
        areas = Axis("area", categories=tuple(areas)).categories
        if len(areas or ()) != len(expected):
            raise InvalidInput(
                f"areas has {len(areas or ())} names, but expected has {len(expected)} areas; give "
                "one name for each"
            )
    return {
        "n": None if made.n is None else check_at_least_one("n", made.n, "or None if confidential"),
        "expected": expected,
        "prior": prior,
        "total": None if made.total is None else check_size(made.total, "total"),
        "areas": areas,
    }


def worst_pairs(made: PoissonGammaMechanism) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Neighbouring counts of the possible areas, the worst among them."""
    k = len(made.chance)
    eye = np.eye(k, dtype=np.int64)
    if made.n is None and made.neighbours is Neighbours.ADD_REMOVE:
        few = {int(np.argmin(made.shape)), int(np.argmax(made.chance))}
        return [(0 * eye[i], eye[i]) for i in sorted(few)]
    order = np.argsort(made.shape, kind="stable")
    extremes = (np.argmin(made.chance), np.argmax(made.chance))
    ends = dict.fromkeys([*order[:2].tolist(), *map(int, extremes)])
    base = np.zeros(k, dtype=np.int64)
    base[order[-1]] = (made.n or 1) - 1
    return [(base + eye[i], base + eye[j]) for i in ends for j in ends if i < j]


def _check_expected(expected: Any) -> tuple[float, ...]:
    given = expected.tolist() if isinstance(expected, np.ndarray) else expected
    if not isinstance(given, Sequence) or len(given) < 2:
        raise InvalidInput(
            f"expected is {quoted(expected)}; it must be a positive number for each area, two or "
            "more"
        )
    zeros = [i for i, e in enumerate(given) if is_number(e) and e == 0]
    values = check_prior(list(given), len(given), zeros, "expected")
    made = (values,) if isinstance(values, float) else values
    positive = [e for e in made if e]
    if len(positive) < 2:
        raise InvalidInput(
            f"expected has {len(positive)} positive numbers; two areas or more must have one, as "
            "there can be no event where none is expected"
        )
    if not 1 / _FURTHEST <= min(positive) <= max(positive) <= _FURTHEST:
        raise InvalidInput(
            "expected has a number out of its range; each area's must be from "
            f"{1 / _FURTHEST:.0e} to {_FURTHEST:.0e} events, or 0 where there can be none"
        )
    return made


def fixed_total_epsilon(mechanism: PoissonGammaMechanism, relation: Neighbours) -> float:
    """Pure epsilon of one copy with a fixed total, rounded up."""
    a, m = mechanism.shape, int(mechanism.total or 0)
    each, ratios = np.log1p(m / a), np.log(record_ratios(a, mechanism.chance, m))
    if relation is Neighbours.ADD_REMOVE:
        return float(max(each.max(), ratios.max())) * _SAFE
    return float(np.max(each + (ratios.max() - ratios))) * _SAFE


def free_profile(mechanism: PoissonGammaMechanism, relation: Neighbours) -> Profile:
    """Privacy profile of one copy without a fixed total; tight under add/remove-one."""
    pairs = worst_areas(mechanism.shape, mechanism.chance)
    moved = float(-np.log1p(-mechanism.chance.max())) * (1 + 1e-15)

    def divergence(epsilon: float) -> float:
        if relation is Neighbours.ADD_REMOVE:
            return max(max(added(a, p, epsilon), removed(a, p, epsilon)) for a, p in pairs)
        return max(added(a, p, epsilon - moved) for a, p in pairs) if epsilon > moved else 1.0

    return Profile(divergence, math.inf, why=UNBOUNDED)


def worst_areas(a: NDArray[np.float64], p: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Keep the pairs (a, p) for which no other has as small an a and as large a p."""
    order = np.lexsort((-p, a))
    a, p = a[order], p[order]
    best = np.maximum.accumulate(np.concatenate([[0.0], p[:-1]]))
    return list(zip(a[p > best].tolist(), p[p > best].tolist(), strict=True))


def added(a: float, p: float, epsilon: float) -> float:
    """The divergence of NB(a + 1, p) from NB(a, p) at epsilon: a sum over z of positive terms.

    A term is P1(z) (1 - exp(epsilon) / X(z)), from where X is exp(epsilon) on: beyond the mode, so
    that terms become negligible within 40 standard deviations, as p < 1/2.
    """
    start = min(math.floor(a * (math.exp(min(epsilon, 600.0)) / (1 - p) - 1)), 2**50)
    z = max(start, 0) + np.arange(40 * math.ceil(math.sqrt(a * p) / (1 - p)) + 400.0)
    gain = -np.expm1(np.minimum(epsilon - np.log1p(z / a) - np.log1p(-p), 0.0))
    return float(np.exp(log_negative_binomial(z, a + 1, p)) @ gain)


def removed(a: float, p: float, epsilon: float) -> float:
    """The divergence of NB(a, p) from NB(a + 1, p) at epsilon."""
    stop = math.ceil(a * (math.exp(-min(epsilon, 600.0)) / (1 - p) - 1))
    first = max(stop - 50 * math.ceil(math.sqrt(a * p) / (1 - p)) - 100, 0)
    z = np.arange(first, max(stop, first) + 1.0)
    gain = -np.expm1(np.minimum(epsilon + np.log1p(z / a) + np.log1p(-p), 0.0))
    return float(np.exp(log_negative_binomial(z, a, p)) @ gain)


def area_events(z: NDArray[Any], shape: float, chance: float, negligible: float) -> Integer:
    """The law of an area's released counts given its events, which is log-concave in them."""

    def logp(x: Integers) -> Floats:
        return np.asarray(log_negative_binomial(z[:, None], shape + x, chance).sum(axis=0))

    def likely(ends: Ends, times: float) -> Ends:
        first, step = int(max(ends[0], 0)), 1 + int(z.max())
        while math.isfinite(times):
            values = logp(x := np.arange(first, first + 64 * step, step))
            good = np.flatnonzero(values >= values.max() - times * negligible)
            if good[-1] < x.size - 1:
                return first, min(ends[1], int(x[good[-1] + 1]))
            step *= 8
        return first, ends[1]

    return Integer(likely, logp)


def events_before(shape: float, chance: float, negligible: float) -> Integer:
    """The law of an area's events before any release: negative binomial, or none."""
    if chance == 0:
        return NO_EVENTS

    def logp(x: Integers) -> Floats:
        return np.asarray(log_negative_binomial(x, shape, chance))

    def likely(ends: Ends, times: float) -> Ends:
        mode = math.floor(max(shape - 1, 0.0) * chance / (1 - chance))
        far = 2 * mode + 1
        while far < ends[1] and logp(np.array([mode, far])) @ (1, -1) < times * negligible:
            far *= 2
        return ends[0], min(ends[1], far)

    return Integer(likely, logp)
