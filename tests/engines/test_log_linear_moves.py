"""Moves of a latent table against enumeration of what they should keep. False alarm 1e-6 a test."""

import itertools

import numba
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.inference.log_linear.release import noisy_table
from bayesdp.kernels.log_linear import levels as by_level
from bayesdp.kernels.log_linear import moves as moves
from bayesdp.mechanisms.counts.cells import Axis

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6
AXES = (Axis("a", categories=("x", "y")), Axis("b", categories=(0, 1, 2)))
KNOWN = special.gammaln(np.arange(100) + 1.0)
RATES = np.array([0.9, 0.4, 1.2, 0.3, 0.7])


@numba.njit
def swept(released, x, y, eta, free, log_sizes, known, widths, count, seed):
    np.random.seed(seed)
    corners, kept = np.zeros(6, dtype=np.int64), np.empty((count, x.size), dtype=np.int64)
    total = x.sum()
    for n in range(count):
        for _ in range(12):
            total = moves.sweep(released, x, y, eta, total, free, log_sizes, known, widths, corners)
        kept[n] = x
    return kept


@numba.njit
def coupled(start, rates, other, fixed, known, seed):
    np.random.seed(seed)
    made, levels, back = np.empty_like(start), np.empty(rates.size), np.empty_like(start[0])
    eta, log_other = np.log(rates), np.log(other)
    for n in range(len(start)):
        total = start[n].sum()
        good = by_level.levels_of(start[n], eta, rates, fixed, known, levels)
        good = good and by_level.counts_at(levels, eta, rates, fixed, total, known, back)
        good = good and np.all(back == start[n])
        good = good and by_level.counts_at(levels, log_other, other, fixed, total, known, made[n])
        if not good:
            made[n] = -1
    return made


def agrees(drawn, tables, log_law) -> None:
    """The draws' frequencies, with what is rare put together, by a chi-square test."""
    law = np.exp(log_law - special.logsumexp(log_law))
    places = {tuple(table): k for k, table in enumerate(tables.tolist())}
    seen = np.zeros(len(tables) + 1)
    for row in drawn.tolist():
        seen[places.get(tuple(row), len(tables))] += 1
    expected = np.append(law, 0.0) * len(drawn)
    often = expected >= 10
    seen = np.append(seen[often], seen[~often].sum())
    expected = np.append(expected[often], expected[~often].sum())
    assert stats.chisquare(seen, expected).pvalue > FALSE_ALARM


NOISE = {
    "laplace": (
        bdp.mechanisms.NoisyMarginalsMechanism(1.5, AXES, (("a",), ("b", "a")), zeros=(4,)),
        (3, 1, 1, 2, 0, 0, -1),
    ),
    "gaussian": (
        bdp.mechanisms.NoisyMarginalsMechanism(
            1.2, AXES, (("a",), ("b",)), noise="gaussian", zeros=(4,)
        ),
        (3, 1, 1, 2, 0),
    ),
}


@pytest.mark.parametrize("total", ["poisson", "known", "either"])
@pytest.mark.parametrize("kind", NOISE)
def test_sweeps_keep_the_law_of_the_table(kind, total):
    mechanism, output = NOISE[kind]
    if kind == "laplace":  # of b in the rows: (b, a) has 0 where b = 1 and a = y
        output = (3, 1, 1, 2, -1, 0, 2, 1)
    release = bdp.Release.of(mechanism, [output])
    released = noisy_table(release.parts[0], None, None, None).released
    most = 7
    sizes = {"poisson": range(40), "known": [4], "either": [2, 3, 5]}[total]
    tables = np.array([t for t in itertools.product(range(most + 1), repeat=5) if sum(t) in sizes])
    log_law = tables @ np.log(RATES) - special.gammaln(tables + 1.0).sum(axis=1)
    log_sizes = np.zeros(0)
    if total != "poisson":
        log_sizes = np.full(6, -np.inf)
        log_sizes[sizes] = special.gammaln(np.array(sizes) + 1.0) + np.log(1.0 + np.array(sizes))
        log_law += log_sizes[tables.sum(axis=1)]
    whole = np.zeros((len(tables), 6), dtype=np.int64)
    whole[:, [0, 1, 2, 3, 5]] = tables
    statistic = np.array([mechanism.statistic(row) for row in whole])
    log_law = log_law + mechanism.logp(np.array(output), statistic)
    x = np.array([1, 1, 1, 1, 0] if total != "either" else [1, 1, 1, 0, 0])
    y = np.zeros(len(released.observed), dtype=np.int64)
    moves.count(released, x, y)
    widths = np.array([[3, 1, 2, 1, 2]] * 4)
    drawn = swept(
        released, x, y, np.log(RATES), total != "known", log_sizes, KNOWN, widths, 20_000, 5
    )
    agrees(drawn, tables, log_law)


