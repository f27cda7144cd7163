"""Chains over the latent records of a whole table, given noisy counts of its marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bayesdp.core.table_choice import Chosen
from bayesdp.engines.cell_layout import ends_of
from bayesdp.engines.drawn_copies import Drawn, log_predictive, predictive_of
from bayesdp.engines.latent_classes import Mode, Noisy, fitted_mode
from bayesdp.engines.raked_tables import Raked, Raking, raked, raking_of
from bayesdp.engines.raking_dual import Metric
from bayesdp.engines.table_choices import (
    draw_masses,
    gaps_of,
    log_choice,
    offers_of,
    resampled,
)
from bayesdp.engines.unseen_counts import log_copies, move_unseen, seen_now, unseen_of
from bayesdp.errors import EngineFailed
from bayesdp.kernels.table.records import draw_spread, sweep, switch_records
from bayesdp.kernels.table.state import CHUNK, Layout, Rules, State
from bayesdp.kernels.table.unseen import Unseen
from bayesdp.progress import Step, bar
from bayesdp.threads import Halting, in_threads

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CONCENTRATION = (1e-3, 20.0)
"""Ends of a concentration's grid, where the user gives none."""
WATCHED = 500
"""Cells of marginals whose counts chains record."""
_BATCHES = 2.0
"""Batches proposed for each record and sweep."""
_MOVED = 8.0
"""Records that batches move, if none were rejected, for each record, where copies have no noise."""
_SPREAD = 2.0
"""Largest batch where copies have no noise, in roots of the number of records."""
_TRIES = 1000
_FLAT = 1.0
"""Variance of what another level does to the log likelihood, up to which levels are proposed."""


