"""Closed formulas for the composition of equal promises, for comparison and teaching.

`bdp.compose` is never worse than either: for equal promises it computes the second.
"""

from __future__ import annotations

import math

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.profile import round_up, smallest_satisfying


def dwork_rothblum_vadhan(
    epsilon: float, delta: float, count: int, slack: float
) -> tuple[float, float]:
    """Advanced composition (Dwork, Rothblum and Vadhan 2010, Theorem III.3).

    `count` releases, each (epsilon, delta)-DP, are (epsilon', count delta + slack)-DP with

        epsilon' = epsilon sqrt(2 count log(1/slack)) + count epsilon (exp(epsilon) - 1).

    Parameters
    ----------
    epsilon : float
        Positive.
    delta : float
        In [0, 1).
    count : int
        At least 1.
    slack : float
        In (0, 1): the delta that the concentration of the loss costs.

    Returns
    -------
    tuple of float
        Epsilon and delta of all the releases together, rounded up.
    """
    epsilon, delta, count = (
        check_epsilon(epsilon),
        check_delta(delta),
        check_at_least_one("count", count),
    )
    log_slack = math.log(check_epsilon(check_delta(slack), "slack"))
    spread = epsilon * math.sqrt(-2 * count * log_slack)
    drift = count * epsilon * math.expm1(epsilon) if epsilon < 700 else math.inf
    return (spread + drift) * (1 + 2.0**-48), min(1.0, (count * delta + slack) * (1 + 2.0**-48))


def kairouz_oh_viswanath(epsilon: float, delta: float, count: int, total_delta: float) -> float:
    """Optimal composition of equal promises (Kairouz, Oh and Viswanath 2015, Theorem 3.3).

    The smallest epsilon' with

        1 - (1 - delta)^count (1 - d(epsilon')) <= total_delta,
        d(epsilon') = sum over j of C(count, j) p^(count - j) (1 - p)^j
                      max(0, 1 - exp(epsilon' - (count - 2 j) epsilon)),

    p = 1 / (1 + exp(-epsilon)): the loss of randomized response is a binomial. The theorem lists
    the epsilon' = (count - 2 i) epsilon, where d has its corners; between them d is linear in
    exp(epsilon').

    Parameters
    ----------
    epsilon : float
        Positive.
    delta : float
        In [0, 1).
    count : int
        At least 1, and at most a few thousand: the sum is written out.
    total_delta : float
        In (0, 1).

    Returns
    -------
    float
        Rounded up; inf where total_delta is no more than 1 - (1 - delta)^count.
    """
    epsilon, delta, count = (
        check_epsilon(epsilon),
        check_delta(delta),
        check_at_least_one("count", count),
    )
    total_delta = check_epsilon(check_delta(total_delta), "total_delta")
    survival = count * math.log1p(-delta)
    rest = (total_delta + math.expm1(survival)) / math.exp(survival)
    rest -= 4e-16 * total_delta
    if rest <= 0:
        return math.inf
    log_p = -math.log1p(math.exp(-epsilon))

    def corner_delta(bound: float) -> float:
        terms = []
        for j in range(count // 2 + 1):
            gap = bound - (count - 2 * j) * epsilon
            if gap < 0:
                log_choose = (
                    math.lgamma(count + 1) - math.lgamma(j + 1) - math.lgamma(count - j + 1)
                )
                log_mass = log_choose + count * log_p - j * epsilon
                terms.append(math.exp(log_mass) * -math.expm1(gap))
        return round_up(math.fsum(terms))

    return smallest_satisfying(
        corner_delta, rest, start=epsilon, largest=math.nextafter(count * epsilon, math.inf)
    )
