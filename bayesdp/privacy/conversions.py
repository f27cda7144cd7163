r"""Conversions between definitions of privacy, always on the safe side.

Pure epsilon, zero-concentrated (rho-zCDP), Renyi and Gaussian differential privacy (mu-GDP)
each imply (epsilon, delta). The last three compose by sums: of rho, of the Renyi epsilons of
one order, of mu squared. Results are rounded up where more means less privacy, and down where
an answer is the most that may be spent; by a few parts in 10^15, above the error of their
computation.

From Renyi to (epsilon, delta)
------------------------------
Let Z be the privacy loss log dP/dQ under P, D_alpha the Renyi divergence of order alpha > 1.
Then (Canonne, Kamath and Steinke 2020, Proposition 12; Asoodeh et al. 2020)

    delta(epsilon) = E max(0, 1 - exp(epsilon - Z))
                  <= E exp((alpha - 1) Z) max over z of exp((1 - alpha) z) (1 - exp(epsilon - z))
                   = exp((alpha - 1) (D_alpha - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1),

with the maximum at exp(z - epsilon) = alpha / (alpha - 1). Every order gives a bound, so that
the search for the best order can't make an answer wrong. The logarithm of the bound is convex
in alpha when D_alpha = alpha rho, as (alpha - 1) log(alpha - 1) - alpha log(alpha) is; so each
of delta, epsilon and rho, given the other two, has one optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bayesdp.checks import check_delta, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy import composition

_UP = 1 + 2.0**-49  # eight units in the last place: four operations, each correct to one
_ULPS = 2.0**-49  # the same for a sum of terms, relative to the largest
_GOLDEN = (math.sqrt(5) - 1) / 2


def pure_to_zcdp(epsilon: float) -> float:
    """The smallest rho such that every epsilon-DP release is rho-zCDP.

    rho = epsilon tanh(epsilon / 2), a little less than epsilon^2 / 2 (Bun and Steinke 2016,
    Proposition 3.3).

    *Proof*. Let X = dP/dQ in [exp(-epsilon), exp(epsilon)], with E_Q X = 1. As x^alpha is convex,
    E_Q X^alpha is at most that of the law on the interval's two ends, which is randomized
    response; that makes it cosh((alpha - 1/2) epsilon) / cosh(epsilon / 2). So the claim is that

        log cosh(a sqrt(s)) - log cosh(a) <= (s - 1) a tanh(a) / 2

    with a = epsilon / 2 and s = (2 alpha - 1)^2 > 1. The left side is concave in s, since its
    derivative a tanh(a sqrt(s)) / (2 sqrt(s)) falls, and the right side is its tangent at s = 1.
    Both agree in the limit s = 1, so no smaller rho will do.
    """
    epsilon = _at_least_zero("epsilon", epsilon)
    if epsilon == 0:
        return 0.0
    return math.nextafter(epsilon * math.tanh(epsilon / 2) * _UP, math.inf)


def zcdp_to_pure(rho: float) -> float:
    """The largest epsilon with `pure_to_zcdp(epsilon)` at most rho, found by bisection."""
    rho = _at_least_zero("rho", rho)
    if math.isinf(rho):
        return math.inf
    low, high = 0.0, 2 * max(rho, math.sqrt(rho)) + 1e-300
    for _ in range(120):
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if pure_to_zcdp(middle) <= rho else (low, middle)
    return low


def zcdp_to_delta(rho: float, epsilon: float) -> float:
    """The smallest delta that is proved for every rho-zCDP release; the module has the proof.

    Parameters
    ----------
    rho, epsilon : float
        At least 0.
    """
    rho, epsilon = _at_least_zero("rho", rho), _at_least_zero("epsilon", epsilon)
    if rho == 0 or math.isinf(epsilon):
        return 0.0 if math.isfinite(rho) else 1.0
    if math.isinf(rho):
        return 1.0

    def log_delta(log_order: float) -> float:
        more = math.exp(log_order)  # alpha - 1
        return _log_delta(more, [more * rho, more * more * rho], epsilon)

    return min(1.0, math.exp(_least(log_delta)) * _UP)


def zcdp_to_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon that is proved for every rho-zCDP release; the module has the proof.

    Parameters
    ----------
    rho : float
        At least 0.
    delta : float
        In [0, 1); inf is returned for 0, unless rho is 0.
    """
    rho, delta = _at_least_zero("rho", rho), check_delta(delta)
    if rho == 0:
        return 0.0
    if delta == 0 or math.isinf(rho):
        return math.inf

    def bound(log_order: float) -> float:
        more = math.exp(log_order)
        return _epsilon(more, [rho, more * rho], delta)

    return _least(bound)


