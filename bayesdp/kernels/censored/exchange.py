"""Kernels of the exchange algorithm for copies of censored beta posteriors.

Derived in `bayesdp.engines.exchange`.
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
_ROUNDS = 5  # of cheap steps in a sweep
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
def _point(u: float, v: float, law: Posterior) -> Any:
    """(phi, lambda) of a point of the grid's square."""
    phi = min(max(u, 2.0**-54), 1 - 2.0**-53)
    return phi, math.exp(law.least + law.span * v)


@kernel
def _log_gamma_draw(shape: float, rng: Any) -> float:
    """Log of a gamma variable, which for small shapes is itself 0 in floating point."""
    if shape >= 1.0:
        return math.log(rng.standard_gamma(shape))
    return math.log(rng.standard_gamma(shape + 1.0)) + math.log1p(-rng.random()) / shape


@kernel
def draw_records(t1: Floats, t2: Floats, first: int, last: int, eta: Floats, rng: Any) -> None:
    """Draw records from first to last as beta variables; `eta` is logit phi and log lambda."""
    lam = math.exp(eta[1])
    a, b = lam / (1.0 + math.exp(-eta[0])), lam / (1.0 + math.exp(eta[0]))
    for i in range(first, last):
        x, y = _log_gamma_draw(a, rng), _log_gamma_draw(b, rng)
        whole = max(x, y) + math.log1p(math.exp(-abs(x - y)))
        t1[i], t2[i] = x - whole, y - whole


@kernel
def _in_range(g: float, h: float) -> bool:
    """True where no shape under- or overflows; the prior leaves less than 1e-13 beyond."""
    return abs(g) < 300.0 and -300.0 < h < 50.0


@kernel
def log_prior_of_eta(g: float, h: float, prior: Floats) -> float:
    """Log density of (logit phi, log lambda): phi ~ Beta(p, q), lambda ~ Gamma(shape, rate)."""
    tail = math.log1p(math.exp(-abs(g)))
    of_phi: float = prior[0] * (min(g, 0.0) - tail) + prior[1] * (min(-g, 0.0) - tail)
    of_lam: float = prior[2] * h - prior[3] * math.exp(h)
    return of_phi + of_lam


@kernel
def _log_of_records(n: int, sums: Any, g: float, h: float) -> float:
    """Log density of n records, of which the sums of log x and log(1 - x) are given."""
    lam = math.exp(h)
    a, b = lam / (1.0 + math.exp(-g)), lam / (1.0 + math.exp(g))
    total: float = (a - 1.0) * sums[0] + (b - 1.0) * sums[1] - n * log_beta(a, b)
    return total


@kernel
def _tune(tuned: Floats, k: int, accepted: float, target: float, rate: float) -> None:
    tuned[k] = min(max(tuned[k] + rate * (accepted - target), -25.0), 12.0)


@kernel
def _move_points(
    t1: Floats,
    t2: Floats,
    n: int,
    points: Floats,
    copies: Copies,
    law: Posterior,
    tuned: Floats,
    rate: float,
    rng: Any,
) -> None:
    """Metropolis steps of each copy's parameters, given the records and the copy."""
    for m in range(points.shape[0]):
        now = -np.inf
        for step in range(-1, 2 * _ROUNDS + 1):
            u, v = points[m, 0], points[m, 1]
            if step == 2 * _ROUNDS:  # from anywhere
                u, v = rng.random(), rng.random()
            elif step >= 0 and step % 2 == 0:
                u += math.exp(tuned[0]) * rng.standard_normal()
            elif step >= 0:
                v += math.exp(tuned[1]) * rng.standard_normal()
            new = -np.inf
            if 0.0 <= u < 1.0 and 0.0 <= v < 1.0:
                phi, lam = _phi_of(u, law), _lam_of(v, law)
                new = clipped_total(t1, t2, n, phi, lam, law) + log_prior(phi, lam, law)
                phi, lam = _point(u, v, law)
                new += log_of_copy(copies, m, phi, lam)
            accepted = step < 0 or math.log1p(-rng.random()) < new - now
            if accepted:
                points[m, 0], points[m, 1], now = u, v, new
            if 0 <= step < 2 * _ROUNDS:
                _tune(tuned, step % 2, 1.0 if accepted else 0.0, 0.44, rate)


