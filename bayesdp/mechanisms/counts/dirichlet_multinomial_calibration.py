"""The weakest Dirichlet prior with which copies of a table keep a promise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.mechanisms.conjugate.calibration import calibrated
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.mechanisms.counts.dirichlet_multinomial_promise import LARGEST_PROFILE, collapsed
from bayesdp.mechanisms.counts.table_fields import check_prior, check_size, check_zeros
from bayesdp.privacy.guarantee import check_epsilon

if TYPE_CHECKING:
    from bayesdp.mechanisms.counts.dirichlet_multinomial import DirichletMultinomialMechanism

_SAFE = 1 + 2.0**-50


def calibrated_table(
    made: type[DirichletMultinomialMechanism],
    *,
    n: int | None,
    size: int,
    cells: int,
    epsilon: float,
    copies: int,
    delta: float,
    proportions: Any,
    **other: Any,
) -> DirichletMultinomialMechanism:
    """The mechanism with the weakest prior in those proportions; see its `calibrate`."""
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    copies, size = check_at_least_one("copies", copies), check_size(size)
    cells, share = check_at_least_one("cells", cells), epsilon / copies
    zeros = check_zeros(other.get("zeros", ()), cells)
    weights: Any = check_prior(1.0 if proportions is None else proportions, cells, zeros)
    possible = np.delete(np.broadcast_to(weights, cells), list(zeros))
    ratios = np.asarray(weights) / possible.min()
    # exp(-t) / (1 - exp(-t)): 1 / (exp(t) - 1), without overflow.
    least = size * max(math.exp(-share) / -math.expm1(-share), 1e-300)
    if delta and size <= LARGEST_PROFILE:
        least = _with_delta(n, size, share, delta / copies, possible / possible.min())
    while True:
        prior: Any = (least * ratios).tolist()
        mechanism = made(n, size, cells, prior, **other)
        if mechanism.guarantee(copies=copies, delta=delta).epsilon <= epsilon:
            return mechanism
        least *= _SAFE


def _with_delta(
    n: int | None, size: int, epsilon: float, delta: float, ratios: NDArray[np.float64]
) -> float:
    """Find the smallest least prior with which a copy keeps (epsilon, delta)."""

    def at(strength: float) -> ConjugateMechanism:
        return collapsed(n, size, strength * ratios)

    made = calibrated(at, least=1e-100, epsilon=epsilon, delta=delta)
    return min(made.prior)


def share_of_a_move(epsilon: float, copies: int, r: float) -> float:
    """Epsilon to calibrate each group to, where a record may move between two.

    A move costs, per copy, log(1 + t / r) + log(1 + t) with t = size / smallest prior and r the sum
    of the priors over the smallest: the removal from one group and the addition to another. It
    equals epsilon / copies at the positive root of
    t^2 / r + (1 + 1 / r) t = exp(epsilon / copies) - 1.
    """
    excess, linear = math.expm1(min(epsilon / copies, 600.0)), 1 + 1 / r
    t = 2 * excess / (linear + math.sqrt(linear * linear + 4 * excess / r))
    return copies * math.log1p(t)
