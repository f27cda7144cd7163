r"""Two neighbouring posteriors of a rate: the hockey-stick divergence of what each releases.

Replacing a record turns the posterior Gamma(A, B) of the rate into Gamma(A, r B), r > 1, or back.
What is released of either is

- *gamma*: a number from Gamma(A, B), whose log ratio, of B to r B, is (r - 1) B y - A log r;
- *beta prime*: T = B G_M / G_A with independent gamma variables of these shapes, whose log ratio is
  -A log r + (A + M) log((r B + T) / (B + T)).

B is a scale of both, and may be taken as 1. Both log ratios are monotone in what is released, so
that

    delta(epsilon) = sup_E P(E) - exp(epsilon) Q(E)

is attained by a half-line E, in both directions; and since a larger r moves the law P further
towards E, stochastically, with Q as it is, delta increases in r for every epsilon.

*Pure epsilon.* The log ratio of beta primes runs from M log r, at T = 0, to -A log r, so that
max(A, M) log r is the smallest pure epsilon; that of gamma laws is unbounded.

*The integrals.* With the threshold x of E, and excess(y) = log ratio - epsilon at a distance y
from it in log y,

    delta = integral of p (1 - exp(-excess)),

whose terms are positive: nothing cancels where the difference of the two tails is far smaller than
either. Excesses are differences of logarithms, taken in the closed form that doesn't cancel:

    gamma:       (r - 1) x |exp(+-y) - 1|
    beta prime:  (A + M) log(1 + (r - 1) |T - x| / ((1 + min(T, x)) (r + max(T, x)))).

Where E has half of the mass and more, and P and Q are further apart than a standard deviation, the
difference doesn't cancel, and the distribution functions do.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.privacy.loss_distribution import LossDistribution, composed_delta, composed_epsilon
from bayesdp.privacy.profile import Profile, half_line

Floats = NDArray[np.float64]

_SAFE = 1 + 2.0**-48  # covers the rounding of a logarithm and of products
_FAR = 750.0  # log of what is nothing
_POINTS = 2**13  # of a loss's grid
_TAIL = 92.0  # log of the mass that its last points leave in each tail


def gamma_profile(shape: float, change: float) -> Profile:
    """The profile of Gamma(shape, 1) and Gamma(shape, r), r = 1 + change, in both directions."""
    return Profile(
        lambda epsilon: max(gamma_divergence(shape, change, epsilon, up) for up in (True, False)),
        math.inf,
        why="The likelihood ratio of two gamma laws of different rates is unbounded, so no pure "
        "epsilon holds.",
    )


def beta_prime_profile(records: float, shape: float, change: float) -> Profile:
    """The profile of totals of M = `records` given a rate, drawn from a posterior of A = `shape`.

    It is that of T = G_M / G_A and of r T, r = 1 + change, in both directions.
    """
    return Profile(
        lambda epsilon: max(
            beta_prime_divergence(records, shape, change, epsilon, up) for up in (True, False)
        ),
        max(records, shape) * math.log1p(change) * _SAFE,
    )


def repeated_profile(records: float, shape: float, change: float, count: int) -> Profile:
    """Bound the profile of `count` independent totals, as of `beta_prime_profile`.

    The law of one's privacy loss is cut into pieces, each replaced by a pair that dominates it
    (`bayesdp.privacy.loss_distribution`), which adds 10^-4 of the loss's variance and less.
    """
    one = beta_prime_profile(records, shape, change)
    if count == 1:
        return one
    both = [[(law, count)] for law in losses(records, shape, change)]
    return Profile(
        lambda epsilon: max(composed_delta(parts, epsilon) for parts in both),
        one.pure_epsilon * count * _SAFE,
        inverse=lambda delta: max(composed_epsilon(parts, delta) for parts in both),
    )


def gamma_divergence(shape: float, change: float, epsilon: float, up: bool) -> float:
    """Divergence of Gamma(A, 1) from Gamma(A, 1 + change), or `up` false, the other way round.

    Parameters
    ----------
    shape, change : float
        A and r - 1, positive.
    epsilon : float
        At least 0, finite.
    up : bool
        Whether P is the law of the smaller rate, so that E is what exceeds the threshold.
    """
    log_r, sign = math.log1p(change), 1 if up else -1
    x = (shape * log_r + sign * epsilon) / change
    if not x > 0:
        return 0.0
    rate, other = (1.0, 1 + change) if up else (1 + change, 1.0)
    mean = rate * x
    slope = sign * (shape - mean)
    if slope > 0 and log_r * math.sqrt(shape) > 1:
        tail = special.gammaincc if up else special.gammainc
        return _difference(tail(shape, mean), tail(shape, other * x), epsilon)
    furthest = math.log1p(_FAR / mean) + math.sqrt(2 * _FAR / mean) if up else _FAR / shape
    y, weight = half_line(1 / max(1.0, abs(slope) + math.sqrt(mean)),
                          furthest + 2 * abs(math.log(shape / mean)))  # fmt: skip
    away = np.expm1(sign * np.minimum(y, _FAR / 2))
    log_terms = shape * sign * y - mean * away
    kernel = shape * math.log(mean) - mean - math.lgamma(shape)
    return _integral(kernel, log_terms, change * x * np.abs(away), weight)


def beta_prime_divergence(
    records: float, shape: float, change: float, epsilon: float, up: bool
) -> float:
    """Divergence of r T from T = G_M / G_A, r = 1 + change, or `up` false, of T from r T.

    Parameters
    ----------
    records, shape, change : float
        M, A and r - 1, positive.
    epsilon : float
        At least 0, finite.
    up : bool
        Whether P is the law of r T, so that E is what exceeds the threshold.
    """
    log_r, sign = math.log1p(change), 1 if up else -1
    total = records + shape
    most, rest = (shape, records) if up else (records, shape)
    left = (most * log_r - epsilon) / total
    if not left > 0:
        return 0.0
    # At x the log of (r + x) / (1 + x) is `cut`, and log r - cut is the `gap`.
    gap = (rest * log_r + epsilon) / total if up else left
    cut = left if up else (shape * log_r + epsilon) / total
    log_x = cut + math.log(math.expm1(gap)) - math.log(math.expm1(cut))
    log_u = log_x - (log_r if up else 0.0)  # of the threshold, in units of its law
    inside = special.expit(log_u)
    slope = sign * (records - total * inside)
    if slope > 0 and log_r * math.sqrt(records * shape / total) > 1:
        tail = _above if up else _below
        other = log_x - (0.0 if up else log_r)
        return _difference(tail(log_u, records, shape), tail(other, records, shape), epsilon)
    spread = math.sqrt(total * inside * special.expit(-log_u))
    y, weight = half_line(1 / max(1.0, abs(slope) + spread), _FAR / most)
    log_terms = sign * records * y - total * (
        np.logaddexp(0.0, log_u + sign * y) - np.logaddexp(0.0, log_u)
    )
    kernel = records * log_u - total * np.logaddexp(0.0, log_u) - special.betaln(records, shape)
    # (r - 1) (large - small) / ((1 + small) (r + large)) of T and x
    log_large, log_small = (log_x + y, log_x) if up else (log_x, log_x - y)
    log_ratio = (math.log(change) + np.log(-np.expm1(-y)) - np.logaddexp(0.0, log_small)
                 - np.logaddexp(log_r - log_large, 0.0))  # fmt: skip
    return _integral(float(kernel), log_terms, total * np.log1p(np.exp(log_ratio)), weight)


@lru_cache(maxsize=32)
def losses(
    records: float, shape: float, change: float
) -> tuple[LossDistribution, LossDistribution]:
    """Laws of the privacy loss of T against r T, and of r T against T; each dominates.

    Between two points of log T the loss is between those of the two; the mass there is put on them
    so that its mass under Q stays, too ("connect the dots").
    """
    total, log_r = records + shape, math.log1p(change)
    log_beta = special.betaln(records, shape)
    low = (math.log(records) + log_beta - _TAIL) / records
    high = (_TAIL - math.log(shape) - log_beta) / shape
    w = np.linspace(min(low, -1.0), max(high, 1.0) + log_r, _POINTS)
    here, there = _masses(w, records, shape), _masses(w - log_r, records, shape)
    inner = -shape * log_r + total * (np.logaddexp(log_r, w) - np.logaddexp(0.0, w))
    loss = np.concatenate([[records * log_r], inner, [-shape * log_r]])
    return _dominating(here, there, loss), _dominating(there[::-1], here[::-1], -loss[::-1])


def _masses(w: NDArray[Any], records: float, shape: float) -> Floats:
    """Probabilities of log(G_M / G_A) before, between and after the points."""
    lower = np.concatenate([[0.0], _below(w, records, shape), [1.0]])
    upper = np.concatenate([[1.0], _above(w, records, shape), [0.0]])
    return np.maximum(np.where(lower[1:] < 0.5, np.diff(lower), -np.diff(upper)), 0.0)


def _below(w: Any, records: float, shape: float) -> Any:
    """Probability that log(G_M / G_A) is at most w; the side of the two that keeps its digits."""
    p, q = special.expit(w), special.expit(-w)
    small = np.asarray(w) < 0
    return np.where(
        small,
        special.betainc(records, shape, np.where(small, p, 0.5)),
        special.betaincc(shape, records, np.where(small, 0.5, q)),
    )


def _above(w: Any, records: float, shape: float) -> Any:
    """Probability that log(G_M / G_A) exceeds w: that of -log(G_A / G_M) is below -w."""
    return _below(-np.asarray(w), shape, records)


def _dominating(p: Floats, q: Floats, loss: Floats) -> LossDistribution:
    """Put each piece's masses p, under P, and q, under Q, on the losses at its ends, descending."""
    first, last = loss[:-1], loss[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.expm1(np.log(q) - np.log(p) + first) / np.expm1(first - last)
    share = np.clip(np.nan_to_num(share, nan=0.0), 0.0, 1.0)  # without q, all is at the larger
    masses = np.concatenate([p * (1 - share), p * share])
    kept = masses > 0
    return LossDistribution(np.concatenate([first, last])[kept], masses[kept], 0.0)


def _difference(p: Any, q: Any, epsilon: float) -> float:
    with np.errstate(divide="ignore"):
        return float(p - np.exp(epsilon + np.log(q)))


def _integral(kernel: float, log_terms: Floats, excess: Floats, weight: Floats) -> float:
    top = float(log_terms.max())
    total = float(np.sum(-np.expm1(-excess) * np.exp(log_terms - top) * weight))
    return math.exp(min(0.0, kernel + top + math.log(total))) if total > 0 else 0.0
