"""Gaussian conjugate releases, from the joint law of what is released."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bayesdp as bdp

METHODS = ("parameter_draw", "synthetic_map", "synthetic_one", "synthetic_many")


def release(method: str, n: int, prior, R: float, sigma: float = 1.0, size: int = 1):
    size = size if method.startswith("synthetic") else None
    return bdp.mechanisms.ConjugateMechanism(
        "gaussian", method, n, prior, size=size, R=R, sigma=sigma
    )


def joint_law(method: str, data, prior, sigma: float, size: int):
    """Mean and covariance of all that is released, from Bayes' rule with the data in hand."""
    precision = prior[1] ** -2 + len(data) / sigma**2
    mean = (prior[0] * prior[1] ** -2 + sum(data) / sigma**2) / precision
    shared, own = 1 / precision * np.ones((size, size)), np.eye(size)
    covariance = {
        "parameter_draw": np.array([[1 / precision]]),
        "synthetic_map": sigma**2 * own,
        "synthetic_one": shared + sigma**2 * own,
        "synthetic_many": (1 / precision + sigma**2) * own,
    }[method]
    return np.full(len(covariance), mean), covariance


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("prior", [(0.0, 1.0), (3.0, 0.2), (-1.0, 50.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_it_is_as_bad_as_the_worst_replacement(method, prior, epsilon):
    """All replacements on a grid, in both directions; the log ratio of the joint law is normal."""
    R, sigma, size = 1.3, 0.8, 4
    grid = np.linspace(-R, R, 5)
    worst = 0.0
    for kept, old, new in product(product(grid[::2], repeat=2), grid, grid):
        mean, covariance = joint_law(method, (*kept, old), prior, sigma, size)
        other, _ = joint_law(method, (*kept, new), prior, sigma, size)
        shift = math.sqrt((mean - other) @ np.linalg.solve(covariance, mean - other))
        if shift > 1e-12:  # log ratio ~ N(shift^2 / 2, shift^2) under one, minus that under other
            a = epsilon / shift - shift / 2
            divergence = stats.norm.sf(a) - math.exp(epsilon) * stats.norm.sf(a + shift)
            worst = max(worst, divergence)
    claim = release(method, 3, prior, R, sigma, size).delta(epsilon)
    assert claim == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize("method", ["parameter_draw", "synthetic_one"])
def test_the_divergence_is_the_integral_of_the_densities(method):
    R, sigma, prior, n, epsilon = 0.7, 1.0, (0.0, 2.0), 5, 0.3
    mean, covariance = joint_law(method, [R] * n, prior, sigma, 1)
    other, _ = joint_law(method, [R] * (n - 1) + [-R], prior, sigma, 1)
    y = np.linspace(-12, 12, 2_000_001)
    p, q = (stats.norm.pdf(y, m[0], math.sqrt(covariance[0, 0])) for m in (mean, other))
    for first, second in ((p, q), (q, p)):
        truth = np.maximum(first - math.exp(epsilon) * second, 0).sum() * (y[1] - y[0])
        assert release(method, n, prior, R, sigma).delta(epsilon) == pytest.approx(truth, rel=1e-6)


def test_zheng_7_3_has_half_the_sensitivity():
    """R / n is printed; a record that moves from -R to R moves the mean by 2 R / n."""
    R, n, flat = 2.0, 50, 1e8
    worst, _ = joint_law("parameter_draw", [R] * n, (0.0, flat), 1.0, 1)
    other, _ = joint_law("parameter_draw", [R] * (n - 1) + [-R], (0.0, flat), 1.0, 1)
    assert worst[0] - other[0] == pytest.approx(2 * R / n)


def test_zheng_7_8_promises_more_than_is_true():
    """R / sigma = epsilon sqrt(n) / sqrt(2 log(1 / delta)) is printed as enough for delta."""
    n, epsilon, delta = 100, 1.0, 1e-5
    R = epsilon * math.sqrt(n) / math.sqrt(2 * math.log(1 / delta))
    true = release("parameter_draw", n, (0.0, 1e8), R).delta(epsilon)
    assert true == pytest.approx(1.84e-3, rel=1e-3)


def test_zheng_7_15_promises_more_than_is_true_at_a_large_epsilon():
    """R / sigma = n epsilon / (2 m sqrt(2 log(m / delta))) is printed as enough for delta."""
    n, m, epsilon, delta = 10, 1, 10.0, 1e-5
    R = n * epsilon / (2 * m * math.sqrt(2 * math.log(m / delta)))
    assert release("synthetic_map", n, (0.0, 1e8), R, size=m).delta(epsilon) > 2.8 * delta


@pytest.mark.parametrize("method", ["synthetic_map", "synthetic_many"])
def test_zheng_7_16_promises_more_than_is_true_at_a_small_epsilon(method):
    """R / sigma = sqrt(epsilon n / (4 sqrt(2 m log(1 / delta)))) is printed as enough."""
    n = m = 100
    epsilon, delta = 0.1, 1e-5
    R = math.sqrt(epsilon * n / (4 * math.sqrt(2 * m * math.log(1 / delta))))
    assert release(method, n, (0.0, 1e8), R, size=m).delta(epsilon) > 20 * delta


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(METHODS),
    st.integers(1, 1000),
    st.integers(1, 1000),
    st.floats(0.01, 10),
    st.floats(0.01, 10),
    st.floats(0, 5),
)
def test_a_profile_decreases_inverts_and_orders(method, n, size, sd, R, epsilon):
    made = release(method, n, (0.0, sd), R, size=size)
    delta = made.delta(epsilon)
    assert made.delta(epsilon + 0.5) <= delta
    assert release(method, n, (0.0, sd * 1.1), R, size=size).delta(epsilon) >= delta * (1 - 1e-9)
    draw = release("parameter_draw", n, (0.0, sd), R)
    assert release("synthetic_one", n, (0.0, sd), R, size=size).delta(epsilon) <= draw.delta(
        epsilon
    ) * (1 + 1e-9)
    if 1e-280 < delta < 0.99:  # nearer to 1, delta says little about epsilon
        back = made.epsilon(delta)
        assert back <= epsilon + 1e-9
        assert made.delta(back) <= delta


@pytest.mark.parametrize("method", METHODS)
def test_calibration_finds_the_widest_prior(method):
    known = {"n": 20, "R": 3.0, "sigma": 1.0} | (
        {"size": 30} if method.startswith("synthetic") else {}
    )
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="gaussian", method=method, epsilon=0.5, delta=1e-6, **known
    )
    mean, sd = made.prior
    assert mean == 0
    assert made.delta(0.5) <= 1e-6
    wider = bdp.mechanisms.ConjugateMechanism(
        "gaussian", method, prior=(0, sd * (1 + 1e-8)), **known
    )
    assert wider.delta(0.5) > 1e-6


def test_there_is_no_pure_epsilon():
    made = release("parameter_draw", 10, (0.0, 1.0), 1.0)
    assert made.epsilon(0) == math.inf
    assert "unbounded" in made.guarantee().assumptions[-1]
    with pytest.raises(bdp.errors.InvalidInput, match="positive delta"):
        bdp.mechanisms.ConjugateMechanism.calibrate(
            family="gaussian", method="parameter_draw", n=10, epsilon=1.0, R=1.0, sigma=1.0
        )


def test_the_mode_itself_promises_nothing_and_says_why():
    guarantee = release("parameter_map", 10, (0.0, 1.0), 1.0).guarantee(delta=1e-5)
    assert (guarantee.epsilon, guarantee.delta) == (math.inf, 1)
    assert "told apart" in guarantee.assumptions[-1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"R": None}, "R is None"),
        ({"R": -1.0}, "R is -1.0"),
        ({"sigma": 0.0}, "sigma is 0.0"),
        ({"sigma": math.nan}, "sigma is nan"),
        ({"prior": (0, 0)}, "prior is"),
        ({"prior": (math.inf, 1)}, "prior is"),
        ({"prior": 1}, "prior is"),
        ({"size": 3}, "leave size out"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    good = {"family": "gaussian", "method": "parameter_draw", "n": 9, "prior": (0, 1)}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.mechanisms.ConjugateMechanism(**{**good, "R": 1.0, "sigma": 1.0, **parameters})
