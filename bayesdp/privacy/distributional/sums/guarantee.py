"""Guarantee of an exact sum: the smallest epsilon of its privacy profile at a delta."""

from __future__ import annotations

import math

from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import (
    Definition,
    DistributionalGuarantee,
    Level,
    check_known_records,
)
from bayesdp.privacy.distributional.record_laws import RecordLaw
from bayesdp.privacy.distributional.sums.profile import SumProfile
from bayesdp.privacy.guarantee import Strength, check_epsilon

SOURCE = "bayesdp.privacy.distributional.sums.profile; cf. Groce (2014), Theorems 6.6 and 6.7"
DENSITY = (
    "Records have a density, as declared: they are recorded with so many digits that rounding them "
    "doesn't matter to a sum of the unknown ones."
)
CHOICE = "Which records the adversary knows doesn't depend on the values of the others."


def sum_guarantee(
    n: int,
    law: RecordLaw,
    *,
    known_records: int = 0,
    delta: float | None = None,
    epsilon: float | None = None,
    definition: Definition = Definition.DISTRIBUTIONAL,
) -> DistributionalGuarantee:
    """Return the promise of an exact sum of n records.

    Parameters
    ----------
    n : int
        Number of records; public.
    law : RecordLaw
        The law of each record: `Uniform`, `TopCodedNormal` or `BoundedLaw`.
    known_records : int
        How many the adversary may know, below n.
    delta, epsilon : float
        Give one of them: the smallest value of the other is found.
    definition : Definition
        DISTRIBUTIONAL (a record is in the sum or not) or NOISELESS (a record has one value or
        another).

    Returns
    -------
    DistributionalGuarantee
        Conditional on the assumptions that it lists.

    Raises
    ------
    InvalidInput
        If neither or both of delta and epsilon are given, one is out of range, or no epsilon is
        enough.
    """
    if (delta is None) == (epsilon is None):
        raise InvalidInput(
            f"delta is {quoted(delta)} and epsilon is {quoted(epsilon)}; give one of them"
        )
    profile = SumProfile(n, law, known_records, definition)
    if delta is not None:
        epsilon = profile.epsilon(delta)
        if math.isinf(epsilon):
            raise InvalidInput(
                f"delta is {delta}, and no epsilon is enough with {profile.others} unknown records "
                "beside one; allow a larger delta, use more records, or add noise"
            )
    else:
        epsilon = check_epsilon(epsilon)  # type: ignore[arg-type]
        delta = profile.delta(epsilon)
    known = check_known_records(known_records, n)
    mixtures = ", and mixtures of such" if profile.definition is Definition.DISTRIBUTIONAL else ""
    return DistributionalGuarantee(
        epsilon,
        delta,
        class_in_words=f"{n} {law.words}{mixtures}; up to {known} of them known",
        class_as_data=law.as_class(profile.cells),
        known_records=known,
        definition=profile.definition,
        level=Level.RECORD,
        strength=Strength.CONDITIONAL,
        assumptions=(DENSITY, CHOICE),
        source=SOURCE,
    )
