"""Posteriors from answers of two categories: all counts matter where the answers say little."""

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp


def by_quadrature(matrix, ones, n, prior):
    """Mean, and the cumulative probabilities, on a grid of log odds: the trapezium rule.

    The likelihood of theta is (theta . column 1)^ones (theta . column 0)^(n - ones), and in log
    odds the integrand is analytic and falls off exponentially, so the rule has all digits.
    """
    u = np.linspace(-80, 80, 1_000_001)
    p, q = special.expit(u), special.expit(-u)
    log = prior[1] * np.log(p) + prior[0] * np.log(q)
    log = log + special.xlogy(ones, p * matrix[1, 1] + q * matrix[0, 1])
    log = log + special.xlogy(n - ones, p * matrix[1, 0] + q * matrix[0, 0])
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    return float(mass @ p), p, np.cumsum(mass) - mass / 2


@pytest.mark.parametrize(
    ("n", "epsilon", "ones"),
    [
        (5000, 0.01, 2500),
        (5000, 0.2, 2600),
        (3000, 0.05, 0),
        (2000, 1.0, 2000),
        (700, 5.0, 2),
        (10, 20.0, 3),
    ],
)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 2.0)])
def test_the_whole_range_of_counts_is_listed(n, epsilon, ones, prior):
    """At n = 5000 the answers' law of a far count is below the smallest float."""
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.binary(epsilon, n)
    release = bdp.Release.of(mechanism, [np.repeat([1, 0], [ones, n - ones])])
    found = bdp.MultinomialModel(prior=prior).posterior(release, 1)
    mean, p, below = by_quadrature(mechanism.matrix, ones, n, prior)
    assert found.mean() == pytest.approx(mean, abs=1e-11)
    for share in (0.025, 0.5, 0.975):
        assert found.quantile(share) == pytest.approx(np.interp(share, below, p), abs=3e-8)


def test_certain_answers_leave_the_others():
    """A category that is never mistaken: counts below its answers are impossible."""
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.of([[0.5, 0.5], [0, 1]], n=1500)
    release = bdp.Release.of(mechanism, [np.repeat([0, 1], [400, 1100])])
    counts = bdp.MultinomialModel(prior=(1, 1)).counts(release)
    zeros, _, weights = counts.marginal(0)
    assert weights[zeros < 400].sum() == 0  # an answer 0 is the truth
    mean, _, _ = by_quadrature(mechanism.matrix, 1100, 1500, (1, 1))
    found = bdp.MultinomialModel(prior=(1, 1)).posterior(release, 1)
    assert found.mean() == pytest.approx(mean, abs=1e-10)


def test_answers_of_more_categories_say_why_they_have_no_exact_posterior():
    made = bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 3, n=1)
    model = bdp.MultinomialModel((1.0, 1.0, 1.0))
    with pytest.raises(bdp.errors.InvalidInput, match="over two categories alone; use fit"):
        model.posterior(bdp.Release.of(made, [(2,)]), 0)
