"""Linear regression by modips: what one record moves, what it costs, and what is drawn."""

import json
import math
from dataclasses import asdict
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import bayesdp as bdp
from bayesdp.mechanisms.families import check_family
from bayesdp.mechanisms.families.linear_regression_draws import (
    drawn_predictors,
    drawn_regression,
    predictors_posterior,
    projected,
    regression_posterior,
)
from bayesdp.mechanisms.families.moment_moves import largest_replacement

FALSE_ALARM = 1e-6
LinearRegression = bdp.families.LinearRegression
BOUNDS = {"age": (18.0, 90.0), "dose": (-2.5e-7, 0.0), "pressure": (1e6, 1e6 + 3)}


def unit(p: int, **known: Any) -> bdp.families.LinearRegression:
    """p predictors and a response, all within (-1, 1)."""
    names = [*(f"x{i}" for i in range(p)), "y"]
    return LinearRegression(dict.fromkeys(names, (-1.0, 1.0)), "y", **known)


def moments(z: np.ndarray) -> np.ndarray:
    """What a record adds to the sums, along the last axis."""
    pairs = list(combinations(range(z.shape[-1]), 2))
    products = [z[..., j] * z[..., k] for j, k in pairs]
    return np.concatenate([z, z**2, np.stack(products, axis=-1)], axis=-1)


def rates_of(a: float, b: float, c: float, d: int) -> list[Fraction]:
    """Equal ones of each kind."""
    numbers = [a] * d + [c] * d + [b] * (d * (d - 1) // 2)
    return [Fraction(x) for x in numbers]


# What one record moves.


@pytest.mark.parametrize("p", [1, 2, 3, 7, 10])
def test_the_sensitivities_are_the_known_ones_apart_and_less_together(p):
    """p^2 + 4 p + 3 apart; (p + 1)(p + 3)^2 / (2 (p + 2)) together, attained by a pair."""
    family, n, d = unit(p), 50, p + 1
    rounding = n / 2**52
    numbers = family.numbers(n)
    apart = sum(number.sensitivity for number in numbers)
    assert apart == pytest.approx(p**2 + 4 * p + 3, rel=1e-12)
    joint = family.joint([Fraction(1)] * len(numbers), n)
    assert float(joint) == pytest.approx((p + 1) * (p + 3) ** 2 / (2 * (p + 2)), rel=1e-12)
    assert joint < Fraction(p * p + 4 * p + 3) * Fraction(2, 3) + Fraction(1, 100)
    one, other = family.pairs(n)[0]
    moved = np.abs(np.subtract(one, other)).sum()
    assert moved == pytest.approx(float(joint), rel=1e-12)
    assert moved <= float(joint) + 1e-12
    assert [number.sensitivity for number in numbers[:d]] == pytest.approx([2 + rounding] * d)
    added = family.numbers(None)
    assert sum(number.sensitivity for number in added) == pytest.approx(1 + d + d * (d + 1) / 2)


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("equal", [True, False])
def test_no_replacement_moves_more_than_is_proved(d, equal):
    """Random pairs, corners among them, and the best of them climbed from."""
    rng = np.random.default_rng(d)
    count = 2 * d + d * (d - 1) // 2
    for trial in range(6):
        if equal:
            a, b, c = rng.exponential(size=3) if trial else (1.0, 1.0, 1.0)
            rates = rates_of(a, b, c, d)
        else:
            rates = [Fraction(x) for x in rng.exponential(size=count)]
        weights = np.array(rates, dtype=np.float64)
        most = float(largest_replacement(rates, d))

        def moved(both: np.ndarray, weights: np.ndarray = weights) -> Any:
            z, other = np.split(both, 2, axis=-1)
            return np.abs(moments(z) - moments(other)) @ weights

        random = rng.uniform(-1, 1, (20_000, 2 * d))
        random[::2] = np.clip(1.7 * random[::2], -1, 1)
        tried = [*random, *rng.choice([-1.0, 0.0, 1.0], (4000, 2 * d))]
        found = moved(np.array(tried))
        best = np.argsort(found)[-4:]
        climbed = [
            -optimize.minimize(
                lambda x: -moved(x), tried[i], bounds=[(-1, 1)] * (2 * d), method="Powell"
            ).fun
            for i in best
        ]
        assert max(*found, *climbed) <= most * (1 + 1e-12)
        if equal and 2 * rates[d] >= rates[-1]:  # then it is exact
            t = np.linspace(-1, 1, 20_001)[:, None]
            diagonal = moved(np.hstack([np.ones((t.size, d)), np.repeat(t, d, axis=1)]))
            assert diagonal.max() == pytest.approx(most, rel=1e-7)
            assert max(climbed) == pytest.approx(most, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("public_n", [True, False])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_pair_of_neighbours_is_further_apart(public_n, data):
    """Of records as they come: at the bounds, within, and a rounding away from the grid."""
    family = LinearRegression(BOUNDS, "pressure")

    def record() -> list[float]:
        ends = BOUNDS.values()
        return [data.draw(st.one_of(st.sampled_from(e), st.floats(*e))) for e in ends]

    others = [record() for _ in range(data.draw(st.integers(1, 5)))]
    one, other = others, [*others, record()]
    if public_n:
        one = [*others, record()]
    n = len(one) if public_n else None
    sums = [family.sums(np.array(x)) for x in (one, other)]
    first, second = (family.vector(family.statistic(s, public_n=public_n), n) for s in sums)
    moves = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True)]
    numbers = family.numbers(n)
    assert all(move <= x.sensitivity for move, x in zip(moves, numbers, strict=True))
    rates = [Fraction(data.draw(st.floats(1e-3, 1e3))) for _ in numbers]
    assert sum(r * m for r, m in zip(rates, moves, strict=True)) <= family.joint(rates, n)
    assert sum(moves, Fraction(0)) <= family.joint([Fraction(1)] * len(numbers), n)


