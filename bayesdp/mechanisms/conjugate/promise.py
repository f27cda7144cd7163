r"""Joint promise of copies of a conjugate release.

Copies are independent given the data. Exactly composed:

- copies of independent records (`synthetic_many`, `synthetic_map`) are as many more independent
  records: M copies of m have the law of one copy of M m;
- of a normal law whose mean moves by s standard deviations and whose variance the data leave
  alone, the sum of the log ratios of M copies is that of one whose mean moves by s sqrt(M), as it
  does for records in [-R sqrt(M), R sqrt(M)] (gaussian, where what is released isn't `bounded`).

Else M copies each keep the epsilon of delta / M (basic composition: delta adds up, and so does
epsilon), and M times the pure epsilon if there is one.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.privacy.guarantee import Guarantee, Strength
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile, repeated_profile

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

_SAFE = 1 + 2.0**-50  # covers the rounding of a product


def promise(
    release: ConjugateMechanism, copies: int, neighbours: Neighbours | None, delta: float
) -> Guarantee:
    """The guarantee of `copies` copies at `delta`; see `ConjugateMechanism.guarantee`."""
    copies, delta = check_at_least_one("copies", copies), check_delta(delta)
    check_replace_one(neighbours)
    profile = composed_profile(release, copies)
    if profile is not None:
        epsilon, limit = profile.epsilon(delta), profile.delta(math.inf)
    else:
        profile = release.profile_of_one()
        share = math.nextafter(delta / copies, 0.0)  # copies of it are at most delta
        epsilon = profile.epsilon(share) * copies * _SAFE
        limit = min(1.0, copies * profile.delta(math.inf) * _SAFE)
    assumptions: tuple[str, ...] = (PUBLIC_N,)
    drawn_in_floats = draws_floats(release)
    if drawn_in_floats:
        assumptions += (
            "The release is drawn exactly from its law; a floating-point sampler only nearly is.",
        )
    assumptions += (COMPUTATIONAL,)
    if release.family == "gaussian":
        assumptions += (f"Every record lies in [-{release.R}, {release.R}].",)
    if math.isinf(epsilon):
        delta = max(delta, limit)
        assumptions += (profile.why,)
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        neighbours=Neighbours.REPLACE_ONE,
        strength=Strength.CONDITIONAL if drawn_in_floats else Strength.PROVED,
        assumptions=assumptions,
        source=f"bayesdp.mechanisms.conjugate.{release.family}",
    )


def composed_profile(release: ConjugateMechanism, copies: int) -> Profile | None:
    """The tight profile of `copies` copies together; None where only a bound is known."""
    if copies == 1:
        return release.profile_of_one()
    if release.method in ("synthetic_map", "synthetic_many"):
        together = release.synthetic_size * copies
        return dataclasses.replace(release, size=together).profile_of_one()
    if release.R is not None and not release.bounded and release.method != "parameter_map":
        scaled = math.nextafter(release.R * math.sqrt(copies), math.inf)
        return dataclasses.replace(release, R=scaled).profile_of_one()
    return None


def profile_of_copies(release: ConjugateMechanism, copies: int) -> Profile:
    """The profile of `copies` copies: tight where that is known, else by basic composition."""
    together = composed_profile(release, copies)
    return repeated_profile(release.profile_of_one(), copies) if together is None else together


def draws_floats(release: ConjugateMechanism) -> bool:
    """Return True if the sampler works in floating point; counts are drawn in integers."""
    if release.method == "parameter_map":
        return False
    return release.family == "gaussian" or release.method == "parameter_draw"


def check_replace_one(neighbours: Neighbours | None) -> None:
    """Raise unless `neighbours` is replace-one, or None for it."""
    if neighbours == Neighbours.ADD_REMOVE:
        raise InvalidInput(
            "neighbours is 'add_remove', but n is public, so a record added or removed shows; a "
            "conjugate release promises under 'replace_one' alone"
        )
    if neighbours not in (None, Neighbours.REPLACE_ONE):
        raise InvalidInput(
            f"neighbours is {quoted(getattr(neighbours, 'value', neighbours))}; a conjugate "
            "release of n records has 'replace_one'"
        )
