"""The cost of a bootstrap step, against all resamples of small data sets."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import bayesdp as bdp


def exact_epsilon(n: int, cells: int, scale: float) -> float:
    """Largest log ratio of histograms of resamples with Laplace noise of that scale.

    A count's noise changes all probabilities by one factor beyond 0 and n, so that outputs from 0
    to n have all the ratios there are.
    """
    counts = np.array(list(itertools.product(range(n + 1), repeat=cells)))
    data = counts[counts.sum(axis=1) == n]
    noise = -np.abs(counts[:, None] - data[None]).sum(axis=2) / scale
    with np.errstate(divide="ignore"):
        chance = np.array([stats.multinomial.logpmf(data, n, x / n) for x in data])
    law = logsumexp(chance[:, None] + noise[None], axis=2)
    apart = np.abs(data[:, None] - data[None]).sum(axis=2) == 2
    return max(np.abs(law[i] - law[j]).max() for i, j in np.argwhere(apart))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
@pytest.mark.parametrize(("n", "cells"), [(1, 2), (2, 2), (5, 2), (12, 2), (2, 3), (6, 3)])
def test_all_resamples_of_small_data(n, cells, epsilon):
    found = exact_epsilon(n, cells, 2 / epsilon)
    bound = bdp.privacy.bootstrap_epsilon(epsilon, n)
    assert found <= bound
    assert bound <= n * epsilon * (1 + 1e-12)
    if n == 1:
        assert found == pytest.approx(epsilon)
    else:
        assert found > epsilon  # the bootstrap never makes it cheaper here
        assert bound < n * epsilon


def test_its_limits():
    for epsilon in (0.01, 1.0, 5.0):
        limit = math.exp(epsilon) * math.expm1(epsilon)
        assert bdp.privacy.bootstrap_epsilon(epsilon, 10**15) == pytest.approx(limit, rel=1e-9)
        each = [bdp.privacy.bootstrap_epsilon(epsilon, n) for n in (1, 2, 5, 100, 10**6)]
        assert each == sorted(each)
        assert each[0] == pytest.approx(epsilon)


def test_wrong_arguments_are_named():
    for arguments, name in (((0, 5), "epsilon"), ((1.0, 0), "n is 0"), ((400.0, 5), "at most 300")):
        with pytest.raises(bdp.errors.InvalidInput, match=name):
            bdp.privacy.bootstrap_epsilon(*arguments)
