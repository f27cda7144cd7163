r"""Laws of mechanisms as compiled functions of a sum over records, for data augmentation.

Each is a tuple of public numbers (the mechanism's parameters and the released outputs) and a
function that gives log Pr[all outputs | total] for one total, equal to the mechanism's `logp`
summed over the copies. -inf stands for a total that can't have been released (a truncated law
refuses statistics beyond its bounds), NaN for one that isn't a statistic at all: not a number, or
not whole where it must be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.augmentation_records import compiled

Floats = NDArray[np.float64]

_FURTHEST = 2.0**52
_DIRECT, _STEEP, _NEGLIGIBLE = 32.0, 1 / 16, 9.0


class NoiseLaw(NamedTuple):
    """Law of noise on every component of the total.

    `outputs`, shape (copies, components), and the lattice points `low` and `high` are in steps of
    the lattice; `first` and `last` are the bounds of the statistic itself. `scale` is the noise's,
    in steps, and `log_peak` its log probability of 0. `partial` holds the sums of a narrow
    Gaussian's terms, and is empty otherwise.
    """

    outputs: Floats
    step: float
    whole: bool
    gaussian: bool
    scale: float
    log_peak: float
    truncated: bool
    low: float
    high: float
    first: float
    last: float
    partial: Floats


class ChoiceLaw(NamedTuple):
    """Law of each copy's `chosen` component, with probability exponential in the component."""

    chosen: NDArray[np.int64]
    rate: float


class CopiesLaw(NamedTuple):
    """Law of Dirichlet-multinomial copies, shape (copies, cells), of `alpha` + the total."""

    outputs: Floats
    alpha: Floats
    size: float
    constant: float


@compiled
def noise_law(law: NoiseLaw, total: Floats) -> float:
    """Log Pr[outputs | total] of unbounded noise: `AdditiveNoise.logp`, summed over the copies."""
    log_law = 0.0
    for c in range(total.size):
        # As `_point`, here because a call costs more than all the rest.
        y = total[c] / law.step
        k = np.floor(y)
        if y - k >= 0.5:
            k += 1.0
        if not abs(y) <= _FURTHEST:
            k = np.inf if abs(y) < np.inf else np.nan
        if law.whole and k != y:
            k = np.nan
        for m in range(law.outputs.shape[0]):
            far = abs(law.outputs[m, c] - k) / law.scale
            log_law += law.log_peak - (far * far / 2 if law.gaussian else far)
    return log_law


@compiled
def bounded_noise_law(law: NoiseLaw, total: Floats) -> float:
    """Log Pr[outputs | total] of inflated or truncated noise, summed over the copies."""
    log_law, copies, scale, peak = 0.0, law.outputs.shape[0], law.scale, law.log_peak
    gaussian, low, high = law.gaussian, law.low, law.high
    for c in range(total.size):
        k = _point(total[c], law.step, law.whole)
        if not abs(k) < np.inf:
            return -abs(k)
        if law.truncated:
            if total[c] < law.first or total[c] > law.last:
                return -np.inf
            k = min(max(k, low), high)
            log_law -= copies * _log_mass(law.partial, gaussian, scale, peak, k - low, high - k)
        for m in range(copies):
            z = law.outputs[m, c]
            if not law.truncated and z == low:
                log_law += _log_upper(gaussian, scale, peak, k - low)
            elif not law.truncated and z == high:
                log_law += _log_upper(gaussian, scale, peak, high - k)
            else:
                far = abs(z - k) / scale
                log_law += peak - (far * far / 2 if gaussian else far)
    return log_law


@compiled
def _point(x: float, step: float, whole: bool) -> float:
    """Lattice point nearest to x, in steps; inf if out of reach, NaN if no statistic."""
    y = x / step
    k = np.floor(y)
    if y - k >= 0.5:
        k += 1.0
    if not abs(y) <= _FURTHEST:
        k = np.inf if abs(y) < np.inf else np.nan
    if whole and k != y:
        k = np.nan
    return float(k)


