r"""Privacy profiles of conjugate releases of real records in [-R, R], under a normal prior.

Records are N(theta, sigma^2), sigma known, and theta ~ N(mean, sd^2). The posterior is
N(mu(x), tau^2) with 1 / tau^2 = 1 / sd^2 + n / sigma^2 and mu(x) moved by
tau^2 (x_i' - x_i) / sigma^2 when record i is replaced: at most s = 2 R tau^2 / sigma^2, from
-R to R. (Zheng 2015, Corollary 7.3, has R for 2R.) Every release below is a normal law whose
mean moves by the same and whose variance the data leave alone:

- `parameter_draw`: variance tau^2;
- `synthetic_map` (m records from N(mu, sigma^2); their mean is sufficient): sigma^2 / m;
- `synthetic_one` (m records from one draw; their mean is sufficient): tau^2 + sigma^2 / m;
- `synthetic_many` (m independent records, each from its own draw): (tau^2 + sigma^2) / m.

The divergence of two normal laws is the same in both directions and increases with the
distance of their means (`gaussian_divergence`), so the worst neighbours are the furthest
apart, and the profile is that of N(0, 1) and N(s / sd of the release, 1). No pure epsilon holds.
Zheng's (epsilon, delta) bounds (Theorems 7.8 and 7.15, Corollary 7.16) promise more than
is true; the tests show by how much.

*Bounded* releases are conditioned to [-R, R] too, and then a pure epsilon holds:

- `parameter_draw`: the posterior, conditioned;
- `synthetic_map`, `synthetic_many`: each record's law N(mu, sigma^2) or N(mu, tau^2 + sigma^2),
  conditioned, independently. Pure epsilon is m times one record's, exactly, since all records
  may be at the same end; for m > 1 delta is a bound, that of m releases of one record's pure
  epsilon (`composed_divergence`);
- `synthetic_one`: the draw is conditioned, and each record given the draw. Both epsilon and
  delta are those of the draw, bounds for every m (Zheng 2015, Theorem 5.1).

mu(x) runs over all of tau^2 (mean / sd^2 +- n R / sigma^2); the profile of a single conditioned law
whose mean does so, with its normalising constant, is in
`bayesdp.mechanisms.conjugate.truncated_pairs`.

With mean 0 a stronger prior never costs more pure epsilon: that is the integral of R - E z over
the natural parameter h = mu / variance, from its lowest value to 2 R tau^2 / (sigma^2 variance)
above, under the law proportional to exp(h z - z^2 / (2 variance)). For n >= 2 all these h are
negative, or 0. A smaller tau^2 leaves them as they are (`parameter_draw`), or moves them towards
0, which raises E z, and closer together; and a smaller variance raises E z, since
E[z | z^2 = y^2] = y tanh(h y) falls with y. For n = 1 the range is symmetric, E z integrates to 0,
and only its length counts. For delta > 0 and bounded releases it is tested, not proved.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.truncated_pairs import (
    composed_divergence,
    truncated_pure_epsilon,
    worst_truncated_divergence,
)
from bayesdp.privacy.profile import Profile, gaussian_divergence, of_a_function

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

PARAMETERS = ("R", "sigma", "bounded")
WHOLE = False
_FURTHEST = 1e100  # of the numbers given: their squares stay floats
_WIDEST = 2.0**50  # beyond it, floats don't tell points of a conditioned law apart


def check(release: ConjugateMechanism) -> dict[str, Any]:
    """Validate the release's parameters."""
    mean, sd = _two_numbers(release.prior)
    if not (abs(mean) <= _FURTHEST and 1 / _FURTHEST <= sd <= _FURTHEST):
        raise InvalidInput(
            f"prior is {quoted(release.prior)}; it must be the mean and the standard deviation of "
            "a normal distribution, the second positive, for example (0, 1); neither is beyond "
            f"{_FURTHEST}, and the second is at least {1 / _FURTHEST}"
        )
    checked: dict[str, Any] = {"prior": (mean, sd)}
    for name in ("R", "sigma"):
        value = getattr(release, name)
        number = is_number(value)
        if not (number and 1 / _FURTHEST <= value <= _FURTHEST):
            raise InvalidInput(
                f"{name} is {quoted(value)}; it must be a positive number, from {1 / _FURTHEST} to "
                f"{_FURTHEST}: records lie in [-R, R], with known standard deviation sigma"
            )
        checked[name] = float(value)
    return checked


