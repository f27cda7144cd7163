r"""Neighbouring laws of synthetic categories, three or more: the worst, and its divergence.

Replace a record of category j by one of category i. Let u and v be the weights of i and j
without that record (prior and other records), r the weight of all other categories, and
T = u + v + 1 + r. The weights are (u + 1, v, r) in one data set and (u, v + 1, r) in its
neighbour, and the m synthetic records are either

- one draw from Dirichlet-multinomial(m, weights) (`synthetic_one`), or
- multinomial(m, weights / T) (`synthetic_many`; `synthetic_map` with prior - 1 for prior).

The split of r among the other categories has one law in both, given their total, and tells
nothing. Write G(u, v, r) for the divergence of the first law from the second.

*The other records are worst outside of i and j.* G(u, v, r) >= G(u + x, v, r - x) for
0 <= x <= r, and the same for v. For out of records with weights (u, v, r) we can make records
with weights (u + x, v, r - x) without knowing which data set they came from: turn some of
those outside into i. For a multinomial, each with probability x / r; for a Dirichlet-multinomial,
beta-binomial(z_outside, x, r - x) of them, since the gamma variables behind a Dirichlet add up. So
the second pair is a function of the first and noise, and its divergence is no larger. At a given
prior and n, T is the same for all neighbours, so the worst have no other record in i or j, and i
and j have the two smallest priors. Which of them is i is tried both ways.

*A stronger prior costs less.* Weights w + y, y >= 0, are made out of weights w: a
Dirichlet(w + y) is B Dirichlet(w) + (1 - B) Dirichlet(y) with B ~ Beta(sum w, sum y), so keep
the first beta-binomial(m, sum w, sum y) records and draw the others from y; of a multinomial
keep each with probability sum w / (sum w + sum y). This holds for two categories too.

*The divergence.* s = z_i + z_j has the same law in both. Seen one by one, the s records are a
walk, and their likelihood ratio X_t a martingale under the second law, so given s the
divergence E (X_s - gamma)+ is the sum of its increments, E (X_{t+1} - gamma)+ - (X_t - gamma)+
for t < s. Each is a single term, since the ratio increases in z_i: either from z_i = k - 1, the
last below gamma, up to k, or from k, the first above, down below gamma. All terms are
positive, nothing cancels, and all m divergences cost one pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.laws import beta_binomial_logpmf, binomial_logpmf

Floats = NDArray[np.float64]

_FLOOR = 1e-290  # below, a divergence is only said to be below
_ROUNDING = 2.0**-50  # of a sum of three products, relative to the sum of their sizes
_THRESHOLD_ERROR = 1e-15  # of the place where the ratio is gamma, relative, twice what is met


def worst_of_three(
    divergence: Callable[[float, float, float, int, float], float],
    weights: list[float],
    n: int,
    size: int,
    epsilon: float,
) -> float:
    """Largest divergence over all neighbours of n records, for three categories or more.

    Parameters
    ----------
    divergence : callable
        `dirichlet_multinomial_divergence` or `multinomial_divergence`.
    weights : list of float
        Weight of each category without any record.
    n, size : int
        Confidential and synthetic records.
    epsilon : float
        At least 0, finite.
    """
    u, v, *others = sorted(weights)
    rest = math.fsum([*others, n - 1])  # not 0 where n is 1, however small the priors
    return max(divergence(u, v, rest, size, epsilon), divergence(v, u, rest, size, epsilon))


def dirichlet_multinomial_divergence(
    u: float, v: float, rest: float, size: int, epsilon: float
) -> float:
    """G of Dirichlet-multinomial records; u, v, rest > 0.

    The ratio at t records, z of them in i, is (u + z) v / (u (v + t - z)); it is gamma at
    z = u ((gamma - 1) v + gamma t) / (v + gamma u). For small u and v, z may round to a whole
    number that it isn't, so the ratio itself decides what lies above gamma.
    """
    inverse, largest = math.exp(-epsilon), max(u, v)
    t = np.arange(size, dtype=float)
    slope = u / (v * inverse + u)
    k = np.floor(slope * (t - math.expm1(-epsilon) * v)) + 1

    def above(z: Floats, t: Floats) -> tuple[Floats, Floats]:
        """Excess of the ratio over gamma, times u (v + t - z) / (gamma max(u, v)); with error."""
        gained, lost = v / largest * inverse * z, u / largest * (t - z)
        start = -math.expm1(-epsilon) * min(u, v)
        return gained - start - lost, _ROUNDING * (gained + start + np.abs(lost))

    k += np.where(above(k, t)[0] <= 0, 1.0, 0.0) - np.where(above(k - 1, t)[0] > 0, 1.0, 0.0)
    gap, rounding = above(k, t + 1)
    with np.errstate(divide="ignore"):
        log_gain = epsilon + math.log(largest) - math.log(u) + np.log(np.abs(gap) + rounding)
    log_gain -= np.log(v + np.maximum(t + 1 - k, 0.0))  # negative where k can't be reached
    z = np.where(gap > 0, k - 1, k)
    log_step = np.log(np.where(gap > 0, u + z, v + np.maximum(1 + t - z, 0.0))) - np.log(
        u + v + 1 + t
    )
    log_law = beta_binomial_logpmf(z, t, u, v + 1)
    reach = np.exp(beta_binomial_logpmf(np.arange(size + 1), size, u + v + 1, rest))
    return _sum(log_law + log_step + log_gain, reach)


def multinomial_divergence(u: float, v: float, rest: float, size: int, epsilon: float) -> float:
    """G of multinomial records; u, v, rest >= 0.

    The log ratio at t records, z of them in i, is z log((u + 1) / u) - (t - z) log((v + 1) / v).
    """
    total = u + v + 1 + rest
    if u == 0:  # any record in i is impossible in the neighbour, and none tells less than nothing
        return -math.expm1(size * math.log1p(-1 / total)) if total > 1 else 1.0
    reach = np.exp(binomial_logpmf(np.arange(size + 1), size, (u + v + 1) / total, rest / total))
    rise, fall = math.log1p(1 / u), math.log1p(1 / v) if v > 0 else math.inf
    t = np.arange(size, dtype=float)
    if v == 0:  # the ratio is 0 but where all are in i: ((u + 1) / u)^s, with its inverse's chance
        gain = -np.expm1(np.minimum(epsilon - np.arange(size + 1) * rise, 0.0))
        return max(_FLOOR, float(reach @ gain))

    def above(z: Floats, t: Floats) -> Floats:
        """Excess of the log ratio over epsilon."""
        return z * rise - (t - z) * fall - epsilon

    k = np.floor((epsilon + fall * t) / (rise + fall)) + 1
    k += np.where(above(k, t) <= 0, 1.0, 0.0) - np.where(above(k - 1, t) > 0, 1.0, 0.0)
    gap = above(k, t + 1)
    with np.errstate(divide="ignore"):
        log_gain = epsilon + np.log(np.abs(np.expm1(gap)))
    z = np.where(gap > 0, k - 1, k)
    p, q = u / (u + v + 1), (v + 1) / (u + v + 1)
    possible = z <= t
    log_law = np.where(t == 0, 0.0, binomial_logpmf(np.minimum(z, t), np.maximum(t, 1.0), p, q))
    log_step = np.where(gap > 0, math.log(p), math.log(q))
    return _sum(np.where(possible, log_law + log_step + log_gain, -np.inf), reach)


def _sum(log_increments: Floats, reach: Floats) -> float:
    """Expected sum of the first s increments, s with probabilities `reach`; rounded up."""
    further = np.cumsum(reach[:0:-1])[::-1]  # Pr[s > t]
    total = float(np.exp(log_increments) @ further)
    return max(_FLOOR, total * (1 + _THRESHOLD_ERROR * len(reach)))
