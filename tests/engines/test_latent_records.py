"""Chains over latent records, against enumeration of all tables."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from bayesdp.engines import latent_records
from bayesdp.engines.latent_classes import Noisy
from bayesdp.engines.latent_records import (
    Problem,
    counted,
    layout_of,
    sample,
    unseen_counts,
)
from bayesdp.engines.latent_tables import variables_of
from bayesdp.errors import EngineFailed
from bayesdp.kernels.table.batches import move_batches
from bayesdp.kernels.table.drawing import _tables, draw_prior
from bayesdp.kernels.table.records import carry_batches, draw_spread, sweep
from tests.latent_classes import over_bases

LEVELS = (2, 3)
CLASSES = 2
SPREAD = (0.6, 1.7, 0.9)  # of the columns, and of the classes
PURE = (0.1, 0.15, 0.9)  # where records of one class are nearly all alike
GRID = np.array([0.2, 1.0, 3.0])
RULE = {0: np.array([False, True]), 1: np.array([False, False, True])}
SEEN = (
    Noisy((0, 1), np.array([[2.0, 0.0, 1.0], [-1.0, 1.0, 2.0]]), 1.3, True),
    Noisy((1,), np.array([1.0, 2.0, -1.0]), 1.1, False),
    Noisy((1, 0), np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 1.0]]), 2.0, False),
)
POOL = {1: np.array([0, 0, 1])}
POOLED = (
    Noisy((0, 1), np.array([[2.0, 1.0], [-1.0, 2.0]]), 1.3, True),
    Noisy((1,), np.array([1.0, 2.0, -1.0]), 1.1, False),
    Noisy((1,), np.array([0.0, 1.0, 1.0]), 1.2, True),
    Noisy((1, 0), np.array([[1.0, 2.0], [0.0, 1.0]]), 2.0, False),
)


def _rising(b, count):
    return math.lgamma(b + count) - math.lgamma(b)


def _log_prior(records, spread, drawn):
    """Collapsed log probability of labelled records, each a class and its levels.

    Bases are uniform on all there may be, if `drawn`, and else even.
    """
    a = spread[-1]
    sizes = Counter(record[0] for record in records)
    log = sum(_rising(a, size) for size in sizes.values()) - _rising(CLASSES * a, len(records))
    for j, levels in enumerate(LEVELS):
        cells = Counter((record[0], record[1 + j]) for record in records)
        if drawn:
            counts = tuple(tuple(cells[k, c] for c in range(levels)) for k in range(CLASSES))
            log += math.log(over_bases(counts, levels * spread[j]))
        else:
            log += sum(_rising(spread[j], count) for count in cells.values())
        log -= sum(_rising(levels * spread[j], size) for size in sizes.values())
    return log


def _log_noise(records, seen, pool):
    log = 0.0
    for one in seen:
        count = np.zeros(one.counts.shape)
        for record in records:
            cells = [pool[j][record[1 + j]] if j in pool else record[1 + j] for j in one.columns]
            count[tuple(cells) if len(cells) > 1 else record[1 + one.columns[0]]] += 1
        left = one.counts - count
        power = left**2 / 2 / one.scale**2 if one.gaussian else np.abs(left) / one.scale
        log -= power.sum()
    return log


def _table(records, labelled):
    return tuple(sorted(record[1 - labelled :] for record in records))


def _exact(sizes, spreads, rules, seen, pool, labelled, drawn):
    """Posterior probabilities of all tables, with classes or without, from all their records."""
    every = list(itertools.product(range(CLASSES), *map(range, LEVELS)))
    if rules:
        every = [r for r in every if not (RULE[0][r[1]] and RULE[1][r[2]])]
    found = Counter()
    for n in sizes:
        for records in itertools.combinations_with_replacement(every, n):
            orders = math.factorial(n)
            for times in Counter(records).values():
                orders //= math.factorial(times)
            weights = [math.exp(_log_prior(records, spread, drawn)) for spread in spreads]
            found[_table(records, labelled)] += (
                orders * sum(weights) * math.exp(_log_noise(records, seen, pool))
            )
    total = sum(found.values())
    return {table: weight / total for table, weight in found.items()}


def _chain(problem, state, sweeps, moves, rng, *, spread, carried=False):
    layout = layout_of(problem)
    unseen = unseen_counts(problem, layout)._replace(most=2)
    found = Counter()
    for _ in range(sweeps):
        if carried:
            carry_batches(layout, state, unseen, 0.0, rng)
        else:
            sweep(layout, state, 1.0, 3, moves, rng)
        if spread:
            draw_spread(layout, state, GRID, rng)
        n = int(state.n[0])
        labelled = np.column_stack([state.classes[:n], state.records[:n]]).tolist()
        found[_table([tuple(record) for record in labelled], carried)] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("known", "spread", "rules", "pooled", "way"),
    [
        (True, False, False, False, "drawn"),
        (True, True, True, False, "drawn"),
        (False, False, False, False, "drawn"),
        (False, True, True, False, "drawn"),
        (True, True, True, True, "drawn"),
        (False, False, False, True, "drawn"),
        (True, True, True, False, "proposed"),
        (False, False, False, False, "proposed"),
        (True, True, True, True, "proposed"),
        (True, False, False, False, "carried"),
        (True, True, True, False, "carried"),
        (True, False, False, True, "carried"),
    ],
)
def test_tables_are_drawn_from_their_posterior(known, spread, rules, pooled, way, monkeypatch):
    """By sweeps, or by moves that carry counts along, of records with their classes: with these."""
    carried = way == "carried"
    monkeypatch.setattr(latent_records, "_FLAT", math.inf if way == "proposed" else -1.0)
    seen, pool = (POOLED, POOL) if pooled else (SEEN, {})
    rng = np.random.default_rng(7)
    n, capacity = 3, 3 if known else 4
    excluded = [RULE] if rules else []
    problem = Problem(LEVELS, seen, n if known else None, excluded, CLASSES, pool=pool)
    records = np.zeros((capacity, 2), dtype=np.uint16)
    state = counted(problem, layout_of(problem), records, np.zeros(capacity, dtype=np.int32), n)
    own = PURE if carried else SPREAD
    state.spread[:] = own
    state.prior[:] = np.repeat(own[:2], LEVELS)
    sizes_of = np.array(LEVELS)[:, None]
    state.inverse[:] = 1 / (state.sizes + state.spread[:2, None] * sizes_of)
    batches = 20
    each = [
        _chain(problem, state, 5000, 0 if known else 4, rng, spread=spread, carried=carried)
        for _ in range(batches)
    ]
    spreads = list(itertools.product(GRID, repeat=3)) if spread else [own]
    sizes = [n] if known else range(5)
    exact = _exact(sizes, spreads, rules, seen, pool, carried, drawn=spread)
    assert {table for found in each for table in found} <= set(exact)
    likely = sorted(exact, key=exact.get)[-25:]
    share = np.array([[found[table] / 5000 for table in likely] for found in each])
    error = share.std(axis=0, ddof=1) / math.sqrt(batches)
    off = (share.mean(axis=0) - np.array([exact[table] for table in likely])) / error
    # Student's t of 19 degrees: beyond 7.5 once in 4e6, over 100 comparisons.
    assert np.abs(off).max() < 7.5
    assert sum(exact[table] for table in likely) > 0.3


@pytest.mark.parametrize("w", [0.01, 0.3, 2.0, 50.0])
def test_tables_of_a_restaurant_are_bernoulli_sums(w):
    """Mean and variance of a sum over 60 customers, by 40,000 draws; beyond 6 once in 5e8."""
    rng, share = np.random.default_rng(5), w / (w + np.arange(60))
    drawn = np.array([_tables(60.0, w, rng) for _ in range(40_000)])
    variance = np.sum(share * (1 - share))
    fourth = np.sum(share * (1 - share) * (1 - 6 * share * (1 - share))) + 2 * variance**2
    assert abs(drawn.mean() - share.sum()) < 6 * math.sqrt(variance / drawn.size)
    assert abs(drawn.var() - variance) < 6 * math.sqrt(fourth / drawn.size)


def test_a_base_and_its_concentration_are_drawn_from_their_posterior():
    """Of four classes' counts of two levels, by quadrature over the base."""
    grid = np.array([0.06, 0.1, 0.3])
    counts = np.array([[900.0, 1.0], [4.0, 400.0], [0.0, 30.0], [1.0, 2.0]])
    sizes = counts.sum(axis=1)
    base = (np.arange(4000) + 0.5) / 4000
    weight = np.empty((grid.size, base.size))
    for g, b in enumerate(grid):
        law = stats.betabinom(sizes, 2 * b * base[:, None], 2 * b * (1 - base[:, None]))
        weight[g] = np.prod(law.pmf(counts[:, 0]), axis=1)
    weight /= weight.sum()
    wanted = np.array([*weight.sum(axis=1), weight.sum(axis=0) @ base])
    rng, prior, found = np.random.default_rng(3), np.full(2, 0.5), []
    for _ in range(30):
        drawn = []
        for _ in range(1000):
            b = draw_prior(counts, sizes, prior, grid, rng)
            assert prior.sum() == pytest.approx(2 * b)
            drawn.append([*(grid == b), prior[0] / prior.sum()])
        found.append(np.mean(drawn, axis=0))
    error = np.std(found, axis=0, ddof=1) / math.sqrt(30)
    assert np.abs((np.mean(found, axis=0) - wanted) / error).max() < 7  # t of 29: once in 1e7
    assert wanted.min() > 0.05


