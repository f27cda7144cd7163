"""Raked tables: they follow what was released, and nothing else of a table changes."""

import itertools

import numpy as np
import pytest

from bayesdp.engines import raked_tables, raking_dual
from bayesdp.engines.latent_classes import Noisy
from bayesdp.engines.raked_tables import raked, raking_of, unfinished
from bayesdp.engines.raking_dual import Metric

LEVELS = (3, 2, 4)
N = 400


def counted(records, columns):
    sizes = [LEVELS[k] for k in columns]
    places = np.ravel_multi_index([records[:, k] for k in columns], sizes)
    return np.bincount(places, minlength=np.prod(sizes)).reshape(sizes).astype(float)


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    return np.stack([rng.integers(0, k, N) for k in LEVELS], axis=1).astype(np.uint16)


@pytest.fixture
def other():
    """A table whose columns go together, and those of `table` don't."""
    rng = np.random.default_rng(4)
    first = rng.integers(0, 3, N)
    second = (first + (rng.random(N) < 0.3) > 1).astype(int)
    return np.stack([first, second, np.minimum(first + rng.integers(0, 2, N), 3)], axis=1)


def rake(records, counted_of, scale, *, n=N, gaussian=True, seed=1):
    noisy = [
        Noisy(pair, counted(counted_of, pair), scale, gaussian)
        for pair in itertools.combinations(range(3), 2)
    ]
    return raked(records, raking_of(LEVELS, noisy, n), np.random.default_rng(seed), Metric())


def test_a_table_follows_what_was_released(table, other):
    """With noise of a tenth of a record, all pairs' counts are the released ones but for one each.

    Systematic sampling may leave each run of alike records one more or one fewer.
    """
    made = rake(table, other, 0.1)
    assert not unfinished(np.array([made.off]))
    assert len(made.records) == N
    for pair in itertools.combinations(range(3), 2):
        before, after = (
            np.abs(counted(t, pair) - counted(other, pair)) for t in (table, made.records)
        )
        assert before.max() > 20
        assert after.max() <= 6


def test_a_table_that_agrees_stays_as_it_is(table):
    made = rake(table, table, 1e-3)
    assert sorted(map(tuple, made.records)) == sorted(map(tuple, table))


@pytest.mark.parametrize("dense", [0, 100])
@pytest.mark.parametrize("gaussian", [True, False])
def test_weights_are_at_the_optimum(table, other, gaussian, dense, monkeypatch):
    """Multipliers are what the weighted counts leave, over the noise's variance: by brute force."""
    monkeypatch.setattr(raking_dual, "_DENSE", dense)
    monkeypatch.setattr(raking_dual, "_NEAR", 1e-6)
    seen = {}
    systematic = raked_tables.systematic
    monkeypatch.setattr(
        raked_tables, "systematic", lambda w, *a: systematic(seen.setdefault("w", w.copy()), *a)
    )
    aims = []
    noise = Noisy.noise

    def kept(one, rng, copies):
        drawn = noise(one, rng, copies)
        aims.append(drawn[0])
        return drawn

    monkeypatch.setattr(Noisy, "noise", kept)
    rho = rake(table, other, 8.0, gaussian=gaussian).rho
    ordered = table[np.lexsort(table.T)]
    total = np.zeros(N)
    pairs = list(itertools.combinations(range(3), 2))
    for pair, noise_of in zip(pairs, aims, strict=True):
        sizes = [LEVELS[k] for k in pair]
        cells = np.ravel_multi_index([ordered[:, k] for k in pair], sizes)
        weighted = np.bincount(cells, seen["w"], minlength=np.prod(sizes))
        one = Noisy(pair, counted(other, pair), 8.0, gaussian)
        total += ((weighted - one.counts.ravel() - noise_of.ravel()) / one.variance)[cells]
    np.testing.assert_allclose(np.log(seen["w"]), -total / rho, atol=1e-3)


def test_an_unknown_number_of_records_follows_the_counts(table, other):
    twice = np.concatenate([other, other])
    made = rake(table, twice, 0.1, n=None)
    assert abs(len(made.records) - 2 * N) <= 2


@pytest.mark.parametrize("dense", [0, 100])
def test_steps_that_are_too_few_are_told(table, other, dense, monkeypatch):
    monkeypatch.setattr(raking_dual, "_DENSE", dense)
    monkeypatch.setattr(raking_dual, "_ROUNDS", 1)
    monkeypatch.setattr(raking_dual, "_STEPS", 1)
    assert unfinished(np.array([rake(table, other, 0.1).off]))


