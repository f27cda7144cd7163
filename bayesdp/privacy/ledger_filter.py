"""What recorded spends cost together, and which may follow.

Why sums are enough when each release depends on the ones before
----------------------------------------------------------------
A ledger lets the curator choose each mechanism, and its epsilon_i and delta_i, after seeing
all earlier outputs, and refuses any that would bring the sum of the epsilon_i above E or of
the delta_i above Delta. *Claim*: all that ever leaves is (E, Delta)-DP (basic composition as
a privacy filter: Rogers, Roth, Ullman and Vadhan 2016, section 4; Whitehouse et al. 2023).

*Proof*, by induction on k, the most releases still to come, for any budget (e, d) left. With
k = 0 nothing is released. Else let M be the next mechanism, (e1, d1)-DP given the outputs so
far, with e1 <= e and d1 <= d, since it is refused otherwise; that refusal depends on public
numbers alone. Let Y be its output, D and D' neighbours, S a set of outcomes of Y and all that
follows, f(y) the probability of S under D given Y = y, and g(y) that under D'. Given y, what
follows has at most k - 1 releases and (e - e1, d - d1) left, so by induction
f <= h + d - d1 with h = min(1, exp(e - e1) g), as f <= 1. Now 0 <= h <= 1, and the promise
of M, integrated over the level sets of h, is E_D h(Y) <= exp(e1) E_D' h(Y) + d1. Together,

    P_D(S) = E_D f(Y) <= exp(e1) E_D' h(Y) + d1 + d - d1 <= exp(e) P_D'(S) + d.

A ledger's history is finite, so some k covers it. Two processes that release at the same time
are in the order of their entries; neither mechanism saw the other's output.

Between relations
-----------------
A dataset has one relation. A promise (epsilon, delta) under add/remove-one is one of
(2 epsilon, (1 + exp(epsilon)) delta) under replace-one: if D' replaces a record of D, the data
C without that record are an add/remove neighbour of both, and

    P_D(S) <= exp(epsilon) P_C(S) + delta <= exp(epsilon) (exp(epsilon) P_D'(S) + delta) + delta.

Nothing follows in the other direction, nor for edges and nodes; such a spend is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from bayesdp.errors import InvalidInput
from bayesdp.privacy import composition
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger_chain import Budget, Entry
from bayesdp.privacy.neighbours import Neighbours


class Cost(NamedTuple):
    """An epsilon and a delta."""

    epsilon: float
    delta: float


def cost(events: Sequence[Entry]) -> Cost:
    """What recorded spends cost together: exact sums, rounded up once.

    The one place to put a tighter filter; the module's docstring proves this one.
    """
    return Cost(
        composition.total([event.epsilon for event in events]),
        composition.total([event.delta for event in events]),
    )


def left(budget: Budget, events: Sequence[Entry]) -> Cost:
    """The most that one more spend may cost."""
    return Cost(
        composition.left(budget.epsilon, [event.epsilon for event in events]),
        composition.left(budget.delta, [event.delta for event in events]),
    )


def charge(guarantee: Guarantee, neighbours: Neighbours) -> Cost:
    """What a promise costs under a dataset's relation, rounded up."""
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    if not (math.isfinite(epsilon) and delta < 1):
        raise InvalidInput(
            f"guarantee is {guarantee}, which promises nothing (so do seeded releases, made "
            "under bdp.reproducible); it can't be charged to any budget"
        )
    if guarantee.neighbours is neighbours:
        return Cost(epsilon, delta)
    if (guarantee.neighbours, neighbours) == (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE):
        growth = math.exp(epsilon) if epsilon < 700 else math.inf
        grown = min((1 + growth) * delta * (1 + 2.0**-48), 1.0) if delta else 0.0
        return Cost(2 * epsilon, math.nextafter(grown, 1.0) if delta else 0.0)
    raise InvalidInput(
        f"guarantee is under {guarantee.neighbours.value!r}, and the dataset's budget under "
        f"{neighbours.value!r}: one says nothing about the other (only add_remove converts, to "
        "replace_one). Ask the mechanism for its promise under the dataset's relation"
    )
