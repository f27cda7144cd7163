"""Sweeps of the exchange algorithm for copies whose law has an unknown normalizing constant.

Derived in `bayesdp.engines.exchange`. The sweeps name their parts and nothing else about them: of
the mechanism `draw_points`, `score_at`, `prior_at` and `copy_at`, of the population `draw_records`,
`sums_of`, `log_of_records`, `log_prior_of_eta` and `in_range`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.censored.clipped_beta import (
    MOST,
    Copies,
    Posterior,
    copy_at,
    draw_points,
    prior_at,
    score_at,
)
from bayesdp.kernels.censored.populations import (
    draw_records,
    in_range,
    log_of_records,
    log_prior_of_eta,
    sums_of,
)
from bayesdp.kernels.compiling import kernel

Floats = NDArray[np.float64]
_ROUNDS = 5  # of cheap steps in a sweep


@kernel
def tune(tuned: Floats, k: int, accepted: float, target: float, rate: float) -> None:
    tuned[k] = min(max(tuned[k] + rate * (accepted - target), -25.0), 12.0)


@kernel
def move_points(
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
                new = score_at(t1, t2, n, u, v, law) + prior_at(u, v, law)
                new += copy_at(copies, m, u, v, law)
            accepted = step < 0 or math.log1p(-rng.random()) < new - now
            if accepted:
                points[m, 0], points[m, 1], now = u, v, new
            if 0 <= step < 2 * _ROUNDS:
                tune(tuned, step % 2, 1.0 if accepted else 0.0, 0.44, rate)


@kernel
def _move_eta(
    kind: int, n: int, sums: Any, eta: Floats, prior: Floats, tuned: Floats, rate: float, rng: Any
) -> None:
    """Metropolis steps of the population's parameters, given the records."""
    now = log_of_records(kind, n, sums, eta[0], eta[1]) + log_prior_of_eta(
        kind, eta[0], eta[1], prior
    )
    for step in range(2 * _ROUNDS):
        g, h = eta[0], eta[1]
        if step % 2 == 0:
            g += math.exp(tuned[2]) * rng.standard_normal()
        else:
            h += math.exp(tuned[3]) * rng.standard_normal()
        new = -np.inf
        if in_range(kind, g, h):
            new = log_of_records(kind, n, sums, g, h) + log_prior_of_eta(kind, g, h, prior)
        accepted = math.log1p(-rng.random()) < new - now
        if accepted:
            eta[0], eta[1], now = g, h, new
        tune(tuned, 2 + step % 2, 1.0 if accepted else 0.0, 0.44, rate)


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
        u, v = points[m, 0], points[m, 1]
        total += score_at(new[0], new[1], new[2], u, v, law)
        total -= score_at(old[0], old[1], old[2], u, v, law)
        u, v = drawn[m, 0], drawn[m, 1]
        total += score_at(old[0], old[1], old[2], u, v, law)
        total -= score_at(new[0], new[1], new[2], u, v, law)
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
    move: int,
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

    Move 0 draws a block of records anew, 1 all of them with new parameters, and 2 adds or takes
    some away.
    """
    other[0], other[1] = eta[0], eta[1]
    if move == 0:
        count = min(max(int(math.exp(tuned[4])), 1), n)
        _shuffle_last(new1, new2, n, count, rng)
        draw_records(kind, new1, new2, n - count, n, other, rng)
        return n
    if move == 1:
        z, w, scale = rng.standard_normal(), rng.standard_normal(), 2.0 ** -int(3 * rng.random())
        other[0] += scale * tuned[9] * z
        other[1] += scale * (tuned[10] * z + tuned[11] * w)
        if not in_range(kind, other[0], other[1]):
            return -1
        draw_records(kind, new1, new2, 0, n, other, rng)
        return n
    count = 1 + int(rng.random() * max(int(math.exp(tuned[6])), 1))
    if rng.random() < 0.5:
        _shuffle_last(new1, new2, n, min(count, n), rng)
        count = -count
    if not 0 <= n + count < log_sizes.size or log_sizes[n + count] == -np.inf:
        return -1
    if count > 0:
        draw_records(kind, new1, new2, n, n + count, other, rng)
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
def move_records(
    move: int,
    kind: int,
    records: Any,
    room: Any,
    n: int,
    eta: Floats,
    points: Floats,
    drawn: Floats,
    law: Posterior,
    prior: Floats,
    log_sizes: Floats,
    tuned: Floats,
    rate: float,
    work: Floats,
    rng: Any,
) -> Any:
    """Make one of `_propose`'s moves or not, in place; return n, and 1 if it was made, else 0.

    `room` is as large as the records, `drawn` as the points. Below 0 is why there was no draw.
    """
    (t1, t2), (new1, new2), other = records, room, np.empty(2)
    new1[:n], new2[:n] = t1[:n], t2[:n]
    m = _propose(move, kind, new1, new2, n, eta, other, log_sizes, tuned, rng)
    accepted = 0
    if m >= 0:
        ratio = log_sizes[m] - log_sizes[n]
        ratio += log_prior_of_eta(kind, other[0], other[1], prior)
        ratio -= log_prior_of_eta(kind, eta[0], eta[1], prior)
        ratio += log_exchange((t1, t2, n), (new1, new2, m), points, drawn, law, work, rng)
        if np.isnan(ratio):
            return n, int(work[0, 0])
        accepted = 1 if math.log1p(-rng.random()) < ratio else 0
    if accepted:
        t1[:m], t2[:m], n = new1[:m], new2[:m], m
        eta[0], eta[1] = other[0], other[1]
    if move != 1:  # whose step is as long as eta is uncertain, whatever is accepted
        tune(tuned, 4 + move, accepted, 0.3, rate)
    tuned[4] = min(tuned[4], math.log(max(n, 1)) + 0.5)
    return n, accepted


@kernel
def exchange_sweeps(
    kind: int,
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
    room = t1.copy(), t2.copy()
    work, drawn = np.empty((MOST, 7)), np.empty(points.shape)
    kept, n = np.empty((sweeps, 5)), size
    moves = 5 if np.isfinite(log_sizes).sum() > 1 else 4
    for sweep in range(sweeps):
        done = begun + sweep
        rate = 2.0 / (10.0 + done) ** 0.6 if done < warmup else 0.0
        move_points(t1, t2, n, points, copies, law, tuned, 0.5 * rate, rng)
        moved = 0.0
        for place in range(moves):
            move = 2 if place == 4 else min(place, 1)
            n, accepted = move_records(
                move, kind, records, room, n, eta, points, drawn, law, prior, log_sizes, tuned,
                rate, work, rng,
            )  # fmt: skip
            if accepted < 0:
                return kept, n, accepted
            moved += accepted / moves
        sums = sums_of(kind, t1, t2, n)
        _move_eta(kind, n, sums, eta, prior, tuned, 0.5 * rate, rng)
        if done < warmup:
            _learn(eta, tuned, mean, 1.0 / (5.0 + 0.5 * done))
        kept[sweep, 0], kept[sweep, 1], kept[sweep, 2], kept[sweep, 4] = eta[0], eta[1], n, moved
        kept[sweep, 3] = log_of_records(kind, n, sums, eta[0], eta[1])
        kept[sweep, 3] += log_prior_of_eta(kind, eta[0], eta[1], prior)
        for m in range(points.shape[0]):
            kept[sweep, 3] += copy_at(copies, m, points[m, 0], points[m, 1], law)
    return kept, n, 0


@kernel
def eta_sweeps(
    kind: int, n: int, sums: Any, eta: Floats, prior: Floats, warmup: int, rng: Any
) -> Any:
    """Tune steps of the parameters given records for `warmup` sweeps; return the steps' logs."""
    tuned = np.full(4, -1.0)
    for sweep in range(warmup):
        _move_eta(kind, n, sums, eta, prior, tuned, 1.0 / (10.0 + sweep) ** 0.6, rng)
    return tuned


@kernel
def eta_draws(
    kind: int, n: int, sums: Any, eta: Floats, prior: Floats, tuned: Floats, draws: int, rng: Any
) -> Floats:
    """Draw the parameters given records, and the log density; shape (draws, 3)."""
    kept = np.empty((draws, 3))
    for draw in range(draws):
        _move_eta(kind, n, sums, eta, prior, tuned, 0.0, rng)
        kept[draw, 0], kept[draw, 1] = eta[0], eta[1]
        kept[draw, 2] = log_of_records(kind, n, sums, eta[0], eta[1])
        kept[draw, 2] += log_prior_of_eta(kind, eta[0], eta[1], prior)
    return kept