def test_a_record_at_a_corner_moves_all_where_n_is_confidential():
    family = LinearRegression(BOUNDS, "pressure")
    records = np.array([[ends[1] for ends in BOUNDS.values()]] * 4)
    fewer = family.statistic(family.sums(records[1:]), public_n=False)
    all_of_them = family.statistic(family.sums(records), public_n=False)
    moved = np.subtract(all_of_them, fewer)
    expected = [number.sensitivity for number in family.numbers(None)]
    assert moved == pytest.approx(expected, rel=1e-6)
    assert family.together(None) == len(expected)


def test_statistics_are_those_of_the_records():
    rng = np.random.default_rng(1)
    family = LinearRegression(BOUNDS, "age")
    low, high = np.array(list(BOUNDS.values())).T
    x = rng.uniform(low, high, (3001, 3))
    z = (x - (low + high) / 2) / ((high - low) / 2)
    found = family.statistic(family.sums(x), public_n=False)
    assert found == pytest.approx([3001, *moments(z).sum(axis=0)], rel=1e-5, abs=1e-3)
    assert family.statistic(family.sums(x), public_n=True) == found[1:]


def test_batches_give_the_same_bits():
    family = LinearRegression(BOUNDS, "age")
    low, high = np.array(list(BOUNDS.values())).T
    x = np.random.default_rng(2).uniform(low, high, (40_000, 3))
    whole = family.sums(x)
    parts = [family.sums(part) for part in np.array_split(x, [7, 7, 30_000])]
    assert sum(parts[1:], parts[0]) == whole
    exact = [int(v) for v in np.rint((x - (low + high) / 2) / ((high - low) / 2) * 2**23)[:, 0]]
    assert abs(whole.totals[3] - sum(v * v for v in exact)) <= 2**24 * 40_000 * 2**-10
    declared = bdp.ModipsSynthesizer(family, copies=1, size=5)
    with bdp.reproducible(1):
        one = declared.release(x)
    with bdp.reproducible(1):
        assert declared.release(iter(np.array_split(x, 13))) == one


# What it costs.


