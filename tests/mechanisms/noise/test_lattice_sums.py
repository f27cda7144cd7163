"""Few points in the place of a sum over integers."""

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.noise.lattice_sums import noisy_integers, sum_rule


@pytest.mark.parametrize("count", [1, 2, 5, 8, 9, 30, 1000])
def test_a_rule_sums_polynomials_exactly(count):
    points, weights = sum_rule(count)
    assert points.size == min(count, 8)
    assert np.all(weights > 0)
    assert np.all((points > -1e-9) & (points < count - 1 + 1e-9))
    x, integers = 2 * points / count - 1, 2 * np.arange(count) / count - 1
    for power in range(2 * points.size):
        found, true = weights @ x**power, np.sum(integers**power)
        assert found == pytest.approx(true, rel=1e-12, abs=1e-12 * count)


@pytest.mark.parametrize("n", [1, 3, 50, 1000])
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("noise", ["Laplace", "Gaussian"])
def test_means_are_those_of_all_integers(noise, scale, n):
    made = getattr(bdp.mechanisms, f"Discrete{noise}Mechanism")
    cell = made(scale, 1.0, "add_remove", bounds=(0, None), bounding="inflated")
    points, logs = noisy_integers(cell, n, 1)
    assert points.size <= 200

    def smooth(v):
        return np.exp(-(((v - 1.1 * n) / (2 * scale + 0.1 * n)) ** 2) / 2) / np.sqrt(v)

    every = np.arange(2, n + int(60 * scale) + 5)
    below = np.exp(cell.noise.log_upper(np.array([n - 1])))
    true = np.exp(cell.noise.log_pmf(every - n)) @ smooth(every) + below @ smooth(np.ones(1))
    assert np.exp(logs).sum() == pytest.approx(1, rel=1e-12)
    assert np.exp(logs) @ smooth(points) == pytest.approx(true, rel=1e-9)
