"""Sequences of conditionals: what one record moves, what it costs, and what is drawn."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import bayesdp as bdp
from bayesdp.mechanisms.modips.sequential.counts import split, statistic_of, sums_of_columns

FALSE_ALARM = 1e-6
Categorical, Numeric = bdp.synthesizers.CategoricalColumns, bdp.synthesizers.NumericColumns
Mechanism = bdp.mechanisms.SequentialModipsMechanism
TWO = (Categorical({"a": (0, 1)}), Categorical({"b": (0, 1)}, by=["a"], prior=0.5))
MIXED = (
    Categorical({"sex": ("f", "m"), "smokes": (False, True)}),
    Categorical({"region": ("n", "s", "w")}, by=["sex"]),
    Numeric({"age": (18.0, 90.0), "pressure": (70.0, 250.0)}, by=["sex", "region"]),
    Numeric({"height": (1.0, 2.2)}, by=["sex"]),
    Numeric({"x": (-1.0, 1.0), "y": (-1e-3, 0.0), "z": (1e6, 1e6 + 1)}),
    Numeric({"weight": (30.0, 200.0)}, by=["smokes"], on=["height", "y"]),
)
LABELS = {"sex": 2, "smokes": 2, "region": 3}
BOUNDS = {name: ends for step in MIXED[2:] for name, ends in step.columns}


def statistic(mechanism: Any, rows: list[dict[str, Any]]) -> np.ndarray:
    """Of records as codes and numbers."""
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    sums = sums_of_columns(mechanism.layouts, columns, len(rows))
    return statistic_of(mechanism.layouts, sums, mechanism.n)


# What it costs: by enumeration of a tiny case.


def dirichlet_multinomial(z: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """log Pr of counts z, alpha's along the last axis."""
    size, whole = z.sum(), alpha.sum(axis=-1)
    found = special.gammaln(size + 1) + special.gammaln(whole) - special.gammaln(size + whole)
    each = special.gammaln(z + alpha) - special.gammaln(alpha) - special.gammaln(z + 1)
    return np.asarray(found + each.sum(axis=-1))


def log_law(mechanism: Any, given: np.ndarray) -> dict[Any, float]:
    """log Pr of each table of two binary columns: noisy counts of each row are summed out."""
    points = np.arange(60 if mechanism.n is None else mechanism.n + 1)
    grid = np.array(list(itertools.product(points, repeat=2)))

    def row(j: int, z: np.ndarray, x: np.ndarray) -> float:
        (part,) = mechanism.parts(j)
        noise = part.logp(grid, x).sum(axis=-1)
        alpha = mechanism.steps[j].prior + grid
        return float(special.logsumexp(noise + dirichlet_multinomial(z, alpha)))

    found = {}
    tables = itertools.product(range(mechanism.size + 1), repeat=4)
    for table in (np.array(t).reshape(2, 2) for t in tables if sum(t) == mechanism.size):
        first = row(0, table.sum(axis=1), given[:2])
        then = sum(row(1, table[a], given[2 + 2 * a : 4 + 2 * a]) for a in (0, 1))
        found[tuple(table.ravel())] = first + then
    return found


def people(codes: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"a": code // 2, "b": code % 2} for code in codes]


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, None])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (0.4, 1.5)])
def test_no_neighbour_costs_more_than_is_claimed(n, scales):
    """All tables of two binary columns, all neighbours, all outputs; and the noisy counts."""
    mechanism = Mechanism(TWO, 2, scales, n)
    claim = mechanism.guarantee().epsilon
    times = 1 if n is None else 2
    assert claim == pytest.approx(times * (1 / scales[0] + 1 / scales[1]), rel=1e-12)
    found = noise = 0.0
    laws: dict[Any, Any] = {}
    for one in itertools.product(range(4), repeat=2):
        for code in range(4):
            other = (*one, code) if n is None else (one[0], code)
            for data in (one, other):
                if data not in laws:
                    made = statistic(mechanism, people(data))
                    laws[data] = made, log_law(mechanism, made)
            (x, p), (y, q) = laws[one], laws[other]
            found = max(found, *(abs(p[z] - q[z]) for z in p))
            noise = max(noise, float(np.abs(x - y) @ np.repeat(1 / np.array(scales), [2, 4])))
    assert 0.1 * claim < found < claim
    assert noise == pytest.approx(claim, rel=1e-12)
    for _, law in laws.values():
        assert math.fsum(map(math.exp, law.values())) == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, None])
