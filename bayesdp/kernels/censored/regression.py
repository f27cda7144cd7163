"""Sweeps of the exchange algorithm for groups of records whose parameters are a regression.

Derived in `bayesdp.engines.exchange_groups`. A group's parameters are eta = (g, h): g is linear in
the coefficients, h is common to all groups.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

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
from bayesdp.kernels.censored.exchange import move_points, move_records, tune
from bayesdp.kernels.censored.populations import (
    carry_records,
    in_range,
    log_of_records,
    log_precision_of,
    log_prior_of_spread,
    sums_of,
)
from bayesdp.kernels.compiling import kernel

Floats = NDArray[np.float64]
_ROUNDS = 5  # of cheap steps in a sweep
_AIM = 0.44  # share of accepted steps of one number


class Design(NamedTuple):
    """Groups' predictors, for coefficients c that are about independent, and about as certain.

    Attributes
    ----------
    offset : ndarray, shape (groups,)
        g where c = 0, which is the prior's mean.
    rows : ndarray, shape (groups, terms)
        g - offset = rows c.
    root : ndarray, shape (terms, terms)
        The coefficients' distances from their prior means, in prior standard deviations, are
        root c.
    shape, rate : float
        Prior of h, as `log_prior_of_spread` takes it.
    """

    offset: Floats
    rows: Floats
    root: Floats
    shape: float
    rate: float


@kernel
def _etas(kind: int, coefs: Floats, design: Design, etas: Floats) -> bool:
    """Compute each group's parameters; return whether all are in range."""
    terms: int = design.rows.shape[1]
    good = True
    for k in range(etas.shape[0]):
        g = design.offset[k]
        for j in range(terms):
            g += design.rows[k, j] * coefs[j]
        etas[k, 0], etas[k, 1] = g, coefs[terms]
        good = good and in_range(kind, g, coefs[terms])
    return good


@kernel
def _log_prior(kind: int, coefs: Floats, design: Design) -> float:
    terms: int = design.root.shape[1]
    total = log_prior_of_spread(kind, coefs[terms], design.shape, design.rate)
    for i in range(terms):
        away = 0.0
        for j in range(terms):
            away += design.root[i, j] * coefs[j]
        total -= 0.5 * away * away
    return total


@kernel
def _log_of_groups(kind: int, sizes: Any, sums: Floats, etas: Floats) -> float:
    total = 0.0
    for k in range(etas.shape[0]):
        total += log_of_records(kind, sizes[k], sums[k], etas[k, 0], etas[k, 1])
    return total


@kernel
def _move_coefs(
    kind: int,
    sizes: Any,
    sums: Floats,
    coefs: Floats,
    design: Design,
    etas: Floats,
    steps: Floats,
    rate: float,
    rng: Any,
) -> float:
    """Metropolis steps of single coefficients, and of h, given records; return the log density."""
    _etas(kind, coefs, design, etas)
    now = _log_of_groups(kind, sizes, sums, etas) + _log_prior(kind, coefs, design)
    for step in range(_ROUNDS * coefs.size):
        k = step % coefs.size
        old = coefs[k]
        coefs[k] += math.exp(steps[k]) * rng.standard_normal()
        new = -np.inf
        if _etas(kind, coefs, design, etas):
            new = _log_of_groups(kind, sizes, sums, etas) + _log_prior(kind, coefs, design)
        accepted = math.log1p(-rng.random()) < new - now
        if accepted:
            now = new
        else:
            coefs[k] = old
        tune(steps, k, 1.0 if accepted else 0.0, _AIM, rate)
    _etas(kind, coefs, design, etas)
    return now


@kernel
def _law_of(laws: Floats, k: int) -> Posterior:
    row = laws[k]
    return Posterior(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8])


@kernel
def _copies_of(copies: Copies, k: int) -> Copies:
    t1, t2, within = copies.t1[k], copies.t2[k], copies.within[k]
    return Copies(t1, t2, within, copies.at_low[k], copies.at_high[k], copies.low, copies.high)


@kernel
def _carry_point(u: float, v: float, along: float, up: float) -> Any:
    """Carry a point by `along` in the logit of u and by `up` in v.

    Returns the point, and the log of the map's Jacobian, -inf outside the square.
    """
    if along == 0.0 and up == 0.0:
        return u, v, 0.0
    if not 0.0 < u < 1.0:
        return u, v, -np.inf
    carried, higher = 1.0 / (1.0 + (1.0 - u) / u * math.exp(-along)), v + up
    if not (0.0 < carried < 1.0 and 0.0 <= higher < 1.0):
        return carried, higher, -np.inf
    jacobian = math.log(carried) + math.log1p(-carried) - math.log(u) - math.log1p(-u)
    return carried, higher, jacobian


