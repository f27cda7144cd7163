"""Exact arithmetic of privacy costs: sums, multiples and shares, rounded to the safe side."""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from bayesdp.checks import check_at_least_one


def total(costs: Sequence[float]) -> float:
    """The smallest float that is no less than the exact sum of the floats `costs`.

    `math.fsum` rounds the exact sum once. What it left off is itself a sum of floats, whose
    sign it gets right: every such sum is a multiple of the smallest float, so none
    underflows. If the sum was rounded down, the next float up is taken.
    """
    rounded = math.fsum(costs)
    if math.fsum([*costs, -rounded]) > 0:
        return math.nextafter(rounded, math.inf)
    return rounded


def repeated(cost: float, times: int) -> float:
    """The smallest float that is no less than the exact product times * cost."""
    product = times * cost
    if math.isfinite(product) and Fraction(product) < times * Fraction(cost):
        return math.nextafter(product, math.inf)
    return product


def shared(budget: float, times: int) -> float:
    """A share of about budget / times, such that `repeated` of it is at most `budget`."""
    share = budget / times
    while repeated(share, times) > budget:
        share = math.nextafter(share, 0)
    return share


def one_of(declared: Any, copies: Any) -> Any:
    """Scale a declaration down to one of `copies` independent outputs, at a share of the cost.

    The copies together keep the declared epsilon and delta by basic composition. A declaration by
    probabilities, without an epsilon, is returned as it is, and each copy then costs its own.
    """
    times = check_at_least_one("copies", copies)
    costs = {name: getattr(declared, name, None) for name in ("epsilon", "delta")}
    shares = {name: shared(cost, times) for name, cost in costs.items() if cost}
    return dataclasses.replace(declared, **shares) if shares and times > 1 else declared


def left(budget: float, costs: Sequence[float]) -> float:
    """The largest float that can still be spent, so that total([*costs, left]) <= budget."""
    return 0.0 - total([*costs, -budget])


def parallel(epsilons: Sequence[float]) -> float:
    """Epsilon of releases from disjoint parts of the data, where a record stays in its part.

    A replacement then touches one part, and the others' laws are the same for both
    neighbours: the largest epsilon (McSherry 2009, Theorem 4).
    """
    return max(epsilons)


def one_record_moves(
    within: Sequence[float], addition: Sequence[float], removal: Sequence[float]
) -> float:
    """Epsilon of releases from disjoint parts of the data, where a record may change part.

    Two neighbours differ either inside part i, at a cost of within[i]; or a record leaves
    part i and joins part j. The parts are released independently, so in the second case
    the worst log ratios add up: removal[i] + addition[j] for the worst ordered pair i != j.
    If each is the supremum over data sets of any size, so is their sum, since the two
    parts' data are chosen freely.

    Parameters
    ----------
    within, addition, removal : sequences of float, one element per part
        Largest log ratio of an output's probability after a change to that before it, where a
        record of the part takes another value; joins the part; leaves it.
    """
    cost = max(within)
    if len(within) == 1:
        return cost
    *_, second, first = sorted(range(len(addition)), key=addition.__getitem__)
    for i, out in enumerate(removal):
        into = addition[second if i == first else first]  # the dearest part but i itself
        cost = max(cost, math.nextafter(out + into, math.inf))
    return cost
