r"""Groups' proportions from one beta distribution, with all counts and proportions summed out.

With m the mean and kappa the concentration of that beta distribution,

    x_g | m, kappa ~ BetaBinomial(n_g, m kappa, (1 - m) kappa),    outputs_g | x_g ~ mechanism,

so the likelihood of (m, kappa) is a product over groups of sums over x_g, and only two numbers are
left to sample, u = logit m and v = log kappa (`bayesdp.engines.partial_pooling`). Given them each
x_g is drawn from its sum, and p_g from its beta distribution: exact draws.

Along x the beta-binomial probabilities follow by their ratio

    (n - x) (m kappa + x) / ((x + 1) ((1 - m) kappa + n - x - 1)),

from the first, whose rising factorials are taken by Stirling's series where differences of log
gamma functions would cancel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.compiling import kernel

Floats = NDArray[np.float64]

_LARGE = 1e30  # a ratio of neighbours may be e^600 more, and no more than a float holds
_STIRLING = 64.0
_SMALLEST = -600.0  # log of alpha or beta; below, every count is 0, or n: but for e^-600


@kernel
def log_rising(a: float, k: float) -> float:
    """log of a (a + 1) ... (a + k - 1)."""
    if a < _STIRLING:
        return math.lgamma(a + k) - math.lgamma(a)
    end = a + k
    rest = (1 / end - 1 / a) / 12 - (1 / end**3 - 1 / a**3) / 360 + (1 / end**5 - 1 / a**5) / 1260
    return k * math.log(a) + (end - 0.5) * math.log1p(k / a) - k + rest


@kernel
def first_log_probability(n: float, x: float, alpha: float, beta: float) -> float:
    """log of the beta-binomial probability of x."""
    choose = math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
    rising = log_rising(alpha, x) + log_rising(beta, n - x)
    return choose + rising - log_rising(alpha + beta, n)


@kernel
def log_sum(law: Floats, first: float, n: float, alpha: float, beta: float) -> float:
    """log of the sum over x from `first` of law times the beta-binomial probability."""
    term, whole = 1.0, 0.0
    shift = first_log_probability(n, first, alpha, beta)
    x = first
    for weight in law:
        whole += weight * term
        term *= (n - x) * (alpha + x) / ((x + 1) * (beta + (n - x - 1))) if x < n else 0.0
        x += 1
        if term > _LARGE:
            term /= _LARGE
            whole /= _LARGE
            shift += math.log(_LARGE)
    return shift + math.log(whole) if whole > 0 else -np.inf


@kernel
def draw_count(
    law: Floats, first: float, n: float, alpha: float, beta: float, rng: Any, room: Floats
) -> float:
    """x from its conditional law; `room` is as long as the law."""
    whole, shift, x, largest = 0.0, 0.0, first, -np.inf
    for i in range(law.size):  # logs, since the largest term isn't known yet
        room[i] = shift + math.log(law[i]) if law[i] > 0 else -np.inf
        largest = max(largest, room[i])
        if x < n:
            shift += math.log((n - x) * (alpha + x) / ((x + 1) * (beta + (n - x - 1))))
        x += 1
    for i in range(law.size):
        room[i] = math.exp(room[i] - largest)
        whole += room[i]
    rest = rng.random() * whole
    for i in range(law.size):
        rest -= room[i]
        if rest < 0:
            return float(first + i)
    return float(first + law.size - 1)


@kernel
def _log_shares(u: float) -> tuple[float, float]:
    """log m and log (1 - m)."""
    log_m = -math.log1p(math.exp(-u)) if u > -700 else u
    return log_m, -math.log1p(math.exp(u)) if u < 700 else -u


@kernel
def log_proportions(u: float, v: float, given: Any) -> float:
    """log density of (logit m, log kappa), up to a constant.

    Parameters
    ----------
    u, v : float
    given : tuple
        `laws`: Pr[outputs | x] of every group in a row, each up to a constant; `ends` of ints:
        where each group's end in it; `firsts`, `sizes`: the first x of each, and n; `prior`: a and
        b of m's beta prior, and kappa's prior median, c of the density c / (c + kappa)^2.
    """
    laws, ends, firsts, sizes, prior = given
    if not abs(v) < -_SMALLEST:
        return -np.inf
    log_m, log_rest = _log_shares(u)
    found = prior[0] * log_m + prior[1] * log_rest + v - 2 * math.log(prior[2] + math.exp(v))
    alpha, beta, start = math.exp(log_m + v), math.exp(log_rest + v), 0
    for g in range(ends.size):
        law = laws[start : ends[g]]
        if log_m + v < _SMALLEST:
            found += math.log(law[0]) if firsts[g] == 0 and law[0] > 0 else -np.inf
        elif log_rest + v < _SMALLEST:
            last = firsts[g] + law.size - 1 == sizes[g] and law[-1] > 0
            found += math.log(law[-1]) if last else -np.inf
        else:
            found += log_sum(law, firsts[g], sizes[g], alpha, beta)
        start = ends[g]
    return float(found)


@kernel
def draw_proportions(u: float, v: float, given: Any, rng: Any, p: Floats) -> None:
    """Each group's, through its count."""
    laws, ends, firsts, sizes, _ = given
    room = np.empty(laws.size)
    log_m, log_rest = _log_shares(u)
    alpha = math.exp(max(log_m + v, _SMALLEST))
    beta, first = math.exp(max(log_rest + v, _SMALLEST)), 0
    for g in range(ends.size):
        x = draw_count(laws[first : ends[g]], firsts[g], sizes[g], alpha, beta, rng, room)
        p[g] = rng.beta(alpha + x, beta + sizes[g] - x)
        first = ends[g]


def given_proportions(
    laws: list[Floats], firsts: list[int], sizes: list[int], prior: tuple[float, float, float]
) -> tuple[Floats, Any, Floats, Floats, Floats]:
    """What `log_proportions` takes, laws divided by their largest values."""
    scaled = np.concatenate([np.exp(law - law.max()) for law in laws])
    ends = np.cumsum([law.size for law in laws])
    first, size = np.array(firsts, dtype=np.float64), np.array(sizes, dtype=np.float64)
    return scaled, ends, first, size, np.array(prior)


def start_proportions(given: Any, rng: np.random.Generator) -> Floats:
    """From the prior, within what has a density."""
    a, b, median = given[-1]
    while True:
        m, shrunk = rng.beta(a, b), rng.random()
        if 0 < m < 1 and 0 < shrunk < 1:
            at = np.array([math.log(m / (1 - m)), math.log(median * (1 - shrunk) / shrunk)])
            if log_proportions(at[0], at[1], given) > -math.inf:
                return at