@pytest.mark.parametrize("weights", [None, (0.3, 0.1, 0.05, 0.25, 0.3), "communal"])
@pytest.mark.parametrize("n", [40, None])
def test_the_promise_is_kept_and_nothing_is_wasted(weights, n):
    """The noisy numbers are independent: their worst log ratios add up exactly."""
    family = unit(1)
    known: dict[str, Any] = {"family": family, "size": 9, "n": n, "epsilon": 2.0, "copies": 3}
    if weights == "communal":
        known["allocation"] = "communal"
    elif n is not None:
        known["weights"] = weights
    made = bdp.mechanisms.ModipsSBSMechanism.calibrate(**known)
    claim = made.guarantee(copies=3).epsilon
    assert claim == pytest.approx(2.0, rel=1e-5)
    assert claim <= 2.0
    rng = np.random.default_rng(0)
    pairs = made.pairs()
    for _ in range(200):
        z = np.clip(rng.uniform(-2, 2, (2, 2)), -1, 1)
        pairs += (
            [tuple(map(tuple, moments(z)))] if n else [((3.0,) + (0.0,) * 5, (4.0, *moments(z)[0]))]
        )
    worst = 0.0
    for one, other in pairs:
        total = 0.0
        for part, x, y in zip(made.parts, one, other, strict=True):
            ends = zip(part.bounds or (None, None), (-100.0, 100.0), strict=True)
            z = np.array([far if end is None else end for end, far in ends])
            total += float(np.max(np.abs(part.logp(z, x) - part.logp(z, y))))
        worst = max(worst, 3 * total)
    assert worst <= claim * (1 + 1e-9)
    if weights is None and n is not None:
        assert worst > 0.99 * claim
    if weights == "communal":
        assert worst > claim * (1 - 1e-4)


def test_laplace_noise_of_many_predictors_is_nearly_halved():
    """Against what the moves one by one would need, for the same promise."""
    family, n = unit(10), 1000
    made = bdp.mechanisms.ModipsSBSMechanism.calibrate(
        family=family, size=1, n=n, epsilon=1.0, allocation="communal"
    )
    assert made.scales[0] == pytest.approx(11 * 13**2 / (2 * 12), rel=1e-5)
    assert made.scales[0] < 0.55 * (10**2 + 4 * 10 + 3)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_calibration_keeps_its_promise_with_the_least_noise(noise, bounding, delta):
    known: dict[str, Any] = {"family": unit(2), "size": 9, "n": 30, "noise": noise}
    known["bounding"] = bounding
    promise: dict[str, Any] = {"epsilon": 2.0, "delta": delta, "copies": 3}
    if noise == "gaussian" and bounding == "inflated" and delta == 0:
        with pytest.raises(bdp.errors.InvalidInput, match="ask for a positive delta"):
            bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, **promise)
        return
    made = bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, **promise)
    assert made.guarantee(copies=3, delta=delta).epsilon <= 2.0
    less = tuple(scale * (1 - 1e-4) for scale in made.scales)
    worse = bdp.mechanisms.ModipsSBSMechanism(scales=less, **known)
    assert worse.guarantee(copies=3, delta=delta).epsilon > 2.0


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_replacement_costs_at_most_twice_an_addition(noise):
    family = unit(2)
    mechanism = bdp.mechanisms.ModipsSBSMechanism(
        family, 5, (20.0,) * len(family.numbers(None)), noise=noise
    )
    delta = 1e-6 if noise == "gaussian" else 0.0
    one = mechanism.guarantee(delta=delta)
    two = mechanism.guarantee(neighbours="replace_one", delta=delta)
    if noise == "laplace":
        assert two.epsilon == pytest.approx(2 * one.epsilon)
    else:
        assert two.rho == pytest.approx(4 * one.rho)


# What is drawn.


def exact(family: Any, z: np.ndarray) -> tuple[np.ndarray, ...]:
    """n, mean and rows of records, rescaled."""
    sums = np.array([len(z), *moments(z).sum(axis=0)])
    return projected(sums, len(family.bounds), None)


def test_a_matrix_of_records_is_left_as_it_is():
    z = np.random.default_rng(3).uniform(-1, 1, (50, 3))
    n, mean, rows = exact(unit(2), z)
    assert n == 50
    assert mean == pytest.approx(z.mean(axis=0))
    assert rows.T @ rows == pytest.approx(49 * np.cov(z.T), abs=1e-12)


