r"""Neighbouring normal laws conditioned to [-r, r]: pure epsilon and hockey-stick divergence.

Lengths are in units of the law's standard deviation. The law with centre t has density
exp(-(z - t)^2 / 2) / Z(t) on [-r, r], so for centres t > t', d = t - t', the log ratio at z is

    z d - kappa,    kappa = A(t) - A(t'),    A(t) = t^2 / 2 + log Z(t),

with A'(t) = E_t z. Centres lie in [low, high], neighbours at most `shift` apart, and
high - low >= shift.

*Pure epsilon.* The log ratio increases in z. Its largest value, at z = r, is the integral of
r - E_y z over y in [t', t], where E_y z increases in y and is below r: it is largest for
t' = low, t = low + shift. Minus the smallest, the integral of r + E_y z, is largest for
t = high. (Zheng 2015, Theorems 7.7 and 7.12, bounds z d alone, without kappa.)

*Divergence.* F(t', t) = sup_S P_t(S) - exp(epsilon) P_t'(S) is attained at S = {z > z*}. Both
centres move the probability of such an S up, so F increases in t and decreases in t':
neighbours are worst at distance `shift`, which there is room for. The other direction is the
same function for centres -t and -t'. Where in [low, high] the pair is worst depends on epsilon
(near 0, where the law varies most; near the pure epsilon, at the end of the range), so it is
searched. With p, q the densities under t = t' + shift and t', P and Q the probabilities of
S, and gamma = exp(epsilon), F moves with the pair by

    F' = gamma [q(r) (1 - Q) + q(-r) Q] - [p(r) (1 - P) + p(-r) P],

for F' = Cov_P(1_S, z) - gamma Cov_Q(1_S, z), S being optimal; by parts
Cov_P(1_S, z) = p(z*) - p(r) (1 - P) - p(-r) P; and p(z*) = gamma q(z*). On a piece [a, b] of
the range of t', p(r), q(r) and z* increase, p(-r) and q(-r) decrease, and P and Q lie between
their values for the later centre with the earlier z* and the other way round. That bounds F'
below and above, and F by its values at a, at b and in the middle, as P does, which is 0 where no
output is worth gamma. Pieces are halved until no
bound exceeds the largest value found by more than one part in 10^6, and the answer is raised
by as much: never below the truth.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.mechanisms.laws import binomial_logpmf
from bayesdp.privacy.profile import expected_excess

Floats = NDArray[np.float64]

_SLACK = 1e-6  # by which the search may overstate the worst divergence, relative
_FLOOR = 1e-290
_PIECES = 1 << 16  # kept at once, at most; those left count with their bound
_STEEPEST = 600.0  # log of a slope; F is at most 1, so that pieces that it matters to are none
_EDGE = 85.0  # a density is negligible where its log is below its peak's by half of it
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def truncated_pure_epsilon(low: float, high: float, shift: float, r: float) -> float:
    """The largest log ratio of laws with centres in [low, high], `shift` apart; rounded up."""
    first, first_error = _kappa(np.array([low]), np.array([low + shift]), shift, r)
    last, last_error = _kappa(np.array([high - shift]), np.array([high]), shift, r)
    largest = r * shift + max(-float(first[0]), float(last[0]))
    error = 1e-14 * (r * shift + max(float(first_error[0]), float(last_error[0])))
    return largest + error


def worst_truncated_divergence(
    low: float, high: float, shift: float, r: float, epsilon: float
) -> float:
    """The largest F over centres in [low, high], in both directions, to one part in 10^6.

    Parameters
    ----------
    low, high, shift, r : float
        Range of the centres, largest distance of neighbours' centres, and bound of the output.
    epsilon : float
        At least 0, finite.
    """
    return max(
        _worst_upward(low, high - shift, shift, r, epsilon),
        _worst_upward(-high, -low - shift, shift, r, epsilon),
    )


def truncated_divergence(lower: ArrayLike, distance: ArrayLike, r: float, epsilon: float) -> Floats:
    """Divergence F of the laws with centres lower + distance and lower, elementwise.

    It is the integral over z > z* of p(z) (1 - exp(-(z - z*) d)), whose terms are positive.
    """
    lower, distance = np.broadcast_arrays(*(np.asarray(v, float) for v in (lower, distance)))
    upper = lower + distance
    kappa, _ = _kappa(lower, upper, distance, r)
    start = np.clip((epsilon + kappa) / distance, -r, r)
    z, weight, peak = _nodes(start, r, upper)
    excess = -np.expm1(-(z - start[..., None]) * distance[..., None])
    terms = weight * excess * np.exp(_log_below_peak(z, peak, upper))
    log_peak = -0.5 * (peak - upper) ** 2 - _log_mass(upper, r)
    return np.asarray(terms.sum(axis=-1) * np.exp(log_peak))


def composed_divergence(each: float, count: int, epsilon: float) -> float:
    """Largest divergence of `count` independent releases, each `each`-DP with delta = 0.

    It is that of `count` randomized responses, of which any such release is a function (Kairouz, Oh
    and Viswanath 2015, Theorem 3.3): k of them tell the truth, k binomial with probability
    exp(each) / (1 + exp(each)), and the log ratio is (2 k - count) each.
    """
    k = np.arange(count + 1)
    lie = 1 / (1 + math.exp(min(each, 700.0)))
    log_p = binomial_logpmf(k, count, 1 - lie, lie)
    return expected_excess(log_p, (2 * k - count) * each, epsilon)


def _worst_upward(first: float, last: float, shift: float, r: float, epsilon: float) -> float:
    """The largest F(t', t' + shift) for t' in [first, last]; see the module's docstring."""
    a, b = np.array([first]), np.array([max(first, last)])
    at_a, at_b = (truncated_divergence(end, shift, r, epsilon) for end in (a, b))
    best = float(max(at_a[0], at_b[0]))
    while a.size:
        half = (a + b) / 2
        middle = truncated_divergence(half, shift, r, epsilon)
        best = max(best, float(middle.max()))
        lowest, highest, most = _slopes(a, b, shift, r, epsilon)
        bounds = (
            at_a + (b - a) * np.maximum(highest, 0.0),
            at_b - (b - a) * np.minimum(lowest, 0.0),
            middle + (b - a) / 2 * np.maximum(np.abs(lowest), np.abs(highest)),
            most,
        )
        bound = np.minimum.reduce(bounds)
        kept = (bound > max(best * (1 + _SLACK), _FLOOR)) & (b > a)
        if kept.sum() > _PIECES or (kept & (half <= a)).any():
            return max(best, float(bound[kept].max()))
        a, half, b, at_a, middle, at_b = (v[kept] for v in (a, half, b, at_a, middle, at_b))
        a, b = np.concatenate((a, half)), np.concatenate((half, b))
        at_a, at_b = np.concatenate((at_a, middle)), np.concatenate((middle, at_b))
    return max(best * (1 + _SLACK), _FLOOR)


def _slopes(
    a: Floats, b: Floats, shift: float, r: float, epsilon: float
) -> tuple[Floats, Floats, Floats]:
    """Bounds on the derivative of F(t', t' + shift) for t' in [a, b], and on F by P alone."""
    early = np.clip((epsilon + _kappa(a, a + shift, shift, r)[0]) / shift, -r, r)
    late = np.clip((epsilon + _kappa(b, b + shift, shift, r)[0]) / shift, -r, r)

    def both_ends(first: Floats, last: Floats, log_factor: float) -> tuple[Floats, Floats, Floats]:
        """Least and largest of p(r) (1 - P) + p(-r) P, over the ends, times a factor; and of P."""
        least_tail, most_tail = _tail(first, late, r), _tail(last, early, r)
        (low_first, low_last), (high_first, high_last) = (
            [_density(z, centre, r, log_factor) for centre in (first, last)] for z in (-r, r)
        )
        least = high_first * (1 - most_tail) + low_last * least_tail
        most = high_last * (1 - least_tail) + low_first * most_tail
        return least, most, most_tail

    least, most, _ = both_ends(a, b, epsilon)
    falling = both_ends(a + shift, b + shift, 0.0)
    return least - falling[1], most - falling[0], falling[2]


