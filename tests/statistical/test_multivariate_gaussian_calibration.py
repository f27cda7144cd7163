"""Simulation-based calibration of the multivariate Gaussian model, whose posterior is exact.

True mean vectors and correlated records are drawn from the model, and the truth's place in its
posterior, in either column and across them, must be uniform. False alarm 1e-6 a check.
"""

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6
N, SIZE = 20, 12
COVARIANCE = np.array([[1.0, 0.9], [0.9, 1.5]])
PRIOR = (np.array([0.5, -1.0]), np.array([[0.5, -0.3], [-0.3, 0.4]]))
DIRECTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])


def places(posterior, theta: np.ndarray) -> np.ndarray:
    """Posterior probabilities of less than the truth, of both columns and their difference."""
    away = DIRECTIONS @ (theta - posterior.mean)
    sds = np.sqrt(np.einsum("ki,ij,kj->k", DIRECTIONS, posterior.covariance, DIRECTIONS))
    return np.asarray(stats.norm.cdf(away / sds))


@pytest.mark.parametrize(
    "method", ["parameter_draw", "synthetic_map", "synthetic_one", "synthetic_many"]
)
def test_mean_vectors_from_conjugate_releases(method):
    own = ((0.0, 0.5), ((0.1, 0.02), (0.02, 0.2)))
    size = SIZE if method.startswith("synthetic") else None
    made = bdp.mechanisms.ConjugateMechanism(
        "multivariate_gaussian", method, N, own, size=size, R=(40.0, 50.0), covariance=COVARIANCE
    )
    model, rng = bdp.models.MultivariateGaussianModel(PRIOR), np.random.default_rng(7)
    right, naive, spread = [], [], []
    for i in range(200):
        theta = rng.multivariate_normal(*PRIOR)
        x = rng.multivariate_normal(theta, COVARIANCE, N)
        with bdp.reproducible(i):
            release = bdp.publish(made, made.statistic(x), copies=2, delta=1e-3)
        posterior = model.posterior(release)
        right.append(places(posterior, theta))
        naive.append(places(model.naive_posterior(release), theta))
        away = theta - posterior.mean
        spread.append(away @ np.linalg.solve(posterior.covariance, away))
    for each in np.transpose(right):
        assert stats.kstest(each, "uniform").pvalue > FALSE_ALARM
        covered = int(np.sum(np.abs(each - 0.5) <= 0.475))
        assert stats.binomtest(covered, len(each), 0.95).pvalue > FALSE_ALARM
    assert stats.kstest(spread, stats.chi2(2).cdf).pvalue > FALSE_ALARM
    worst = min(stats.kstest(each, "uniform").pvalue for each in np.transpose(naive))
    assert worst < FALSE_ALARM  # the check has power
