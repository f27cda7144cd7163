"""Copies of few records, whose sigma may be far from what noise leaves open."""

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from tests.inference.gaussian.test_gaussian_variance import PRIOR, prior_draws, statistics


@pytest.mark.parametrize("n", [2, 5, 20])
def test_copies_of_few_records_with_hardly_any_noise(n):
    """Whose sigmas reach far beyond the noise: by sampling, and the same at any small scale."""
    rng, y = np.random.default_rng(9), [-0.5, 0.3, 1.1]
    mu, sigma = prior_draws(rng, 400_000)
    mean, variance = statistics(rng, n, mu, sigma)
    sd = np.sqrt((n - 1) * variance / 2 / rng.standard_gamma((n - 1) / 2, mu.size))
    theta = rng.normal(mean, sd / np.sqrt(n))
    density = np.exp(stats.norm.logpdf(np.array(y)[:, None], theta, sd).sum(axis=0))
    error = density.std() / density.mean() / np.sqrt(density.size)
    found = []
    for scale in (1e-3, 1e-4):
        family = bdp.families.Gaussian(bounds=(-60.0, 60.0))
        made = bdp.mechanisms.ModipsSBSMechanism(family, len(y), (scale, scale), n)
        found.append(bdp.GaussianModel(PRIOR).log_evidence(bdp.Release.of(made, [y])))
    assert found[0] == pytest.approx(found[1], abs=1e-3)
    assert abs(found[1] - np.log(density.mean())) < 5 * error
