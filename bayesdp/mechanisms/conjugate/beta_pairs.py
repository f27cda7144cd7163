r"""Two neighbouring beta posteriors: the exact hockey-stick divergence, and which is worst.

Replacing one record turns the posterior P0 = Beta(u, v + 1) into P1 = Beta(u + 1, v). Let
F(u, v; gamma) = sup_S P1(S) - gamma P0(S), gamma = exp(epsilon). The other direction is the
same function with u and v exchanged (take 1 - p for p), so F suffices. With
N = u + v + 1, the log likelihood ratio is z = log(p / (1 - p)) + log(v / u), with density

    q(z) = C exp(u z) (v + u exp(z))^-N    under P0,

and F = E0 (X - gamma)+ for X = exp(z), a positive variable of mean 1. Compare (u, v) with
(u', v') by the sign changes of the difference of the two densities, s(X). Both densities
have the same integrals of 1 and of X, so s has at least two sign changes; and D(gamma) =
F' - F has second derivative s and vanishes with its first derivative at 0 and at infinity,
so D has at most two sign changes fewer than s (Rolle). The derivative in z of the log ratio
of densities is

    (u' - u) - N' u' X / (v' + u' X) + N u X / (v + u X),

a quadratic in X over a positive function.

*More of either count costs less.* If u' >= u and v' >= v, not both equal, the quadratic is
h v v' >= 0 at X = 0, where h = u' - u, with leading coefficient -(v' - v) u u' <= 0. The log
ratio then has one maximum, s has the signs -, +, -, and D no sign change: D <= 0. So
F decreases in u and in v, for every gamma.

*The worst counts for a fixed total* M = u + v. Let u' > u, u' + v' = u + v. The quadratic is
u u' X^2 + (...) X + v v' times a positive constant, with two positive roots or none; s has
the signs -, +, -, +, so D changes sign once, from - to +: if D >= 0 at gamma = 1, then
D >= 0 for all gamma >= 1. At gamma = 1, F is the total variation, T(u) say: the same from
both sides, so T(M - u) = T(u); and, the ratio crossing 1 at p = u / M,

    log T(u) = constant + k(u) + k(M - u),    k(u) = u log u - log Gamma(u + 1),

where k is convex because trigamma(u + 1) = sum 1 / (u + j)^2 < 1 / u. So T is smallest at
M / 2 and increases away from it. Hence, for gamma >= 1: F(M - w, w) >= F(w, M - w) for w < M / 2
(there D(1) = 0), and F(u, M - u) increases in u >= M / 2. Among all u in [w, M - w], and in
both directions, the largest F is F(M - w, w): the probability is tilted away from the rarer
value, at the smallest count that it can have.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from bayesdp.mechanisms.laws import beta_log_kernel
from bayesdp.privacy.profile import half_line

_DIRECT_FROM = 500.0  # log odds beyond which 1 - p would leave the range of a float


def beta_divergence(u: float, v: float, epsilon: float) -> float:
    """Divergence F(u, v; exp(epsilon)) of Beta(u + 1, v) from Beta(u, v + 1), to 12 digits.

    It is the integral over z > epsilon of (exp(z) - exp(epsilon)) q(z): its terms are positive, so
    nothing cancels where the difference of the two tails is far smaller than either.

    Parameters
    ----------
    u, v : float
        Positive.
    epsilon : float
        At least 0, finite.
    """
    odds = epsilon + math.log(u) - math.log(v)  # log odds of p where z = epsilon
    p, q = scipy.special.expit(odds), scipy.special.expit(-odds)
    if abs(odds) < _DIRECT_FROM:
        kernel = float(beta_log_kernel(p, q, u, v + 1))
    else:
        log_p, log_q = -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)
        kernel = float(u * log_p + (v + 1) * log_q - scipy.special.betaln(u, v + 1))
    total = u + v + 1
    slope = abs(total * p - u)
    rate = max(1.0, slope + math.sqrt(total * p * q))
    y, weight = half_line(1 / rate, 750 / v)
    if odds >= 0:  # as for u >= v: 1 - p is the small one, and keeps its digits
        log_terms = -v * y - total * np.log1p(q * np.expm1(-y))
    else:
        log_terms = -v * y - total * np.logaddexp(np.log(p), np.log(q) - y)
    top = float(log_terms.max())
    integral = float(np.sum(-np.expm1(-y) * np.exp(log_terms - top) * weight))
    return math.exp(min(0.0, kernel + epsilon + top + math.log(integral)))


def worst_beta_divergence(n: int, prior: tuple[float, float], epsilon: float) -> float:
    """The largest F over all neighbours, in both directions: n records, prior Beta(a, b).

    u runs over a..a + n - 1 in one direction and b..b + n - 1 in the other, with
    u + v = a + b + n - 1, so the worst has v = min(a, b); see the module's proof.
    """
    return beta_divergence(max(prior) + (n - 1), min(prior), epsilon)