def test_a_noisy_matrix_becomes_the_nearest_with_its_first_row():
    """No convex combination with another one is nearer."""
    rng, d = np.random.default_rng(4), 3
    for _ in range(200):
        noisy = np.concatenate([[20.0], rng.uniform(-20, 20, 9)])
        noisy[4:7] = np.abs(noisy[4:7])
        n, mean, rows = projected(noisy, d, None)
        second = np.diag(noisy[4:7])
        for value, (j, k) in zip(noisy[7:], combinations(range(d), 2), strict=True):
            second[j, k] = second[k, j] = value
        wanted = second - n * np.outer(mean, mean)
        found = rows.T @ rows
        assert np.linalg.eigvalsh(found)[0] > -1e-12 * n
        assert mean == pytest.approx(noisy[1:4] / 20)
        for _ in range(20):
            root = rng.normal(size=(d, d)) * rng.exponential(5)
            inwards = root @ root.T - found
            assert np.sum(inwards * (wanted - found)) <= 1e-9 * n * np.linalg.norm(inwards)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_posterior_is_the_conjugate_one(place):
    """By the normal equations, which lose digits but not here."""
    rng = np.random.default_rng(5)
    names = ["a", "b", "c"]
    prior: Any = ((0.5, -1.0, 2.0), (0.3, 2.0, 1.5), 2.5, 0.4)
    other: Any = ((0.2, -0.3), 1.5, 3.5, (0.2, 0.7))
    family = LinearRegression(dict.fromkeys(names, (-1, 1)), names[place], prior, other)
    z = rng.uniform(-1, 1, (30, 3))
    n, mean, rows = exact(family, z)
    x, y = np.delete(z, place, axis=1), z[:, place]
    others = [j for j in range(3) if j != place]
    centre, root, scale = regression_posterior(prior, n, mean, rows, place, others)
    design, k, m0 = np.column_stack([np.ones(30), x]), np.diag(prior[1]), np.array(prior[0])
    precision = k + design.T @ design
    expected = np.linalg.solve(precision, k @ m0 + design.T @ y)
    assert centre == pytest.approx(expected)
    assert root.T @ root == pytest.approx(precision)
    assert scale == pytest.approx(0.4 + (y @ y + m0 @ k @ m0 - expected @ precision @ expected) / 2)
    found, upper = predictors_posterior(family.predictors_prior, n, mean[others], rows[:, others])
    m, r, _, psi = other
    assert found == pytest.approx((r * np.array(m) + 30 * x.mean(axis=0)) / (r + 30))
    away = x.mean(axis=0) - m
    whole = np.diag(psi) + 29 * np.cov(x.T) + r * 30 / (r + 30) * np.outer(away, away)
    assert upper.T @ upper == pytest.approx(whole)


