r"""Pure epsilon of additive noise: Laplace, truncated Laplace, truncated Gaussian.

All lengths are in steps of the lattice; c, c' are the rounded statistics of neighbours, j = |c' -
c|.

Laplace, q = exp(-1 / t): Pr[z | c] / Pr[z | c'] <= exp(j / t), attained at every z on c's side.
Over components the exponents add up, so epsilon = (L1 sensitivity) / t. Inflating keeps it, being
post-processing, and attains it at the bound.

Truncated Laplace on {L, ..., U}, w = U - L
-------------------------------------------
Pr[z | c] = q^|z - c| / N(c), N(c) = [1 + q - q^(c - L + 1) - q^(U - c + 1)] / (1 - q), and N is
concave, so log N is too. The log ratio at z is at most j / t + log N(c') - log N(c); by
symmetry let c' = c + j, and then, log N being concave, it is largest at c = L, where z = L
attains it:

    F(j) = j / t + log(N(L + j) / N(L)) = j / t + log1p(q (1 - q^j) (1 - q^(w-j)) / (1 - q^(w+1))).

F(0) = 0, F is concave as log N is, and it increases up to w: its derivative,
(1 + q - 2 q^(w-j+1)) / (t (1 - q) N(L + j)), is positive. With w infinite, q^w = 0.

Truncated Gaussian on {L, ..., U}
---------------------------------
The log ratio of c and c' is linear in z, so largest at an end; let it be z = L, where
Pr[L | c] = exp(-A(c)), A(c) = log sum_z exp(-(z - L)^2 / (2 s^2) + (z - L)(c - L) / s^2), a
cumulant function: convex and increasing. So A(c') - A(c) is largest at c' = U:

    F(j) = A(U) - A(U - j) = (w^2 - (w - j)^2) / (2 s^2) + log[(1 + S(w)) / (1 + S(w-j) + S(j))],

S(m) = sum_{i=1}^m exp(-i^2 / (2 s^2)). F is concave and increases; with an open end it is inf.

Vectors
-------
Each component has a log ratio of at most F(j_i), attained independently of the others, so
epsilon = max of sum F(j_i) over whole j_i >= 0 within the budget: under L1, sum j_i <= B; under
L2, sum j_i^2 <= M^2, whence sum j_i <= min(sqrt(d) M, M^2), rounded down, is enough. For a concave
F the best split of a whole budget is as even as whole numbers allow (`spread`): exact under L1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.mechanisms.noise.laws import GaussianNoise, LaplaceNoise

if TYPE_CHECKING:
    from bayesdp.privacy.loss_distribution import LossDistribution

_SAFE = 1 + 1e-12  # above the errors of the logarithms below
_BELOW = 1 - 2.0**-50  # of epsilon, where what is left of a ratio above it is the difference


def up(value: Fraction | int) -> float:
    """Return the smallest float that isn't below `value`."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def spread(cost: Callable[[float], float], budget: int, dimension: int, width: float) -> float:
    """Largest sum of cost(j_i) over whole 0 <= j_i <= width with sum at most `budget`.

    The cost must be concave and increasing, with cost(0) = 0.
    """
    if budget >= dimension * width:
        return dimension * cost(width)
    each, more = divmod(budget, dimension)
    return (dimension - more) * cost(each) + (more * cost(each + 1) if more else 0.0)


def truncated_laplace(noise: LaplaceNoise, budget: int, dimension: int, width: float) -> float:
    """Pure epsilon of one copy with truncated Laplace noise, rounded up."""
    rate = float(1 / noise.scale)

    def cost(j: float) -> float:
        gain = math.expm1(-j * rate) * math.expm1(-(width - j) * rate)
        return j * rate + math.log1p(math.exp(-rate) * gain / -math.expm1(-(width + 1) * rate))

    return spread(cost, budget, dimension, width) * _SAFE


def truncated_gaussian(noise: GaussianNoise, length: float, dimension: int, width: float) -> float:
    """Pure epsilon of one copy with truncated Gaussian noise, for an L2 sensitivity in steps."""
    if math.isinf(width):
        return math.inf
    twice = float(2 * noise.scale**2)

    def cost(j: float) -> float:
        whole, rest, moved = (float(noise.partial(m)) for m in (width, width - j, j))
        # log(1 + (whole - rest - moved) / ...), since the two sums are nearly equal for small j
        change = (whole - rest - moved) / (1 + rest + moved)
        return j * (2 * width - j) / twice + math.log1p(change)

    padding = dimension * 1e-13  # the sums' own errors
    return spread(cost, l1_budget(length, dimension), dimension, width) * _SAFE + padding


def l1_budget(length: float, dimension: int) -> int:
    """Number of whole steps in L1 norm that a vector of L2 norm at most `length` can take."""
    return math.floor(min(math.sqrt(dimension) * length, length * length) * _SAFE)


def laplace_divergence(noise: LaplaceNoise, shift: int, epsilon: float) -> float:
    r"""Hockey-stick divergence of discrete Laplace noise from itself shifted by `shift` steps.

    The ratio falls in z, so the best events are {z <= m}: of all m, the last one where it exceeds
    exp(epsilon), m = ceil((shift - epsilon t) / 2) - 1. And Pr[z <= m] - exp(epsilon)
    Pr[z <= m - shift] increases in shift for each m, hence so does its largest: the worst
    neighbours are the furthest apart. Summing p(z) (1 - exp(epsilon) / ratio) over z <= m,

        [1 - exp(-D) + q (1 - q^m) (1 - exp((m + 1) / t - D))] / (1 + q),  D = shift / t - epsilon.
    """
    rate = float(1 / noise.scale)
    epsilon *= _BELOW
    if shift * rate <= epsilon:
        return 0.0
    gap = shift * rate - epsilon
    m = max(math.ceil((shift - epsilon / rate) / 2) - 1, 0)
    # With m >= 1, the last exponent is at most 0; with none it could overflow.
    rest = math.expm1(-m * rate) * math.expm1((m + 1) * rate - gap) if m else 0.0
    q = math.exp(-rate)
    return float((-math.expm1(-gap) + q * rest) / (1 + q))


def laplace_losses(noise: LaplaceNoise, shift: int) -> LossDistribution:
    r"""The law of the privacy loss of discrete Laplace noise against itself, `shift` steps away.

    At z the loss is (|z - shift| - |z|) / t: shift / t for all z <= 0, of probability 1 / (1 + q),
    (shift - 2 z) / t for 0 < z < shift, and -shift / t beyond, of probability q^shift / (1 + q). By
    symmetry it is the same in the other direction, and `laplace_divergence` says that the furthest
    neighbours' pair dominates.
    """
    from bayesdp.privacy.loss_distribution import LossDistribution

    rate = float(1 / noise.scale)
    z = np.arange(shift + 1.0)
    masses = np.exp(-rate * z) * math.tanh(rate / 2)
    masses[[0, -1]] = np.exp([0.0, -rate * shift]) / (1 + math.exp(-rate))
    return LossDistribution(np.asarray((shift - 2 * z) * rate), masses, 0.0)