@pytest.mark.parametrize("fixed", [False, True])
def test_tables_coupled_by_their_levels_have_the_law_of_the_new_rates(fixed):
    rng = np.random.default_rng(1)
    rates, other = RATES.copy(), RATES[[3, 0, 4, 1, 2]] * 1.3
    if fixed:
        rates, other = rates / rates.sum(), other / other.sum()
        start = rng.multinomial(4, rates, size=40_000)
    else:
        start = rng.poisson(rates, size=(40_000, 5))
    made = coupled(start, rates, other, fixed, KNOWN, 2)
    assert np.all(made >= 0)
    tables = np.array(
        [t for t in itertools.product(range(8), repeat=5) if not fixed or sum(t) == 4]
    )
    agrees(made, tables, tables @ np.log(other) - special.gammaln(tables + 1.0).sum(axis=1))
    same = coupled(start, rates, rates, fixed, KNOWN, 3)
    assert np.array_equal(same, start)


def test_a_count_that_is_too_far_out_has_no_level():
    levels = np.empty(1)
    assert not by_level.levels_of(np.array([90]), np.zeros(1), np.ones(1), False, KNOWN, levels)


@pytest.mark.parametrize("kind", [*NOISE, "histogram", "inflated", "truncated", "real"])
def test_the_law_that_chains_use_is_the_mechanisms_own(kind):
    """But for a constant; -1 and 0 and an end of the bounds among the outputs."""
    replace = bdp.Neighbours.REPLACE_ONE
    cells = {
        "histogram": bdp.mechanisms.PerturbedHistogramMechanism(1.3, 6, axes=AXES),
        "inflated": bdp.mechanisms.DiscreteGaussianMechanism(
            1.5, 1.5, replace, 6, (0, 5), "inflated", n=8
        ),
        "truncated": bdp.mechanisms.DiscreteLaplaceMechanism(
            1.5, 2.0, replace, 6, (0, 8), "truncated", n=8
        ),
        "real": bdp.mechanisms.LaplaceMechanism(1.5, 2.0, replace, 6, n=8, granularity=0.25),
    }
    if kind in NOISE:
        mechanism, outputs = NOISE[kind][0], [(3, 1, 1, 2, 0), (0, 1, 4, -2, 1)]
        if kind == "laplace":
            outputs = [(3, 1, 1, 2, -1, 0, 2, 1), (0, 1, 4, -2, 1, 0, 2, 2)]
        table, categories = [0, 1, 2, 3, 5], None
    else:
        mechanism, outputs = cells[kind], [(0, 5, 2, 1, 0, 3), (1, 0, 0, 2, 5, 5)]
        table, categories = range(6), {a.name: a.categories for a in AXES}
    release = bdp.Release.of(mechanism, outputs)
    given = None if kind in (*NOISE, "histogram") else categories
    released = noisy_table(release.parts[0], given, None, 8).released
    rng, gaps = np.random.default_rng(3), []
    for _ in range(20):
        whole = np.zeros(6, dtype=np.int64)
        whole[list(table)] = rng.integers(0, 4, len(table))
        x, y = whole[list(table)], np.zeros(len(released.observed), dtype=np.int64)
        moves.count(released, x, y)
        true = mechanism.statistic(whole) if kind in NOISE else whole
        logp = sum(float(mechanism.logp(np.array(z), np.array(true))) for z in outputs)
        gaps.append(logp - moves.law_of_all(released, y))
    assert np.ptp(gaps) < 1e-9