@kernel
def _move_eta(
    n: int, sums: Any, eta: Floats, prior: Floats, tuned: Floats, rate: float, rng: Any
) -> None:
    """Metropolis steps of the population's parameters, given the records."""
    now = _log_of_records(n, sums, eta[0], eta[1]) + log_prior_of_eta(eta[0], eta[1], prior)
    for step in range(2 * _ROUNDS):
        g, h = eta[0], eta[1]
        if step % 2 == 0:
            g += math.exp(tuned[2]) * rng.standard_normal()
        else:
            h += math.exp(tuned[3]) * rng.standard_normal()
        new = -np.inf
        if _in_range(g, h):
            new = _log_of_records(n, sums, g, h) + log_prior_of_eta(g, h, prior)
        accepted = math.log1p(-rng.random()) < new - now
        if accepted:
            eta[0], eta[1], now = g, h, new
        _tune(tuned, 2 + step % 2, 1.0 if accepted else 0.0, 0.44, rate)


@kernel
def log_exchange(
    old: Any, new: Any, points: Floats, drawn: Floats, law: Posterior, work: Floats, rng: Any
) -> float:
    """Log ratio of the exchange: of the mechanism's laws at new and at old records.

    Records are (t1, t2, n). The auxiliary points are drawn at the new ones. The ratio is that of
    the unnormalized laws at the current points, over that at the auxiliary ones. NaN if no points
    were drawn; `work[0, 0]` then says why.
    """
    work[0, 0], work[0, 1], work[0, 2], work[0, 3] = 0.0, 1.0, 0.0, 1.0
    used = draw_points(new[0], new[1], new[2], law, work, 1, rng, drawn)
    if used < 0:
        work[0, 0] = used
        return np.nan
    total = 0.0
    for m in range(points.shape[0]):
        phi, lam = _phi_of(points[m, 0], law), _lam_of(points[m, 1], law)
        total += clipped_total(new[0], new[1], new[2], phi, lam, law)
        total -= clipped_total(old[0], old[1], old[2], phi, lam, law)
        phi, lam = _phi_of(drawn[m, 0], law), _lam_of(drawn[m, 1], law)
        total += clipped_total(old[0], old[1], old[2], phi, lam, law)
        total -= clipped_total(new[0], new[1], new[2], phi, lam, law)
    return total


@kernel
def _shuffle_last(t1: Floats, t2: Floats, n: int, count: int, rng: Any) -> None:
    """Bring `count` of n records, chosen at random, to the end."""
    for i in range(n - 1, n - 1 - count, -1):
        j = int(rng.random() * (i + 1))
        t1[i], t1[j] = t1[j], t1[i]
        t2[i], t2[j] = t2[j], t2[i]


@kernel
def _propose(
    kind: int,
    new1: Floats,
    new2: Floats,
    n: int,
    eta: Floats,
    other: Floats,
    log_sizes: Floats,
    tuned: Floats,
    rng: Any,
) -> int:
    """Propose records, parameters in `other` and a size, which is returned; -1 for none.

    Kind 0 draws a block of records anew, 1 all of them with new parameters, and 2 adds or takes
    some away.
    """
    other[0], other[1] = eta[0], eta[1]
    if kind == 0:
        count = min(max(int(math.exp(tuned[4])), 1), n)
        _shuffle_last(new1, new2, n, count, rng)
        draw_records(new1, new2, n - count, n, other, rng)
        return n
    if kind == 1:
        z, w, scale = rng.standard_normal(), rng.standard_normal(), 2.0 ** -int(3 * rng.random())
        other[0] += scale * tuned[9] * z
        other[1] += scale * (tuned[10] * z + tuned[11] * w)
        if not _in_range(other[0], other[1]):
            return -1
        draw_records(new1, new2, 0, n, other, rng)
        return n
    count = 1 + int(rng.random() * max(int(math.exp(tuned[6])), 1))
    if rng.random() < 0.5:
        _shuffle_last(new1, new2, n, min(count, n), rng)
        count = -count
    if not 0 <= n + count < log_sizes.size or log_sizes[n + count] == -np.inf:
        return -1
    if count > 0:
        draw_records(new1, new2, n, n + count, other, rng)
    return n + count


@kernel
def _learn(eta: Floats, tuned: Floats, mean: Floats, rate: float) -> None:
    """Move a running mean and covariance of eta, and set the root that proposals take."""
    d0, d1 = eta[0] - mean[0], eta[1] - mean[1]
    mean[0] += rate * d0
    mean[1] += rate * d1
    mean[2] += rate * (d0 * d0 - mean[2])
    mean[3] += rate * (d0 * d1 - mean[3])
    mean[4] += rate * (d1 * d1 - mean[4])
    tuned[9] = math.sqrt(max(mean[2], 1e-8))
    tuned[10] = mean[3] / tuned[9]
    tuned[11] = math.sqrt(max(mean[4] - tuned[10] * tuned[10], 1e-8))