@kernel
def log_carried(
    old: Any,
    new: Any,
    points: Floats,
    moved: Floats,
    shift: Any,
    copies: Copies,
    law: Posterior,
    drawn: Floats,
    work: Floats,
    rng: Any,
) -> float:
    """Log ratio of the exchange in which points are carried by `shift`, and drawn ones back.

    Records are (t1, t2, n). `moved` is room for the points carried. -inf if any leave the square;
    NaN if none were drawn, and `work[0, 0]` then says why.
    """
    total = 0.0
    for m in range(points.shape[0]):
        u, v = points[m, 0], points[m, 1]
        moved[m, 0], moved[m, 1], jacobian = _carry_point(u, v, shift[0], shift[1])
        if jacobian == -np.inf:
            return -np.inf
        total += jacobian - score_at(old[0], old[1], old[2], u, v, law)
        total -= prior_at(u, v, law) + copy_at(copies, m, u, v, law)
        u, v = moved[m, 0], moved[m, 1]
        total += score_at(new[0], new[1], new[2], u, v, law)
        total += prior_at(u, v, law) + copy_at(copies, m, u, v, law)
    work[0, 0], work[0, 1], work[0, 2], work[0, 3] = 0.0, 1.0, 0.0, 1.0
    used = draw_points(new[0], new[1], new[2], law, work, 1, rng, drawn)
    if used < 0:
        work[0, 0] = used
        return np.nan
    for m in range(points.shape[0]):
        u, v = drawn[m, 0], drawn[m, 1]
        total -= score_at(new[0], new[1], new[2], u, v, law) + prior_at(u, v, law)
        u, v, jacobian = _carry_point(u, v, -shift[0], -shift[1])
        if jacobian == -np.inf:
            return -np.inf
        total += jacobian
        total += score_at(old[0], old[1], old[2], u, v, law) + prior_at(u, v, law)
    return total


@kernel
def _carry(
    along: float,
    kind: int,
    records: Any,
    room: Any,
    sizes: Any,
    etas: Floats,
    others: Floats,
    points: Floats,
    moved: Floats,
    copies: Copies,
    laws: Floats,
    drawn: Floats,
    work: Floats,
    rng: Any,
) -> float:
    """Carry all groups' records to other parameters, in room; return the log ratio.

    Points are carried too where `along` is 1, and stay where it is 0.

    It leaves out the coefficients' prior. NaN is as by `log_carried`.
    """
    (t1, t2), (new1, new2), total = records, room, 0.0
    for k in range(etas.shape[0]):
        n, law, seen = sizes[k], _law_of(laws, k), _copies_of(copies, k)
        old, new = (t1[k], t2[k]), (new1[k], new2[k])
        total += carry_records(kind, old, new, n, etas[k], others[k])
        up = log_precision_of(kind, others[k, 1] - etas[k, 1]) / law.span
        shift = along * (others[k, 0] - etas[k, 0]), along * up
        total += log_carried(
            (t1[k], t2[k], n), (new1[k], new2[k], n), points[k], moved[k], shift, seen, law, drawn,
            work, rng,
        )  # fmt: skip
        if not total > -np.inf:  # or there was no draw
            break
    return total


@kernel
def _move_group(
    k: int,
    kind: int,
    records: Any,
    room: Any,
    sizes: Any,
    eta: Floats,
    points: Floats,
    drawn: Floats,
    copies: Copies,
    laws: Floats,
    log_sizes: Floats,
    tuned: Floats,
    rate: float,
    work: Floats,
    rng: Any,
) -> int:
    """Move what belongs to one group alone: its points, blocks of its records, their number.

    Returns 0, or why there was no draw.
    """
    (t1, t2), (new1, new2), law = records, room, _law_of(laws, k)
    seen, anything = _copies_of(copies, k), np.ones(4)
    move_points(t1[k], t2[k], sizes[k], points[k], seen, law, tuned, 0.5 * rate, rng)
    for move in range(0, 4 if np.isfinite(log_sizes).sum() > 1 else 2, 2):  # 0, and 2 of the size
        sizes[k], accepted = move_records(
            move, kind, (t1[k], t2[k]), (new1[k], new2[k]), sizes[k], eta,
            points[k], drawn, law, anything, log_sizes, tuned, rate, work, rng,
        )  # fmt: skip
        if accepted < 0:
            return accepted  # type: ignore[no-any-return]
    return 0


