"""The privacy promise of a release, and its meaning for an attacker's odds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bayesdp.mechanisms.base import AnyGuarantee
from bayesdp.release import Release


@dataclass(frozen=True, slots=True)
class Promise:
    """A guarantee and what it means for an attacker's odds.

    `odds` is exp(epsilon), the largest factor by which odds can grow; `belief` is the largest
    probability that one of a half can become, exp(epsilon) / (1 + exp(epsilon)). Both hold for
    delta = 0.
    """

    guarantee: AnyGuarantee
    odds: float
    belief: float


def promise_of(release: Release) -> Promise | None:
    """Return a release's promise; None for one from a seeded generator."""
    if release.reproducible:
        return None
    epsilon = release.guarantee.epsilon
    odds = math.exp(epsilon) if epsilon < 700 else math.inf
    return Promise(release.guarantee, odds, 1 / (1 + math.exp(-epsilon)))