def test_parameters_follow_their_posteriors():
    """Student's t of each coefficient, a gamma of the precision, Wishart's of the predictors."""
    family, draws = unit(2, predictors_prior=(0.0, 1.0, 4.0, 0.5)), 20_000
    z = np.random.default_rng(6).uniform(-1, 1, (12, 3))
    n, mean, rows = (np.broadcast_to(v, (draws, *v.shape)) for v in exact(family, z))
    rng = np.random.default_rng(7)
    centre, root, scale = (
        v[0] for v in regression_posterior(family.prior, n, mean, rows, 2, [0, 1])
    )
    intercept, slopes, sd = drawn_regression(family.prior, n, mean, rows, 2, [0, 1], rng)
    shape = family.prior[2] + 6
    spread = np.sqrt(np.diag(np.linalg.inv(root.T @ root)) * scale / shape)
    drawn = np.column_stack([intercept, slopes])
    for j in range(3):
        law = stats.t(2 * shape, centre[j], spread[j])
        assert stats.kstest(drawn[:, j], law.cdf).pvalue > FALSE_ALARM
    precision = stats.gamma(shape, scale=1 / scale)
    assert stats.kstest(sd**-2, precision.cdf).pvalue > FALSE_ALARM
    # Along any direction, mu is Student's, and the quadratic form inverse-gamma.
    middle, lower = drawn_predictors(family.predictors_prior, n, mean[:, :2], rows[..., :2], rng)
    at, upper = (
        v[0] for v in predictors_posterior(family.predictors_prior, n, mean[:, :2], rows[..., :2])
    )
    direction = np.array([0.6, -0.8])
    along = float(np.sum((upper @ direction) ** 2))
    freedom = 4.0 + 12 - 2 + 1
    law = stats.t(freedom, at @ direction, math.sqrt(along / 13 / freedom))
    assert stats.kstest(middle @ direction, law.cdf).pvalue > FALSE_ALARM
    variance = np.sum((lower.swapaxes(-1, -2) @ direction) ** 2, axis=-1)
    law = stats.invgamma(freedom / 2, scale=along / 2)
    assert stats.kstest(variance, law.cdf).pvalue > FALSE_ALARM
    assert np.all(np.triu(lower, 1) == 0)
    assert np.all(np.diagonal(lower, axis1=1, axis2=2) > 0)


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
def test_copies_agree_with_the_posterior_of_the_confidential_data(bounding):
    """With next to no noise: regressions on copies, around the posterior mean by its spread."""
    family = LinearRegression({"x": (-5, 5), "w": (-5, 5), "y": (-30, 30)}, "y")
    rng, copies, size = np.random.default_rng(8), 3000, 200
    x = np.clip(rng.normal(size=(60, 2)) @ [[1, 0.5], [0, 0.7]], -5, 5)
    y = 1 + x @ [2.0, -1.0] + rng.normal(size=60)
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, size, (1e-6,) * 9, 60, bounding=bounding)
    statistic = family.statistic(family.sums(np.column_stack([x, y])), public_n=True)
    with bdp.reproducible(9):
        drawn = mechanism.release(statistic, copies)
    design = np.concatenate([np.ones((copies, size, 1)), drawn[..., :2]], axis=-1)
    inverse = np.linalg.inv(design.swapaxes(-1, -2) @ design)
    found = (inverse @ design.swapaxes(-1, -2) @ drawn[..., 2:])[..., 0]
    left = drawn[..., 2] - (design @ found[..., None])[..., 0]
    within = np.sum(left**2, axis=-1) / (size - 3)
    # The posterior, in the records' units, of the prior in rescaled ones.
    rescaled = np.column_stack([x / 5, y / 30])
    centre, root, scale = regression_posterior(family.prior, *exact(family, rescaled), 2, [0, 1])
    units = 30 / np.array([1, 5, 5])
    shape = 1 + 30
    spread = np.linalg.inv(root.T @ root) * scale / (shape - 1) * np.outer(units, units)
    error = np.sqrt(np.diag(spread) + np.mean(within) * np.mean(inverse, axis=0).diagonal())
    z = (found.mean(axis=0) - centre * units) / (error / math.sqrt(copies))
    assert np.all(np.abs(z) < 5.2)
    assert found.std(axis=0) == pytest.approx(error, rel=0.1)
    assert within.mean() == pytest.approx(900 * scale / (shape - 1), rel=0.03)
    assert drawn[..., 0].mean() == pytest.approx(x[:, 0].mean(), abs=0.05)
    assert np.corrcoef(drawn[..., 0].ravel(), drawn[..., 1].ravel())[0, 1] == pytest.approx(
        np.corrcoef(x.T)[0, 1], abs=0.05
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "noise"), [(3.0, "laplace"), (1.0, "laplace"), (1.0, "gaussian")]
)
def test_combined_intervals_cover_at_about_the_nominal_rate(epsilon, noise):
    """400 data sets; 95% intervals, nowhere below 90% but for what 400 would show by chance."""
    family = LinearRegression({"x": (-3, 3), "y": (-3, 3)}, "y")
    rng, n, repetitions, truth = np.random.default_rng(10), 5000, 400, (0.3, 0.5)
    declared: dict[str, Any] = {"family": family, "size": n, "n": n, "epsilon": epsilon}
    declared |= {"copies": 5, "noise": noise, "delta": 1e-6 if noise == "gaussian" else 0.0}
    made = bdp.mechanisms.ModipsSBSMechanism.calibrate(**declared)
    covered = np.zeros(2)
    for i in range(repetitions):
        x = np.clip(rng.normal(size=n), -3, 3)
        y = np.clip(0.3 + 0.5 * x + 0.7 * rng.normal(size=n), -3, 3)
        statistic = family.statistic(family.sums(np.column_stack([x, y])), public_n=True)
        with bdp.reproducible(i):
            copies = made.release(statistic, 5)
        u, v = copies[..., 0], copies[..., 1]
        across = u - u.mean(axis=1, keepdims=True)
        squares = np.sum(across**2, axis=1)
        slope = np.sum(across * v, axis=1) / squares
        intercept = v.mean(axis=1) - slope * u.mean(axis=1)
        residual = np.sum((v - intercept[:, None] - slope[:, None] * u) ** 2, axis=1) / (n - 2)
        mean_square = np.mean(u**2, axis=1)
        low, high = np.array(
            [
                bdp.combine(intercept, residual * mean_square / squares).interval(),
                bdp.combine(slope, residual / squares).interval(),
            ]
        ).T
        covered += (low <= truth) & (truth <= high)
    least = stats.binom.ppf(FALSE_ALARM, repetitions, 0.9)
    assert np.all(covered >= least)
    assert np.all(covered / repetitions > 0.9)


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize("public", [True, False])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_the_noise_a_copy_is_of_records_within_the_bounds(bounding, public, data):
    if bounding == "truncated" and not public:
        return
    prior = data.draw(
        st.sampled_from([(0.0, 0.1, 1.0, 0.1), (3.0, 1e-12, 1e-3, 1e-12), (-1.0, 1e9, 50.0, 1e6)])
    )
    family = LinearRegression(
        BOUNDS, "dose", prior, (0.0, 1e-9, 1.001, data.draw(st.sampled_from([1e-12, 0.1, 1e8])))
    )
    n = data.draw(st.sampled_from([1, 2, 1000])) if public else None
    numbers = family.numbers(n)
    low = [-1e7 if x.low is None else x.low for x in numbers]
    high = [1e7 if x.high is None else x.high for x in numbers]
    ends = st.sampled_from([0.0, 0.5, 1.0])
    at = [data.draw(st.one_of(ends, st.floats(0, 1))) for _ in numbers]
    noisy = np.array([a + (b - a) * t for a, b, t in zip(low, high, at, strict=True)])
    mechanism = bdp.mechanisms.ModipsSBSMechanism(
        family, 6, (1e3,) * len(numbers), n, bounding=bounding
    )
    drawn = family.draw(np.stack([noisy, noisy]), mechanism)
    assert drawn.shape == (2, 6, 3)
    for one in drawn:
        assert len(mechanism.check_output(one)) == 6


