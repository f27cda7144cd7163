"""Log probabilities computed without cancellation.

Differences of log-gamma functions lose digits in proportion to their size: at
n = 10^6 a beta-binomial probability computed that way is off by 1e-9. The saddle-point
form of Loader (2000), "Fast and accurate computation of binomial probabilities", adds
only terms of the size of the result's own, and keeps 13 digits at any n.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_CLOSE = 0.1  # relative distance below which a series replaces the logarithm
_STIRLING_FROM = 16.0  # above, the series is exact in double precision


def beta_binomial_logpmf(
    k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike
) -> NDArray[np.float64]:
    """Log Pr[k] for k | p ~ Binomial(n, p), p ~ Beta(a, b).

    C(n, k) B(a + k, b + n - k) / B(a, b), computed as NB(k; a) NB(n - k; b) / NB(n; a + b)
    with negative binomials of one common probability, chosen so that their sum has mean n.

    Parameters
    ----------
    k, n : array_like of int
        Successes and trials; -inf is returned where k is not in 0..n.
    a, b : array_like of float
        Positive.

    Returns
    -------
    ndarray of float, the broadcast shape of the arguments.
    """
    k, n, a, b = (np.asarray(v, dtype=np.float64) for v in (k, n, a, b))
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0.0)
    total = a + b
    law = (
        negative_binomial(k, a, total, n)
        + negative_binomial(n - k, b, total, n)
        - negative_binomial(n, total, total, n)
    )
    return np.where(inside, law, -np.inf)


def binomial_logpmf(k: ArrayLike, n: ArrayLike, p: float, q: float) -> NDArray[np.float64]:
    """Log Pr[k] under Binomial(n, p), with q = 1 - p given separately; p and q may be 0.

    Parameters
    ----------
    k, n : array_like of int
        Successes and trials, 0 <= k <= n, n >= 1.
    p, q : float
        Probabilities that sum to 1.

    Returns
    -------
    ndarray of float, the broadcast shape of k and n.
    """
    k, n = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    if p == 0 or q == 0:
        return np.where(k == (0 if p == 0 else n), 0.0, -np.inf)
    inside = (k > 0) & (k < n)
    x = np.where(inside, k, n / 2)
    law = (
        stirling_error(n)
        - stirling_error(x)
        - stirling_error(n - x)
        - deviance(x, n * p)
        - deviance(n - x, n * q)
        + 0.5 * (np.log(n) - np.log(x) - np.log(n - x))
        - HALF_LOG_2PI
    )
    all_alike = np.where(k == 0, np.log1p(-p) if p < 0.5 else np.log(q), 0.0)
    all_alike = np.where(k == n, np.log(p) if p < 0.5 else np.log1p(-q), all_alike)
    return np.where(inside, law, n * all_alike)


def beta_logpdf(p: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Log-density of Beta(a, b) at p in [0, 1]; -inf outside, +inf at a pole.

    a b / ((a + b) p (1 - p)) times the binomial probability of a in a + b, which has the
    saddle-point form too and needs no a, b >= 1.

    Parameters
    ----------
    p, a, b : array_like of float
        a and b positive.

    Returns
    -------
    ndarray of float, the broadcast shape of the arguments.
    """
    p, a, b = (np.asarray(v, dtype=np.float64) for v in (p, a, b))
    inside = (p > 0) & (p < 1)
    x = np.where(inside, p, 0.5)
    law = beta_log_kernel(x, 1 - x, a, b) - np.log(x) - np.log1p(-x)
    exponent = np.where(p == 0, a, b)  # of the factor that vanishes at this end
    pole = np.where(exponent < 1, np.inf, np.where(exponent > 1, -np.inf, np.log(a * b)))
    return np.where(inside, law, np.where((p == 0) | (p == 1), pole, -np.inf))


def beta_log_kernel(p: ArrayLike, q: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Log of p^a q^b / B(a, b), for q = 1 - p given separately, so that neither loses digits.

    The density of log(p / q) where p is Beta(a, b).

    Parameters
    ----------
    p, q, a, b : array_like of float
        Positive; p + q = 1.

    Returns
    -------
    ndarray of float, the broadcast shape of the arguments.
    """
    p, q, a, b = (np.asarray(v, dtype=np.float64) for v in (p, q, a, b))
    total = a + b
    return np.asarray(
        stirling_error(total)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, total * p)
        - deviance(b, total * q)
        + 0.5 * (np.log(a) + np.log(b) - np.log(total))
        - HALF_LOG_2PI
    )


def negative_binomial(
    k: NDArray[np.float64],
    size: NDArray[np.float64],
    odds_for: NDArray[np.float64],
    odds_against: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Log of Gamma(k + size) / (Gamma(size) k!) p^size q^k with p : q = the odds."""
    empty = k == 0
    at_zero = size * -np.log1p(odds_against / odds_for) if empty.any() else None
    if at_zero is not None:  # any positive values: the result there is replaced below
        k, odds_against = np.where(empty, 1.0, k), np.where(empty, 1.0, odds_against)
    total = size + k
    scaled = total / (odds_for + odds_against)
    law = (
        stirling_error(total)
        - stirling_error(size)
        - stirling_error(k)
        - deviance(size, scaled * odds_for)
        - deviance(k, scaled * odds_against)
        + 0.5 * np.log(size / k / total)
        - HALF_LOG_2PI
    )
    return law if at_zero is None else np.where(empty, at_zero, law)


def stirling_error(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Stirling error log Gamma(x + 1) - (x + 1/2) log x + x - log sqrt(2 pi), for x > 0."""
    least = x.min(initial=np.inf)
    large = x if least >= _STIRLING_FROM else np.maximum(x, _STIRLING_FROM)
    inverse_square = 1.0 / (large * large)
    terms = _STIRLING[: 3 if least > 1000 else None]  # the rest is below the last digit
    series = np.full_like(large, terms[-1])
    for coefficient in terms[-2::-1]:
        series *= inverse_square
        series += coefficient
    series /= large
    if least >= _STIRLING_FROM:
        return series
    small = np.minimum(x, _STIRLING_FROM)
    direct = scipy.special.gammaln(small + 1) - (small + 0.5) * np.log(small) + small - HALF_LOG_2PI
    return np.where(x < _STIRLING_FROM, direct, series)


def deviance(x: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviance x log(x / mean) + mean - x, for positive arguments, also for x close to mean."""
    difference = x - mean
    v = difference / (x + mean)
    largest = max(v.max(initial=0.0), -v.min(initial=0.0))
    close = largest < _CLOSE
    w = v if close else np.where(np.abs(v) < _CLOSE, v, 0.0)
    square = w * w
    # The first term left out is at most 1e-17 of the first.
    terms = max(1, int(np.ceil(-39.0 / np.log(min(largest, _CLOSE) ** 2 + 1e-300))))
    series = np.full_like(w, 1.0 / (2 * terms + 1))
    for j in range(terms - 1, 0, -1):
        series *= square
        series += 1.0 / (2 * j + 1)
    near = difference * v + 2.0 * x * w * square * series
    if close:
        return near
    return np.where(np.abs(v) < _CLOSE, near, x * np.log(x / mean) - difference)
