"""The weakest gamma priors with which copies of counts by area keep a promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import check_at_least_one, check_delta, check_numbers
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.poisson_gamma_promise import UNBOUNDED
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.profile import smallest_satisfying

if TYPE_CHECKING:
    from bayesdp.mechanisms.counts.poisson_gamma import PoissonGammaMechanism

_LARGEST = 1e10


def calibrated_counts(
    made: type[PoissonGammaMechanism],
    *,
    epsilon: float,
    copies: int,
    delta: float,
    proportions: Any,
    **other: Any,
) -> PoissonGammaMechanism:
    """Find the mechanism with the weakest prior in those proportions; see its `calibrate`."""
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    share, free = epsilon / check_at_least_one("copies", copies), other["total"] is None
    if free and delta == 0:
        raise InvalidInput(f"delta is 0. {UNBOUNDED}")
    ratios = np.array(1.0)
    if proportions is not None:
        possible = np.asarray(other["expected"], dtype=np.float64) > 0
        shape = check_numbers("proportions", proportions)
        if shape.shape != possible.shape:
            raise InvalidInput(
                f"proportions has shape {shape.shape}; it must have a number for each of the "
                f"{possible.size} areas"
            )
        ratios = np.where(possible, shape / shape[possible].min(), 0.0)

    def at(least: float) -> PoissonGammaMechanism:
        return made(prior=(least * ratios).tolist(), **other)

    def cost(least: float) -> float:
        if free:
            return at(least).profile().delta(share)
        return at(least).guarantee().epsilon

    most = _LARGEST / float(ratios.max())
    if not cost(most) <= (delta / copies if free else share):
        raise InvalidInput(
            f"no prior up to {_LARGEST:.0e} events keeps epsilon = {epsilon} with delta = {delta}: "
            "ask for more of either"
        )
    target = delta / copies * (1 - 1e-9) if free else share
    least = smallest_satisfying(cost, target, start=10.0, least=1.0, largest=most)
    more = 2.0**-50
    while at(least).guarantee(copies=copies, delta=delta).epsilon > epsilon and least < most:
        least, more = min(least * (1 + more), most), 2 * more
    return at(least)
