r"""Laws of synthetic counts that follow from noisy ones: the noisy counts are summed out.

Binary records, n public
------------------------
The noisy number of ones s is one of 0..n, and z given it is beta-binomial:

    Pr[z | x] = sum_{s=0}^n Pr[s | x] BetaBinomial(z; size, a + s, b + n - s).

Of t copies from one noisy number the beta-binomial probabilities are multiplied:

    Pr[z_1, ..., z_t | x] = sum_s Pr[s | x] prod_j BetaBinomial(z_j; size, a + s, b + n - s).

k counts, each with noise of its own
------------------------------------
Given noisy counts s_i >= 0 the synthetic ones are Dirichlet-multinomial with alpha_i + s_i. As a
Dirichlet vector is gamma variables over their sum, z_i are independent negative binomials, at any
odds, given their sum. Integrated over the log odds v, with t = 1 / (1 + exp(-v)),

    integral NB(m; A, t) dv = 1 / m,    NB(z; a, t) = Gamma(a + z) / (Gamma(a) z!) t^a (1 - t)^z,

for any A, whence DirichletMultinomial(z; alpha + s) = m integral prod_i NB(z_i; alpha_i + s_i, t)
dv, m the sum of the z_i. Here the noisy counts part, and can be summed out one by one:

    Pr[z | x] = m integral prod_i (sum_s Pr[s | x_i] NB(z_i; alpha_i + s, t)) dv.

Each term is a beta integral in the log odds, for which the trapezoidal rule with step h has a
relative error of nearly 2 |Gamma(a + i u) Gamma(m - i u)| / (Gamma(a) Gamma(m)), u = 2 pi / h, with
a = A + sum s_i (Poisson's summation formula). With h the smaller of 0.2 and 0.35 times sqrt(1 / m +
1 / a), that is below 1e-15 for all a and m; and the largest a has the smallest h.

Where s has no end, it is summed up to where noise is exp(-45) times some lower bound of the law:
Pr[s | x] times the Dirichlet-multinomial probability for any one s, of which s = x and s in
proportion to z are tried.

Sums over s with Laplace noise
------------------------------
Its law q^|s - x| makes sums over s <= x and s > x recursions in x, so that those for all x together
take as long as the function they sum takes to be listed. Any x >= 0 beyond an inflated end at
0, or n, has Pr[s at the end] = Pr[as far] / (1 - q), so the end counts 1 / (1 - q) times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.core.views import Cell
from bayesdp.mechanisms.counts.category_laws import dirichlet_multinomial_logpmf
from bayesdp.mechanisms.laws import beta_binomial_logpmf, negative_binomial

Floats = NDArray[np.float64]

_FAR = 45.0  # log of what is negligible
_BLOCK = 1 << 21  # numbers in a temporary array
_STANDARD_DEVIATIONS = 12
_LEAST = -600.0  # log odds that exp takes; below, t is exp(v)


def smoothed(log_f: Floats, part: Cell, most: int) -> Floats:
    """Smooth f over the noise: log sum_s Pr[s | x] f(s) for all x = 0..most.

    Parameters
    ----------
    log_f : ndarray, shape (..., S)
        log f(s), s = 0..S - 1; for an open range, as far as Pr[s | x] f(s) isn't negligible.
    part : Cell
        Noise on integers; its bounds begin at 0.
    most : int
        The largest x, at most S - 1.

    Returns
    -------
    ndarray, shape (..., most + 1)
    """
    s, x = np.arange(log_f.shape[-1]), np.arange(most + 1)
    noise, ends = part.noise, part.ends
    if not noise.laplace:
        logs = np.empty((*log_f.shape[:-1], x.size))
        step = max(1, _BLOCK // log_f.size)
        for start in range(0, x.size, step):
            some = x[start : start + step]
            law = noise.log_pmf(s[:, None] - some)
            if part.bounding == "inflated":
                for end in ends:
                    if end is not None:
                        law[end] = noise.log_upper(np.abs(end - some))
            terms = log_f[..., None] + law
            logs[..., start : start + step] = scipy.special.logsumexp(terms, axis=-2)
        return np.asarray(logs - _log_mass(part, x))
    rate = float(1 / noise.scale)
    if part.bounding == "inflated":
        log_f = log_f.copy()
        for end in ends:
            if end is not None:
                log_f[..., end] -= math.log(-math.expm1(-rate))
    slope = s * rate
    below = np.logaddexp.accumulate(log_f + slope, axis=-1) - slope
    above = np.full_like(log_f, -np.inf)
    backward = (log_f - slope)[..., :0:-1]
    above[..., :-1] = np.logaddexp.accumulate(backward, axis=-1)[..., ::-1] + slope[:-1]
    law = np.logaddexp(below, above)[..., : most + 1] + math.log(math.tanh(rate / 2))
    shifted: Floats = law - _log_mass(part, x)
    return shifted


def _log_mass(part: Cell, x: NDArray[np.int64]) -> Any:
    """Log of the normalising constant of a truncated law."""
    if part.bounding != "truncated":
        return 0.0
    high = part.ends[1]
    return part.noise.log_mass(x, np.full(x.shape, np.inf) if high is None else high - x)


def bernoulli_law(
    output: Any, ones: NDArray[Any], prior: tuple[float, float], size: int, part: Cell
) -> Floats:
    """Log Pr[z | x] of binary records whose number n, the part's upper bound, is public.

    Parameters
    ----------
    output, ones : arrays of int that broadcast together
        z and x; -inf is returned for an output outside 0..size.
    prior : tuple of two floats
    size : int
    part : Cell
    """
    z, x = np.broadcast_arrays(np.asarray(output), ones)
    logs = np.full(z.shape, -np.inf)
    for each in np.unique(z[(z >= 0) & (z <= size) & (z == np.floor(z))]):
        where = z == each
        logs[where] = _bernoulli_table(int(each), prior, size, part)[x[where]]
    return logs


@lru_cache(maxsize=32)
def _bernoulli_table(z: int, prior: tuple[float, float], size: int, part: Cell) -> Floats:
    """Table of log Pr[z | x] for x = 0..n, cached, as an enumeration asks for it in blocks."""
    n = part.ends[1] or 0
    s = np.arange(n + 1)
    table = smoothed(beta_binomial_logpmf(z, size, prior[0] + s, prior[1] + (n - s)), part, n)
    table.flags.writeable = False
    return table


def nested_bernoulli_law(
    output: Any, ones: NDArray[Any], prior: tuple[float, float], size: int, part: Cell
) -> Floats:
    """Log Pr[z_1, ..., z_t | x] of copies of binary records, all from one noisy number of ones.

    Parameters
    ----------
    output : array of int, shape (..., t)
    ones : array of int
        x; it broadcasts with the output's other axes.
    prior : tuple of two floats
    size : int
    part : Cell
        Noise on the number of ones, whose upper bound is the public n.
    """
    z, n = np.asarray(output), part.ends[1] or 0
    s = np.arange(n + 1)
    rows = z.reshape(-1, z.shape[-1])
    tables = np.empty((len(rows), s.size))
    for i, row in enumerate(rows):
        law = beta_binomial_logpmf(row[:, None], size, prior[0] + s, prior[1] + (n - s)).sum(axis=0)
        tables[i] = smoothed(law, part, n)
    place, count = np.broadcast_arrays(np.arange(len(rows)).reshape(z.shape[:-1]), ones)
    return np.asarray(tables[place, count])


def counts_law(
    output: NDArray[Any],
    counts: NDArray[Any],
    alpha: Sequence[float],
    size: int,
    parts: Sequence[Cell],
) -> Floats:
    """Log Pr[z | x] of k counts, each with noise of its own.

    Parameters
    ----------
    output : array of int, shape (..., k)
        -inf is returned where one is negative or the sum isn't `size`.
    counts : array of int, shape (..., k)
        The other axes broadcast with the output's.
    alpha : sequence of k floats
    size : int
    parts : sequence of k Cell
    """
    z, x = np.broadcast_arrays(output, counts)
    logs = np.full(z.shape[:-1], -np.inf)
    if not logs.size:
        return logs
    possible = np.all((z >= 0) & (z == np.floor(z)), axis=-1) & (z.sum(axis=-1) == size)
    zs, xs = z[possible].astype(np.int64), x[possible]
    if not len(zs):
        return logs
    # One grid and one table for all counts of about the same size.
    most = 1 << int(xs.max()).bit_length()
    rare = math.ceil(float(_rareness(zs, xs, alpha, size, parts)) / 64) * 64
    lasts = [_last(part, most, rare) for part in parts]
    grid = (size, float(sum(alpha)), sum(lasts))
    odds = _nodes(*grid)
    law = np.empty(len(zs))
    step = max(1, _BLOCK // odds.size)
    for start in range(0, len(zs), step):
        some = slice(start, start + step)
        total = np.zeros((len(law[some]), odds.size))
        for i, part in enumerate(parts):
            z_i, x_i = zs[some, i], xs[some, i]
            for each in np.unique(z_i):
                where = z_i == each
                first = min(most, lasts[i])
                table = _table(int(each), float(alpha[i]), first, lasts[i], part, grid)
                total[where] += table[x_i[where]]
        law[some] = scipy.special.logsumexp(total, axis=-1)
    logs[possible] = law + math.log(size * (odds[1] - odds[0]))
    return logs


def mixture_tables(
    output: Sequence[int],
    alpha: Sequence[float],
    size: int,
    parts: Sequence[Cell],
    most: int,
    rare: int = 0,
) -> tuple[list[Floats], float]:
    """Tables that `counts_law` integrates over the log odds, given which counts are independent.

    Parameters
    ----------
    output : sequence of k ints
    alpha : sequence of k floats
    size : int
    parts : sequence of k Cell
    most : int
        The largest count x that the tables hold.
    rare : int
        Upper bound on -log of the law, where noisy counts have no end.

    Returns
    -------
    tables : list of k ndarrays, shape (most + 1, odds)
    log_scale : float
        log Pr[z | x] = log_scale + log sum_v exp(sum_i tables[i][x_i, v]), x_i <= most.
    """
    lasts = [_last(part, most, rare) for part in parts]
    grid = (size, float(sum(alpha)), sum(lasts))
    odds = _nodes(*grid)
    tables = [
        _table(int(z), float(a), min(most, last), last, part, grid)
        for z, a, last, part in zip(output, alpha, lasts, parts, strict=True)
    ]
    return tables, math.log(size * (odds[1] - odds[0]))


def _rareness(
    z: NDArray[Any],
    x: NDArray[Any],
    alpha: Sequence[float],
    size: int,
    parts: Sequence[Cell],
) -> Any:
    """Bound of -log of the law, where noise at its peak counts as 1."""
    rareness = np.full(len(z), np.inf)
    in_proportion = np.rint(z * (x.sum(axis=-1, keepdims=True) / size)).astype(np.int64)
    for s in (x, in_proportion):
        cost = -dirichlet_multinomial_logpmf(z, size, np.asarray(alpha) + s)
        for i, part in enumerate(parts):
            noise = part.noise
            cost = cost + noise.log_pmf(0) - noise.log_pmf(s[:, i] - x[:, i])
        rareness = np.minimum(rareness, cost)
    return rareness.max()


def _last(part: Cell, most: int, rare: int) -> int:
    """Find the last noisy count that isn't negligible, for counts up to `most`."""
    high = part.ends[1]
    if high is not None:
        return high
    scale, far = float(part.noise.scale), _FAR + rare
    further = scale * (far if part.noise.laplace else math.sqrt(2 * far))
    return most + math.ceil(further) + 1


