"""Kernels of a clipped beta posterior on a grid: weights, exact draws, and copies given a draw.

These are the parts of the exchange algorithm that say which mechanism it is; derived in
`bayesdp.engines.exchange`. A point is one of the unit square, u along phi and v along log lambda.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.censored.ordered import digamma, log_beta
from bayesdp.kernels.compiling import kernel, summing

Floats = NDArray[np.float64]
MOST = 16384  # blocks of one draw
_FAR, _REJECTED = -6.0, 8.0  # a block is split once rejected by so much, or so often
_LEAST, _LEAST_REST = -708.39, -36.73  # logs of the least record, 2^-1022, and of 1 - the largest
_PROPOSALS = 1_000_000  # for one draw, which takes some tens
BOUND, ROUGH = -1, -2  # why there was no draw


class Posterior(NamedTuple):
    """Public numbers of a clipped posterior on a grid.

    Attributes
    ----------
    low, high : float
        The interval that log densities are clipped to.
    p, q, shape : float
        Beta(p, q), the prior of phi, and the shape of lambda's Pareto prior.
    least, span : float
        Log of the smallest lambda, and log of the ratio of the largest to it.
    across, up : float
        Numbers of cells along phi and along log lambda.
    """

    low: float
    high: float
    p: float
    q: float
    shape: float
    least: float
    span: float
    across: float
    up: float


@summing
def _clipped(t1: Floats, t2: Floats, n: int, a: float, b: float, c: float, ends: Any) -> float:
    """Sum of A t1 + B t2 - C over records, each clipped to the ends.

    A record is a floating-point number for the mechanism, at least 2^-1022 and at most 1 - 2^-53.
    """
    low, high = ends
    total = 0.0
    for i in range(n):
        x, y = max(t1[i], _LEAST), max(t2[i], _LEAST_REST)
        total += min(max(a * x + b * y - c, low), high)
    return total


@summing
def _planes(t1: Floats, t2: Floats, n: int, corners: Floats, ends: Any) -> Any:
    """Sums of what bounds the records' terms, at a block's four corners.

    It is a record's plane, or the interval's upper end, whichever is less on average.
    """
    low, high = ends
    a0, b0, c0 = corners[0, 0], corners[0, 1], corners[0, 2]
    a1, b1, c1 = corners[1, 0], corners[1, 1], corners[1, 2]
    a2, b2, c2 = corners[2, 0], corners[2, 1], corners[2, 2]
    a3, b3, c3 = corners[3, 0], corners[3, 1], corners[3, 2]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        x, y = max(t1[i], _LEAST), max(t2[i], _LEAST_REST)
        p0 = max(a0 * x + b0 * y - c0, low)
        p1 = max(a1 * x + b1 * y - c1, low)
        p2 = max(a2 * x + b2 * y - c2, low)
        p3 = max(a3 * x + b3 * y - c3, low)
        flat = (p0 + p1) + (p2 + p3) >= 4.0 * high
        s0 += high if flat else p0
        s1 += high if flat else p1
        s2 += high if flat else p2
        s3 += high if flat else p3
    return s0, s1, s2, s3


@kernel
def clipped_total(t1: Floats, t2: Floats, n: int, phi: float, lam: float, law: Posterior) -> float:
    """Sum of the records' clipped log densities at (phi, lambda)."""
    a, b = lam * phi, lam * (1.0 - phi)
    return _clipped(t1, t2, n, a - 1.0, b - 1.0, log_beta(a, b), (law.low, law.high))


@kernel
def _phi_of(u: float, law: Posterior) -> float:
    """Centre of the cell of a point of (0, 1) along phi."""
    return min((math.floor(u * law.across) + 0.5) / law.across, 1 - 2.0**-53)


@kernel
def _lam_of(v: float, law: Posterior) -> float:
    """Centre of the cell of a point of (0, 1) along log lambda."""
    return math.exp(law.least + law.span * ((math.floor(v * law.up) + 0.5) / law.up))


