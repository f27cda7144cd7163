"""Composition: the joint guarantee of several releases about the same records.

`compose` takes the smallest of three bounds. Each also holds where a mechanism is chosen given
the outputs of those before it, as long as the promises themselves were fixed beforehand; where
the promises too are chosen adaptively, a `Ledger` keeps to a budget.

* Basic composition: the epsilons and the deltas add (Dwork et al. 2006, Theorem 1).
* Concentrated composition: a part satisfies rho-zCDP by its own `rho`; or, being
  (epsilon, delta)-DP, by `conversions.pure_to_zcdp` except on an event of probability delta
  (Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan 2016). The rhos add, and the sum is
  converted at the delta that those events leave.
* Optimal composition through privacy loss distributions (`loss_distribution`), where a promise
  stands for the worst release that keeps it, and a mechanism for itself.

Anything computed from releases alone, without the records, keeps their guarantee unchanged:
post-processing costs nothing, and needs no function here.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from bayesdp.checks import check_at_least, check_delta
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.privacy import composition, conversions
from bayesdp.privacy.distributional.guarantee import (
    DistributionalGuarantee,
    refuse_distributional,
)
from bayesdp.privacy.guarantee import Guarantee, Strength
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile, repeated_profile
from bayesdp.privacy.relations import convert

if TYPE_CHECKING:
    from bayesdp.privacy.loss_distribution import LossDistribution

STRENGTHS = (Strength.PROVED, Strength.CONDITIONAL, Strength.AS_PUBLISHED)
"""From the surest to the least sure."""
_ASKED = 64
_MOST = 10**12
"""Releases whose losses are convolved: the grid of more, each small, would fill all memory."""


class Accountable(Protocol):
    """Protocol of a mechanism that can be composed, by its guarantee or its loss distribution."""

    def guarantee(self, *, delta: float = ...) -> Guarantee:
        """The mechanism's guarantee at delta."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A promise, or a mechanism with its promise, and how many times it is made."""

    promise: Guarantee
    count: int
    mechanism: Accountable | None

    @property
    def rho(self) -> tuple[float, float]:
        """The part's rho, and the probability of the event outside which rho-zCDP holds."""
        known = math.inf if self.promise.rho is None else self.promise.rho
        if self.promise.delta == 0:
            return min(known, conversions.pure_to_zcdp(self.promise.epsilon)), 0.0
        if math.isfinite(known):
            return known, 0.0
        return conversions.pure_to_zcdp(self.promise.epsilon), self.promise.delta


def compose(parts: Sequence[Any], *, delta: float = 0.0) -> Guarantee:
    """Return the joint guarantee of several releases about the same records.

    Parameters
    ----------
    parts : sequence
        Guarantees, or mechanisms; or pairs (part, count) of one that is released `count` times.
    delta : float
        0 for the exact sums of the epsilons and of the deltas. Otherwise the total delta, in
        (0, 1), at which the smallest proved epsilon is wanted.

    Returns
    -------
    Guarantee
        Under the parts' relation, or under replace-one where some parts are under add/remove-one
        and others under replace-one. Its strength is the weakest of its parts', and its source
        says which bound was the smallest.

    Raises
    ------
    InvalidInput
        If there is no part, one is of another kind, the relations don't convert, or no epsilon
        is enough at this delta.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=0.1, sensitivity=1)
    >>> print(bdp.compose([(noise, 100)]))
    epsilon = 10 (add_remove, proved)
    >>> round(bdp.compose([(noise, 100)], delta=1e-6).epsilon, 2)
    4.77
    """
    delta = check_delta(delta)
    if not isinstance(parts, Iterable) or isinstance(parts, Mapping):
        raise InvalidInput(
            f"parts is {quoted(parts)}; give a list of guarantees or mechanisms, or of pairs "
            "(part, count)"
        )
    pairs = [_pair(part) for part in parts]
    if not pairs:
        raise InvalidInput("parts is empty; give at least one guarantee or mechanism")
    share = _share(pairs, delta)
    promises = [
        part if isinstance(part, Guarantee) else part.guarantee(delta=share) for part, _ in pairs
    ]
    for promise in promises:
        refuse_distributional(promise, "bdp.compose")
    relation = _relation(promises)
    resolved = [
        _Part(_under(relation, part, promise, share), count, _mechanism(part, promise, relation))
        for promise, (part, count) in zip(promises, pairs, strict=True)
    ]
    rho, uncovered = _concentrated(resolved)
    epsilon, total_delta, source = _sums(resolved)
    if delta > 0:
        epsilon, source = _smallest(resolved, delta, rho, uncovered)
        total_delta = delta
    return Guarantee(
        epsilon=epsilon,
        delta=total_delta,
        neighbours=relation,
        strength=least_sure(promises),
        assumptions=merged(promises),
        source=source,
        rho=rho if uncovered == 0 and math.isfinite(rho) else None,
    )