def test_gaussian_noise_keeps_its_profile(n):
    """The divergence of the laws of all outputs, over all neighbours, is below the profile."""
    mechanism = Mechanism(TWO, 2, (0.5, 0.7), n, noise="gaussian")
    laws: dict[Any, dict[Any, float]] = {}
    for one in itertools.product(range(4), repeat=2):
        for data in (one, *((*one, code) for code in range(4) if n is None)):
            laws[data] = log_law(mechanism, statistic(mechanism, people(data)))
    for epsilon in (0.0, 0.2, 0.5):
        worst = 0.0
        for one, p in laws.items():
            for other, q in laws.items():
                apart = Counter(one)
                apart.subtract(Counter(other))
                moved = sorted(apart[key] for key in apart if apart[key])
                if moved not in ([[-1, 1]] if n else [[-1], [1]]):
                    continue
                above = [math.exp(p[z]) - math.exp(epsilon + q[z]) for z in p]
                worst = max(worst, math.fsum(x for x in above if x > 0))
        assert 0.0 < worst < mechanism.delta(epsilon)


@pytest.mark.parametrize("n", [3, None])
def test_draws_follow_their_law(n):
    mechanism = Mechanism(TWO, 2, (0.8, 1.5), n)
    given = statistic(mechanism, people((0, 3, 1)))
    law, trials = log_law(mechanism, given), 4000
    with bdp.reproducible(1):
        drawn = mechanism.release(given, trials)
    codes = (2 * drawn[..., 0] + drawn[..., 1]).astype(int)
    seen = Counter(tuple(np.bincount(row, minlength=4).tolist()) for row in codes)
    assert set(seen) <= set(law)
    expected = np.array([trials * math.exp(v) for v in law.values()])
    observed = np.array([seen[z] for z in law])
    assert expected.min() >= 5
    distance = np.sum((observed - expected) ** 2 / expected)
    assert stats.chi2.sf(distance, len(law) - 1) > FALSE_ALARM


# What it costs: mixed tables.


def record(random: np.random.Generator) -> dict[str, Any]:
    """Labels at random, and numbers at an end, in the middle, or anywhere."""
    found: dict[str, Any] = {name: int(random.integers(k)) for name, k in LABELS.items()}
    for name, (low, high) in BOUNDS.items():
        at = random.choice([0.0, 1.0, 0.5, random.random()], p=[0.3, 0.3, 0.1, 0.3])
        found[name] = min(low + (high - low) * at, high)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, None])
def test_no_pair_of_mixed_tables_is_further_apart(n):
    """The sum of moves over scales, step by step and together."""
    rng = np.random.default_rng(0)
    mechanism = Mechanism(MIXED, 5, (1.0, 2.0, 30.0, 4.0, 25.0, 10.0), n)
    claim = mechanism.guarantee().epsilon
    pairs = mechanism.pairs()
    for _ in range(600):
        rows = [record(rng) for _ in range(4)]
        changed = [*rows, record(rng)] if n is None else [record(rng), *rows[1:]]
        pairs.append((statistic(mechanism, rows), statistic(mechanism, changed)))
    worst = 0.0
    for one, other in pairs:
        whole = 0.0
        parts = [split(mechanism.layouts, x, n) for x in (one, other)]
        for j, (x, y) in enumerate(zip(*parts, strict=True)):
            sensitivity = [number.sensitivity for number in mechanism.numbers(j)]
            spent = np.abs(x - y) / sensitivity / mechanism.scales[j]
            assert spent.sum() <= mechanism_cost(mechanism, j)
            whole += spent.sum()
        worst = max(worst, whole)
    assert worst <= claim
    assert worst == pytest.approx(claim, rel=0.05 if n else 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "relation"), [(4, None), (None, None), (None, "replace_one")])