@kernel
def log_prior(phi: float, lam: float, law: Posterior) -> float:
    p, q = law.p - 1.0, law.q - 1.0
    beta = (p * math.log(phi) if p != 0 else 0.0) + (q * math.log1p(-phi) if q != 0 else 0.0)
    return beta - law.shape * math.log(lam)


@kernel
def _prior_bound(f: float, middle: float, s: float, law: Posterior) -> float:
    """Bound on the log prior at a corner, convex over the block: concave terms by tangents."""
    p, q = law.p - 1.0, law.q - 1.0
    total = -law.shape * math.log(s)
    if p > 0:
        total += p * (math.log(middle) + (f - middle) / middle)
    elif p < 0:
        total += p * math.log(f)
    if q > 0:
        total += q * (math.log1p(-middle) - (f - middle) / (1.0 - middle))
    elif q < 0:
        total += q * math.log1p(-f)
    return total


@kernel
def block_bound(
    t1: Floats, t2: Floats, n: int, size: float, block: Floats, corners: Floats, law: Posterior
) -> float:
    """Upper bound of the log weights of a block's cells; `corners` is room for four planes."""
    f0, s0 = _phi_of(block[0], law), _lam_of(block[2], law)
    f1, s1 = f0, s0
    if block[1] * law.across > 1.0:
        f1 = min(block[0] + block[1] - 0.5 / law.across, 1 - 2.0**-53)
    if block[3] * law.up > 1.0:
        s1 = math.exp(law.least + law.span * (block[2] + block[3] - 0.5 / law.up))
    f, s = 0.5 * (f0 + f1), 0.5 * (s0 + s1)
    a, b = s * f, s * (1.0 - f)
    c, whole = log_beta(a, b), digamma(s)
    da, db = digamma(a) - whole, digamma(b) - whole
    for k in range(4):
        phi, lam = f1 if k & 1 else f0, s1 if k & 2 else s0
        u, v = lam * phi, lam * (1.0 - phi)
        corners[k, 0], corners[k, 1] = u - 1.0, v - 1.0
        corners[k, 2] = c + da * (u - a) + db * (v - b)
        corners[k, 3] = _prior_bound(phi, f, lam, law)
    sums = _planes(t1, t2, n, corners, (law.low, law.high))
    bound, prior = -np.inf, -np.inf
    for k in range(4):
        bound = max(bound, sums[k] + corners[k, 3])
        prior = max(prior, corners[k, 3])
    bound = min(bound, n * law.high + prior)
    each = s1 * (1.0 + abs(math.log(s1))) + 64.0 + abs(law.low) + abs(law.high)
    return bound + 2.0**-45 * ((s1 + 2.0) * size + n * each + abs(bound) + 1.0)


@kernel
def draw_points(
    t1: Floats, t2: Floats, n: int, law: Posterior, work: Floats, used: int, rng: Any, drawn: Floats
) -> int:
    """Draw points of the grid's square, uniform in cells drawn exactly from the posterior.

    `work` has a row for each block: its corner and width along phi, the same along log lambda, its
    bound, its share of the proposals and the number of those that were rejected. The first `used`
    rows hold a partition. Returns the number of blocks in the end; `BOUND` if a bound didn't
    hold, `ROUGH` if so many proposals were rejected that there is no draw.
    """
    corners, size = np.empty((4, 4)), 0.0
    for i in range(n):
        size += min(-t1[i], -_LEAST) + min(-t2[i], -_LEAST_REST)
    for k in range(used):
        work[k, 4], work[k, 6] = block_bound(t1, t2, n, size, work[k], corners, law), 0.0
    total = _shares(work, used)
    for m in range(drawn.shape[0]):
        for tried in range(_PROPOSALS + 1):
            if tried == _PROPOSALS:
                return ROUGH
            k, place = 0, rng.random() * total
            while k < used - 1 and place >= work[k, 5]:
                place -= work[k, 5]
                k += 1
            u = work[k, 0] + rng.random() * work[k, 1]
            v = work[k, 2] + rng.random() * work[k, 3]
            phi, lam = _phi_of(u, law), _lam_of(v, law)
            excess = clipped_total(t1, t2, n, phi, lam, law) + log_prior(phi, lam, law) - work[k, 4]
            if excess > 0.0:
                return BOUND
            if rng.random() < math.exp(excess):
                drawn[m, 0], drawn[m, 1] = u, v
                break
            work[k, 6] += 1.0
            if used + 3 <= MOST and (excess < _FAR or work[k, 6] >= _REJECTED):
                for part in range(_split(work, k, used, law)):
                    one = k if part == 0 else used + part - 1
                    work[one, 4], work[one, 6] = (
                        block_bound(t1, t2, n, size, work[one], corners, law),
                        0.0,
                    )
                used += part
                total = _shares(work, used)
    return used


