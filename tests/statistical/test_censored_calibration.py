"""Simulation-based calibration of the censored beta posterior's grid, where nothing is clipped.

The true parameters rank uniformly among as many exact draws from the posterior, and so does the
log-likelihood at them, which tells a posterior from the prior (Modrak et al. 2023). Chi-square on
the ranks, false alarm 1e-6 a test.
"""

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp

pytestmark = pytest.mark.slow

KEPT = 19  # draws a replicate, so that ranks are 0..19
FALSE_ALARM = 1e-6


def p_values(epsilon: float, replicates: int) -> list[float]:
    """Of the ranks of phi, lambda and the log-likelihood."""
    made = bdp.synthesizers.CensoredBetaSynthesizer(
        epsilon=epsilon, prior_phi=(2.0, 3.0), prior_lambda=(1.0, 2.0), largest=30.0
    )
    rng = np.random.default_rng(5)
    counts = np.zeros((3, KEPT + 1))
    for k in range(replicates):
        phi = rng.beta(2, 3)
        # Pareto, cut off: the inverse of its distribution function.
        lam = (1 - rng.random() * (1 - 30.0**-2)) ** (-1 / 2)
        y = rng.beta(lam * phi, lam * (1 - phi), size=12).clip(1e-300, 1 - 2.0**-53)
        draws = made.pseudo_posterior(y).sample(KEPT, seed=k).to_numpy()
        every = np.vstack([draws, [phi, lam]])
        shapes = every[:, 1] * every[:, 0], every[:, 1] * (1 - every[:, 0])
        score = stats.beta(*(v[:, None] for v in shapes)).logpdf(y).sum(axis=1)
        ranked = np.column_stack([every, score])
        ranks = (ranked[:-1] < ranked[-1]).sum(axis=0)
        counts[np.arange(3), ranks] += 1
    return [float(stats.chisquare(row).pvalue) for row in counts]


def test_the_grids_draws_are_calibrated():
    assert min(p_values(1e5, replicates=300)) > FALSE_ALARM


def test_the_check_convicts_a_posterior_that_clips():
    assert min(p_values(0.2, replicates=150)) < FALSE_ALARM
