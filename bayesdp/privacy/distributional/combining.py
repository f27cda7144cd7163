"""Combine distributional guarantees: mixtures of laws, fewer known records, several releases."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from bayesdp.errors import InvalidInput
from bayesdp.privacy.accounting import least_sure, merged
from bayesdp.privacy.distributional.guarantee import (
    DistributionalGuarantee,
    LawClass,
    check_coupled,
    check_known_records,
)

_UP = 1 + 2.0**-46  # above the rounding of a dozen operations

SEEN = "the first release"
SIMULATED = "what the second release's simulator says"


def convex_hull(guarantee: DistributionalGuarantee) -> DistributionalGuarantee:
    """Extend a guarantee to all mixtures of laws of its class (Groce 2014, Theorem 5.4).

    An adversary, or the world, may be unsure which law of the class holds, in any proportions.

    *Proof*. The simulator is the same for all laws. In the mixture with weights w_k, given v and z,
    Pr[F in T, v, z] is the sum of w_k Pr_k[F in T, v, z], each at most exp(epsilon) times the
    simulator's plus delta Pr_k[v, z]; divide by Pr[v, z]. Likewise the reverse.

    Parameters
    ----------
    guarantee : DistributionalGuarantee
        Its definition is coupled-worlds or distributional.

    Raises
    ------
    InvalidInput
        If its definition is another, for which this is false: releases that say nothing about a
        record under either of two laws may show which law holds, and a record's value may depend
        on that.
    """
    check_coupled(guarantee, "convex_hull")
    return dataclasses.replace(
        guarantee,
        class_in_words=f"{guarantee.class_in_words}; and all mixtures of such laws",
        class_as_data=LawClass(
            guarantee.class_as_data.name, (*guarantee.class_as_data.parameters, ("mixtures", True))
        ),
        source=f"Groce (2014), Theorem 5.4, of: {guarantee.source}",
    )


def less_known(guarantee: DistributionalGuarantee, known_records: int) -> DistributionalGuarantee:
    """Restrict a guarantee to an adversary who knows fewer records (Groce 2014, Theorem 5.5).

    What they know is then a function of what they might have known. This holds for every other
    function of it too, random or not, such as a noisy sum of the known records.

    *Proof*. Given v and Z' = z', the laws of F(X) and S(alt(X)) are mixtures of those given v and
    z, with the same weights Pr[Z = z | v, z'], as Z' depends on X through Z alone.

    Parameters
    ----------
    guarantee : DistributionalGuarantee
    known_records : int
        At most the guarantee's.

    Raises
    ------
    InvalidInput
        If `known_records` is more than the guarantee's, or the guarantee's definition is one for
        which this is false, such as noiseless privacy.
    """
    check_coupled(guarantee, "less_known")
    known = check_known_records(known_records)
    if known > guarantee.known_records:
        raise InvalidInput(
            f"known_records is {known}, but the promise is against an adversary who knows at most "
            f"{guarantee.known_records}; compute it for {known}"
        )
    return dataclasses.replace(guarantee, known_records=known)


def compose_guarantees(
    first: DistributionalGuarantee, second: DistributionalGuarantee, *, base: LawClass
) -> DistributionalGuarantee:
    """Return the joint guarantee of two releases about the same records (Groce 2014, Theorem 5.6).

    Such guarantees don't add up in general: two sums that differ by one record reveal it. They do
    where each promise holds against a better informed adversary: the second against one who has
    also seen the first release, and the first against one who has also seen the output of the
    second's simulator.

    Parameters
    ----------
    first : DistributionalGuarantee
        Its class is ``base.knowing(SIMULATED)``.
    second : DistributionalGuarantee
        Its class is ``base.knowing(SEEN)``.
    base : LawClass
        The class of laws that the joint guarantee is about.

    Returns
    -------
    DistributionalGuarantee
        Its epsilon is the sum, and its delta the larger of delta_1 exp(epsilon_2) + delta_2 and
        delta_1 + delta_2 exp(epsilon_1).

    Raises
    ------
    InvalidInput
        If a promise is about another class or of another kind, so that the conditions aren't met.

    Notes
    -----
    *Proof*. Given v and z, let T be a set of pairs (t_1, t_2) and T(t_1) that of their second
    elements. Given F = t_1 too, Pr[G in T(t_1)] <= exp(epsilon_2) Pr[S_G in T(t_1)] + delta_2; on
    average over t_1, Pr[(F, G) in T] <= exp(epsilon_2) Pr[(F, S_G) in T] + delta_2. Given S_G =
    t_2, likewise, the last probability is at most exp(epsilon_1) Pr[(S_F, S_G) in T] + delta_1. The
    reverse starts with F.
    """
    for name, each, wanted in (
        ("first", first, base.knowing(SIMULATED)),
        ("second", second, base.knowing(SEEN)),
    ):
        check_coupled(each, "compose_guarantees")
        if each.class_as_data != wanted:
            raise InvalidInput(
                f"{name} promises about {each.class_as_data}, but the two add up only if it "
                f"promises about {wanted}: against an adversary who has seen that too. Prove that, "
                "and give the promise that class, base.knowing(...); or release one of the two"
            )
    _check_alike(first, second)
    epsilon = first.epsilon + second.epsilon
    delta = max(
        first.delta * _exp(second.epsilon) + second.delta,
        first.delta + second.delta * _exp(first.epsilon),
    )
    return dataclasses.replace(
        first,
        epsilon=epsilon * _UP,
        delta=min(1.0, delta * _UP),
        class_in_words=f"{first.class_in_words}; {second.class_in_words}",
        class_as_data=base,
        known_records=min(first.known_records, second.known_records),
        strength=least_sure([first, second]),
        assumptions=merged([first, second]),
        source=f"Groce (2014), Theorem 5.6, of: {first.source}; {second.source}",
    )


def split_samples(
    first: DistributionalGuarantee,
    second: DistributionalGuarantee,
    *,
    first_rows: Iterable[int],
    second_rows: Iterable[int],
) -> DistributionalGuarantee:
    """Return the joint guarantee of releases from disjoint parts of the records (Theorem 6.8).

    The larger epsilon and the larger delta: a record is in one part, and the other part's release
    is independent of it and of its simulator.

    Parameters
    ----------
    first, second : DistributionalGuarantee
        Each about its part, with its own class of laws.
    first_rows, second_rows : iterable of int
        Positions of the parts' records, chosen without looking at the records.

    Returns
    -------
    DistributionalGuarantee
        About all products of a law of the first class and one of the second: the two parts, and
        what is known of them, are independent. By Theorem 5.4 also about mixtures of such products.

    Raises
    ------
    InvalidInput
        If the parts overlap or one is empty, or the promises are of different kinds.

    Notes
    -----
    *Proof*. Let record i be in the first part; the simulator releases the second part as it is, and
    S_1 of what is left of the first. Given v and z, both are independent of the second part. So for
    every value of the second release the first is within (epsilon_1, delta_1), and so is the
    mixture.
    """
    one, other = set(first_rows), set(second_rows)
    if not one or not other:
        raise InvalidInput("a part has no rows; give the positions of each part's records")
    if one & other:
        some = sorted(one & other)[:3]
        raise InvalidInput(
            f"first_rows and second_rows overlap in {len(one & other)} rows (as {some}); a record "
            "in both parts is released twice. Split the records into disjoint parts"
        )
    return split_promise([first, second], [len(one), len(other)])


def split_promise(
    promises: Sequence[DistributionalGuarantee], sizes: Sequence[int]
) -> DistributionalGuarantee:
    """Return the joint guarantee of releases from disjoint parts, by `split_samples`' proof.

    Parameters
    ----------
    promises : sequence of DistributionalGuarantee
        Each about its part.
    sizes : sequence of int
        Numbers of records of the parts.

    Raises
    ------
    InvalidInput
        If the promises are of different kinds.
    """
    for each in promises:
        check_coupled(each, "split_samples")
        _check_alike(promises[0], each)
    classes = {
        f"part_{k}": (each.class_as_data.name, each.class_as_data.parameters)
        for k, each in enumerate(promises, 1)
    }
    *but_last, last = [each.class_in_words for each in promises]
    return dataclasses.replace(
        promises[0],
        epsilon=max(each.epsilon for each in promises),
        delta=max(each.delta for each in promises),
        class_in_words=(
            f"{len(sizes)} independent parts, of {', '.join(map(str, sizes[:-1]))} and {sizes[-1]} "
            f"records: {'; '.join(but_last)}; and {last}"
        ),
        class_as_data=LawClass.of("split_samples", **classes),
        known_records=min(each.known_records for each in promises),
        strength=least_sure(promises),
        assumptions=merged(promises),
        source="Groce (2014), Theorem 6.8, of: "
        + "; ".join(dict.fromkeys(each.source for each in promises)),
    )


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def _check_alike(first: DistributionalGuarantee, second: DistributionalGuarantee) -> None:
    kinds = [(each.definition.value, each.level.value) for each in (first, second)]
    if kinds[0] != kinds[1]:
        raise InvalidInput(
            f"the promises are of different kinds, {kinds[0]} and {kinds[1]}; compute both of one"
        )