def _nodes(size: int, alpha: float, most: int) -> Floats:
    """Log odds of the quadrature, equally spaced, beyond which every term is negligible."""
    width = math.sqrt(1 / size + 1 / (alpha + most))
    spread = 1 / math.sqrt(min(alpha, size))
    left = math.log(alpha / size) - _STANDARD_DEVIATIONS * spread - _FAR / alpha
    right = math.log((alpha + most) / size) + _STANDARD_DEVIATIONS * width + _FAR / size
    step = min(0.2, 0.35 * width)
    return np.asarray(left + step * np.arange(math.ceil((right - left) / step) + 1))


@lru_cache(maxsize=16)
def _table(
    z: int,
    alpha: float,
    most: int,
    last: int,
    part: Cell,
    grid: tuple[int, float, int],
) -> Floats:
    """Table of log sum_s Pr[s | x] NB(z; alpha + s) at each log odds, shape (most + 1, odds)."""
    odds = _nodes(*grid)
    size = alpha + np.arange(last + 1.0)
    v = np.maximum(odds, _LEAST)[:, None]
    if z == 0:
        law = -size * np.log1p(np.exp(-v))
    else:
        law = negative_binomial(np.full((1, 1), float(z)), size, np.exp(v), np.ones_like(v))
    table = np.ascontiguousarray(smoothed(law + size * (odds[:, None] - v), part, most).T)
    table.flags.writeable = False
    return table
