"""Average-case privacy: mixtures over all data sets, enumerated, on a grid of theta."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.conjugate.average import average_case_delta, distributional_delta

SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")


def release(method, n, prior=(2.0, 3.0), size=3):
    size = size if method in SYNTHETIC else None
    return bdp.mechanisms.ConjugateMechanism("bernoulli", method, n, prior, size=size)


def output_law(method, n, x, prior, size):
    a, b = prior
    z = np.arange(size + 1)
    if method == "parameter_map":
        return np.eye(n + 1)[x]
    if method == "synthetic_one":
        return stats.betabinom.pmf(z, size, a + x, b + n - x)
    less = method == "synthetic_map"
    return stats.binom.pmf(z, size, (a + x - less) / (a + b + n - 2 * less))


def conditional_laws(method, n, theta, prior=(2.0, 3.0), size=3):
    """The law of the output given record 1 is 0 and is 1, over all 2^(n - 1) other records."""
    laws = []
    for record in (0, 1):
        total = 0.0
        for others in product((0, 1), repeat=n - 1):
            ones = sum(others)
            chance = theta**ones * (1 - theta) ** (n - 1 - ones)
            total = total + chance * output_law(method, n, ones + record, prior, size)
        laws.append(total)
    return laws


def divergence(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("method", ["parameter_map", *SYNTHETIC])
@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize(("low", "high"), [(0.1, 0.9), (0.3, 0.45), (0.5, 0.5)])
def test_it_is_the_worst_over_the_interval(method, n, low, high):
    grid = np.linspace(low, high, 81)
    pairs = [conditional_laws(method, n, theta) for theta in grid]
    for epsilon in (0.0, 0.3, 1.0):
        found = [divergence(*laws[::s], epsilon) for laws in pairs for s in (1, -1)]
        claim = average_case_delta(release(method, n), epsilon, theta=(low, high))
        assert max(found) <= claim * (1 + 1e-12) + 1e-15
        slack = 0.004 if method == "parameter_map" else 0.014  # the grid's own, and the search's
        assert claim <= max(found) * (1 + slack) + 1e-280


@pytest.mark.parametrize("n", [3, 40, 300])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_the_worst_theta_of_the_sum_itself(n, epsilon):
    """Against 1,001 thetas, with scipy's law of the sum."""
    s = np.arange(n + 1)
    found = 0.0
    for theta in np.linspace(0.1, 0.6, 1001):
        one, zero = (stats.binom.pmf(s - shift, n - 1, theta) for shift in (1, 0))
        found = max(found, divergence(one, zero, epsilon), divergence(zero, one, epsilon))
    claim = average_case_delta(release("parameter_map", n), epsilon, theta=(0.1, 0.6))
    assert found * (1 - 1e-10) <= claim <= found * (1 + 1e-3)


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("method", ["parameter_map", "synthetic_one"])
def test_a_coin_is_a_simulator_within_the_upper_bound(method, epsilon):
    theta, n = 0.3, 5
    below, above = distributional_delta(release(method, n), epsilon, theta=(theta, theta))
    zero, one = conditional_laws(method, n, theta)
    coin = (zero + one) / 2
    needed = max(
        max(divergence(law, coin, epsilon), divergence(coin, law, epsilon)) for law in (zero, one)
    )
    assert below <= needed <= above * (1 + 1e-12)


def test_zheng_6_17_has_a_condition_that_is_not_enough():
    """Single sums satisfy it at epsilon = 0 with a delta below what any simulator can do."""
    n = 100
    law = stats.binom.pmf(np.arange(n + 1), n, 0.5)
    delta = np.abs(np.diff(law)).max() / 2
    below, _ = distributional_delta(release("parameter_map", n), 0.0, theta=(0.5, 0.5))
    assert below > 8 * delta


def test_zheng_6_18_no_theta_bounded_away_from_the_ends_no_epsilon():
    made = release("parameter_map", 50)
    assert average_case_delta(made, 20.0, theta=(0.0, 1.0)) == 1
    costs = [average_case_delta(made, 20.0, theta=(c, 1 - c)) for c in (0.3, 0.1, 0.01, 0.001)]
    assert costs == sorted(costs)
    assert all(cost > 0 for cost in costs)
    assert costs[-1] > 0.9


def test_zheng_6_19_has_its_order_at_epsilon_zero_only():
    """(1 - e^(2 epsilon)) / sqrt(n) is negative for epsilon > 0, where delta falls much faster."""
    sizes = (250, 1000, 4000)
    zero = [average_case_delta(release("parameter_map", n), 0.0, theta=(0.5, 0.5)) for n in sizes]
    limit = 1 / math.sqrt(2 * math.pi / 4)
    assert [d * math.sqrt(n) for d, n in zip(zero, sizes, strict=True)] == pytest.approx(
        [limit] * 3, rel=3e-3
    )
    more = [average_case_delta(release("parameter_map", n), 0.3, theta=(0.5, 0.5)) for n in sizes]
    logs = np.log(more)
    assert logs[1] - logs[0] < -5  # 1 / sqrt(n) would be -0.7
    assert (logs[2] - logs[1]) / (logs[1] - logs[0]) == pytest.approx(4, rel=0.3)


def test_it_is_at_most_the_worst_case():
    for method in SYNTHETIC:
        made = release(method, 30, size=10)
        for epsilon in (0.0, 0.3):
            average = average_case_delta(made, epsilon, theta=(0.2, 0.8))
            assert average <= made.delta(epsilon) * 1.011


@pytest.mark.parametrize("theta", [(0.6, 0.4), (-0.1, 0.5), (0.5, 1.1), 0.5, (math.nan, 0.5)])
def test_bad_intervals_are_named(theta):
    with pytest.raises(bdp.errors.InvalidInput, match="theta is"):
        average_case_delta(release("parameter_map", 9), 1.0, theta=theta)


def test_what_it_does_not_know_is_refused():
    normal = bdp.mechanisms.ConjugateMechanism(
        "gaussian", "parameter_map", 3, (0, 1), R=1.0, sigma=1.0
    )
    with pytest.raises(bdp.errors.InvalidInput, match="family is 'gaussian'"):
        average_case_delta(normal, 1.0, theta=(0.1, 0.9))
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon is 800"):
        average_case_delta(release("parameter_map", 9), 800.0, theta=(0.1, 0.9))
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon is 800"):
        distributional_delta(release("parameter_map", 9), 800.0, theta=(0.1, 0.9))