@dataclass(frozen=True)
class Problem:
    """Knowledge of a table's records: its columns, rules and noisy counts.

    Attributes
    ----------
    levels : tuple of int
        Numbers of levels of the columns.
    noisy : sequence of Noisy
        Noisy counts; with `drawn`, there may be none.
    n : int or None
        The number of records, where it is known.
    rules : sequence of mapping of int to ndarray of bool
        Levels that a rule names, of each of its columns: no record is in all of these.
    classes : int
        Number of latent classes.
    rake : bool
        Whether the tables that are kept are raked (`bayesdp.engines.raked_tables`).
    pool : mapping of int to ndarray of int
        The pool of each level, from 0, neighbours together, of the columns whose levels are pooled:
        a marginal of such a column alone counts its levels, any other their pools.
    chosen : sequence of Chosen
        Choices of marginals on confidential counts, whose law is part of the likelihood.
    concentration : tuple of two floats
        The least and the largest value that a concentration may have.
    drawn : sequence of Drawn
        Synthetic copies drawn by the table's own counts, step by step.
    """

    levels: tuple[int, ...]
    noisy: Sequence[Noisy]
    n: int | None
    rules: Sequence[dict[int, NDArray[np.bool_]]]
    classes: int
    rake: bool = False
    pool: dict[int, Integers] = field(default_factory=dict)
    chosen: Sequence[Chosen] = ()
    concentration: tuple[float, float] = CONCENTRATION
    drawn: Sequence[Drawn] = ()

    def pools_of(self, column: int) -> Integers:
        """The pool of each of a column's levels: itself, where none are pooled."""
        return self.pool.get(column, np.arange(self.levels[column]))

    @property
    def pools(self) -> tuple[int, ...]:
        """Numbers of pools of the columns."""
        return tuple(
            1 + int(self.pool[j][-1]) if j in self.pool else size
            for j, size in enumerate(self.levels)
        )

    def pooled(self, records: NDArray[Any]) -> NDArray[Any]:
        """The pools of records' levels, shape (..., d)."""
        if not self.pool:
            return records
        made = records.copy()
        for j, pool in self.pool.items():
            made[..., j] = np.append(pool, np.full(ABSENT + 1 - pool.size, ABSENT))[records[..., j]]
        return made

    @property
    def released(self) -> list[Noisy]:
        """Marginals whose noisy counts were released, rather than copies drawn by them."""
        return [one for one in self.noisy if one.copied is None]

    @property
    def copied(self) -> bool:
        """True if copies were released, and the counts that they were drawn by weren't."""
        return bool(self.drawn) or any(one.copied is not None for one in self.noisy)

    @property
    def marginals(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Columns and shape of all counts: noisy ones, then those that copies were drawn by."""
        noisy = [(one.columns, one.counts.shape) for one in self.noisy]
        return noisy + [(one.columns, one.seen.shape) for one in self.drawn]

    def size(self) -> float:
        """Estimate the number of records: the noisy totals, weighted by their precision."""
        if self.n is not None:
            return float(self.n)
        weights = [1 / (one.variance * one.counts.size) for one in self.released]
        totals = [float(one.counts.sum()) for one in self.released]
        return max(1.0, float(np.average(totals, weights=weights)))

    def capacity(self) -> int:
        """Largest number of records: beyond it, even the narrowest total is 40 sds away."""
        if self.n is not None:
            return self.n
        least = min(one.variance * one.counts.size for one in self.released)
        return int(self.size() + 40 * math.sqrt(least)) + 10

    def mode(self, rng: np.random.Generator) -> Mode:
        """Fit a latent class model to noisy counts, and guessed ones, from a random start."""
        pooled = [self.of_pools(one) for one in self.noisy]
        pooled += [one.start(self.size()) for one in self.drawn]
        mode = fitted_mode(self.pools, pooled, self.size(), self.classes, rng)
        columns = list(mode.columns)
        for j, pool in self.pool.items():
            within = np.full(pool.size, 0.5)
            for one in self.noisy:
                if one.columns == (j,):
                    within += np.maximum(one.counts, 0)
            within /= np.bincount(pool, within)[pool]
            columns[j] = columns[j][:, pool] * within
        return mode._replace(columns=columns)

    def of_pools(self, one: Noisy) -> Noisy:
        """A marginal's counts by pool: sums, with noise as wide as theirs has in the mean."""
        if len(one.columns) > 1 or one.columns[0] not in self.pool:
            return one
        pool = self.pool[one.columns[0]]
        counts = np.bincount(pool, one.counts).astype(np.float64)
        return one._replace(
            counts=counts, scale=one.scale * math.sqrt(one.counts.size / counts.size)
        )


class Tables(NamedTuple):
    """Draws of chains over latent tables.

    Attributes
    ----------
    records : ndarray of uint16, shape (chains, tables, most records, d)
        Levels in the tables kept; a place beyond a table's own records has `ABSENT`.
    cells : ndarray, shape (chains, draws, watched cells)
        Counts of the cells in `Watched`.
    spread : ndarray, shape (chains, draws, d + 1)
        Concentrations of the columns, and of the classes.
    log_law : ndarray, shape (chains, draws)
        Log probability of what was released given the latent table, up to a constant.
    misfit : ndarray, shape (chains, draws)
        Mean square of the noise that the latent table leaves, in its standard deviations.
    acceptance : ndarray, shape (chains, draws)
        Share of batches that were accepted.
    off : ndarray, shape (chains, tables)
        How far each table's raking is from its end (`Raked.off`); 0 where none is raked.
    effective : ndarray, shape (chains,)
        Effective number of each chain's raked tables, as weighed by choices' law.
    """

    records: NDArray[np.uint16]
    cells: Floats
    spread: Floats
    log_law: Floats
    misfit: Floats
    acceptance: Floats
    off: Floats
    effective: Floats


ABSENT = np.iinfo(np.uint16).max
"""Level of a place that has no record."""


def watched(problem: Problem) -> Integers:
    """Places of up to `WATCHED` cells, evenly spaced among those of all marginals, one by one."""
    total = sum(math.prod(shape) for _, shape in problem.marginals)
    return np.unique(np.linspace(0, total - 1, min(total, WATCHED)).astype(np.int64))


def sample(
    problem: Problem,
    *,
    draws: int,
    chains: int,
    warmup: int,
    thin: int,
    tables: int,
    seed: int | None,
    progress: bool | None = False,
) -> Tables:
    """Draw latent tables; each chain starts from a fitted mode of its own.

    Parameters
    ----------
    problem : Problem
    draws, chains, warmup : int
        Draws of each chain, chains, and sweeps before the first draw.
    thin : int
        Sweeps for each draw.
    tables : int
        Whole tables that each chain keeps, evenly spaced among its draws.
    seed : int or None
    progress : bool or None

    Raises
    ------
    EngineFailed
        If the rules leave no record that a chain could start from.
    """
    children = np.random.SeedSequence(seed).spawn(chains)
    layout = layout_of(problem)
    raking = None
    if problem.rake:
        raking = raking_of(problem.levels, problem.noisy, problem.n, problem.pool)
    kept = {round(t) for t in np.linspace(draws, 0, min(tables, draws), endpoint=False)}
    steps = chains * (warmup + draws * thin)
    with threadpool_limits(1), bar(progress, steps) as step:  # BLAS: a chain has a core
        halting = Halting(step)
        given = (raking, warmup, draws, thin, kept, halting)
        run = in_threads(lambda seed: _chain(problem, layout, seed, *given), children, halting)
    longest = max(1, *(len(table.records) for each, *_ in run for table in each))
    shape = (chains, len(kept), longest, len(problem.levels))
    records = np.full(shape, ABSENT, dtype=np.uint16)
    for c, (each, *_) in enumerate(run):
        for t, table in enumerate(each):
            records[c, t, : len(table.records)] = table.records
    parts = [np.stack(each) for each in zip(*(parts for _, parts, _ in run), strict=True)]
    off = np.array([[table.off for table in each] for each, *_ in run])
    return Tables(records, *[*parts, off, np.array([number for *_, number in run])])


def grid_of(ends: tuple[float, float]) -> Floats:
    """Values that a concentration may have, equally likely; one, where the ends are one."""
    low, high = ends
    return np.unique(np.exp(np.linspace(math.log(low), math.log(high), 40)))


def _chain(
    problem: Problem,
    layout: Layout,
    seed: np.random.SeedSequence,
    raking: Raking | None,
    warmup: int,
    draws: int,
    thin: int,
    kept: set[int],
    step: Step,
) -> tuple[list[Raked], list[Any], float]:
    """Run one chain; return its tables, what it told, and the tables' effective number."""
    rng, fresh = np.random.default_rng(seed), np.random.default_rng(seed.spawn(1)[0])
    state = start_of(problem, layout, rng)
    most, moves = _largest_batch(problem, layout), 0
    batches = _BATCHES if problem.noisy else _MOVED * math.log(most + 1.0) / most
    if problem.n is None:
        moves = max(10, round(problem.size()) // 5)
    ends = ends_of([one.counts.size for one in problem.noisy])
    places, cells = _whole_copies(problem, layout), watched(problem)
    tables, told, weights, metric = [], [], [], Metric()
    unseen, grid = unseen_counts(problem, layout), grid_of(problem.concentration)
    proposed = accepted = 0
    for t in range(1, warmup + draws * thin + 1):
        draw_masses(problem.chosen, state.offers, rng)
        move_unseen(problem.noisy, layout, state, unseen, rng)
        if problem.drawn:
            switch_records(layout, state, rng)
        tried, moved = sweep(layout, state, batches, most, moves, rng)
        proposed, accepted = proposed + tried, accepted + moved
        draw_spread(layout, state, grid, rng)
        step(1)
        past = t - warmup
        if past <= 0 or past % thin:
            continue
        left = state.left[places]
        rate = accepted / max(proposed, 1)
        log, square = _noise(problem, left, ends)
        law = log_choice(problem.chosen, state.offers.gaps)
        log += log_copies(unseen) + log_predictive(state.drawn)
        counts = np.append(seen_now(problem.noisy, unseen) - left, state.drawn.counts)
        told.append((counts[cells], state.spread.copy(), log + law, square, rate))
        proposed = accepted = 0
        if past // thin in kept:
            table = Raked(state.records[: state.n[0]].copy(), 0.0, math.inf)
            if raking is not None:
                table = raked(table.records, raking, fresh, metric)
            gaps = gaps_of(problem.chosen, problem.pooled(table.records))
            weights.append(log_choice(problem.chosen, gaps) - law)
            tables.append(table)
    places, effective = resampled(np.array(weights), fresh)
    if problem.chosen:
        tables = [tables[k] for k in places]
    return tables, [np.array(each) for each in zip(*told, strict=True)], effective


def _noise(problem: Problem, left: Floats, ends: Integers) -> tuple[float, float]:
    """Log law of the noise that a latent table leaves, and its mean square in its own units."""
    log = square = 0.0
    for one, a, b in zip(problem.noisy, ends[:-1], ends[1:], strict=True):
        part = left[a:b]
        power = float(np.sum(part**2))
        log -= one.rate * (power if one.gaussian else float(np.abs(part).sum()))
        square += power / one.variance
    return log, square / max(left.size, 1)


def _largest_batch(problem: Problem, layout: Layout) -> int:
    """Batches of more records than this move a column's counts by too much for all its noise.

    Copies without noise tell of counts by their sampling error, as they are drawn by them.
    """
    if not problem.noisy:
        return max(2, min(int(_SPREAD * math.sqrt(problem.capacity())), problem.capacity()))
    widest = math.sqrt(max(one.variance for one in problem.noisy))
    copies = layout.offsets.size / len(problem.levels)
    return max(2, min(int(2 * widest / math.sqrt(copies)), problem.capacity()))


class _Copy(NamedTuple):
    """A marginal's counts, laid out with one of its columns moving fastest."""

    marginal: int
    columns: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def _copies(problem: Problem) -> list[list[_Copy]]:
    """Lay out every marginal once for each of its columns; by that column."""
    made, places = [], 0
    for j in range(len(problem.levels)):
        own = []
        for m in _having(problem, j):
            order = (*(k for k in problem.noisy[m].columns if k != j), j)
            levels = _sizes(problem, len(order))
            sizes = [*(levels[k] for k in order[:-1]), _padded(levels[j])]
            strides = tuple(math.prod(sizes[t + 1 :]) for t in range(len(order)))
            own.append(_Copy(m, order, strides, places))
            places += math.prod(sizes)
        made.append(own)
    return made


def _sizes(problem: Problem, columns: int) -> tuple[int, ...]:
    """Numbers of cells that a marginal of so many columns counts of each: pools, or levels."""
    return problem.levels if columns == 1 else problem.pools


def layout_of(problem: Problem) -> Layout:
    """Lay out the counts of all marginals, and what excludes a record."""
    by_column = _copies(problem)
    copies = [one for own in by_column for one in own]
    width = max((len(one.columns) for one in copies), default=1)
    touching = [
        [
            (r, one.strides[one.columns.index(j)])
            for r, one in enumerate(copies)
            if j in one.columns[:-1]
        ]
        for j in range(len(problem.levels))
    ]
    keys = [(one.marginal, one.columns) for one in copies]
    starts = ends_of(problem.levels)
    owned = ends_of([len(own) for own in by_column])
    alone = [
        [c for c in own if len(c.columns) == 1 and j in problem.pool]
        for j, own in enumerate(by_column)
    ]
    others = [
        [c for c in own if c not in apart] for own, apart in zip(by_column, alone, strict=True)
    ]
    rates = np.array([problem.noisy[one.marginal].rate for one in copies])
    gaussian = np.array([problem.noisy[one.marginal].gaussian for one in copies], dtype=bool)
    return Layout(
        levels=_whole(problem.levels),
        pools=_whole(problem.pools),
        pool=np.concatenate([problem.pools_of(j) for j in range(len(problem.levels))]),
        starts=starts,
        owned=owned,
        normal=_gaussian(problem, others),
        alone=owned[1:] - _whole([len(own) for own in alone]),
        normal_alone=_gaussian(problem, alone),
        offsets=_whole([one.offset for one in copies]),
        widths=_whole([len(one.columns) for one in copies]),
        columns=_padded_rows([one.columns for one in copies], width),
        strides=_padded_rows([one.strides for one in copies], width),
        rates=rates,
        gaussian=gaussian,
        touched=ends_of([len(each) for each in touching]),
        touching=_whole([r for each in touching for r, _ in each]),
        leaps=_whole([stride for each in touching for _, stride in each]),
        wholes=_whole([keys.index((m, one.columns)) for m, one in enumerate(problem.noisy)]),
        proposed=_proposed(owned, np.where(gaussian, 4 * rates, 2 * rates**2)),
        rules=rules_of(problem.rules, starts),
    )


def _proposed(owned: Integers, variances: Floats) -> NDArray[np.bool_]:
    """Tell of which columns levels are proposed: where most would be accepted.

    `variances` are those of what another level does to each copy's log likelihood, about.
    """
    sums = [variances[a:b].sum() for a, b in itertools.pairwise(owned)]
    return np.array(sums) <= _FLAT


def _gaussian(problem: Problem, copies: Sequence[Sequence[_Copy]]) -> Integers:
    """Number of each column's copies that have Gaussian noise."""
    return _whole([sum(problem.noisy[c.marginal].gaussian for c in own) for own in copies])


def _whole(numbers: Any) -> Integers:
    return np.array(numbers, dtype=np.int64)


def rules_of(rules: Sequence[dict[int, NDArray[np.bool_]]], starts: Integers) -> Rules:
    """Lay out which levels exclude a record, by each column's first place among all levels."""
    d = starts.size - 1
    named = np.full((len(rules), max([len(rule) for rule in rules], default=1)), -1)
    barred = np.zeros((len(rules), int(starts[-1])), dtype=bool)
    for q, rule in enumerate(rules):
        named[q, : len(rule)] = list(rule)
        for j, mask in rule.items():
            barred[q, starts[j] : starts[j + 1]] = mask
    ruling = [[q for q, rule in enumerate(rules) if j in rule] for j in range(d)]
    return Rules(
        ruled=ends_of([len(each) for each in ruling]),
        ruling=_whole([q for each in ruling for q in each]),
        named=_whole(named),
        barred=barred,
    )


def _padded_rows(rows: Sequence[tuple[int, ...]], width: int) -> Integers:
    return _whole([(*row, *[0] * (width - len(row))) for row in rows]).reshape(-1, width)


def _padded(levels: int) -> int:
    return -(-levels // CHUNK) * CHUNK


def _whole_copies(problem: Problem, layout: Layout) -> Integers:
    """Places of each marginal's counts, in the order of its own columns."""
    each = [_places(problem, layout, r)[1].ravel() for r in layout.wholes]
    return np.concatenate([np.empty(0, dtype=np.int64), *each])


def _places(problem: Problem, layout: Layout, r: int) -> tuple[Integers, Integers]:
    """Columns of a copy, and places of its counts, with a dimension for each column."""
    order = layout.columns[r, : layout.widths[r]]
    levels = [_sizes(problem, order.size)[j] for j in order]
    sizes = (*levels[:-1], _padded(levels[-1]))
    places = layout.offsets[r] + np.arange(math.prod(sizes)).reshape(sizes)
    return order, places[..., : levels[-1]]


def start_of(problem: Problem, layout: Layout, rng: np.random.Generator) -> State:
    """Draw records from a fitted mode, none of them excluded, and count them."""
    mode, n = problem.mode(rng), round(problem.size())
    records, classes = _drawn(mode, n, rng)
    for _ in range(_TRIES):
        bad = np.flatnonzero(_excluded(problem, records))
        if not bad.size:
            break
        records[bad], classes[bad] = _drawn(mode, bad.size, rng)
    else:
        raise EngineFailed(
            "the schema's zeros exclude nearly every record that the released counts make likely: "
            "a chain found none to start from; check the rules against the released counts"
        )
    room = np.zeros((problem.capacity(), len(problem.levels)), dtype=np.uint16)
    room[:n] = records
    each = np.zeros(problem.capacity(), dtype=np.int32)
    each[:n] = classes
    return counted(problem, layout, room, each, n)


def _drawn(mode: Mode, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    classes = rng.choice(mode.shares.size, n, p=mode.shares)
    records = np.empty((n, len(mode.columns)), dtype=np.uint16)
    for k in np.unique(classes):  # so that no array has records times levels
        rows = np.flatnonzero(classes == k)
        for j, psi in enumerate(mode.columns):
            level = np.searchsorted(np.cumsum(psi[k]), rng.random(rows.size), side="right")
            records[rows, j] = np.minimum(level, psi.shape[1] - 1)
    return records, classes


def _excluded(problem: Problem, records: Any) -> NDArray[np.bool_]:
    found = np.zeros(len(records), dtype=bool)
    for rule in problem.rules:
        found |= np.logical_and.reduce([mask[records[:, j]] for j, mask in rule.items()])
    return found


def counted(
    problem: Problem, layout: Layout, records: NDArray[np.uint16], classes: Any, n: int
) -> State:
    """Count some records, of which the first n are there, by class and by marginal."""
    d, k = len(problem.levels), problem.classes
    left = np.zeros(_room(problem, layout))
    pooled = problem.pooled(records)
    for r, copy in enumerate(one for own in _copies(problem) for one in own):
        order, places = _places(problem, layout, r)
        noisy = problem.noisy[copy.marginal]
        seen = noisy.counts.transpose([noisy.columns.index(j) for j in order])
        coded = records if order.size == 1 else pooled
        cells = np.ravel_multi_index([coded[:n, j].astype(np.int64) for j in order], seen.shape)
        left[places] = seen - np.bincount(cells, minlength=seen.size).reshape(seen.shape)
    counts = np.zeros((k, int(layout.starts[-1])))
    for j in range(d):
        np.add.at(counts, (classes[:n], layout.starts[j] + records[:n, j].astype(np.int64)), 1.0)
    sizes_of = np.bincount(classes[:n], minlength=k).astype(np.float64)
    spread = np.full(d + 1, 0.5)
    inverse = 1 / (sizes_of + spread[:d, None] * np.array(problem.levels)[:, None])
    turned = counts.T.copy()  # also of a single class, whose transpose is contiguous
    number = np.array([n], dtype=np.int64)
    return State(
        records,
        pooled,
        classes,
        number,
        left,
        sizes_of,
        counts,
        turned,
        inverse,
        spread,
        np.full(int(layout.starts[-1]), 0.5),
        np.ones(int(layout.starts[-1])),  # which a sweep computes first
        np.zeros(d),
        offers_of(problem.chosen, d, gaps_of(problem.chosen, pooled[:n])),
        predictive_of(problem.drawn, d, pooled[:n]),
    )


def unseen_counts(problem: Problem, layout: Layout) -> Unseen:
    """Lay out the noisy counts that weren't released, none if all were, as a chain starts."""
    placed = []
    for r, copy in enumerate(one for own in _copies(problem) for one in own):
        order, places = _places(problem, layout, r)
        axes = [problem.noisy[copy.marginal].columns.index(j) for j in order]
        placed.append((copy.marginal, places.transpose(np.argsort(axes)).ravel()))
    return unseen_of(problem.noisy, len(problem.levels), round(problem.size()), placed)


def _room(problem: Problem, layout: Layout) -> int:
    """Number of all copies' counts, padded."""
    if not layout.offsets.size:
        return CHUNK
    return 1 + int(_places(problem, layout, layout.offsets.size - 1)[1].max()) + CHUNK


def _having(problem: Problem, column: int) -> list[int]:
    """Numbers of the marginals that have a column: by pool first, then with Gaussian noise."""
    there = [m for m, one in enumerate(problem.noisy) if column in one.columns]
    alone = column in problem.pool
    return sorted(
        there,
        key=lambda m: (
            alone and len(problem.noisy[m].columns) == 1,
            not problem.noisy[m].gaussian,
        ),
    )