@pytest.mark.parametrize(("seen", "pool"), [(SEEN, {}), (POOLED, POOL)], ids=["all", "pooled"])
@pytest.mark.parametrize("classes", [1, CLASSES])
@pytest.mark.parametrize("flat", [-1.0, math.inf], ids=["drawn", "proposed"])
def test_counts_stay_what_the_records_say(classes, seen, pool, flat, monkeypatch):
    monkeypatch.setattr(latent_records, "_FLAT", flat)
    rng = np.random.default_rng(1)
    problem = Problem(LEVELS, seen, None, [], classes, pool=pool)
    layout = layout_of(problem)
    records = np.zeros((30, 2), dtype=np.uint16)
    state = counted(problem, layout, records, np.zeros(30, dtype=np.int32), 20)
    for _ in range(50):
        sweep(layout, state, 3.0, 8, 20, rng)
        draw_spread(layout, state, GRID, rng)
    again = counted(problem, layout, state.records, state.classes, int(state.n[0]))
    assert state.n[0] != 20
    there = slice(int(state.n[0]))
    np.testing.assert_array_equal(state.pooled[there], problem.pooled(state.records)[there])
    for name in ("left", "sizes", "counts", "turned"):
        np.testing.assert_array_equal(getattr(state, name), getattr(again, name))
    assert state.sizes.sum() == state.n[0]
    levels = np.array(LEVELS)[:, None]
    inverse = 1 / (state.sizes + state.spread[:2, None] * levels)
    np.testing.assert_allclose(state.inverse, inverse, rtol=1e-12)


