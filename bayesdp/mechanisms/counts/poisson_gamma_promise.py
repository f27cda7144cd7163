r"""Joint promise of copies of Poisson-gamma counts, and its proof.

Area i has x_i events, prior a_i >= 1 and public expected count e_i. Its copy, before any
conditioning, is z_i ~ NB(r_i, p_i) with r_i = a_i + x_i, p_i = e_i / (a_i + 2 e_i), q_i = 1 - p_i.
An event more in area i multiplies the probability of z_i by X = (r_i + z_i) q_i / r_i.

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
X is unbounded: **no prior gives a pure epsilon**. But an event less multiplies by
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

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.mechanisms.counts.dirichlet_multinomial_promise import check_relation
from bayesdp.mechanisms.counts.negative_binomial_sums import record_ratios
from bayesdp.mechanisms.draws.negative_binomial import log_negative_binomial
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.privacy.guarantee import Guarantee, Strength
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.privacy.profile import Profile

if TYPE_CHECKING:
    from bayesdp.mechanisms.counts.poisson_gamma import PoissonGammaMechanism

_SAFE = 1 + 1e-9  # the coefficients' error is below 1e-11
UNBOUNDED = (
    "A count without a fixed total has an unbounded likelihood ratio, so no pure epsilon holds: "
    "ask for a positive delta, such as 1e-6, or fix the total."
)


def promised(
    mechanism: PoissonGammaMechanism, copies: int, neighbours: Neighbours | None, delta: float
) -> Guarantee:
    """Return the guarantee of `copies` copies at `delta`."""
    copies, delta = check_at_least_one("copies", copies), check_delta(delta)
    relation = mechanism.neighbours if neighbours is None else check_neighbours(neighbours)
    check_relation(relation, mechanism.n)
    if mechanism.total is not None:
        return _stated(mechanism, relation, copies * fixed_total_epsilon(mechanism, relation), 0.0)
    share = math.nextafter(delta / copies, 0.0)  # copies of it are at most delta
    epsilon = free_profile(mechanism, relation).epsilon(share) * copies * _SAFE
    why = (UNBOUNDED,) if math.isinf(epsilon) else ()
    return _stated(mechanism, relation, epsilon, delta, why)


def promised_removal(mechanism: PoissonGammaMechanism, copies: int, delta: float) -> Guarantee:
    """Guarantee for the removal of an event: pure, also without a fixed total."""
    copies = check_at_least_one("copies", copies)
    check_relation(Neighbours.ADD_REMOVE, mechanism.n)
    if mechanism.total is None:
        epsilon = float(-np.log1p(-mechanism.chance.max()))
    else:
        ratios = record_ratios(mechanism.shape, mechanism.chance, mechanism.total)
        epsilon = math.log(ratios.max())
    pure = _stated(mechanism, Neighbours.ADD_REMOVE, copies * epsilon * _SAFE, 0.0)
    either = promised(mechanism, copies, Neighbours.ADD_REMOVE, delta)
    return min(pure, either, key=lambda guarantee: guarantee.epsilon)


def _stated(
    mechanism: PoissonGammaMechanism,
    relation: Neighbours,
    epsilon: float,
    delta: float,
    why: tuple[str, ...] = (),
) -> Guarantee:
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        neighbours=relation,
        strength=Strength.PROVED,
        assumptions=(
            *(() if mechanism.n is None else ("The number of events is public, not protected.",)),
            "The expected counts, the prior and any fixed total are public.",
            *why,
            COMPUTATIONAL,
        ),
        source="bayesdp.mechanisms.counts.poisson_gamma_promise; Quick (2021)",
    )


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
    """The pairs (a, p) of which no other has as small an a and as large a p."""
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
