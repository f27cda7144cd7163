r"""Synthetic records from the sum of Bernoulli records: their average-case divergence.

The output is the number z of ones among m synthetic records, a binomial or a beta-binomial
count; {Y > t} is {z >= k}, k = 1..m. The two properties that `average_search` asks for:

`synthetic_map` and `synthetic_many`: z ~ Binomial(m, p_s), where p_s is the linear function
l(s) = (a + s - 1) / (a + b + n - 2), cut off at 0 and 1, or (a + s) / (a + b + n). (i) is plain.
(ii): Pr[z >= k] has the derivative k C(m, k) p^(k-1) (1 - p)^(m-k) in p, so g_s is the integral of
this from l(s) to l(s + 1), where it is taken as 0 outside [0, 1]: a log-concave function of p, as
1 <= k <= m, over intervals of one length, so g_s is log-concave (Prekopa 1973).

`synthetic_one`: z has the beta-binomial law with u = a + s and v = b + n - s. (i): the ratio is
(1 + z / u) v' / (v' + m - z), v' = v - 1, times a constant. (ii): Pr[z >= k] is the probability
that Beta(k, m - k + 1) lies below Beta(u, v), and g_s, with M = a + b + n - 1, is

    g_s = C(M, u) B(k + u, m - k + 1 + M - u) / B(k, m - k + 1)

(see `count_pairs`), and g_{s+1} / g_s = (k + u) / (u + 1) (M - u) / (m - k + M - u) decreases
in u, as k >= 1 and m >= k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.conjugate.average_search import binomial_weights, worse_direction
from bayesdp.mechanisms.counts.count_pairs import every_count
from bayesdp.mechanisms.laws import beta_binomial_logpmf, binomial_logpmf

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

Floats = NDArray[np.float64]

_TAIL_ERROR = 1e-11  # relative, of the tails
_RATIO_ERROR = 1e-8  # relative, of r; g is a difference of tails that may be n times larger
_STAGES = ((1e-150, 1e-130), (1e-290, 1e-250))
"""What is dropped, and the delta for which this is negligible: products of small numbers that
are too small for a float are slow, and rarely matter."""


def worst_synthetic(
    release: ConjugateMechanism, epsilon: float, low: float, high: float
) -> tuple[float, float]:
    """Bounds on the conditional delta over [low, high], in the worse direction."""
    law = synthetic_laws(release)
    mirrored = np.ascontiguousarray(law[::-1, ::-1])
    for least, floor in _STAGES:
        sides = [
            (SyntheticRecords(law, epsilon, least), low, high),
            (SyntheticRecords(mirrored, epsilon, least), 1 - high, 1 - low),
        ]
        reached, bound = worse_direction(sides, floor)
        if bound > floor:
            break
    return reached, bound


@dataclass(frozen=True, slots=True)
class SyntheticPoint:
    """Synthetic records at one theta: P1, P0 and r at each threshold, and delta."""

    theta: float
    delta: float
    with_one: Floats
    without: Floats
    rising: Floats
    falling: Floats


class SyntheticRecords:
    """Laws of synthetic records given B + 1 ones and given B.

    Parameters
    ----------
    law : ndarray, shape (n + 1, m + 1)
        Probabilities of z (columns) for each sum s (rows).
    epsilon : float
        At most 700.
    least : float
        Weights and tails below it are dropped; dropping small g keeps its log-concavity.
    """

    def __init__(self, law: Floats, epsilon: float, least: float) -> None:
        self.n, self.gamma, self.least = len(law) - 1, math.exp(epsilon), least
        self.dropped = (self.n + 2) * least
        tails = np.cumsum(law[:, :0:-1], axis=1)[:, ::-1]
        lower = np.cumsum(law[:, :-1], axis=1)
        # The difference of the tails that are smaller has the smaller error.
        step = np.where(lower[:-1] < tails[1:], lower[:-1] - lower[1:], tails[1:] - tails[:-1])
        self.step = np.where(step >= least, step, 0.0)
        self.tails = np.where(tails >= least, tails, 0.0)

    def points(self, thetas: list[float]) -> list[SyntheticPoint]:
        """P1, P0, r and delta at each theta."""
        others = self._weights(thetas, self.n - 1)
        with_one, without = others @ self.tails[1:], others @ self.tails[:-1]
        gain = (1 - _TAIL_ERROR) * with_one - self.gamma * (1 + _TAIL_ERROR) * without
        deltas = gain.max(axis=1) - self.gamma * self.dropped
        rising, falling = np.zeros_like(with_one), np.full_like(with_one, np.inf)
        if self.n > 1:
            fewer = self._weights(thetas, self.n - 2)
            mean, shifted = fewer @ self.step[:-1], fewer @ self.step[1:]
            known = mean > 1e10 * self.dropped
            ratio = shifted / np.where(known, mean, 1.0)
            rising, falling = np.where(known, ratio, np.inf), np.where(known, ratio, 0.0)
        return [
            SyntheticPoint(theta, float(deltas[i]), with_one[i], without[i], rising[i], falling[i])
            for i, theta in enumerate(thetas)
        ]

    def bound(self, left: SyntheticPoint, right: SyntheticPoint) -> float:
        """The least of the three bounds on a piece, at the worst threshold."""
        gamma = self.gamma
        rise = np.maximum(right.without - left.without, 0.0) + self.dropped
        up = np.maximum(left.rising * (1 + _RATIO_ERROR) - gamma, 0.0)
        down = np.maximum(gamma * (1 + _RATIO_ERROR) - right.falling, 0.0)
        best = np.minimum(
            left.with_one - gamma * left.without + up * rise,
            right.with_one - gamma * right.without + down * rise,
        )
        best = np.minimum(best, right.with_one - gamma * left.without)
        error = _TAIL_ERROR * (right.with_one + gamma * right.without) + self.dropped
        return float((best + error).max())

    def _weights(self, thetas: list[float], others: int) -> Floats:
        sums = np.arange(others + 1.0)
        weights = np.array([binomial_weights(sums, others, theta) for theta in thetas])
        weights = weights.reshape(len(thetas), others + 1)
        return np.where(weights >= self.least, weights, 0.0)


def synthetic_laws(release: ConjugateMechanism) -> Floats:
    """Probabilities of the outputs (columns) for each number of ones, 0..n (rows)."""
    (a, b), n, m = release.prior, release.n, release.synthetic_size
    x = every_count(n)
    z = np.arange(m + 1.0)
    if release.method == "synthetic_one":
        ones, zeros = a + x[:, None], b + (n - x[:, None])
        return np.asarray(np.exp(beta_binomial_logpmf(z, m, ones, zeros)))
    less = release.method == "synthetic_map"
    # a + (x - 1), as a may be far smaller than 1.
    ones, zeros = np.maximum(a + (x - less), 0), np.maximum(b + (n - x - less), 0)
    total = ones + zeros
    shares = np.column_stack([ones / total, zeros / total])
    return np.asarray(np.exp([binomial_logpmf(z, m, float(p), float(q)) for p, q in shares]))
