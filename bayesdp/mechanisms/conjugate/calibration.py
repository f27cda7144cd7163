"""The weakest prior with which a conjugate release keeps a promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from bayesdp.checks import check_delta
from bayesdp.errors import InvalidInput
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.profile import smallest_satisfying

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

_STRONGEST = 1e50  # that is tried
_STRONG = 1e6  # a prior that shows what no prior can do


def calibrated(
    at: Callable[[float], ConjugateMechanism], *, least: float, epsilon: float, delta: float
) -> ConjugateMechanism:
    """Find the release of the smallest strength, `least` or more, that keeps (epsilon, delta).

    Parameters
    ----------
    at : callable
        The release whose prior has a strength; a larger one never costs more.
    least : float
        The smallest strength considered.
    epsilon, delta : float
        Positive; in [0, 1).

    Raises
    ------
    InvalidInput
        If no strength satisfies the promise, or an argument is out of its range.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    strong = at(_STRONG)
    profile = strong.profile()
    if profile.limit == 1 or (delta == 0 and math.isinf(profile.pure_epsilon)):
        raise InvalidInput(_impossible(strong, epsilon, delta))

    def cost(strength: float) -> float:
        if strength > _STRONGEST:
            raise InvalidInput(_impossible(strong, epsilon, delta))
        made = at(strength)
        return made.delta(epsilon) if delta else made.profile().pure_epsilon

    strength = smallest_satisfying(cost, delta or epsilon, start=max(1.0, 2 * least), least=least)
    more = 2.0**-52
    while (made := at(strength)).epsilon(delta) > epsilon:  # a root too, which rounds
        strength, more = strength * (1 + more), 2 * more
    return made


def _impossible(strong: ConjugateMechanism, epsilon: float, delta: float) -> str:
    profile = strong.profile()
    way_out = (
        "choose another method, such as 'parameter_draw' or 'synthetic_one'"
        if profile.limit == 1
        else "ask for a positive delta, such as 1e-6"
        if delta == 0
        else "ask for a larger epsilon or delta"
    )
    return (
        f"no prior gives {strong.family} {strong.method} epsilon = {epsilon} with delta = {delta}: "
        f"{profile.why or 'the prior would be too large for a float.'} Way out: {way_out}"
    )
