r"""Privacy profiles of Gaussian noise on the lattice of integers: scalars, vectors, copies.

k copies of a vector of d components, shifted by at most M steps in L2 norm, are one vector of
D = k d components shifted by at most sqrt(k) M. Each has the law P(z) = f(z - c) / theta.

One component, exactly
----------------------
The ratio of the laws at 0 and at j, exp((j^2 - 2 j z) / (2 s^2)), falls in z, so the best events
are {z <= m}; and Pr[z <= m | 0] - exp(epsilon) Pr[z <= m | j] increases in j for each m, so the
largest shift is the worst. The divergence is a sum of positive terms (`scalar_divergence`).

Any number of components, from the continuous Gaussian
------------------------------------------------------
Let s^2 = r^2 + a^2. Draw y ~ N(c, r^2), then an integer z with probability proportional to
exp(-(z - y)^2 / (2 a^2)): the mechanism Q, a randomisation of the continuous Gaussian of standard
deviation r. By Poisson's summation formula the sum of exp(-(z - y)^2 / (2 a^2)) over the integers
is sqrt(2 pi) a (1 + b(y)) with |b| <= eta(a) = 2 sum_{i >= 1} exp(-2 pi^2 a^2 i^2). Hence

    Q(z) = integral N(y; c, r^2) N(z; y, a^2) / (1 + b(y)) dy,

between N(z; c, s^2) / (1 + eta(a)) and N(z; c, s^2) / (1 - eta(a)), while P(z) = N(z; c, s^2) /
(1 + b) with |b| <= eta(s) <= eta(a). So at every z, without any exception in the tails,

    exp(-e) <= P(z) / Q(z) <= exp(e),    e = D log((1 + eta(a)) / (1 - eta(a)))

over D components. Then P0(S) - exp(epsilon) P1(S) <= exp(e) [Q0(S) - exp(epsilon - 2 e) Q1(S)],
that is

    delta_P(epsilon) <= exp(e) delta_{N(0, r^2), shift sqrt(k) M}(epsilon - 2 e),

(at a negative argument delta(0) + 2 e - epsilon bounds the last factor), with the exact profile of
Balle and Wang (2018) on the right. eta(2) is below 1e-33, so a scale of s steps loses a factor
sqrt(1 - 4 / s^2) in the scale and nothing else: 2e-12 of it for s = 2^20.

For small scales zero-concentrated privacy helps too: rho = k M^2 / (2 s^2) holds for the discrete
Gaussian as for the continuous one, the Renyi divergences of components adding up (Canonne, Kamath
and Steinke 2020, Theorem 4), and `bayesdp.privacy.conversions` has the delta(epsilon) that
follows. The least of all bounds is taken.

Truncated
---------
With C(c) the probability of the bounds and S within them, Pr[S | c] / C(c) - exp(epsilon)
Pr[S | c'] / C(c') = [Pr[S | c] - exp(epsilon + log C(c) - log C(c')) Pr[S | c']] / C(c). Now
log C is concave and symmetric about the middle of the bounds (C is a convolution of log-concave
laws), so C(c) >= C(low), and log C(c') - log C(c) <= G(j) = log C(low + min(j, w/2)) - log C(low),
concave and increasing in j = |c' - c|. Over all components, by the argument of `pure`,
delta(epsilon) <= C(low)^-D delta_P(epsilon - k max sum G(j_i)). The least of this and of what
follows from the pure epsilon is taken.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from bayesdp.mechanisms.noise.laws import GaussianNoise
from bayesdp.mechanisms.noise.pure import l1_budget, spread, truncated_gaussian
from bayesdp.privacy.conversions import zcdp_to_delta
from bayesdp.privacy.profile import Profile, composed_pure, gaussian_divergence

_EXACT = 4096  # largest scale whose scalar profile is summed term by term
_SMOOTHING = (1.0, 1.25, 1.5, 2.0)  # a; a larger one costs scale, a smaller one epsilon
_MANY = 64  # scale above which zero-concentration never wins
_LEAST = 1e-290  # below, floats lose digits
_PURE = "Gaussian noise has no pure epsilon: ask for a positive delta, such as 1e-6."


def gaussian_profile(
    noise: GaussianNoise, length: float, dimension: int, copies: int, width: float | None
) -> Profile:
    """Privacy profile of `copies` copies, as good as the module's docstring proves it.

    Parameters
    ----------
    noise : GaussianNoise
    length : float
        L2 sensitivity in steps; whole for a scalar.
    dimension, copies : int
    width : float or None
        Steps between the bounds of a truncated law; None where it isn't truncated.
    """

    def whole_line(epsilon: float) -> float:
        return divergence(noise, length, dimension, copies, epsilon)

    if width is None:
        event = partial(_event, noise, math.sqrt(copies) * length)
        enough = float(noise.scale) > _SMOOTHING[-1] and length
        return Profile(whole_line, math.inf, why=_PURE, event=event if enough else None)
    pure = truncated_gaussian(noise, length, dimension, width)
    total = math.nextafter(copies * pure, math.inf)
    lost, log_factor = _conditioning(noise, length, dimension, copies, width)

    def truncated(epsilon: float) -> float:
        line = 1.0
        if epsilon >= lost:
            line = math.exp(min(math.log(whole_line(epsilon - lost)) + log_factor, 0.0))
        return min(line, composed_pure(pure, copies, epsilon))

    return Profile(truncated, total, why=_PURE)


def _event(noise: GaussianNoise, shift: float) -> Any:
    """The event of dp_accounting whose profile is the bound by the continuous Gaussian, a = 2.

    A shift that is longer by 1 part in 10^12 covers the roundings, and e: below 1e-32 a component.
    """
    from dp_accounting.dp_event import GaussianDpEvent

    scale, a = float(noise.scale), _SMOOTHING[-1]
    return GaussianDpEvent(math.sqrt((scale - a) * (scale + a)) / shift * (1 - 1e-12))


def divergence(
    noise: GaussianNoise, length: float, dimension: int, copies: int, epsilon: float
) -> float:
    """Delta at `epsilon` without truncation: the least of the bounds that apply, from 1e-290 up."""
    scale, components = float(noise.scale), dimension * copies
    if components == 1 and scale <= _EXACT:
        return max(scalar_divergence(noise, int(length), epsilon), _LEAST)
    shift = math.sqrt(copies) * length
    bounds = [1.0]
    for a in _SMOOTHING:
        if a < scale:
            bounds.append(_smoothed(scale, a, shift, components, epsilon))
    if scale <= _MANY:
        bounds.append(zcdp_to_delta(shift * shift / (2 * scale * scale), epsilon))
    return max(min(bounds), _LEAST)


def scalar_divergence(noise: GaussianNoise, shift: int, epsilon: float) -> float:
    """Sum over z <= m of P(z) (1 - exp(epsilon) / ratio(z)), the ratio falling to 1 at m."""
    scale = float(noise.scale)
    epsilon *= 1 - 2.0**-50  # above the rounding of the differences from it
    m = min(math.floor(shift / 2 - epsilon * scale * scale / shift), math.ceil(9 * scale))
    z = np.arange(m, min(m, 0) - math.ceil(9 * scale) - 1, -1, dtype=np.float64)
    over = epsilon - shift * (shift - 2 * z) / (2 * scale * scale)
    terms = np.exp(noise.log_pmf(z)) * -np.expm1(np.minimum(over, 0.0))
    return float(np.sum(terms))


def _smoothed(scale: float, a: float, shift: float, components: int, epsilon: float) -> float:
    """Bound on delta from the continuous Gaussian with a^2 less variance."""
    eta = 2.01 * math.exp(-2 * (math.pi * a) ** 2)  # the later terms are below 1e-20 of the first
    e = components * 2.01 * eta  # log((1 + eta) / (1 - eta)) < 2.01 eta
    rest = math.sqrt((scale - a) * (scale + a)) * (1 - 2.0**-50)
    if e > 1:
        return 1.0
    excess = max(2 * e - epsilon, 0.0)
    return math.exp(e) * (gaussian_divergence(shift / rest, max(epsilon - 2 * e, 0.0)) + excess)


def _conditioning(
    noise: GaussianNoise, length: float, dimension: int, copies: int, width: float
) -> tuple[float, float]:
    """Bound what truncation adds to epsilon, and the log of what it multiplies delta by."""
    at_end = float(noise.log_mass(0, width))
    half = width / 2 if math.isinf(width) else math.ceil(width / 2)

    def gain(j: float) -> float:
        inside = min(j, half)
        return float(noise.log_mass(inside, width - inside)) - at_end

    lost = copies * spread(gain, l1_budget(length, dimension), dimension, width)
    rounding = copies * dimension * 1e-13
    return lost * (1 + 1e-12) + rounding, -at_end * dimension * copies + rounding