@kernel
def _shares(work: Floats, used: int) -> float:
    """Compute the blocks' shares of proposals, and return their sum."""
    top, total = -np.inf, 0.0
    for k in range(used):
        top = max(top, work[k, 4])
    for k in range(used):
        work[k, 5] = work[k, 1] * work[k, 3] * math.exp(work[k, 4] - top)
        total += work[k, 5]
    return total


@kernel
def _split(work: Floats, k: int, used: int, law: Posterior) -> int:
    """Split a block in four, or in two where it is a cell thin; return the number of parts."""
    wide, high = work[k, 1] * law.across > 1.0, work[k, 3] * law.up > 1.0
    parts = 1
    if wide:
        work[k, 1] *= 0.5
    if high:
        work[k, 3] *= 0.5
    for right in range(2 if wide else 1):
        for upper in range(2 if high else 1):
            if right or upper:
                one = used + parts - 1
                work[one, :4] = work[k, :4]
                work[one, 0] += right * work[k, 1]
                work[one, 2] += upper * work[k, 3]
                parts += 1
    return parts


class Copies(NamedTuple):
    """Sufficient statistics of the copies, rescaled to (0, 1), one number of each for a copy.

    Attributes
    ----------
    t1, t2 : ndarray
        Sums of log y and of log(1 - y) over the records within.
    within, at_low, at_high : ndarray
        Numbers of records within, and of those that were rounded to an end.
    low, high : float
        Logs of the distances from the ends within which records are rounded to them.
    """

    t1: Floats
    t2: Floats
    within: Floats
    at_low: Floats
    at_high: Floats
    low: float
    high: float


@kernel
def log_of_copy(copies: Copies, m: int, phi: float, lam: float) -> float:
    """Log density of copy m at (phi, lambda)."""
    a, b = lam * phi, lam * (1.0 - phi)
    c = log_beta(a, b)
    total: float = (a - 1.0) * copies.t1[m] + (b - 1.0) * copies.t2[m] - copies.within[m] * c
    if copies.at_low[m] > 0.0:  # Pr[y < t] = t^a / (a B(a, b)), but for t of itself
        total += copies.at_low[m] * (a * copies.low - math.log(a) - c)
    if copies.at_high[m] > 0.0:
        total += copies.at_high[m] * (b * copies.high - math.log(b) - c)
    return total


@kernel
def point_of(u: float, v: float, law: Posterior) -> Any:
    """(phi, lambda) of a point of the grid's square."""
    phi = min(max(u, 2.0**-54), 1 - 2.0**-53)
    return phi, math.exp(law.least + law.span * v)


@kernel
def copy_at(copies: Copies, m: int, u: float, v: float, law: Posterior) -> float:
    """Log density of copy m at a point."""
    phi, lam = point_of(u, v, law)
    return log_of_copy(copies, m, phi, lam)


@kernel
def score_at(t1: Floats, t2: Floats, n: int, u: float, v: float, law: Posterior) -> float:
    """Score S of a point's cell: the sum of the records' clipped log densities there."""
    phi, lam = _phi_of(u, law), _lam_of(v, law)
    return clipped_total(t1, t2, n, phi, lam, law)


@kernel
def prior_at(u: float, v: float, law: Posterior) -> float:
    """Log prior of a point's cell."""
    return log_prior(_phi_of(u, law), _lam_of(v, law), law)
