"""Privacy profiles of conjugate releases of categorical records, under a Dirichlet prior.

The posterior given counts c is Dirichlet(prior + c). Replace a record of category j by one of
category i: the likelihood ratio of the two posteriors at theta is theta_i / theta_j times a
constant, a function of p = theta_i / (theta_i + theta_j) alone, and p is Beta(u + 1, v)
against Beta(u, v + 1), independent of all the rest, where u and v are prior_i and prior_j
plus the other records in i and in j. So the divergence is F(u, v) of
`bayesdp.mechanisms.beta_pairs`, whose docstring proves that it decreases in u and in v and
that F(u, v) <= F(v, u) for u <= v.

With three categories or more, all other records may lie outside i and j, so the worst has
u = prior_i, v = prior_j, and of all pairs of categories the two smallest priors, the smallest
for v: the size of the data is no protection. With two categories there is no outside, and
the worst neighbours are those of the bernoulli family.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.beta_pairs import beta_divergence, worst_beta_divergence
from bayesdp.privacy.profile import Profile, of_a_function

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate import ConjugateRelease

PARAMETERS: tuple[str, ...] = ()


def check(release: ConjugateRelease) -> dict[str, Any]:
    """The release's parameters, validated."""
    try:
        prior = tuple(float(v) if isinstance(v, Real) else math.nan for v in release.prior)
    except TypeError:  # not a sequence
        prior = ()
    if len(prior) < 2 or not all(v > 0 and math.isfinite(v) for v in prior):
        raise InvalidInput(
            f"prior is {release.prior!r}; it must be one positive finite number for each category, "
            "two or more, the parameters of a Dirichlet distribution, for example (1, 1, 1)"
        )
    return {"prior": prior}


def prior_of_strength(strength: float, categories: int | None) -> tuple[float, ...]:
    """The symmetric prior; a larger strength never costs more."""
    count = check_at_least_one("categories", categories)
    return (strength,) * count


def least_strength(method: str) -> float:
    """The weakest prior that calibration considers: next to none."""
    return 1e-100


def parameter_map(release: ConjugateRelease) -> Profile:
    """The posterior mode itself: no promise at all."""
    return of_a_function("posterior mode")


def parameter_draw(release: ConjugateRelease) -> Profile:
    """One posterior draw of all the probabilities."""
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


METHODS = {"parameter_map": parameter_map, "parameter_draw": parameter_draw}