@kernel
def exchange_sweeps(
    records: Any,
    size: int,
    eta: Floats,
    points: Floats,
    copies: Copies,
    law: Posterior,
    prior: Floats,
    log_sizes: Floats,
    tuned: Floats,
    mean: Floats,
    begun: int,
    warmup: int,
    sweeps: int,
    rng: Any,
) -> Any:
    """Sweep; return eta, n, log density and rate of acceptance after each, n, and a status.

    `tuned` has the logs of the steps of points (0, 1) and of eta (2, 3), of a block's size (4) and
    of how many records are added at most (6), and the root of eta's covariance (9 to 11), which
    `mean` keeps: two means, and then the variances around the covariance. The status is 0, or why
    there was no draw.
    """
    t1, t2 = records
    new1, new2 = t1.copy(), t2.copy()
    work, drawn, other = np.empty((MOST, 7)), np.empty(points.shape), np.empty(2)
    kept, n = np.empty((sweeps, 5)), size
    moves = 5 if np.isfinite(log_sizes).sum() > 1 else 4
    for sweep in range(sweeps):
        done = begun + sweep
        rate = 2.0 / (10.0 + done) ** 0.6 if done < warmup else 0.0
        _move_points(t1, t2, n, points, copies, law, tuned, 0.5 * rate, rng)
        moved = 0.0
        for move in range(moves):
            kind = 2 if move == 4 else min(move, 1)
            new1[:n], new2[:n] = t1[:n], t2[:n]
            m = _propose(kind, new1, new2, n, eta, other, log_sizes, tuned, rng)
            accepted = False
            if m >= 0:
                ratio = log_sizes[m] - log_sizes[n]
                ratio += log_prior_of_eta(other[0], other[1], prior)
                ratio -= log_prior_of_eta(eta[0], eta[1], prior)
                ratio += log_exchange((t1, t2, n), (new1, new2, m), points, drawn, law, work, rng)
                if np.isnan(ratio):
                    return kept, n, int(work[0, 0])
                accepted = math.log1p(-rng.random()) < ratio
            if accepted:
                t1[:m], t2[:m], n = new1[:m], new2[:m], m
                eta[0], eta[1] = other[0], other[1]
                moved += 1.0 / moves
            if kind != 1:  # whose step is as long as eta is uncertain, whatever is accepted
                _tune(tuned, 4 + kind, 1.0 if accepted else 0.0, 0.3, rate)
            tuned[4] = min(tuned[4], math.log(max(n, 1)) + 0.5)
        sums = t1[:n].sum(), t2[:n].sum()
        _move_eta(n, sums, eta, prior, tuned, 0.5 * rate, rng)
        if done < warmup:
            _learn(eta, tuned, mean, 1.0 / (5.0 + 0.5 * done))
        kept[sweep, 0], kept[sweep, 1], kept[sweep, 2], kept[sweep, 4] = eta[0], eta[1], n, moved
        kept[sweep, 3] = _log_of_records(n, sums, eta[0], eta[1])
        kept[sweep, 3] += log_prior_of_eta(eta[0], eta[1], prior)
        for m in range(points.shape[0]):
            phi, lam = _point(points[m, 0], points[m, 1], law)
            kept[sweep, 3] += log_of_copy(copies, m, phi, lam)
    return kept, n, 0


@kernel
def eta_sweeps(n: int, sums: Any, eta: Floats, prior: Floats, warmup: int, rng: Any) -> Any:
    """Tune steps of the parameters given records for `warmup` sweeps; return the steps' logs."""
    tuned = np.full(4, -1.0)
    for sweep in range(warmup):
        _move_eta(n, sums, eta, prior, tuned, 1.0 / (10.0 + sweep) ** 0.6, rng)
    return tuned


@kernel
def eta_draws(
    n: int, sums: Any, eta: Floats, prior: Floats, tuned: Floats, draws: int, rng: Any
) -> Floats:
    """Draw the parameters given records, and the log density; shape (draws, 3)."""
    kept = np.empty((draws, 3))
    for draw in range(draws):
        _move_eta(n, sums, eta, prior, tuned, 0.0, rng)
        kept[draw, 0], kept[draw, 1] = eta[0], eta[1]
        kept[draw, 2] = _log_of_records(n, sums, eta[0], eta[1])
        kept[draw, 2] += log_prior_of_eta(eta[0], eta[1], prior)
    return kept
