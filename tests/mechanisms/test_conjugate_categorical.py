"""Categorical conjugate releases: every neighbouring pair, in both directions."""

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest

import bayesdp as bdp
from tests.mechanisms.test_conjugate_bernoulli import posterior_divergence


def release(n: int, prior, method: str = "parameter_draw") -> bdp.ConjugateRelease:
    return bdp.ConjugateRelease("categorical", method, n, prior)


@pytest.mark.parametrize("prior", [(1.0, 1.0, 1.0), (3.0, 0.5, 8.0), (2.0, 9.0, 5.0, 0.3)])
@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_a_draw_is_as_bad_as_its_worst_neighbours(n, prior, epsilon):
    shared = [c for c in product(range(n), repeat=len(prior)) if sum(c) == n - 1]
    pairs = {
        (prior[i] + c[i], prior[j] + c[j])
        for c in shared
        for i, j in product(range(len(prior)), repeat=2)
        if i != j
    }
    truth = max(posterior_divergence(u, v, epsilon) for u, v in pairs)
    claim = release(n, prior).delta(epsilon)
    assert truth <= claim <= truth * (1 + mp.mpf("1e-9"))


def test_two_of_the_probabilities_tell_all():
    """The divergence of whole Dirichlet draws, simulated: the reduction to a beta pair.

    400,000 draws; the tolerance is 6 standard errors, a false alarm below 1e-8.
    """
    prior, epsilon, draws = np.array([2.0, 0.8, 1.5]), 0.4, 400_000
    first, second = prior + np.eye(3)[1], prior + np.eye(3)[2]
    rng = np.random.default_rng(11)

    def log_density(theta, alpha):
        constant = math.lgamma(alpha.sum()) - sum(map(math.lgamma, alpha))
        return constant + np.log(theta) @ (alpha - 1)

    for p, q, (u, v) in ((first, second, (0.8, 1.5)), (second, first, (1.5, 0.8))):
        theta = rng.dirichlet(p, draws)
        loss = log_density(theta, p) - log_density(theta, q)
        gain = np.maximum(-np.expm1(epsilon - loss), 0)
        truth = float(posterior_divergence(u, v, epsilon))
        assert abs(gain.mean() - truth) < 6 * gain.std() / math.sqrt(draws)


def test_two_categories_are_the_bernoulli_family():
    bernoulli = bdp.ConjugateRelease("bernoulli", "parameter_draw", 30, (4.0, 9.0))
    assert release(30, (9.0, 4.0)).delta(0.5) == bernoulli.delta(0.5)


def test_more_records_protect_nobody_where_there_is_a_third_category():
    assert release(1, (5, 6, 7)).delta(1.0) == release(10**6, (5, 6, 7)).delta(1.0)


def test_calibration_is_tight_and_on_the_safe_side():
    made = bdp.ConjugateRelease.calibrate(
        family="categorical", method="parameter_draw", n=9, categories=4, epsilon=1.0, delta=1e-6
    )
    assert len(set(made.prior)) == 1
    assert len(made.prior) == 4
    assert made.delta(1.0) <= 1e-6
    assert release(9, (made.prior[0] * (1 - 1e-8),) * 4).delta(1.0) > 1e-6


def test_the_mode_itself_promises_nothing():
    guarantee = release(9, (2, 2, 2), "parameter_map").guarantee(delta=1e-6)
    assert (guarantee.epsilon, guarantee.delta) == (math.inf, 1)


def test_categories_are_asked_for_where_they_are_needed():
    arguments = {"method": "parameter_draw", "n": 9, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(bdp.InvalidInput, match="categories is None"):
        bdp.ConjugateRelease.calibrate(family="categorical", **arguments)
    with pytest.raises(bdp.InvalidInput, match="prior is"):
        bdp.ConjugateRelease.calibrate(family="categorical", categories=1, **arguments)
    with pytest.raises(bdp.InvalidInput, match="leave it out"):
        bdp.ConjugateRelease.calibrate(family="bernoulli", categories=3, **arguments)


@pytest.mark.parametrize("prior", [(1.0,), (1, 0, 1), (1, math.nan, 2), 3, ("a", 1, 2)])
def test_bad_priors_are_named(prior):
    with pytest.raises(bdp.InvalidInput, match="prior is"):
        release(9, prior)


def test_methods_it_lacks_are_refused_by_name():
    with pytest.raises(bdp.InvalidInput, match="one of parameter_map, parameter_draw"):
        bdp.ConjugateRelease("categorical", "synthetic_one", 9, (1, 1, 1), size=3)
