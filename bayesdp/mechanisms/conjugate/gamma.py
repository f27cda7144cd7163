r"""Privacy profiles of conjugate releases of positive records in [0, R], under a gamma prior.

Records are Gamma(k, theta), their shape k known (1 is the exponential law), theta ~ Gamma(a, b).
The posterior is Gamma(A, B), with A = a + n k and B = b + S, S the sum of the records. Replacing a
record moves S by R at most, so that the B of neighbours have a ratio of

    r = 1 + R / b

at most: where all other records are 0, and one moves from 0 to R. What is released depends on B as
on a scale alone, and `bayesdp.mechanisms.conjugate.rate_pairs` proves that it then costs the more
the larger r is, and has its divergence, in both directions:

- `parameter_draw`: Gamma(A, B);
- `synthetic_map` (m records at the mode (A - 1) / B; their sum is sufficient): a sum of Gamma(m k),
  over B and times a constant;
- `synthetic_one` (m records from one draw; their sum is sufficient): beta prime, M = m k;
- `synthetic_many` (m independent records, each from its own draw): m beta primes, M = k.

Copies of a draw are as many draws, whose sum is sufficient and Gamma(copies A, B); those of
`synthetic_one` are independent beta primes.

Beta primes have a bounded likelihood ratio, and so a pure epsilon: max(A, m k) log(1 + R / b) where
there is one draw, and m max(A, k) log(1 + R / b) where each record has its own. It is that of sums
far beyond all that is likely; a delta of 1e-6 costs a small part of it. All of it rests on b: where
the records' sum is 0, nothing else stands between neighbours, however many the records are.

Calibration takes the prior of c records at the middle of the bounds, a = c k and b = c R / 2. That
a larger c never costs more is tested, not proved; the promise of what it finds is certain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayesdp.checks import as_float
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.rate_pairs import (
    beta_prime_profile,
    gamma_profile,
    repeated_profile,
)
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.mechanisms.families.gamma import check_shape
from bayesdp.privacy.profile import Profile, of_a_function

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

PARAMETERS = ("R", "shape")
WHOLE = False
_FURTHEST = 1e100  # of the numbers given: their products stay floats
_SAFE = 1 + 2.0**-48


def check(release: ConjugateMechanism) -> dict[str, Any]:
    """Validate the release's parameters."""
    prior = check_prior(release.prior, law="gamma")
    R = as_float(release.R)
    for name, value in (("R", R), *(("prior", each) for each in prior)):
        if not 1 / _FURTHEST <= value <= _FURTHEST:
            raise InvalidInput(
                f"{name} is {quoted(getattr(release, name))}; it must be from {1 / _FURTHEST} to "
                f"{_FURTHEST}: records lie in [0, R], and the prior of their rate is a gamma law "
                "of that shape and rate, for example (2, 100)"
            )
    shape = check_shape(1.0 if release.shape is None else release.shape)
    if release.method.endswith("_map") and not prior[0] + release.n * shape > 1:
        raise InvalidInput(
            f"prior is {quoted(release.prior)}, with which the posterior mode of the rate of "
            f"n = {release.n} records of shape {shape} is 0, and no records are of that rate; take "
            "a larger first number, or method 'parameter_draw' or 'synthetic_one'"
        )
    return {"prior": prior, "R": R, "shape": shape}


def prior_of_strength(strength: float, parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Make the prior that is worth `strength` records at the middle of the bounds."""
    shape, R = parameters.get("shape"), as_float(parameters.get("R"))
    k = check_shape(1.0 if shape is None else shape)
    return strength * k, strength * R / 2


def least_strength(method: str, parameters: Mapping[str, Any]) -> float:
    """The weakest prior that calibration considers: next to none, or enough for a mode above 0."""
    shape = parameters.get("shape")
    return 1 / check_shape(1.0 if shape is None else shape) if method.endswith("_map") else 1e-60


def records_are(release: ConjugateMechanism) -> tuple[str, ...]:
    """State what the promise assumes of the records."""
    return (f"Every record lies in [0, {release.R}].",)


def components(release: ConjugateMechanism) -> int:
    """Number of components of the posterior mode."""
    return 1


def map_sensitivity(release: ConjugateMechanism) -> float:
    """Largest distance between the posterior modes of neighbours, rounded up.

    (A - 1) (1 / b - 1 / (b + R)).
    """
    (_, b), R = release.prior, float(release.R or 0)
    return float((posterior_shape(release) - 1) / b * (R / (b + R)) * _SAFE)


def largest_mode(release: ConjugateMechanism) -> float:
    """Largest posterior mode, where all records are 0."""
    return (posterior_shape(release) - 1) / float(release.prior[1])


def mode_bounds(release: ConjugateMechanism) -> tuple[float, float]:
    """Give the ends that a noisy mode is moved to: those of the mode over all data."""
    most = largest_mode(release)
    return most / (1 + release.n * _change(release)), most


def together(release: ConjugateMechanism, copies: int) -> Profile | None:
    """The profile of several copies, where it is another than that of as many more records."""
    if release.method == "parameter_draw":
        return gamma_profile(posterior_shape(release) * copies, _change(release))
    if release.method == "synthetic_one":
        return repeated_profile(*_of_one_draw(release), copies)
    return None


def parameter_map(release: ConjugateMechanism) -> Profile:
    """Profile of the posterior mode itself, which promises nothing."""
    return of_a_function("posterior mode")


def parameter_draw(release: ConjugateMechanism) -> Profile:
    """Profile of one posterior draw of the rate."""
    return gamma_profile(posterior_shape(release), _change(release))


def synthetic_map(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records at the posterior mode."""
    return gamma_profile(release.synthetic_size * _shape(release), _change(release))


def synthetic_one(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records from one posterior draw."""
    return beta_prime_profile(*_of_one_draw(release))


def synthetic_many(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records, each from its own posterior draw."""
    of_one = _shape(release), posterior_shape(release), _change(release)
    return repeated_profile(*of_one, release.synthetic_size)


def _of_one_draw(release: ConjugateMechanism) -> tuple[float, float, float]:
    size = release.synthetic_size * _shape(release)
    return size, posterior_shape(release), _change(release)


def _shape(release: ConjugateMechanism) -> float:
    return float(release.shape or 0)


def posterior_shape(release: ConjugateMechanism) -> float:
    """Shape A of the posterior of the rate."""
    return float(release.prior[0]) + release.n * _shape(release)


def _change(release: ConjugateMechanism) -> float:
    """Return r - 1, rounded up."""
    return math.nextafter(float(release.R or 0) / release.prior[1], math.inf)