def zcdp_from_epsilon_delta(epsilon: float, delta: float) -> float:
    """The largest rho that is proved to imply (epsilon, delta)-DP; the module has the proof.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [0, 1); 0 is returned for 0.
    """
    epsilon, delta = _at_least_zero("epsilon", epsilon), check_delta(delta)
    if delta == 0 or math.isinf(epsilon):
        return epsilon if delta else 0.0

    def minus_rho(log_order: float) -> float:
        more = math.exp(log_order)
        terms = [epsilon, math.log(delta) / more, math.log1p(more) / more, _log_odds(more)]
        return (math.fsum([-t for t in terms]) + _ULPS * _size(terms)) / (1 + more) * (1 - _ULPS)

    return max(0.0, -_least(minus_rho))


def renyi_to_epsilon(alpha: float, renyi_epsilon: float, delta: float) -> float:
    """Convert (alpha, renyi_epsilon)-Renyi DP, alpha > 1, to the epsilon of (epsilon, delta)-DP."""
    if not is_number(alpha) or not 1 < alpha < math.inf:
        raise InvalidInput(f"alpha is {quoted(alpha)}; it must be a finite number above 1")
    renyi_epsilon, delta = _at_least_zero("renyi_epsilon", renyi_epsilon), check_delta(delta)
    if delta == 0:
        return math.inf if renyi_epsilon else 0.0
    return _epsilon(alpha - 1, [renyi_epsilon], delta)


def gdp_to_zcdp(mu: float) -> float:
    """Convert mu-GDP to zCDP: rho = mu^2 / 2, exact for a Gaussian.

    A mu-GDP release's neighbours are a function of N(mu, 1) and N(0, 1), with noise (Dong, Roth
    and Su 2022, Theorem 2.10), whose Renyi divergence of order alpha is alpha mu^2 / 2.
    """
    mu = _at_least_zero("mu", mu)
    return math.nextafter(mu * mu / 2, math.inf) if mu else 0.0


def gdp_to_delta(mu: float, epsilon: float) -> float:
    """The tight delta of mu-GDP: the profile of a Gaussian (Balle and Wang 2018, Theorem 8)."""
    from bayesdp.privacy.profile import gaussian_profile

    return gaussian_profile(_at_least_zero("mu", mu)).delta(epsilon)


def gdp_to_epsilon(mu: float, delta: float) -> float:
    """The tight epsilon of mu-GDP at delta in [0, 1); inf at 0, unless mu is 0."""
    from bayesdp.privacy.profile import gaussian_profile

    return gaussian_profile(_at_least_zero("mu", mu)).epsilon(delta)


def gdp_from_epsilon_delta(epsilon: float, delta: float) -> float:
    """The largest mu such that mu-GDP implies (epsilon, delta)-DP: calibrates a Gaussian."""
    from bayesdp.privacy.profile import smallest_satisfying

    epsilon, delta = _at_least_zero("epsilon", epsilon), check_delta(delta)
    if delta == 0:
        return 0.0
    # In 1 / mu the delta falls, and the safe side of its root is the smaller mu.
    noise = smallest_satisfying(
        lambda scale: gdp_to_delta(1 / scale, epsilon) if scale > 1e-300 else 1.0, delta
    )
    mu = 1 / noise
    while gdp_to_delta(mu, epsilon) > delta:
        mu = math.nextafter(mu, 0.0)
    return mu