def test_levels_are_proposed_where_one_record_matters_little_beside_the_noise():
    """By column: one that only narrow noise counts has its levels drawn."""
    seen = [
        Noisy((0, 1), np.zeros((2, 3)), 30.0, True),
        Noisy((1, 2), np.zeros((3, 4)), 30.0, False),
        Noisy((2,), np.zeros(4), 0.5, True),
    ]
    layout = layout_of(Problem((2, 3, 4), seen, 9, [], 2))
    assert layout.proposed.tolist() == [True, True, False]


def test_batches_find_records_by_their_level_now():
    """However many batches came before, and however far apart the levels are."""
    rng = np.random.default_rng(2)
    problem = Problem((6, 2), [Noisy((0, 1), np.full((6, 2), 50.0), 30.0, True)], 600, [], 3)
    layout, classes = layout_of(problem), rng.integers(0, 3, 600).astype(np.int32)
    records = rng.integers(0, (6, 2), (600, 2)).astype(np.uint16)
    state, before = counted(problem, layout, records, classes, 600), records.copy()
    for batches in (1, 20_000):
        move_batches(layout, state, None, batches, 9, rng)
        again = counted(problem, layout, state.records, state.classes, 600)
        np.testing.assert_array_equal(state.counts, again.counts)
        np.testing.assert_array_equal(state.left, again.left)
    assert {*zip(before[:, 0], state.records[:, 0], strict=True)} == {*np.ndindex(6, 6)}