def test_no_pair_moves_gaussian_numbers_further(n, relation):
    """The root of the sum of squared moves over scales, against the zCDP parameter."""
    rng = np.random.default_rng(3)
    mechanism = Mechanism(MIXED, 5, (1.0, 2.0, 30.0, 4.0, 25.0, 10.0), n, noise="gaussian")
    asked = mechanism.neighbours if relation is None else bdp.Neighbours(relation)
    claim = mechanism.guarantee(delta=1e-6, neighbours=asked).rho
    pairs = mechanism.pairs() if relation is None else []
    for _ in range(600):
        rows = [record(rng) for _ in range(4)]
        if asked is bdp.Neighbours.ADD_REMOVE:
            changed = [*rows, record(rng)]
        else:  # in the same cell of every step, or anywhere
            labels = {name: rows[0][name] for name in LABELS if rng.random() < 0.7}
            changed = [record(rng) | labels, *rows[1:]]
        pairs.append((statistic(mechanism, rows), statistic(mechanism, changed)))
    worst = 0.0
    for one, other in pairs:
        whole = 0.0
        parts = [split(mechanism.layouts, x, n) for x in (one, other)]
        for j, (x, y) in enumerate(zip(*parts, strict=True)):
            sensitivity = [number.sensitivity for number in mechanism.numbers(j)]
            whole += float(np.sum(((x - y) / sensitivity / mechanism.scales[j]) ** 2)) / 2
        worst = max(worst, whole)
    assert 0.3 * claim < worst <= claim
    if asked is bdp.Neighbours.ADD_REMOVE:
        assert worst == pytest.approx(claim, rel=1e-4)


def mechanism_cost(mechanism: Any, j: int) -> float:
    return float(mechanism.cost(j, mechanism.neighbours))


@pytest.mark.parametrize(
    ("by", "n", "expected"),
    [
        (("sex",), None, 6.0),
        (("sex", "smokes"), None, 6.0),
        (("sex", "smokes"), 10, 12.0),
        ((), None, 6.0),
        ((), 10, 2 * 6**2 / (4 * 5)),  # d (d + 4)^2 / (4 (d + 3)), by `moment_moves`
    ],
)
def test_cells_cost_nothing_and_one_that_cant_be_left_costs_less(by, n, expected):
    """Six numbers of two columns; for a replacement twice, but where it stays in its cell."""
    step = Numeric({"x": (-1, 1), "y": (-1, 1)}, by=by)
    made = Mechanism((MIXED[0], step), 5, (1.0, 1.0), n)
    assert mechanism_cost(made, 1) == pytest.approx(expected, rel=1e-5)
    alone = Mechanism(MIXED[:1], 5, (1.0,), n).guarantee().epsilon
    assert alone == (1 if n is None else 2)
    assert made.guarantee().epsilon == pytest.approx(expected + alone, rel=1e-5)


@pytest.mark.parametrize("n", [50, None])
@pytest.mark.parametrize("weights", [None, (0.1, 0.1, 0.3, 0.1, 0.2, 0.2)])
def test_calibration_keeps_the_promise_with_the_least_noise(n, weights):
    known: dict[str, Any] = {"steps": MIXED, "size": 5, "n": n}
    made = Mechanism.calibrate(epsilon=1.3, copies=4, weights=weights, **known)
    assert made.guarantee(copies=4).epsilon <= 1.3
    assert made.guarantee(copies=4).epsilon == pytest.approx(1.3, rel=1e-5)
    for j, share in enumerate(weights or (1 / 6,) * 6):
        assert mechanism_cost(made, j) == pytest.approx(share * 1.3 / 4, rel=1e-5)
    two = made.guarantee(neighbours="replace_one")
    assert two.epsilon <= 2 * made.guarantee().epsilon * (1 + 1e-12)
    assert made.guarantee(delta=1e-6, copies=4).epsilon <= 1.3


