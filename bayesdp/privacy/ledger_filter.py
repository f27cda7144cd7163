"""Privacy filter of a ledger: the cost of recorded spends, and which may follow.

The rule
--------
A budget is (E, Delta), of which a part c of Delta, its `conversion_delta`, was set aside when
it was made. A release costs epsilon_i, delta_i and rho_i: its promise, and the smaller of
epsilon_i tanh(epsilon_i / 2) and the rho that it has of its own. It is refused unless with it

    sum of delta_i <= Delta - c    and    (sum of epsilon_i <= E  or  sum of rho_i <= rho*),

where rho* is the largest rho that is proved to imply (E, c)-DP
(`conversions.zcdp_from_epsilon_delta`). With c = 0 the sums of epsilon_i and delta_i decide alone.

*Claim*: all that ever leaves is (E, Delta)-DP, although the curator chooses each mechanism, and
its epsilon_i, delta_i and rho_i, after seeing all earlier outputs. It is basic composition
(Rogers, Roth, Ullman and Vadhan 2016, section 4) and concentrated composition (Feldman and
Zrnic 2021) as privacy filters, in one.

*Proof*. Fix neighbours D and D', laws P and Q of the whole history y under them, and a set S of
histories. Given the outputs before it, the i-th release is (epsilon_i, delta_i)-DP, so its laws
are those of a release that first has a *catastrophe* with probability delta_i under both, and
without one has laws p_i and q_i with |log(p_i / q_i)| <= epsilon_i (Kairouz, Oh and Viswanath
2015; Murtagh and Vadhan 2016). P and Q are then marginals of laws of histories with
catastrophes. The first catastrophe is at step i with probability at most E_P delta_i, so as no
path has a sum above Delta - c, there is any with probability at most Delta - c.

Split the histories into A, where the epsilon_i add up to at most E, and B, the others, where the
rho_i add up to at most rho*. Let K be the event of no catastrophe, and K' that of none at the
steps whose rho_i is epsilon_i tanh(epsilon_i / 2); where rho_i is the release's own, it holds for
its laws as they are, catastrophes included, and p_i and q_i now stand for these.

On A and K the density of y under D is at most exp(sum of epsilon_i) times that under D', so
P(S A K) <= exp(E) Q(S A K).

On B and K', let W be the product of the 1 - delta_i of the steps that K' is about, at most 1, and
L the sum of log(p_i / q_i); let R be the law with the p_i alone. For alpha > 1,

    P(S B K') - exp(E) Q(S B K') = E_R[W (1 - exp(E - L)); S B]
        <= E_R[max(0, 1 - exp(E - L)); B]
        <= k E_R[exp((alpha - 1) (L - E)); B],

k the constant of `conversions`. By the meaning of rho_i (and `conversions.pure_to_zcdp`),
exp((alpha - 1) (L - alpha sum of rho_i)) is a supermartingale under R that starts at 1,
whatever is chosen on the way, and on B the sum is at most rho*. So the last line is at most
k exp((alpha - 1) (alpha rho* - E)), which is c for the alpha that rho* was found with.

Together, as A and B are disjoint and neither more than K nor more than K' fails on either,

    P(S) <= P(S A K) + P(S B K') + P(not K) <= exp(E) Q(S) + c + Delta - c.

A history is finite, and its refusals depend on public numbers alone. Two processes that release
at the same time are in the order of their entries; neither mechanism saw the other's output.

*Why c is fixed.* Were c free, a curator could spend rho first, then the rest of Delta on the
histories where little was lost, and nothing on the others, whose cost would come on top: then no
path takes more than Delta, and yet the whole may.
For the same reason a release with a rho of its own is charged its delta_i too: whether its path
ends in A, where the proof needs it, isn't known yet. It costs little to promise such a release at
a very small delta, as its rho is the same there.

Relations other than the dataset's are converted by `relations.convert`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from bayesdp.errors import BudgetExceeded, InvalidInput, quoted
from bayesdp.privacy import accounting, composition, conversions
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger_chain import Budget, Entry
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.relations import convert

_NOTHING = 1e305  # an epsilon whose sums could be too large for a float
SOURCE = "bayesdp.privacy.ledger_filter: sums of epsilon, delta and rho, a filter"


class Cost(NamedTuple):
    """An epsilon and a delta."""

    epsilon: float
    delta: float


class Charge(NamedTuple):
    """Cost that is charged for one release, or for several together."""

    epsilon: float
    delta: float
    rho: float


def charge(guarantee: Guarantee, neighbours: Neighbours) -> Charge:
    """Return a promise's cost under a dataset's neighbouring relation, rounded up."""
    promise = convert(guarantee, neighbours)
    epsilon, delta = float(promise.epsilon), float(promise.delta)
    if not (epsilon < _NOTHING and guarantee.delta < 1):
        raise InvalidInput(
            f"guarantee is {guarantee}, which promises nothing (so do seeded releases, made "
            "under bdp.reproducible); it can't be charged to any budget"
        )
    own = math.inf if promise.rho is None else float(promise.rho)
    return Charge(epsilon, delta, min(own, conversions.pure_to_zcdp(epsilon)))


def cost(events: Sequence[Charge | Entry]) -> Charge:
    """Return the total cost of several spends: exact sums, each rounded up once."""
    return Charge(
        composition.total([event.epsilon for event in events]),
        composition.total([event.delta for event in events]),
        composition.total([event.rho for event in events]),
    )


def largest_rho(budget: Budget) -> float:
    """Largest rho that concentrated composition may spend; 0 where no delta is kept for it."""
    return _largest_rho(budget.epsilon, budget.conversion_delta)


def keeps(budget: Budget, events: Sequence[Charge | Entry]) -> bool:
    """Return True if these spends together are within the budget, by the module's rule."""
    spent = cost(events)
    concentrated = budget.conversion_delta > 0 and spent.rho <= largest_rho(budget)
    # Of every kind of cost a float is left if and only if the exact sum is within the budget.
    return _delta_left(budget, events) >= 0 and (spent.epsilon <= budget.epsilon or concentrated)