def test_a_seed_makes_chains_the_same_and_places_without_records_are_marked():
    problem = Problem(LEVELS, SEEN, None, [RULE], CLASSES)
    run = {"draws": 6, "chains": 2, "warmup": 3, "thin": 2, "tables": 3}
    one, other = (sample(problem, **run, seed=4) for _ in range(2))
    np.testing.assert_array_equal(one.records, other.records)
    there = (one.records != np.iinfo(np.uint16).max).all(axis=-1)
    assert one.records.shape[:2] == (2, 3)
    np.testing.assert_array_equal(there.sum(axis=-1), one.cells[:, 1::2, :6].sum(axis=-1))
    shares = variables_of(one.records, LEVELS, sized=False)["share"]
    for table, share in zip(one.records[:, -1], shares[:, -1], strict=True):
        own = table[(table != np.iinfo(np.uint16).max).all(axis=-1)]
        counts = [np.bincount(own[:, 0], minlength=2), np.bincount(own[:, 1], minlength=3)]
        np.testing.assert_allclose(share, np.concatenate(counts) / max(len(own), 1))
    assert one.cells.shape == (2, 6, 15)
    drawn = one.records[there]
    assert drawn.max() <= 2
    assert not np.any((drawn[:, 0] == 1) & (drawn[:, 1] == 2))


def test_rules_that_exclude_what_was_released_stop_the_fit():
    rule = {0: np.array([True, True]), 1: np.array([True, True, True])}
    problem = Problem(LEVELS, SEEN, 3, [rule], CLASSES)
    with pytest.raises(EngineFailed, match="zeros exclude nearly every record"):
        sample(problem, draws=1, chains=1, warmup=0, thin=1, tables=1, seed=1)


def test_a_record_moves_though_a_barred_level_would_fit_far_better():
    """The noise is so small that other levels' weights beside the barred one's underflow."""
    seen = [Noisy((0,), np.array([2.0, 2.0, 50.0]), 0.1, True)]
    problem = Problem((3,), seen, 4, [{0: np.array([False, False, True])}], 1)
    records, classes = np.zeros((4, 1), dtype=np.uint16), np.zeros(4, dtype=np.int32)
    state = counted(problem, layout_of(problem), records, classes, 4)
    sweep(layout_of(problem), state, 0.0, 2, 0, np.random.default_rng(1))
    assert sorted(state.records[:, 0].tolist()) == [0, 0, 1, 1]


def test_classes_are_drawn_however_many_columns_there_are():
    """A product of 1,200 probabilities of a half is below every float."""
    d = 1200
    seen = [Noisy((0,), np.array([10.0, 10.0]), 5.0, True)]
    problem = Problem((2,) * d, seen, 20, [], 2)
    records = np.random.default_rng(2).integers(0, 2, (20, d)).astype(np.uint16)
    state = counted(problem, layout_of(problem), records, np.zeros(20, dtype=np.int32), 20)
    state.spread[:], state.prior[:] = 20.0, 20.0
    state.inverse[:] = 1 / (state.sizes + 40.0)
    sweep(layout_of(problem), state, 0.0, 2, 0, np.random.default_rng(1))
    assert set(state.classes.tolist()) == {0, 1}
