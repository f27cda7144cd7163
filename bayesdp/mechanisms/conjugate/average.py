r"""Average-case privacy of conjugate releases of binary records drawn from a population.

A weaker promise than differential privacy, and never a `Guarantee`: it averages over the
other records, assumed independent Bernoulli(theta) with theta in a public interval (Zheng 2015,
section 6.3; Bassily and others 2013). Nothing holds if they aren't.

*The conditional statement*: delta(epsilon) between (A(X) | X_i = 1) and (A(X) | X_i = 0), in the
worse direction. A sees the sum, B + 1 or B with B ~ Binomial(N, theta), N = n - 1.

*With a simulator* (Definition 2.14): (epsilon, delta, Delta) asks for one Sim(X without i) as
close to each of the two. With D the conditional delta, the smallest such delta lies in

    D(2 epsilon) / (1 + exp(epsilon))  <=  delta  <=  D(log(2 exp(epsilon) - 1)) / 2.

Below: Proposition 2.15, P_x <= e Sim + d <= e (e P_x' + d) + d with e = exp(epsilon). Above: let
Sim fill in the record by a fair coin, S = (P_0 + P_1) / 2, and let P_x <= g P_x' + D both ways.
Then S <= (1 + g) / 2 P_x + D / 2, and P_x <= 2 g / (1 + g) S + D / (1 + g), where
2 g / (1 + g) <= (1 + g) / 2. So (log((1 + g) / 2), D / 2) holds.

Proposition 6.17 is printed with another condition, Pr[sum = s] <= e Pr[sum = s'] + 2 delta for
single sums s, s' next to each other. That isn't enough: the 2 delta adds up over a set of
sums. (A flat law on many sums passes it at epsilon = 0.) Its proof uses the conditional
statement for sets, and proves the upper bound at g = e; ours is smaller.

*The worst theta, for the sum itself.* `parameter_map` is one to one in the sum. With
gamma = exp(epsilon) the best set of sums is {s >= k} for some k = 1..n, worth
h_k = Pr[B >= k - 1] - gamma Pr[B >= k], and

    h_k' = C(N, k - 1) theta^(k - 2) (1 - theta)^(N - k)
           [(k - 1)(1 - theta) - gamma (n - k) theta]

so h_k rises up to theta_k = (k - 1) / (k - 1 + gamma (n - k)) and falls: the largest
max_k h_k is at an end of the interval or at one of the theta_k. The other direction is the
same with ones and zeros exchanged.

For the other methods, which see the sum through noise, `average_search` proves what bounds delta
between two values of theta, and halves the interval until that is close enough.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.average_draw import worst_draw
from bayesdp.mechanisms.conjugate.average_synthetic import worst_synthetic
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.mechanisms.counts.count_pairs import largest
from bayesdp.mechanisms.laws import binomial_logpmf
from bayesdp.privacy.profile import check_profile_epsilon, hockey_stick, round_up

Floats = NDArray[np.float64]


def average_case_delta(
    release: ConjugateMechanism, epsilon: float, *, theta: tuple[float, float]
) -> float:
    """Conditional delta(epsilon) if the other records are Bernoulli, at the worst theta.

    Parameters
    ----------
    release : ConjugateMechanism
        A release of the bernoulli family.
    epsilon : float
        At least 0, finite.
    theta : tuple of two floats
        The public interval, 0 <= low <= high <= 1.

    Returns
    -------
    float
        Delta, never below the true value except by rounding. For `parameter_map` it is tight to 9
        digits. For other methods it is at most 0.5 % above the true value, or 1e-11 of the
        probabilities whose difference it is, where that is more (a prior of 10^12, or epsilon close
        to where delta vanishes); at a single theta, above it by the latter alone. Below 1e-250 it
        is only an approximate upper bound.

    Raises
    ------
    InvalidInput
        If the family is another one or an argument is out of its range.

    Notes
    -----
    Synthetic records take memory and time in proportion to n times their number: half a second
    where both are 1,000. A draw at n = 1,000 takes a second at most, at n = 10^5 and a small
    epsilon half a minute.
    """
    average = round_up(_bounds(release, epsilon, theta)[1])
    # By joint convexity a mixture's divergence is at most the worst of its parts'.
    return min(average, release.delta(epsilon))


def distributional_delta(
    release: ConjugateMechanism, epsilon: float, *, theta: tuple[float, float]
) -> tuple[float, float]:
    """Bounds on the smallest delta for which (epsilon, delta, Delta) holds with some simulator.

    Delta is the class of the laws of independent Bernoulli(theta) records, theta in the interval;
    see the module's docstring.

    Parameters
    ----------
    release, epsilon, theta
        As for `average_case_delta`.

    Returns
    -------
    tuple of two floats
        A lower and an upper bound.

    Raises
    ------
    InvalidInput
        As for `average_case_delta`.
    """
    epsilon = check_profile_epsilon(epsilon)
    if epsilon > 300:
        raise InvalidInput(f"epsilon is {epsilon}; it must be at most 300")
    below, _ = _bounds(release, 2 * epsilon, theta)
    above = average_case_delta(release, math.log(2 * math.exp(epsilon) - 1), theta=theta) / 2
    certain = below > 1e-280  # smaller is only known to be smaller
    return below / (1 + 1e-9) / (1 + math.exp(epsilon)) if certain else 0.0, above


def _bounds(
    release: ConjugateMechanism, epsilon: float, theta: tuple[float, float]
) -> tuple[float, float]:
    """Bounds from above and from below on the conditional delta, but for rounding."""
    epsilon, (low, high) = check_profile_epsilon(epsilon), _check_theta(theta)
    if release.family != "bernoulli":
        raise InvalidInput(
            f"family is {quoted(release.family)}; average-case privacy is computed for "
            "'bernoulli' alone"
        )
    if epsilon > 700:
        raise InvalidInput(f"epsilon is {epsilon}; it must be at most 700")
    if release.method == "parameter_draw":
        return worst_draw(release, epsilon, low, high)
    if release.method != "parameter_map":
        return worst_synthetic(release, epsilon, low, high)
    bound = max(
        _sum_itself(release.n, epsilon, low, high),
        _sum_itself(release.n, epsilon, 1 - high, 1 - low),
    )
    return bound, bound


def _sum_itself(n: int, epsilon: float, low: float, high: float) -> float:
    """Divergence of B + 1 from B, the largest over all theta in [low, high]."""
    gamma, k = math.exp(epsilon), np.arange(1.0, n + 1)
    best = (k - 1) / np.maximum(k - 1 + gamma * (n - k), 1e-300)
    thetas = np.concatenate(([low, high], best[(best > low) & (best < high)]))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        odds = thetas / (1 - thetas)
        # s (1 - theta) > gamma (n - s) theta; s = n is worth it at any theta.
        start = np.minimum(np.floor(gamma * n * odds / (1 + gamma * odds)) + 1, n)
    start = np.where(thetas == 1, n, start)
    reached = np.where(
        start == 1, 1.0, special.betainc(np.maximum(start - 1, 1), n + 1 - start, thetas)
    )
    beyond = np.where(start == n, 0.0, special.betainc(start, np.maximum(n - start, 1), thetas))
    rough = reached - gamma * beyond
    error = 1e-11 * (reached + gamma * beyond) + 1e-290

    def exact(i: int) -> float:
        if n == 1:
            return 1.0
        s, p = np.arange(start[i], n + 1), float(thetas[i])
        log_p = binomial_logpmf(s - 1, n - 1, p, 1 - p)
        log_q = np.full_like(log_p, -np.inf)
        log_q[:-1] = binomial_logpmf(s[:-1], n - 1, p, 1 - p)
        return hockey_stick(log_p, log_q, epsilon)

    return largest(rough, error, exact)


def _check_theta(theta: Any) -> tuple[float, float]:
    try:
        low, high = theta
    except (TypeError, ValueError):
        low = high = math.nan
    if not (is_number(low) and is_number(high) and 0 <= low <= high <= 1):
        raise InvalidInput(
            f"theta is {quoted(theta)}; it must be the two ends of a public interval of "
            "probabilities, 0 <= low <= high <= 1, for example (0.1, 0.9)"
        )
    return float(low), float(high)