def test_copies_at_a_bound_are_exactly_there():
    family = LinearRegression({"x": (0.1, 0.7), "y": (-0.3, 1e-3)}, "y")
    made = bdp.mechanisms.ModipsSBSMechanism(family, 200, (100.0,) * 5, 10)
    with bdp.reproducible(1):
        drawn = made.release(family.pairs(10)[0][0], 20)
    assert {0.1, 0.7} <= set(drawn[..., 0].ravel())
    assert {-0.3, 1e-3} <= set(drawn[..., 1].ravel())


def test_several_statistics_are_released_at_once():
    family = unit(1)
    made = bdp.mechanisms.ModipsSBSMechanism(family, 4, (1.0,) * 5, 7)
    statistics = np.zeros((6, 5))
    assert made.release(statistics, 3).shape == (3, 6, 4, 2)


def test_its_law_is_intractable_and_says_what_to_do():
    family = unit(1)
    made = bdp.mechanisms.ModipsSBSMechanism(family, 2, (1.0,) * 5, 7)
    with pytest.raises(bdp.errors.InvalidInput, match=r"intractable.*bdp\.combine"):
        made.logp(np.zeros((2, 2)), (0.0,) * 5)
    assert made.outputs() is None


def test_it_survives_a_manifest():
    for family in (
        LinearRegression(BOUNDS, "age"),
        LinearRegression(BOUNDS, "dose", ((0, 1, 2), 3, 4, 5), ((0, 1), 2, 3, (4, 5))),
        LinearRegression(list(BOUNDS.items()), "dose"),
    ):
        assert check_family(json.loads(json.dumps(asdict(family)))) == family
        assert hash(family) == hash(check_family(asdict(family)))
