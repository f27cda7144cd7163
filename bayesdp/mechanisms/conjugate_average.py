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

*The worst theta.* `parameter_map` is one to one in the sum. With gamma = exp(epsilon) the best set
of sums is {s >= k} for some k = 1..n, worth h_k = Pr[B >= k - 1] - gamma Pr[B >= k], and

    h_k' = C(N, k - 1) theta^(k - 2) (1 - theta)^(N - k)
           [(k - 1)(1 - theta) - gamma (n - k) theta]

so h_k rises up to theta_k = (k - 1) / (k - 1 + gamma (n - k)) and falls: the largest
max_k h_k is at an end of the interval or at one of the theta_k. The other direction is the
same with ones and zeros exchanged.

The synthetic records add noise to the sum by a law with a monotone likelihood ratio, so the best
sets are {output > t}, whose probability increases in theta under both. So for theta in [a, b]
the divergence is at most that of (X_i = 1, b) from (X_i = 0, a), and pieces of the interval are
halved until no bound exceeds the largest value found by more than 1 %.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.conjugate import ConjugateRelease
from bayesdp.mechanisms.count_pairs import largest
from bayesdp.mechanisms.laws import beta_binomial_logpmf, binomial_logpmf
from bayesdp.privacy.profile import check_profile_epsilon, hockey_stick, round_up

Floats = NDArray[np.float64]

_SLACK = 0.01  # by which the search may overstate, relative
_PIECES = 1 << 13


def average_case_delta(
    release: ConjugateRelease, epsilon: float, *, theta: tuple[float, float]
) -> float:
    """The conditional delta(epsilon) if the other records are Bernoulli, at the worst theta.

    Parameters
    ----------
    release : ConjugateRelease
        Of the bernoulli family.
    epsilon : float
        At least 0, finite.
    theta : tuple of two floats
        The public interval, 0 <= low <= high <= 1.

    Returns
    -------
    float
        For `parameter_map` tight to 9 digits; for synthetic records never below the truth
        by more than rounding, and at most 1 % above it.

    Raises
    ------
    InvalidInput
        If the family is another one, the method is `parameter_draw`, or an argument is out of
        its range.
    """
    epsilon, (low, high) = check_profile_epsilon(epsilon), _check_theta(theta)
    if release.family != "bernoulli":
        raise InvalidInput(
            f"family is {release.family!r}; average-case privacy is known for 'bernoulli' alone"
        )
    if release.method == "parameter_draw":
        raise InvalidInput(
            "method is 'parameter_draw', whose law averaged over the records isn't computed here; "
            "its worst case, release.delta(epsilon), is a bound, as is that of 'parameter_map'"
        )
    if epsilon > 700:
        raise InvalidInput(f"epsilon is {epsilon}; it must be at most 700")
    if release.method == "parameter_map":
        found = max(
            _sum_itself(release.n, epsilon, low, high),
            _sum_itself(release.n, epsilon, 1 - high, 1 - low),
        )
    else:
        law = _laws(release)
        found = _noisy_sum(law, epsilon, low, high)
        found = _noisy_sum(law[::-1], epsilon, 1 - high, 1 - low, found / (1 + _SLACK))
    return round_up(found)


def distributional_delta(
    release: ConjugateRelease, epsilon: float, *, theta: tuple[float, float]
) -> tuple[float, float]:
    """Bounds on the smallest delta with which (epsilon, delta, Delta) holds for some simulator.

    Delta are the laws of independent Bernoulli(theta) records, theta in the interval; see the
    module's docstring. Parameters are those of `average_case_delta`.
    """
    epsilon = check_profile_epsilon(epsilon)
    if epsilon > 300:
        raise InvalidInput(f"epsilon is {epsilon}; it must be at most 300")
    slack = 1.0 if release.method == "parameter_map" else 1 + _SLACK
    below = average_case_delta(release, 2 * epsilon, theta=theta) / (1 + math.exp(epsilon))
    above = average_case_delta(release, math.log(2 * math.exp(epsilon) - 1), theta=theta) / 2
    certain = below > 1e-280  # smaller is only known to be smaller
    return below / (slack * (1 + 1e-9)) if certain else 0.0, above


def _sum_itself(n: int, epsilon: float, low: float, high: float) -> float:
    """B + 1 against B, over all theta in [low, high]."""
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


def _laws(release: ConjugateRelease) -> Floats:
    """Probabilities of the outputs (columns) for each number of ones, 0..n (rows)."""
    (a, b), n, m = release.prior, release.n, release.synthetic_size
    x = np.arange(n + 1.0)[:, None]
    z = np.arange(m + 1.0)
    if release.method == "synthetic_one":
        return np.asarray(np.exp(beta_binomial_logpmf(z, m, a + x, b + n - x)))
    less = release.method == "synthetic_map"
    ones, zeros = np.maximum(a + x - less, 0), np.maximum(b + n - x - less, 0)
    total = ones + zeros
    shares = np.column_stack([ones / total, zeros / total])
    return np.asarray(np.exp([binomial_logpmf(z, m, float(p), float(q)) for p, q in shares]))


def _noisy_sum(law: Floats, epsilon: float, low: float, high: float, best: float = 0.0) -> float:
    """Output of B + 1 against output of B, over all theta in [low, high]; `best` or more."""
    gamma, without, with_one = math.exp(epsilon), law[:-1], law[1:]

    def divergence(one: Floats, zero: Floats) -> Floats:
        gain = _weights(one, len(without)) @ with_one
        gain -= gamma * (_weights(zero, len(without)) @ without)
        return np.asarray(np.maximum(gain, 0.0).sum(axis=1))

    ends = np.array([low, high])
    best = max(best, float(divergence(ends, ends).max()))
    a, b = ends[:1], ends[1:]
    while a.size:
        bound = divergence(b, a)
        kept = (bound > max(best * (1 + _SLACK), 1e-290)) & (b > a)
        if kept.sum() > _PIECES:
            return float(bound[kept].max())
        a, b = a[kept], b[kept]
        if a.size:
            half = (a + b) / 2
            best = max(best, float(divergence(half, half).max()))
            a, b = np.concatenate((a, half)), np.concatenate((half, b))
    return max(best * (1 + _SLACK), 1e-290)


def _weights(theta: Floats, n: int) -> Floats:
    """Law of the ones among n - 1 records, shape (thetas, n)."""
    j, others = np.arange(n), n - 1
    ways = special.gammaln(n) - special.gammaln(j + 1) - special.gammaln(others - j + 1)
    with np.errstate(divide="ignore"):
        ones = special.xlogy(j, theta[:, None])
        zeros = special.xlog1py(others - j, -theta[:, None])
    return np.asarray(np.exp(ways + ones + zeros))


def _check_theta(theta: Any) -> tuple[float, float]:
    try:
        low, high = theta
    except (TypeError, ValueError):
        low = high = math.nan
    if not (is_number(low) and is_number(high) and 0 <= low <= high <= 1):
        raise InvalidInput(
            f"theta is {theta!r}; it must be the two ends of a public interval of probabilities, "
            "0 <= low <= high <= 1, for example (0.1, 0.9)"
        )
    return float(low), float(high)
