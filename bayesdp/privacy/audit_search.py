"""The exact epsilon of a law on a pair of neighbours, and a search for worse pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.privacy.audit_draws import log_ratios

Pair = tuple[Any, Any]
_PILOT = 1000  # draws that stand for the law where outputs can't be listed
_LARGEST_STEP = 12  # power of two


def exact_epsilon(log_p: NDArray[np.float64], log_q: NDArray[np.float64], delta: float) -> float:
    """Smallest epsilon >= 0 with sum of (p - exp(epsilon) q)+ <= delta.

    On the outputs sorted by falling ratio the sum over the first k is A_k - exp(epsilon) B_k,
    and the divergence is the largest of these; so epsilon = max over k of
    log((A_k - delta) / B_k).
    """
    possible = np.isfinite(log_p)
    log_p, log_q = log_p[possible], log_q[possible]
    if delta == 0:
        return max(0.0, float(np.max(log_p - log_q, initial=0.0)))
    order = np.argsort(log_q - log_p)
    a, b = np.cumsum(np.exp(log_p[order])), np.cumsum(np.exp(log_q[order]))
    over = a > delta
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.max(np.log(a[over] - delta) - np.log(b[over]), initial=0.0)))


def pair_epsilon(mechanism: Any, pair: Pair, delta: float, outputs: NDArray[Any]) -> float:
    """Smallest epsilon for which the law keeps delta on a pair, in both orders."""
    p, q = mechanism.logp(outputs, pair[0]), mechanism.logp(outputs, pair[1])
    return max(exact_epsilon(p, q, delta), exact_epsilon(q, p, delta))


def search_pair(mechanism: Any, pairs: Sequence[Pair], delta: float, proposals: int) -> Pair | None:
    """A pair with a larger epsilon than any of `pairs`, if the search finds one; else None.

    The search climbs: a proposal near the worst pair so far, or one time in four near one of
    `pairs`, is kept if it is no better than the worst. The proposals are the same in every run.

    Parameters
    ----------
    mechanism : Auditable
        One with a method ``nearby(pair, generator)``, which returns neighbours near a pair; or one
        whose statistics are whole numbers, arrays of them or dataclasses of them, and then both
        members of a pair are shifted by the same whole number. They stay neighbours where the
        relation is about their difference; those that the mechanism refuses are left out.
    pairs : sequence of pairs
        Neighbouring statistics to start from.
    delta : float
        The delta, in [0, 1), at which epsilon is compared.
    proposals : int
        How many pairs to evaluate.

    Raises
    ------
    InvalidInput
        If the mechanism has no `nearby` and its statistics are something else.
    """
    generator = np.random.default_rng(proposals)
    outputs = mechanism.outputs()
    nearby = getattr(mechanism, "nearby", None)
    if nearby is None:
        _check_movable(pairs[0][0])
        nearby = _moved

    def cost(pair: Pair) -> float:
        if outputs is not None:
            return pair_epsilon(mechanism, pair, delta, outputs)
        return max(_pilot_epsilon(mechanism, (a, b), delta) for a, b in (pair, pair[::-1]))

    costs = [cost(pair) for pair in pairs]
    declared = largest = max(costs)
    worst = pairs[costs.index(largest)]
    for _ in range(proposals):
        near = worst if generator.random() < 0.75 else pairs[int(generator.integers(len(pairs)))]
        try:
            proposed = nearby(near, generator)
            cost_here = cost(proposed)
        except InvalidInput:  # not a statistic of this mechanism
            continue
        if cost_here >= largest:
            worst, largest = proposed, cost_here
    return worst if largest > declared * (1 + 1e-9) + 1e-12 else None


def _pilot_epsilon(mechanism: Any, pair: Pair, delta: float) -> float:
    """Estimate a pair's exact epsilon from draws of its first member, with equal weights."""
    ratios = log_ratios(mechanism, np.asarray(mechanism.release(pair[0], _PILOT)), pair)
    log_p = np.full(ratios.size, -np.log(ratios.size))
    possible = ~np.isnan(ratios)
    return exact_epsilon(log_p[possible], (log_p - ratios)[possible], delta)


def _moved(pair: Pair, generator: np.random.Generator) -> Pair:
    """Add the same step to the same whole number of both members of a pair."""
    step = int(generator.choice([-1, 1])) * 2 ** int(generator.integers(_LARGEST_STEP))
    names = _whole_fields(pair[0])
    if names:
        name = str(generator.choice(names))
        one, other = (dataclasses.replace(s, **{name: getattr(s, name) + step}) for s in pair)
        return one, other
    members = [np.array(statistic) for statistic in pair]
    where = int(generator.integers(members[0].size))
    for member in members:
        member.flat[where] += step
    if isinstance(pair[0], Integral):
        return int(members[0]), int(members[1])
    return members[0], members[1]


def _whole_fields(statistic: Any) -> list[str]:
    """Names of a dataclass's fields that hold whole numbers."""
    if not dataclasses.is_dataclass(statistic):
        return []
    names = [field.name for field in dataclasses.fields(statistic)]
    return [name for name in names if np.asarray(getattr(statistic, name)).dtype.kind in "iu"]


def _check_movable(statistic: Any) -> None:
    if not _whole_fields(statistic) and np.asarray(statistic).dtype.kind not in "iu":
        raise InvalidInput(
            "search needs a mechanism with a method nearby(pair, generator), which returns "
            "neighbours near a pair, or statistics that are whole numbers; or give the pairs to try"
        )