@pytest.mark.parametrize("scale", [0.3, 2.0, 30.0])
def test_narrow_noise_on_many_marginals_is_raked_to_the_end(scale):
    """Where L-BFGS by the diagonal was far from the optimum after 300 steps.

    A second table, unlike the first, is raked by its units, which are measured again on the way.
    """
    rng = np.random.default_rng(8)
    common = rng.integers(0, 5, 3000)
    one, two = (
        np.stack([(common + rng.integers(0, k, 3000)) % 5 for k in (2, 2, 3, 3, 4, 4)], axis=1)
        for _ in range(2)
    )
    sizes = (5,) * 6
    noisy = []
    for pair in itertools.combinations(range(6), 2):
        cells = two[:, pair[0]] * 5 + two[:, pair[1]]
        noisy.append(Noisy(pair, np.bincount(cells, minlength=25).reshape(5, 5), scale, True))
    metric, raking = Metric(), raking_of(sizes, noisy, 3000)
    for table in (one, rng.integers(0, 5, one.shape)):
        made = raked(table.astype(np.uint16), raking, rng, metric)
        assert not unfinished(np.array([made.off]))


def test_noise_has_the_mechanisms_variance():
    """Of 200,000 draws; the relative standard error of a variance is 0.0032, of Laplace's 0.005."""
    rng = np.random.default_rng(1)
    for gaussian, scale in ((True, 6.0), (False, 4.0)):
        one = Noisy((0,), np.zeros(200_000), scale, gaussian)
        (drawn,) = one.noise(rng, 1)
        assert np.all(drawn % 1 == 0)
        assert abs(drawn.mean()) < 5 * np.sqrt(one.variance / drawn.size)
        assert abs(drawn.var() / (one.variance + gaussian / 12) - 1) < 0.025


def test_an_empty_table_stays_empty(table):
    assert len(rake(table[:0], table, 1.0, n=0).records) == 0


def test_levels_are_pooled_into_runs_of_about_as_many_records():
    """Of 40 levels, the first of which has half the records; and none of a column of few."""
    counts = np.outer([400] + [10] * 39, [0.5, 0.5])
    raking = raking_of((40, 2), [Noisy((0, 1), counts, 2.0, True)], None)
    first, second = raking.firsts
    sizes = np.add.reduceat(counts.sum(axis=1), first)
    assert list(second) == [0, 1]
    assert len(first) <= 10
    assert sizes[0] == 400
    assert sizes[1:].max() <= 2 * sizes[1:-1].min()
    np.testing.assert_array_equal(raking.variances, np.repeat(np.diff([*first, 40]), 2) * 4.0)
    records = np.array([[0, 1], [1, 0], [39, 1]], dtype=np.uint16)
    assert raking.coded(records).tolist() == [[0, 1], [1, 0], [len(first) - 1, 1]]


def test_a_pooled_column_follows_its_levels_and_its_pools():
    """Pools 0 to 2 of six levels: both what counts levels and what counts pools is followed."""
    rng = np.random.default_rng(5)
    pool = np.array([0, 0, 1, 1, 1, 2])
    levels, pools = (6, 2), (3, 2)

    def pair(t):
        return np.bincount(pool[t[:, 0]] * 2 + t[:, 1], minlength=6).reshape(pools).astype(float)

    def alone(t):
        return np.bincount(t[:, 0], minlength=6).astype(float)

    made = np.stack([rng.integers(0, k, N) for k in levels], axis=1).astype(np.uint16)
    first = rng.choice(6, N, p=[0.3, 0.05, 0.05, 0.2, 0.3, 0.1])
    aim = np.stack([first, (pool[first] + (rng.random(N) < 0.2) > 1).astype(int)], axis=1)
    noisy = [Noisy((0, 1), pair(aim), 0.1, True), Noisy((0,), alone(aim), 0.1, True)]
    raking = raking_of(levels, noisy, N, {0: pool})
    assert raking.firsts[0].tolist() == [0, 2, 5]
    assert raking.firsts_of_pools[0].tolist() == [0, 1, 2]
    assert raking.variances.tolist() == pytest.approx([0.01] * 6 + [0.02, 0.03, 0.01])
    found = raked(made, raking, rng, Metric()).records
    assert np.abs(pair(made) - pair(aim)).max() > 40
    assert np.abs(pair(found) - pair(aim)).max() <= 6
    # Within a pool the table stays as it is: a third of the second pool at each of its levels.
    inside = alone(found)[2:5]
    np.testing.assert_allclose(
        inside / inside.sum(), alone(made)[2:5] / alone(made)[2:5].sum(), atol=0.02
    )
