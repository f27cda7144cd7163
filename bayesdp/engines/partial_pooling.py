r"""Groups' proportions from one beta distribution, with all counts and proportions summed out.

With m the mean and kappa the concentration of that beta distribution,

    x_g | m, kappa ~ BetaBinomial(n_g, m kappa, (1 - m) kappa),    outputs_g | x_g ~ mechanism,

so the likelihood of (m, kappa) is a product over groups of sums over x_g, and only two numbers are
left to sample. The chain moves in u = logit m and v = log kappa by slice sampling (Neal 2003) along
random directions, which has nothing to tune but the directions' shape, learnt in warm-up. Given
them each x_g is drawn from its sum, and p_g from its beta distribution: exact draws.

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

from bayesdp.engines.count_gibbs import kernel

Floats = NDArray[np.float64]

_LARGE = 1e200
_STIRLING = 64.0
_WIDTH = 2.5  # of a first slice, in standard deviations
_STEPS = 50  # of stepping out, each way


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
        term *= (n - x) * (alpha + x) / ((x + 1) * (beta + n - x - 1)) if x < n else 0.0
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
            shift += math.log((n - x) * (alpha + x) / ((x + 1) * (beta + n - x - 1)))
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
def log_target(
    u: float, v: float, laws: Floats, ends: Any, firsts: Floats, sizes: Floats, prior: Floats
) -> float:
    """log density of (logit m, log kappa), up to a constant.

    Parameters
    ----------
    u, v : float
    laws : ndarray
        Pr[outputs | x] of every group in a row, each up to a constant.
    ends : ndarray of int, shape (groups,)
        Where each group's end in it.
    firsts, sizes : ndarray, shape (groups,)
        The first x of each, and n.
    prior : ndarray, shape (3,)
        a and b of m's beta prior; kappa's prior median, c of the density c / (c + kappa)^2.
    """
    log_m = -math.log1p(math.exp(-u)) if u > -700 else u
    log_rest = -math.log1p(math.exp(u)) if u < 700 else -u
    if not abs(v) < 600 or min(log_m, log_rest) + v < -600:
        return -np.inf
    kappa = math.exp(v)
    found = prior[0] * log_m + prior[1] * log_rest + v - 2 * math.log(prior[2] + kappa)
    alpha, beta, start = math.exp(log_m + v), math.exp(log_rest + v), 0
    for g in range(ends.size):
        found += log_sum(laws[start : ends[g]], firsts[g], sizes[g], alpha, beta)
        start = ends[g]
    return float(found)


@kernel
def run(
    laws: Floats, ends: Any, firsts: Floats, sizes: Floats, prior: Floats,
    start: Floats, root: Floats, draws: int, proportions: bool, rng: Any,
) -> Any:  # fmt: skip
    """A chain: (u, v) and log target, and where asked for the groups' proportions."""
    groups = ends.size
    kept, p = np.empty((draws, 3)), np.empty((draws if proportions else 0, groups))
    room = np.empty(np.max(np.diff(np.append(np.zeros(1, dtype=np.int64), ends))))
    u, v = start
    now = log_target(u, v, laws, ends, firsts, sizes, prior)
    for i in range(draws):
        for _ in range(2):
            angle = 2 * math.pi * rng.random()
            c, s = math.cos(angle), math.sin(angle)
            du, dv = root[0, 0] * c + root[0, 1] * s, root[1, 0] * c + root[1, 1] * s
            level = now - rng.standard_exponential()
            low = -_WIDTH * rng.random()
            high = low + _WIDTH
            out = int(_STEPS * rng.random())  # shared at random, which keeps detailed balance
            for _ in range(out):
                if not log_target(
                    u + low * du, v + low * dv, laws, ends, firsts, sizes, prior
                ) > level:  # fmt: skip
                    break
                low -= _WIDTH
            for _ in range(_STEPS - 1 - out):
                if not log_target(
                    u + high * du, v + high * dv, laws, ends, firsts, sizes, prior
                ) > level:  # fmt: skip
                    break
                high += _WIDTH
            while True:
                t = low + (high - low) * rng.random()
                next_u, next_v = u + t * du, v + t * dv
                found = log_target(next_u, next_v, laws, ends, firsts, sizes, prior)
                if found > level or t == 0.0:
                    u, v, now = next_u, next_v, found
                    break
                if t < 0:
                    low = t
                else:
                    high = t
        kept[i, 0], kept[i, 1], kept[i, 2] = u, v, now
        if proportions:
            m, first = 1 / (1 + math.exp(-u)), 0
            alpha, beta = m * math.exp(v), (1 - m) * math.exp(v)
            for g in range(groups):
                x = draw_count(
                    laws[first : ends[g]], firsts[g], sizes[g], alpha, beta, rng, room
                )  # fmt: skip
                p[i, g] = rng.beta(alpha + x, beta + sizes[g] - x)
                first = ends[g]
    return kept, p


