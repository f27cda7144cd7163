"""Privacy profiles of conjugate releases of categorical records, under a Dirichlet prior.

The posterior given counts c is Dirichlet(prior + c). Replace a record of category j by one of
category i: the likelihood ratio of the two posteriors at theta is theta_i / theta_j times a
constant, a function of p = theta_i / (theta_i + theta_j) alone, and p is Beta(u + 1, v)
against Beta(u, v + 1), independent of all the rest, where u and v are prior_i and prior_j
plus the other records in i and in j. So the divergence is F(u, v) of
`bayesdp.mechanisms.conjugate.beta_pairs`, whose docstring proves that it decreases in u and in v
and that F(u, v) <= F(v, u) for u <= v.

With three categories or more, all other records may lie outside i and j, so the worst has
u = prior_i, v = prior_j, and of all pairs of categories the two smallest priors, the smallest
for v: the size of the data is no protection. With two categories there is no outside, and
the worst neighbours are those of the bernoulli family.

Synthetic records: the worst neighbours and their divergence are in
`bayesdp.mechanisms.counts.category_pairs`. Pure epsilon of m records, with w the smallest prior,
exactly and for every n >= 1, since z_i = m and no other record in i are possible:

- `synthetic_one`: the ratio is [(u + z_i) / u] [v / (v + z_j)] <= 1 + m / w: log(1 + m / w);
- `synthetic_many`: [(u + 1) / u]^z_i [v / (v + 1)]^z_j <= (1 + 1 / w)^m: m log(1 + 1 / w);
- `synthetic_map`: the same with w - 1 for w, if w > 1. If w = 1 a category without a record is
never synthesized, but under a neighbour it is, and no epsilon is enough.

Zheng (2015, Corollaries 6.21 and 6.22) has 1 + 1 / (exp(epsilon / 2m) - 1) as enough for the last
two: about twice the exact 1 / (exp(epsilon / m) - 1), to which the mode adds 1.

*The mode* where a prior is below 1: the density is unbounded near a face. Its largest value
among probabilities of t or more is at t wherever prior_i + c_i <= 1, and otherwise
proportional to prior_i + c_i - 1; the mode is the limit at t = 0, unique for n >= 1. Its
weights max(prior_i + c_i - 1, 0) no longer have the same sum for neighbours, since the first
record of a category adds less than 1, so the argument for the worst neighbours fails. With two
categories they are all tried; with more, `synthetic_map` asks for priors of 1 or more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate import bernoulli as conjugate_bernoulli
from bayesdp.mechanisms.conjugate.beta_pairs import beta_divergence, worst_beta_divergence
from bayesdp.mechanisms.counts.category_pairs import (
    dirichlet_multinomial_divergence,
    multinomial_divergence,
    worst_of_three,
)
from bayesdp.privacy.profile import Profile, of_a_function

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

PARAMETERS: tuple[str, ...] = ()
WHOLE = True
records_are = conjugate_bernoulli.records_are
largest_mode = conjugate_bernoulli.largest_mode
mode_bounds = conjugate_bernoulli.mode_bounds
together = conjugate_bernoulli.together
_SAFE = 1 + 2.0**-50  # covers the rounding of log1p, the division and the product


def check(release: ConjugateMechanism) -> dict[str, Any]:
    """Validate the release's parameters."""
    try:
        prior = tuple(float(v) if isinstance(v, Real) else math.nan for v in release.prior)
    except TypeError:  # not a sequence
        prior = ()
    if len(prior) < 2 or not all(v > 0 and math.isfinite(v) for v in prior):
        raise InvalidInput(
            f"prior is {quoted(release.prior)}; it must be one positive finite number for each "
            "category, two or more, the parameters of a Dirichlet distribution, for example (1, "
            "1, 1)"
        )
    if release.method == "synthetic_map":
        _check_interior(prior)
    return {"prior": conjugate_bernoulli.check_range(prior)}


def prior_of_strength(strength: float, parameters: Mapping[str, Any]) -> tuple[float, ...]:
    """Make the symmetric prior of a strength; a larger strength never costs more privacy."""
    count = check_at_least_one("categories", parameters.get("categories"))
    return (strength,) * count


def least_strength(method: str, parameters: Mapping[str, Any]) -> float:
    """The weakest prior that calibration considers: next to none, or 1 for a mode."""
    return 1.0 if method == "synthetic_map" else 1e-100


def components(release: ConjugateMechanism) -> int:
    """Number of components of the posterior mode."""
    return len(release.prior)


def map_sensitivity(release: ConjugateMechanism) -> float:
    """Largest L1 distance between the posterior modes of neighbours, rounded up.

    It is 2 / (sum of the prior + n - k) for priors of 1 or more: a unit of weight moves between two
    categories, and the sum stays. For two categories it is twice the bernoulli family's.
    """
    if len(release.prior) == 2:
        return 2 * conjugate_bernoulli.map_sensitivity(release)
    _check_interior(release.prior)
    return 2 / (math.fsum(p - 1 for p in release.prior) + release.n) * _SAFE


def parameter_map(release: ConjugateMechanism) -> Profile:
    """Profile of the posterior mode itself, which promises nothing."""
    return of_a_function("posterior mode")


def parameter_draw(release: ConjugateMechanism) -> Profile:
    """Profile of one posterior draw of all the probabilities."""
    n, prior = release.n, sorted(release.prior)
    smallest, second = prior[:2]

    def divergence(epsilon: float) -> float:
        if len(prior) == 2:
            return worst_beta_divergence(n, (smallest, second), epsilon)
        return beta_divergence(second, smallest, epsilon)

    return Profile(
        divergence,
        math.inf,
        why="The likelihood ratio of two neighbours is unbounded where a probability is near 0, "
        "so no pure epsilon holds.",
    )


def synthetic_one(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records from one posterior draw."""
    if len(release.prior) == 2:
        return conjugate_bernoulli.synthetic_one(release)
    weights, n, size = list(release.prior), release.n, release.synthetic_size
    return Profile(
        lambda epsilon: worst_of_three(dirichlet_multinomial_divergence, weights, n, size, epsilon),
        math.log1p(size / min(weights)) * _SAFE,
    )


def synthetic_many(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records, each from its own posterior draw."""
    if len(release.prior) == 2:
        return conjugate_bernoulli.synthetic_many(release)
    return _multinomial(release, list(release.prior))


def synthetic_map(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records with the posterior mode as their probabilities."""
    if len(release.prior) == 2:
        return conjugate_bernoulli.synthetic_map(release)
    return _multinomial(release, [p - 1 for p in release.prior])


def _multinomial(release: ConjugateMechanism, weights: list[float]) -> Profile:
    n, size, least = release.n, release.synthetic_size, min(weights)

    def divergence(epsilon: float) -> float:
        return worst_of_three(multinomial_divergence, weights, n, size, epsilon)

    if least > 0:
        return Profile(divergence, size * math.log1p(1 / least) * _SAFE)
    total = math.fsum(weights) + n
    return Profile(
        divergence,
        math.inf,
        limit=-math.expm1(size * math.log1p(-1 / total)) if total > 1 else 1.0,
        why=f"The prior {release.prior} has a parameter of 1, so the mode leaves out a category "
        "that no record is in, and a neighbour gives it.",
    )


def _check_interior(prior: tuple[float, ...]) -> None:
    if len(prior) > 2 and min(prior) < 1:
        raise InvalidInput(
            f"prior is {quoted(prior)}; with three categories or more the cost of "
            "the posterior mode is known only where every parameter is 1 or more (below, the mode "
            "sits on the boundary); raise them, or choose 'synthetic_one' or 'synthetic_many'"
        )