def prior_of_strength(strength: float, parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Make the prior with this precision, centred at 0; a larger one never costs more privacy."""
    return 0.0, 1 / math.sqrt(strength)


def least_strength(method: str, parameters: Mapping[str, Any]) -> float:
    """The weakest prior that calibration considers: next to none."""
    return 1e-100


def records_are(release: ConjugateMechanism) -> tuple[str, ...]:
    """State what the promise assumes of the records."""
    return (f"Every record lies in [-{release.R}, {release.R}].",)


def largest_mode(release: ConjugateMechanism) -> float:
    """Bound the absolute value of a posterior mode."""
    return float(abs(release.prior[0])) + float(release.R or 0)


def mode_bounds(release: ConjugateMechanism) -> None:
    """Give no ends that a noisy mode is moved to."""


def together(release: ConjugateMechanism, copies: int) -> Profile | None:
    """The profile of several copies, where it is another than that of as many more records.

    A mean that moves by s standard deviations in each of M copies is one that moves by s sqrt(M),
    as it does for records in [-R sqrt(M), R sqrt(M)].
    """
    if release.bounded or release.method == "parameter_map":
        return None
    scaled = math.nextafter(float(release.R or 0) * math.sqrt(copies), math.inf)
    return dataclasses.replace(release, R=scaled).profile_of_one()


def components(release: ConjugateMechanism) -> int:
    """Number of components of the posterior mode."""
    return 1


def map_sensitivity(release: ConjugateMechanism) -> float:
    """Largest distance between the posterior modes of neighbours, rounded up.

    2 R tau^2 / sigma^2, below 2 R / n. (Zheng 2015, Corollary 7.3, has R / n.)
    """
    return _moved(release) * (1 + 2.0**-48)


def parameter_map(release: ConjugateMechanism) -> Profile:
    """Profile of the posterior mode itself, which promises nothing."""
    return of_a_function("posterior mode")


def parameter_draw(release: ConjugateMechanism) -> Profile:
    """Profile of one posterior draw."""
    if release.bounded:
        return _bounded(release, _posterior_variance(release), 1)
    return _normal(release, _posterior_variance(release))


def synthetic_map(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records around the posterior mode."""
    if release.bounded:
        return _bounded(release, _variance(release), release.synthetic_size)
    return _normal(release, _variance(release) / release.synthetic_size)


def synthetic_one(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records around one posterior draw."""
    if release.bounded:
        return parameter_draw(release)
    return _normal(
        release, _posterior_variance(release) + _variance(release) / release.synthetic_size
    )


def synthetic_many(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records, each around its own posterior draw."""
    variance = _posterior_variance(release) + _variance(release)
    if release.bounded:
        return _bounded(release, variance, release.synthetic_size)
    return _normal(release, variance / release.synthetic_size)


def _normal(release: ConjugateMechanism, variance: float) -> Profile:
    shift = _moved(release) / math.sqrt(variance)
    return Profile(
        lambda epsilon: gaussian_divergence(shift, epsilon),
        math.inf,
        why="The likelihood ratio of two normal laws is unbounded, so no pure epsilon holds.",
    )


def _bounded(release: ConjugateMechanism, variance: float, records: int) -> Profile:
    """Profile of independent normal draws of that variance, conditioned to [-R, R]."""
    mean, prior_sd = release.prior
    scale = math.sqrt(variance)
    r, shift = float(release.R or 0) / scale, _moved(release) / scale
    middle = _posterior_variance(release) * mean / prior_sd / prior_sd / scale
    low, high = middle - release.n * shift / 2, middle + release.n * shift / 2
    far = max(-low, high)
    if min(r, far) * (1 + max(0.0, far - r)) > _WIDEST:
        raise InvalidInput(
            f"R is {quoted(release.R)}, with sigma {quoted(release.sigma)} and a prior "
            f"of mean {quoted(mean)} and sd {quoted(prior_sd)}: the mean of what is released can "
            "be so many of its standard deviations from 0, or from [-R, R], that floats can't give "
            "the cost of conditioning it; take a smaller R, a prior nearer to the records, or "
            "bounded=False"
        )
    one = truncated_pure_epsilon(low, high, shift, r)

    def divergence(epsilon: float) -> float:
        if records > 1:
            return composed_divergence(one, records, epsilon)
        return worst_truncated_divergence(low, high, shift, r, epsilon)

    return Profile(divergence, records * one)


def _moved(release: ConjugateMechanism) -> float:
    """Sensitivity of the posterior mean to a replaced record."""
    return 2 * float(release.R or 0) * _posterior_variance(release) / _variance(release)


def _variance(release: ConjugateMechanism) -> float:
    return float(release.sigma or 0) ** 2


def _posterior_variance(release: ConjugateMechanism) -> float:
    return 1 / (float(release.prior[1]) ** -2 + release.n / _variance(release))


def _two_numbers(prior: Any) -> tuple[float, float]:
    try:
        first, second = (float(v) if isinstance(v, Real) else math.nan for v in prior)
    except (TypeError, ValueError):  # not a pair
        return math.nan, math.nan
    return first, second