def composed_profile(mechanism: Any, count: int, pure_epsilon: float) -> Profile:
    """Bound the profile of `count` independent outputs, whose laws a mechanism's pair dominates.

    Its epsilon is that of `compose`, and its delta what optimal composition has, or basic
    composition where that is less.

    Parameters
    ----------
    mechanism : Mechanism
    count : int
    pure_epsilon : float
        Of all together.
    """
    from bayesdp.privacy import loss_distribution

    one: Profile = mechanism.profile()
    basic = repeated_profile(one, count)

    @cache
    def laws() -> Sequence[LossDistribution]:
        return _losses(mechanism)

    def divergence(epsilon: float) -> float:
        found = [loss_distribution.composed_delta([(law, count)], epsilon) for law in laws()]
        return min(max(found), basic.divergence(epsilon))

    def inverse(delta: float) -> float:
        return compose([(mechanism, count)], delta=delta).epsilon

    return Profile(divergence, pure_epsilon, basic.limit, one.why, inverse)


def least_sure(promises: Iterable[Guarantee | DistributionalGuarantee]) -> Strength:
    """The weakest strength among several guarantees; PROVED if there are none."""
    strengths = (promise.strength for promise in promises)
    return max(strengths, key=STRENGTHS.index, default=Strength.PROVED)


def merged(promises: Iterable[Guarantee | DistributionalGuarantee]) -> tuple[str, ...]:
    """All assumptions of several guarantees, each once, in the order of their first appearance."""
    return tuple(dict.fromkeys(each for promise in promises for each in promise.assumptions))


def _pair(part: Any) -> tuple[Any, int]:
    count: Any = 1
    if isinstance(part, tuple) and len(part) == 2:
        part, count = part
    refuse_distributional(part, "bdp.compose")
    if not (isinstance(part, Guarantee) or _is_accountable(part)):
        raise InvalidInput(
            f"part is {kind_of(part)}; it must be a Guarantee (a release's is release.guarantee, a "
            "synthesizer's synthesizer.guarantee(n)), a mechanism with guarantee(delta=...), or a "
            "pair (part, count)"
        )
    return part, check_at_least("count", count, 1, most=math.inf)


def _is_accountable(part: Any) -> bool:
    """True if a part has a guarantee at a delta; a class, a release or a synthesizer has none."""
    if isinstance(part, type) or not callable(asked := getattr(part, "guarantee", None)):
        return False
    takes = inspect.signature(asked).parameters.values()
    return any(each.name == "delta" or each.kind is each.VAR_KEYWORD for each in takes)


def _share(pairs: Sequence[tuple[Any, int]], delta: float) -> float:
    """Each mechanism's share of the delta that the fixed guarantees leave; 0 if nothing is left."""
    many = sum(count for part, count in pairs if not isinstance(part, Guarantee))
    taken = [d for p, count in pairs if isinstance(p, Guarantee) for d in _times(p.delta, count)]
    return max(0.0, composition.left(delta, taken)) / many * (1 - 2.0**-50) if many else 0.0


def _relation(promises: Sequence[Guarantee]) -> Neighbours:
    relations = {promise.neighbours for promise in promises}
    if len(relations) == 1:
        return relations.pop()
    if relations == {Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE}:
        return Neighbours.REPLACE_ONE
    raise InvalidInput(
        f"parts are under the relations {sorted(each.value for each in relations)}, and one says "
        "nothing about the other (only add_remove converts, to replace_one); compose those of "
        "one relation"
    )


def _under(relation: Neighbours, part: Any, promise: Guarantee, share: float) -> Guarantee:
    """Convert a guarantee to another relation; a mechanism's to a delta of at most its share.

    Conversion multiplies a delta by 1 + exp(epsilon), so a mechanism is asked for a delta smaller
    by that factor, or for delta = 0 if it has a finite epsilon there.
    """
    converted = convert(promise, relation)
    if isinstance(part, Guarantee) or promise.neighbours is relation or converted.delta <= share:
        return converted
    pure = convert(part.guarantee(delta=0.0), relation)
    if math.isfinite(pure.epsilon):
        return pure
    for _ in range(_ASKED):  # a promise may have a delta of its own, whatever is asked for
        if converted.delta <= share or math.isinf(promise.epsilon):
            break
        promise = part.guarantee(delta=share / 2 / (1 + math.exp(min(promise.epsilon, 700.0))))
        converted = convert(promise, relation)
    return converted