def _density(z: float, centre: Floats, r: float, log_factor: float) -> Floats:
    """Density of the conditioned variable at z, times a factor that may be no float itself."""
    log_density = log_factor - 0.5 * (z - centre) ** 2 - _log_mass(centre, r)
    return np.asarray(np.exp(np.minimum(log_density, _STEEPEST)))


def _tail(centre: Floats, start: Floats, r: float) -> Floats:
    """Probability that the conditioned normal variable exceeds start."""
    return np.minimum(1.0, np.exp(_log_mass(centre, r, start) - _log_mass(centre, r)))


def _kappa(lower: Floats, upper: Floats, distance: ArrayLike, r: float) -> tuple[Floats, Floats]:
    """A(upper) - A(lower), and the size of the terms it comes from."""
    centre = np.asarray(distance) * (lower + upper) / 2
    above, below = _log_mass(upper, r), _log_mass(lower, r)
    return centre + above - below, np.abs(centre) + np.abs(above) + np.abs(below)


def _log_mass(centre: Floats, r: float, start: Floats | None = None) -> Floats:
    """Log of the integral of exp(-(z - centre)^2 / 2) over [start, r]: log Z where start is -r."""
    z, weight, peak = _nodes(np.full_like(centre, -r) if start is None else start, r, centre)
    total = np.sum(weight * np.exp(_log_below_peak(z, peak, centre)), axis=-1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) - 0.5 * (peak - centre) ** 2)


def _log_below_peak(z: Floats, peak: Floats, centre: Floats) -> Floats:
    peak, centre = peak[..., None], centre[..., None]
    return -0.5 * (z - peak) * ((z - centre) + (peak - centre))


def _nodes(low: Floats, high: float, centre: Floats) -> tuple[Floats, Floats, Floats]:
    """Gauss-Legendre nodes and weights for exp(-(z - centre)^2 / 2) on [low, high], and its peak.

    Of [low, high], only what isn't negligible beside the peak.
    """
    peak = np.clip(centre, low, high)
    outside = np.abs(peak - centre)
    inward = _EDGE / (np.sqrt(outside**2 + _EDGE) + outside)
    first, last = np.maximum(low, peak - inward), np.minimum(high, peak + inward)
    half = (last - first) / 2
    z = first[..., None] + half[..., None] * (1 + _NODES)
    return z, half[..., None] * _WEIGHTS, peak
