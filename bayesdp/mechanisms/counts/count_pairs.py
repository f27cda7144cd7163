r"""Neighbouring laws of a synthetic count: the exact worst hockey-stick divergence.

Given x ones among n records, the ones among m synthetic records follow a binomial law
(`synthetic_map`, `synthetic_many`) or a beta-binomial one (`synthetic_one`). The synthetic
records are exchangeable, so their number of ones is sufficient. The likelihood ratio of the
neighbours (x + 1 against x) increases in that number z, so the worst set of outputs is
z >= k, with k in closed form; the other direction is the same with ones and zeros exchanged.

The worst neighbours are searched for, since they can be in the middle: the
divergence of all n pairs is computed in both directions, fast but with cancellation, and those that
may be the largest, given a bound on that error, are computed again as a sum of positive terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism
from bayesdp.mechanisms.counts.count import Count
from bayesdp.mechanisms.laws import beta_binomial_logpmf, binomial_logpmf
from bayesdp.privacy.profile import expected_excess, hockey_stick

Floats = NDArray[np.float64]

_LOGP_ERROR = 1e-12  # of a log probability, 10 times what tests find at a million records
_TAIL_ERROR = 1e-11  # relative, of scipy's regularised incomplete beta function
_FLOOR = 1e-290  # below, a divergence is only said to be below
_MOST_COUNTS = 20_000_000  # that are tried one by one
_RECOMPUTED = 32  # pairs, at most; what the others may still exceed them by is added


def every_count(n: int) -> Floats:
    """All counts 0, 1, ..., n.

    Raises
    ------
    InvalidInput
        If there are too many to be tried one by one.
    """
    if n > _MOST_COUNTS:
        raise InvalidInput(
            f"a privacy profile here is found by trying all counts, of up to {_MOST_COUNTS:,} "
            f"records; these are {n:,}. State a pure promise (delta = 0) where there is one, or "
            "release smaller groups"
        )
    return np.arange(n + 1.0)


def worst_binomial_divergence(
    size: int, ones: Floats, zeros: Floats, step: Floats, epsilon: float
) -> float:
    """Largest hockey-stick divergence between Binomial(size, p) of neighbouring counts.

    Parameters
    ----------
    size : int
        Number of synthetic records.
    ones, zeros : ndarray, shape (n + 1,)
        p and 1 - p for x = 0..n, each multiplied by a common total; p increases in x, and may
        be 0 at the first and 1 at the last.
    step : ndarray, shape (n,)
        Differences of `ones`, which subtracting them would round.
    epsilon : float
        At least 0, finite.
    """
    up = _binomial_side(size, ones, zeros, step, epsilon)
    return max(up, _binomial_side(size, zeros[::-1], ones[::-1], step[::-1], epsilon))


def _binomial_side(size: int, ones: Floats, zeros: Floats, step: Floats, epsilon: float) -> float:
    """Divergence of x + 1 ones from x, for all x, for binomial records."""
    total = ones[0] + zeros[0]
    with np.errstate(divide="ignore"):
        rise, fall = np.log1p(step / ones[:-1]), np.log1p(step / zeros[1:])
    # The log ratio at z is z rise - (size - z) fall; k is the first z where it exceeds epsilon.
    finite = np.isfinite(rise) & np.isfinite(fall)
    k = np.full(len(step), 1.0)
    k[finite] = np.floor((epsilon + size * fall[finite]) / (rise + fall)[finite]) + 1
    certain = np.isinf(fall)  # every record is a one, and z = size alone is possible
    k[certain] = np.where(size * rise[certain] > epsilon, size, size + 1)
    inside = k <= size
    at = np.minimum(k, size)
    tail = scipy.special.betainc(at, size - at + 1, np.minimum(ones[1:] / total, 1.0))
    below = scipy.special.betainc(at, size - at + 1, ones[:-1] / total)
    with np.errstate(divide="ignore"):
        below = np.exp(np.minimum(epsilon + np.log(below), 0.0))
    rough = np.where(inside, tail - below, 0.0)
    error = np.where(inside, _TAIL_ERROR * (tail + below) + _FLOOR, 0.0)
    z = every_count(size)

    def exact(x: int) -> float:
        log_p = binomial_logpmf(z, size, ones[x + 1] / total, zeros[x + 1] / total)
        if finite[x]:
            return expected_excess(log_p, z * rise[x] - (size - z) * fall[x], epsilon)
        return hockey_stick(
            log_p, binomial_logpmf(z, size, ones[x] / total, zeros[x] / total), epsilon
        )

    return largest(rough, error, exact)


def worst_beta_binomial_divergence(
    mechanism: BetaBinomialMechanism, n: int, epsilon: float
) -> float:
    """Largest hockey-stick divergence of the beta-binomial mechanism over all neighbours."""
    a, b = mechanism.prior
    up = _beta_binomial_side(mechanism, n, epsilon)
    if a == b:
        return up
    mirrored = BetaBinomialMechanism(n, mechanism.size, (b, a))
    return max(up, _beta_binomial_side(mirrored, n, epsilon))


def _beta_binomial_side(mechanism: BetaBinomialMechanism, n: int, epsilon: float) -> float:
    r"""Divergence of x + 1 ones from x, for all x, by a walk along the best thresholds.

    With u = a + x, M = a + b + n - 1, v = M - u, gamma = exp(epsilon), the two laws are
    P1 = BB(m; u + 1, v), P0 = BB(m; u, v + 1) and their ratio at z is
    (u + z) v / (u (v + m - z)), which exceeds gamma from a k(u) on; it decreases in u, so k
    increases. Write H(k, u) = Pr[BB(m; u, M + 1 - u) >= k] and g(k, u) = H(k, u + 1) -
    gamma H(k, u), so the divergence is g(k(u), u). Since Pr[Binomial(m, p) >= k] is the
    probability that Beta(k, m - k + 1) <= p,

        H(k, u + 1) - H(k, u) = C(M, u) B(k + u, m - k + 1 + M - u) / B(k, m - k + 1),

    the probability of u under BB(M; k, m - k + 1), continued to any real u. So each step of g
    in u, and each in k (one term of the sum), is in closed form, and the n divergences cost
    n + m evaluations rather than n m.
    """
    (a, b), m = mechanism.prior, mechanism.size
    gamma, total = math.exp(epsilon), a + b + n - 1
    every_count(m)
    x = every_count(n)[:-1]
    u, v = a + x, b + x[::-1]
    k = np.floor(u * ((gamma - 1) * v + gamma * m) / (v + gamma * u)).astype(np.int64) + 1
    k = np.maximum.accumulate(np.minimum(k, m + 1))

    def exact(x: int) -> float:
        z = np.arange(max(k[x] - 1, 0), m + 1)
        log_p = mechanism.logp(z, Count(x + 1, n))
        log_ratio = np.log1p(z / u[x]) - np.log1p((m - z) / v[x])
        return expected_excess(log_p, log_ratio, epsilon)

    # Steps in u, at the threshold of the pair before; then steps in k at the new u.
    before = np.minimum(k[:-1], m)
    in_u = beta_binomial_logpmf(u[:-1], total, before, m - before + 1)
    factor = (v[:-1] / (u[:-1] + 1)) * ((before + u[:-1]) / (m - before + v[:-1])) - gamma
    factor[k[:-1] > m] = 0.0
    pair = np.repeat(np.arange(1, n), np.diff(k))
    z = k[0] + np.arange(k[-1] - k[0])
    in_k = beta_binomial_logpmf(z, m, u[pair], v[pair] + 1)
    ratio = (1 + z / u[pair]) / (1 + (m - z) / v[pair])
    scale = max(in_u.max(initial=-np.inf), in_k.max(initial=-np.inf))
    first = exact(0)
    if not math.isfinite(scale) or scale < math.log(_FLOOR):
        return max(first, _FLOOR)
    step_u = np.exp(in_u) * factor
    step_k = np.exp(in_k) * (gamma - ratio)
    steps = step_u + np.bincount(pair - 1, weights=step_k, minlength=n - 1)[: n - 1]
    rough = first + np.concatenate(([0.0], np.cumsum(steps)))
    travelled = float(np.abs(step_u).sum() + np.abs(step_k).sum()) + first
    return largest(rough, np.full(n, _LOGP_ERROR * travelled + _FLOOR), exact)


def largest(rough: Floats, error: Floats, exact: Callable[[int], float]) -> float:
    """Return the largest of values known within `error`, recomputing those that may be it.

    It is raised by as much as others may still exceed it, so the result is never too small.
    """
    upper = rough + error
    order = np.argsort(-upper, kind="stable")[: _RECOMPUTED + 1]
    best = 0.0
    for i in order[:_RECOMPUTED]:
        if upper[i] <= best:
            return best
        best = max(best, exact(int(i)))
    return max(best, float(upper[order[-1]])) if len(order) > _RECOMPUTED else best