def pure_to_gdp(epsilon: float) -> float:
    """The smallest mu such that every epsilon-DP release is mu-GDP.

    The trade-off function of epsilon-DP (Wasserman and Zhou 2010) joins (0, 1), (t, t) and (1, 0)
    by straight lines, with t = 1 / (1 + exp(epsilon)). That of mu-GDP is convex with the same
    ends, and so lies below if it goes through (t, t): mu = -2 Phi^-1(t), and no smaller mu does.
    """
    from scipy import special

    epsilon = _at_least_zero("epsilon", epsilon)
    if epsilon < 1:  # where t is close to 1/2
        mu = 2 * math.sqrt(2) * float(special.erfinv(math.tanh(epsilon / 2)))
    else:
        mu = -2 * float(special.ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return math.nextafter(mu * (1 + 1e-13), math.inf) if epsilon else 0.0


def compose_zcdp(rhos: Sequence[float]) -> float:
    """Compose zCDP releases, each given those before: rho adds (Bun and Steinke 2016, Lemma 2.3).

    The Renyi epsilons of one order add in the same way (Mironov 2017, Proposition 1).
    """
    return composition.total([_at_least_zero("rho", rho) for rho in rhos])


def compose_renyi(renyi_epsilons: Sequence[float]) -> float:
    """Compose Renyi-DP releases, all of one order: epsilon adds (Mironov 2017, Proposition 1)."""
    return composition.total([_at_least_zero("renyi_epsilon", each) for each in renyi_epsilons])


def compose_gdp(mus: Sequence[float]) -> float:
    """Compose GDP releases: mu^2 adds up (Dong, Roth and Su 2022, Corollary 3.3)."""
    mu = math.hypot(*(_at_least_zero("mu", mu) for mu in mus))
    return math.nextafter(mu * _UP, math.inf) if mu else 0.0


def _log_odds(more: float) -> float:
    """Compute -log(1 - 1/alpha), with alpha - 1 = `more`."""
    return math.log1p(1 / more)


def _epsilon(more: float, divergence: list[float], delta: float) -> float:
    """The module's bound solved for epsilon, with D_alpha as the sum of `divergence`."""
    spread = [-math.log(delta) / more, -math.log1p(more) / more, -_log_odds(more)]
    terms = [*divergence, *spread]
    return math.inf if math.inf in terms else max(0.0, math.fsum(terms) + _ULPS * _size(terms))


def _log_delta(more: float, divergence: list[float], epsilon: float) -> float:
    """Logarithm of the module's bound, with (alpha - 1) D_alpha as the sum of `divergence`."""
    terms = [*divergence, -more * epsilon, -more * _log_odds(more), -math.log1p(more)]
    if math.inf in terms:
        return math.inf
    return math.fsum(terms) + _ULPS * _size(terms)


def _size(terms: Sequence[float]) -> float:
    return math.fsum(abs(term) for term in terms)


def _least(function: Callable[[float], float]) -> float:
    """Minimize a function by golden-section search over the logarithm of alpha - 1.

    The function has a single minimum; where two values are equal, as where both overflow, the
    minimum lies to their left.
    """
    low, high = -345.0, 690.0  # up to where exp, and its square at the left, are floats
    one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_one, at_two = function(one), function(two)
    best = min(at_one, at_two)
    while high - low > 1e-9:
        if at_one <= at_two:
            high, two, at_two = two, one, at_one
            one = high - _GOLDEN * (high - low)
            at_one = function(one)
        else:
            low, one, at_one = one, two, at_two
            two = low + _GOLDEN * (high - low)
            at_two = function(two)
        best = min(best, at_one, at_two)
    return best


def _at_least_zero(name: str, value: float) -> float:
    if not is_number(value) or not value >= 0:
        raise InvalidInput(f"{name} is {quoted(value)}; it must be a number, at least 0")
    return float(value)