@pytest.mark.parametrize("n", [50, None])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_delta_buys_less_noise(n, noise):
    known: dict[str, Any] = {"steps": MIXED, "size": 5, "n": n, "noise": noise}
    made = Mechanism.calibrate(epsilon=0.5, delta=1e-6, copies=40, **known)
    promise = made.guarantee(copies=40, delta=1e-6)
    assert promise.epsilon <= 0.5
    assert promise.epsilon == pytest.approx(0.5, rel=1e-4)
    pure = Mechanism.calibrate(epsilon=0.5, copies=40, steps=MIXED, size=5, n=n)
    assert np.all(np.array(made.scales) < np.array(pure.scales))
    assert made.epsilon(1e-6, copies=40) == promise.epsilon
    rho = [r**2 / 2 for j in range(len(MIXED)) for r in made.moves(j, made.neighbours)]
    if noise == "gaussian":
        assert promise.rho == pytest.approx(40 * sum(rho), rel=1e-9)


def test_gaussian_noise_without_a_delta_is_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="positive delta"):
        Mechanism.calibrate(epsilon=1.0, steps=TWO, size=2, n=5, noise="gaussian")
    with pytest.raises(bdp.errors.InvalidInput, match="noise is 'cauchy'"):
        Mechanism(TWO, 2, (1.0, 1.0), 5, noise="cauchy")
    assert math.isinf(Mechanism(TWO, 2, (1.0, 1.0), 5, noise="gaussian").guarantee().epsilon)


# What is drawn.


def test_copies_have_the_conditionals_of_the_records():
    """With next to no noise: proportions, means and regressions, cell by cell."""
    rng, n, size = np.random.default_rng(2), 6000, 60_000
    steps = (
        Categorical({"g": ("a", "b")}),
        Categorical({"h": (1, 2, 3)}, by=["g"]),
        Numeric({"x": (-5, 5), "y": (-12, 12)}, by=["h"]),
        Numeric({"w": (-60, 60)}, by=["g"], on=["y", "x"]),
    )
    mechanism = Mechanism(steps, size, (1e-3, 1e-3, 1e-4, 1e-4), n)
    g = rng.integers(0, 2, n)
    h = np.where(rng.random(n) < 0.3 + 0.4 * g, 0, rng.integers(1, 3, n))
    x = np.clip(rng.normal(h - 1, 1), -5, 5)
    y = 1 + (h - 1) * x + rng.normal(0, 0.5, n)
    w = 2 - 3 * g + (1 + g) * y - 2 * x + rng.normal(0, 1, n)
    columns = {"g": g, "h": h, "x": x, "y": y, "w": w}
    given = statistic_of(mechanism.layouts, sums_of_columns(mechanism.layouts, columns, n), n)
    with bdp.reproducible(3):
        (copy,) = mechanism.release(given)
    drawn = dict(zip(columns, copy.T, strict=True))
    for k in (0, 1):
        share = [np.mean(c["h"][c["g"] == k] == 0) for c in (columns, drawn)]
        assert share[1] == pytest.approx(share[0], abs=0.05)
    assert np.mean(drawn["g"]) == pytest.approx(g.mean(), abs=0.04)
    for k in (0, 1, 2):
        fits = []
        for c in (columns, drawn):
            inside = c["h"] == k
            fit = np.polyfit(c["x"][inside], c["y"][inside], 1)
            left = c["y"][inside] - np.polyval(fit, c["x"][inside])
            fits.append([*fit, left.std(), c["x"][inside].mean(), c["x"][inside].std()])
        assert fits[1] == pytest.approx(fits[0], abs=0.13)
    for k in (0, 1):
        inside = drawn["g"] == k
        design = np.column_stack([np.ones(inside.sum()), drawn["y"][inside], drawn["x"][inside]])
        fit = np.linalg.lstsq(design, drawn["w"][inside], rcond=None)[0]
        assert fit == pytest.approx([2 - 3 * k, 1 + k, -2], abs=0.13)