def sample(
    laws: list[Floats],
    firsts: list[int],
    sizes: list[int],
    prior: tuple[float, float, float],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
) -> tuple[Floats, Floats]:
    """Draws of (u, v, log target), shape (chains, draws, 3), and of p, (chains, draws, groups).

    Parameters
    ----------
    laws : list of ndarray
        log Pr[outputs | x] of each group, from its first x on.
    firsts, sizes : list of int
    prior : tuple of three floats
        See `log_target`.
    draws, chains, warmup : int
    seed : int or None
    """
    given = _given(laws, firsts, sizes, prior)
    kept, p = [], []
    for child in np.random.SeedSequence(seed).spawn(chains):
        rng = np.random.default_rng(child)
        at = _start(given, rng)
        root: Floats = np.eye(2)
        for part in (warmup // 3 + 1, warmup // 3 + 1, warmup // 3 + 1):
            found, _ = run(*given, at, root, part, False, rng)
            at = found[-1, :2].copy()
            # Of the later half; a little of the identity, so that it never is flat.
            spread = np.cov(found[part // 2 :, :2].T) if part > 20 else np.eye(2)
            root = np.asarray(np.linalg.cholesky(spread + 1e-6 * np.eye(2)))
        found, proportions = run(*given, at, root, draws, True, rng)
        kept.append(found)
        p.append(proportions)
    return np.stack(kept), np.stack(p)


def _given(
    laws: list[Floats], firsts: list[int], sizes: list[int], prior: tuple[float, float, float]
) -> tuple[Floats, Any, Floats, Floats, Floats]:
    """What `log_target` takes, laws divided by their largest values."""
    scaled = np.concatenate([np.exp(law - law.max()) for law in laws])
    ends = np.cumsum([law.size for law in laws])
    first, size = np.array(firsts, dtype=np.float64), np.array(sizes, dtype=np.float64)
    return scaled, ends, first, size, np.array(prior)


@kernel
def _log_targets(
    points: Floats, laws: Floats, ends: Any, firsts: Floats, sizes: Floats, prior: Floats
) -> Floats:
    found = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        found[i] = log_target(points[i, 0], points[i, 1], laws, ends, firsts, sizes, prior)
    return found


def log_targets(
    points: Floats,
    laws: list[Floats],
    firsts: list[int],
    sizes: list[int],
    prior: tuple[float, float, float],
) -> Floats:
    """The log density, up to its constant, at points (u, v), shape (points, 2); see `sample`."""
    found: Floats = _log_targets(np.ascontiguousarray(points), *_given(laws, firsts, sizes, prior))
    return found


def _start(given: Any, rng: np.random.Generator) -> Floats:
    """From the prior, within what has a density."""
    a, b, median = given[-1]
    while True:
        m, shrunk = rng.beta(a, b), rng.random()
        if 0 < m < 1 and 0 < shrunk < 1:
            at = np.array([math.log(m / (1 - m)), math.log(median * (1 - shrunk) / shrunk)])
            if log_target(*at, *given) > -math.inf:
                return at