@compiled
def choice_law(law: ChoiceLaw, total: Floats) -> float:
    """Log Pr[choices | utilities] of the exponential mechanism."""
    best = total[0]
    for u in total:
        if not abs(u) < np.inf:
            return np.nan
        best = max(best, u)
    whole = 0.0
    for u in total:
        whole += math.exp(law.rate * (u - best))
    log_law = -law.chosen.size * math.log(whole)
    for c in law.chosen:
        log_law += law.rate * (total[c] - best)
    return log_law


@compiled
def copies_law(law: CopiesLaw, total: Floats) -> float:
    """Log Pr[copies | counts] of Dirichlet-multinomial copies."""
    log_law, weight = law.constant, 0.0
    for c in range(total.size):
        x = total[c]
        if not x >= 0.0 or x != math.floor(x):
            return np.nan
        a = law.alpha[c] + x
        if law.alpha[c] == 0.0:  # a structural zero
            if x > 0.0:
                return -np.inf
            continue
        weight += a
        for m in range(law.outputs.shape[0]):
            log_law += math.lgamma(a + law.outputs[m, c]) - math.lgamma(a)
    log_law += law.outputs.shape[0] * (math.lgamma(weight) - math.lgamma(weight + law.size))
    return float(log_law)


@compiled
def _log_upper(gaussian: bool, scale: float, log_peak: float, m: float) -> float:
    """Log Pr[noise >= m]."""
    far = m if m > 0 else 1.0 - m
    x = far / scale
    if gaussian:
        tail = log_peak - x * x / 2 + math.log(_tail_ratio(scale, far))
    else:
        tail = -x - math.log1p(math.exp(-1 / scale))
    return tail if m > 0 else math.log1p(-math.exp(min(tail, 0.0)))


@compiled
def _log_mass(
    table: Floats, gaussian: bool, scale: float, log_peak: float, below: float, above: float
) -> float:
    """Log Pr[-below <= noise <= above]."""
    if gaussian:
        both = _partial(table, scale, below) + _partial(table, scale, above)
        return math.log(1 + both) + log_peak
    rate = 1 / scale
    mass = -math.expm1(-(below + 1) * rate) - math.exp(-rate) * math.expm1(-above * rate)
    return math.log(mass) - math.log1p(math.exp(-rate))


@compiled
def _partial(table: Floats, sd: float, m: float) -> float:
    """Sum of exp(-j^2 / (2 sd^2)) over j = 1..m: from the table, where there is one."""
    x = min(m, math.ceil(40 * sd))
    if table.size:
        return float(table[int(x)])
    u = x / sd
    integral = sd * math.sqrt(math.pi / 2) * math.erf(u / math.sqrt(2.0))
    edge = 2 * _corrections(u, 1 / sd) * math.exp(-u * u / 2)
    return integral + (math.expm1(-u * u / 2) + edge) / 2


@compiled
def _tail_ratio(sd: float, m: float) -> float:
    """Sum over j >= 0 of f(m + j) / f(m), f(x) = exp(-x^2 / (2 sd^2)), m >= 1."""
    u = m / sd
    if sd >= _DIRECT and u <= _STEEP * sd:
        integral = sd * math.sqrt(math.pi / 2) * _erfcx(u / math.sqrt(2.0))
        return integral + 0.5 - _corrections(u, 1 / sd)
    terms = math.ceil(min(_NEGLIGIBLE * sd, 40 * sd / u)) + 1
    ratio = 0.0
    for j in range(terms):
        ratio += math.exp(-(j / sd) * (u + j / sd / 2))
    return ratio


@compiled
def _corrections(u: float, h: float) -> float:
    """Euler and Maclaurin's correction terms, as `bayesdp.mechanisms.noise.laws` has them."""
    fifth = -(u**5 - 10 * u**3 + 15 * u) * h**5
    return -u * h / 12 + (u**3 - 3 * u) * h**3 / 720 + fifth / 30240


@compiled
def _erfcx(x: float) -> float:
    """Scaled erfc: exp(x^2) erfc(x), x >= 0; beyond 15 by a series with an error below 1e-15."""
    if x < 15:
        return math.exp(x * x) * math.erfc(x)
    series, term, square = 1.0, 1.0, 2 * x * x
    for j in range(1, 8):
        term *= -(2 * j - 1) / square
        series += term
    return series / (x * math.sqrt(math.pi))