@kernel
def _move_all(
    kind: int,
    records: Any,
    room: Any,
    sizes: Any,
    coefs: Floats,
    design: Design,
    points: Floats,
    drawn: Floats,
    copies: Copies,
    laws: Floats,
    steps: Floats,
    rate: float,
    work: Floats,
    rng: Any,
) -> float:
    """Step each coefficient, and h, with all records, and with points; return the share accepted.

    Below 0 is why there was no draw.
    """
    (t1, t2), (new1, new2), shape = records, room, (sizes.size, 2)
    etas, others, moved, taken = np.empty(shape), np.empty(shape), np.empty_like(points), 0.0
    for step in range(2 * coefs.size):
        along, k = step % 2, step // 2
        _etas(kind, coefs, design, etas)
        ratio, old = -_log_prior(kind, coefs, design), coefs[k]
        coefs[k] += math.exp(steps[along, k]) * rng.standard_normal()
        if _etas(kind, coefs, design, others):
            ratio += _log_prior(kind, coefs, design)
            ratio += _carry(
                along, kind, records, room, sizes, etas, others, points, moved, copies, laws,
                drawn, work, rng,
            )  # fmt: skip
            if np.isnan(ratio):
                return work[0, 0]  # type: ignore[no-any-return]
        else:
            ratio = -np.inf
        accepted = math.log1p(-rng.random()) < ratio
        if accepted:
            for i in range(sizes.size):
                n = sizes[i]
                t1[i, :n], t2[i, :n] = new1[i, :n], new2[i, :n]
            points[:] = moved
            taken += 0.5 / coefs.size
        else:
            coefs[k] = old
        tune(steps[along], k, 1.0 if accepted else 0.0, _AIM, rate)
    return taken


@kernel
def group_sweeps(
    kind: int,
    records: Any,
    sizes: Any,
    coefs: Floats,
    points: Floats,
    copies: Copies,
    laws: Floats,
    design: Design,
    log_sizes: Floats,
    tuned: Floats,
    steps: Floats,
    begun: int,
    warmup: int,
    sweeps: int,
    rng: Any,
) -> Any:
    """Sweep; return coefficients, h, sizes, log density and rate of acceptance, and a status.

    Parameters
    ----------
    kind : int
        The population (`populations`).
    records : pair of ndarray, shape (groups, largest size) each
        log x and log(1 - x).
    sizes : ndarray of int, shape (groups,)
    coefs : ndarray, shape (terms + 1,)
        The coefficients c of `Design`, and h.
    points : ndarray, shape (groups, copies, 2)
    copies : Copies
        Arrays of shape (groups, copies).
    laws : ndarray, shape (groups, 9)
        The numbers of each group's `Posterior`.
    log_sizes : ndarray, shape (groups, largest size + 1)
        Log probabilities of each group's sizes.
    tuned : ndarray, shape (groups, 12)
        As `exchange_sweeps` has it.
    steps : ndarray, shape (3, terms + 1)
        Logs of the coefficients' steps together with records, with records and points, and given
        records.
    begun, warmup, sweeps : int
        Sweeps done before, sweeps in which steps are tuned, and sweeps to do.

    Returns
    -------
    tuple
        An array of shape (sweeps, terms + groups + 3), and 0 or why there was no draw.
    """
    (t1, t2), terms, groups = records, coefs.size, sizes.size
    room, work = (t1.copy(), t2.copy()), np.empty((MOST, 7))
    drawn, etas = np.empty((points.shape[1], 2)), np.empty((groups, 2))
    kept, sums = np.empty((sweeps, terms + groups + 2)), np.empty((groups, 2))
    for sweep in range(sweeps):
        done = begun + sweep
        rate = 2.0 / (10.0 + done) ** 0.6 if done < warmup else 0.0
        _etas(kind, coefs, design, etas)
        for k in range(groups):
            status = _move_group(
                k, kind, records, room, sizes, etas[k], points, drawn, copies, laws, log_sizes[k],
                tuned[k], rate, work, rng,
            )  # fmt: skip
            if status < 0:
                return kept, status
        moved = _move_all(
            kind, records, room, sizes, coefs, design, points, drawn, copies, laws, steps, rate,
            work, rng,
        )  # fmt: skip
        if moved < 0:
            return kept, int(moved)
        for k in range(groups):
            sums[k, 0], sums[k, 1] = sums_of(kind, t1[k], t2[k], sizes[k])
        lp = _move_coefs(kind, sizes, sums, coefs, design, etas, steps[2], 0.5 * rate, rng)
        for k in range(groups):
            law, seen = _law_of(laws, k), _copies_of(copies, k)
            for m in range(points.shape[1]):
                lp += copy_at(seen, m, points[k, m, 0], points[k, m, 1], law)
        kept[sweep, :terms], kept[sweep, terms : terms + groups] = coefs, sizes
        kept[sweep, terms + groups], kept[sweep, terms + groups + 1] = lp, moved
    return kept, 0


@kernel
def coef_sweeps(
    kind: int,
    sizes: Any,
    sums: Floats,
    coefs: Floats,
    design: Design,
    steps: Floats,
    warmup: int,
    draws: int,
    rng: Any,
) -> Floats:
    """Draw coefficients and h given records, after a warmup; shape (draws, terms + 2).

    The last column is the log density.
    """
    kept, etas = np.empty((draws, coefs.size + 1)), np.empty((sizes.size, 2))
    for sweep in range(-warmup, draws):
        rate = 1.0 / (10.0 + sweep + warmup) ** 0.6 if sweep < 0 else 0.0
        lp = _move_coefs(kind, sizes, sums, coefs, design, etas, steps, rate, rng)
        if sweep >= 0:
            kept[sweep, : coefs.size], kept[sweep, coefs.size] = coefs, lp
    return kept