def _mechanism(part: Any, promise: Guarantee, relation: Neighbours) -> Accountable | None:
    """The part's mechanism, if it has a loss distribution about the relation of the whole."""
    known = hasattr(part, "pld") or hasattr(part, "profile")
    return part if known and promise.neighbours is relation else None


def _losses(mechanism: Any) -> tuple[LossDistribution, LossDistribution]:
    """The laws of a mechanism's privacy loss, in both directions."""
    from bayesdp.privacy import loss_distribution

    if hasattr(mechanism, "pld"):
        return loss_distribution.of_pld(mechanism.pld())
    profile: Profile = mechanism.profile()
    if profile.losses is not None:
        return (law := profile.losses()), law
    return loss_distribution.of_pld(profile.pld())


def _times(cost: float, count: int) -> list[float]:
    """Floats whose exact sum is cost times count: one for each binary digit of count."""
    return [math.ldexp(cost, bit) for bit in range(count.bit_length()) if count >> bit & 1]


def _total(costs: Iterable[tuple[float, int]]) -> float:
    """The sum of cost times count, rounded up; inf where it is too large for a float."""
    try:
        each = [term for cost, count in costs for term in _times(cost, count)]
        return math.inf if math.inf in each else composition.total(each)
    except OverflowError:
        return math.inf


def _sums(parts: Sequence[_Part]) -> tuple[float, float, str]:
    epsilon = _total((part.promise.epsilon, part.count) for part in parts)
    delta = min(1.0, _total((part.promise.delta, part.count) for part in parts))
    return epsilon, delta, "basic composition: exact sums (bayesdp.privacy.accounting)"


def _concentrated(parts: Sequence[_Part]) -> tuple[float, float]:
    """Sum of the parts' rhos, and the probability of the event outside which it holds."""
    each = [(*part.rho, part.count) for part in parts]
    return _total((rho, n) for rho, _, n in each), min(1.0, _total((d, n) for _, d, n in each))


def _smallest(
    parts: Sequence[_Part], delta: float, rho: float, uncovered: float
) -> tuple[float, str]:
    """The smallest epsilon at a total delta > 0 of all composition bounds, and the bound's name."""
    epsilon, sum_of_deltas, source = _sums(parts)
    rest = composition.left(delta, [uncovered])
    bounds = [
        (epsilon if sum_of_deltas <= delta else math.inf, source),
        (
            conversions.zcdp_to_epsilon(rho, rest) if rest > 0 else math.inf,
            "concentrated composition: the sum of rho (bayesdp.privacy.accounting)",
        ),
    ]
    if min(bounds)[0] > 0:
        bounds.append((_optimal(parts, delta), "optimal composition through privacy loss "
                       "distributions (bayesdp.privacy.loss_distribution)"))  # fmt: skip
    best = min(bounds, key=lambda bound: bound[0])
    if math.isinf(best[0]):
        raise InvalidInput(
            f"delta is {delta}, with which no epsilon is enough: the parts' own deltas add up to "
            f"{sum_of_deltas}; ask for a larger delta, or compose parts that promise more"
        )
    return best


def _optimal(parts: Sequence[_Part], delta: float) -> float:
    from bayesdp.privacy import loss_distribution

    if sum(part.count for part in parts) > _MOST:
        return math.inf
    one: dict[tuple[float, float], int] = {}
    laws: list[tuple[tuple[LossDistribution, LossDistribution], int]] = []
    for part in parts:
        if part.mechanism is not None:
            laws.append((_losses(part.mechanism), part.count))
        elif math.isinf(part.promise.epsilon) or part.promise.delta == 1:
            return math.inf
        else:
            key = (float(part.promise.epsilon), float(part.promise.delta))
            one[key] = one.get(key, 0) + part.count
    laws.sort(key=lambda law: (law[0][0].losses.size, law[1], *law[0][0].losses[:2]))
    worst = 0.0
    for direction in (0, 1) if laws else (0,):
        each = [(loss_distribution.of_promise(*key), one[key]) for key in sorted(one)]
        each += [(both[direction], count) for both, count in laws]
        worst = max(worst, loss_distribution.composed_epsilon(each, delta))
    return worst