@pytest.mark.slow
@pytest.mark.parametrize("n", [4000, None])
def test_means_and_slopes_combined_over_copies_cover(n):
    """200 data sets of 4000, epsilon = 5: 95% intervals, of one cell's mean and slope."""
    rng, repetitions, covered = np.random.default_rng(5), 200, np.zeros(2)
    steps = (Categorical({"g": (0, 1)}), Numeric({"x": (-4, 4), "y": (-4, 4)}, by=["g"]))
    made = Mechanism.calibrate(epsilon=5.0, copies=5, steps=steps, size=4000, n=n)
    for i in range(repetitions):
        g, x = rng.integers(0, 2, 4000), np.clip(rng.normal(size=4000), -4, 4)
        y = np.clip(0.5 * g * x + rng.normal(0, 0.8, 4000), -4, 4)
        sums = sums_of_columns(made.layouts, {"g": g, "x": x, "y": y}, 4000)
        with bdp.reproducible(i):
            copies = made.release(statistic_of(made.layouts, sums, n), 5)
        means, slopes = [], []
        for copy in copies:
            u, v = copy[copy[:, 0] == 1, 1:].T
            across = u - u.mean()
            slope = across @ v / (across @ across)
            left = v - v.mean() - slope * across
            means.append((v.mean(), v.var(ddof=1) / v.size))
            slopes.append((slope, left @ left / (v.size - 2) / (across @ across)))
        for k, (each, truth) in enumerate(((means, 0.0), (slopes, 0.5))):
            low, high = bdp.combine(*zip(*each, strict=True)).interval()
            covered[k] += low <= truth <= high
    assert np.all(covered >= 0.9 * repetitions)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 30, None])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_the_noise_a_copy_is_a_table_of_its_columns(n, data):
    scale = data.draw(st.sampled_from([1e-3, 1.0, 1e3, 1e6]))
    seed = data.draw(st.integers(0, 1000))
    mechanism = Mechanism(MIXED, 7, (scale,) * 6, n)
    rows = [record(np.random.default_rng(seed + i)) for i in range(n or 3)]
    with bdp.reproducible(seed):
        drawn = mechanism.release(statistic(mechanism, rows), 2)
    assert drawn.shape == (2, 7, 10)
    for copy in drawn:
        shown = mechanism.records(copy)
        assert set(shown["sex"]) <= {"f", "m"}
        assert shown["smokes"].dtype == bool
        for name, (low, high) in BOUNDS.items():
            assert np.all((shown[name] >= low) & (shown[name] <= high))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "must be numbers"),
        ([1.0, 2.0], r"shape \(2,\); it must be 6 numbers"),
        ([2, 2, 1, 1, 1, 0], "step 1 must be counts, with sum n"),
        ([2, 1, 0.5, 1, 1, 0.5], "step 2 must be counts"),
        ([2, 1, -1, 2, 1, 1], "step 2 must be counts"),
        ([2, 1, float("nan"), 1, 1, 1], "step 2 must be counts"),
    ],
)
def test_wrong_statistics_are_refused(wrong, message):
    mechanism = Mechanism(TWO, 2, (1.0, 1.0), 3)
    assert mechanism.release(statistic(mechanism, people((0, 1, 2)))).shape == (1, 2, 2)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        mechanism.release(wrong)


def test_moments_that_no_records_have_are_refused():
    mechanism = Mechanism(MIXED[4:5], 7, (1.0,), 3)
    with pytest.raises(bdp.errors.InvalidInput, match="can't be those of records"):
        mechanism.release([0.0] * 8 + [3.5])
