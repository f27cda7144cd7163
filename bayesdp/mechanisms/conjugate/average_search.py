r"""The worst theta for a release that sees the sum of Bernoulli records through noise.

The output Y of a sum s has a law f_s with two properties, proved for each method where it is used:

(i) f_s(y) has a monotone likelihood ratio: f_{s+1}(y) / f_s(y) increases in y;
(ii) g_s(t) = Pr[Y > t | s + 1] - Pr[Y > t | s], nonnegative by (i), is log-concave in s.

The N = n - 1 other records have B ~ Binomial(N, theta) ones. Write P1 and P0 for the laws of Y
given the record in question is 1 (the sum is B + 1) or 0 (the sum is B), P1(t) and P0(t) for
their probabilities of Y > t, gamma = exp(epsilon), and h(theta, t) = P1(t) - gamma P0(t).

*The best sets are {Y > t}.* The sum's two laws have the ratio s (1 - theta) / ((n - s) theta),
increasing in s. A kernel that satisfies (i) is totally positive of order 2, so by the basic
composition formula (Karlin 1968, chapter 3) the ratio of P1 to P0 increases in y. Hence
delta(theta) = max over t of h(theta, t).

*One bump for each t.* d/dtheta E g(B) = N E' [g(B + 1) - g(B)] for any function g, where E' has
B ~ Binomial(N - 1, theta). So, with r(theta, t) = E' g_{B+1}(t) / E' g_B(t),

    dP0/dtheta = N E' g_B(t) >= 0    and    dh/dtheta = (r - gamma) dP0/dtheta.

Here r is the mean of g_{s+1} / g_s, which decreases in s by (ii), under the law proportional to
the binomial times g, which increases with theta (in likelihood ratio). So r decreases in theta,
and h(., t) rises, then falls.

*A piece.* For a <= theta <= b, therefore, with rise = P0(t) at b less P0(t) at a,

    h(theta, t) <= h(a, t) + max(0, r(a, t) - gamma) rise
    h(theta, t) <= h(b, t) + max(0, gamma - r(b, t)) rise

Either excess is 0 where the bump is not inside the piece, and else of second order in b - a. As
P1(t) and P0(t) increase in theta, P1(t) at b - gamma P0(t) at a is a third bound.

Pieces are halved until no bound exceeds the largest delta found by more than `SLACK`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.laws import binomial_logpmf

Floats = NDArray[np.float64]

SLACK = 5e-3  # by which the search may overstate, relative
_POINTS = 1 << 12
_START = 8


class Point(Protocol):
    """Protocol of a divergence at one theta."""

    @property
    def theta(self) -> float:
        """The theta where the divergence is taken."""

    @property
    def delta(self) -> float:
        """Lower bound on the divergence at theta."""


P = TypeVar("P", bound=Point)


class Noise(Protocol[P]):
    """Protocol of a release that sees the sum, at one epsilon and in one direction."""

    def points(self, thetas: list[float]) -> list[P]:
        """Compute the divergence at each theta."""

    def bound(self, left: P, right: P) -> float:
        """Upper bound on delta(theta) for every theta between two points."""


def worst_theta(
    noise: Noise[P], low: float, high: float, *, reached: float = 0.0, floor: float = 0.0
) -> tuple[float, float]:
    """Bounds on the largest delta over [low, high]: one that is reached, one never exceeded.

    The second exceeds the first by at most `SLACK`, unless it is below `floor` or 4,096 thetas
    don't suffice; where low = high, by the error of one evaluation.

    Parameters
    ----------
    noise : Noise
        The divergence to evaluate and bound.
    low, high : float
        0 <= low <= high <= 1.
    reached : float
        Delta reached elsewhere: smaller values need not be found.
    floor : float
        Delta that is as good as 0.
    """
    inner = [low + i * ((high - low) / _START) for i in range(1, _START)]
    points = noise.points(sorted({low, high, *(theta for theta in inner if low < theta < high)}))
    pieces = list(pairwise(points)) or [(points[0], points[0])]
    visited, proved = len(points), 0.0
    reached = max(reached, *(point.delta for point in points), 0.0)
    while pieces:
        kept: list[tuple[P, float, P]] = []
        for left, right in pieces:
            bound, middle = noise.bound(left, right), (left.theta + right.theta) / 2
            split = visited + len(kept) < _POINTS and left.theta < middle < right.theta
            if split and bound > max(reached * (1 + SLACK), floor):
                kept.append((left, middle, right))
            else:
                proved = max(proved, bound)
        middles = noise.points([middle for _, middle, _ in kept])
        visited += len(middles)
        reached = max([reached, *(point.delta for point in middles)])
        pieces = [
            pair
            for (left, _, right), point in zip(kept, middles, strict=True)
            for pair in ((left, point), (point, right))
        ]
    return reached, proved


def worse_direction(
    sides: Sequence[tuple[Noise[P], float, float]], floor: float = 0.0
) -> tuple[float, float]:
    """Bounds on the largest delta over several noises, each with its interval of theta."""
    reached = proved = 0.0
    for noise, low, high in sides:
        reached, bound = worst_theta(noise, low, high, reached=reached, floor=floor)
        proved = max(proved, bound)
    return reached, proved


def binomial_weights(sums: Floats, others: int, theta: float) -> Floats:
    """Probabilities of each number of ones among the other records."""
    if others == 0:
        return np.ones(len(sums))
    with np.errstate(over="ignore"):  # a theta below 1e-300 gives the weight 0
        return np.asarray(np.exp(binomial_logpmf(sums, others, theta, 1 - theta)))