def left(budget: Budget, events: Sequence[Charge | Entry]) -> Cost:
    """The largest epsilon and the largest delta that one more release may cost.

    The release is assumed to promise no rho of its own; a smaller rho may admit a larger epsilon.
    """
    epsilon = composition.left(budget.epsilon, [event.epsilon for event in events])
    if budget.conversion_delta > 0:
        rho = composition.left(largest_rho(budget), [event.rho for event in events])
        epsilon = max(epsilon, conversions.zcdp_to_pure(max(rho, 0.0)))
    return Cost(epsilon, _delta_left(budget, events))


def refusal(name: str, budget: Budget, events: Sequence[Entry], entry: Entry) -> BudgetExceeded:
    """The error for a release that the budget doesn't keep."""
    rest = left(budget, events)
    kept = (
        f", beside the delta = {budget.conversion_delta} that is kept for concentrated composition"
        if budget.conversion_delta
        else ""
    )
    own = entry.guarantee
    elsewhere = (
        f" (what it promises under {own.neighbours.value}, epsilon = {own.epsilon}, is this much "
        f"for two of its steps; a synthesizer with neighbours = {quoted(budget.neighbours.value)} "
        "may cost less)"
        if own.neighbours is not budget.neighbours
        else ""
    )
    return BudgetExceeded(
        f"dataset {quoted(name)} has epsilon = {rest.epsilon} and delta = {rest.delta} left "
        f"({budget.neighbours.value}){kept}, and the release costs epsilon = {entry.epsilon} and "
        f"delta = {entry.delta}{elsewhere}; nothing was spent. Ask for no more than is left",
        *rest,
    )


def together(budget: Budget, entries: Sequence[Entry], delta: float | None) -> Guarantee:
    """Return the joint guarantee of recorded releases; see `DatasetLedger.spent`."""
    promises = [convert(entry.guarantee, budget.neighbours) for entry in entries]
    if promises and delta is not None:
        return accounting.compose(promises, delta=delta)
    sums = cost(entries)
    return Guarantee(
        epsilon=sums.epsilon,
        delta=min(sums.delta, 1.0),
        neighbours=budget.neighbours,
        strength=accounting.least_sure(promises),
        assumptions=accounting.merged(promises),
        source=SOURCE,
    )


def _delta_left(budget: Budget, events: Sequence[Charge | Entry]) -> float:
    return composition.left(
        budget.delta, [budget.conversion_delta, *(event.delta for event in events)]
    )


@lru_cache(maxsize=256)
def _largest_rho(epsilon: float, conversion_delta: float) -> float:
    return conversions.zcdp_from_epsilon_delta(epsilon, conversion_delta)
