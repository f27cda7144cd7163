"""The sums over noisy means that the posterior from copies is made of, and ranges of noise."""

import math

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.mechanisms.families.gaussian_laws import log_sums


@pytest.mark.parametrize("width", [1.0, 30.0, 1e4])
def test_log_sums(width):
    """Also where the products underflow, and of rows without any probability."""
    rng = np.random.default_rng(1)
    given, each = -width * rng.exponential(size=(40, 25)), -width * rng.exponential(size=(7, 25))
    given[3, 5:], given[4], each[2, :20], each[5] = -np.inf, -np.inf, -np.inf, -np.inf
    expected = special.logsumexp(given[:, None] + each, axis=2)
    np.testing.assert_allclose(log_sums(given, each), expected, rtol=1e-13, atol=1e-13)
    seen = np.isfinite(expected)
    below = (given.max(axis=1)[:, None] + each.max(axis=1))[seen] - expected[seen]
    assert (below > 745).any() == (width == 1e4)


@pytest.mark.parametrize(
    "kind", [bdp.mechanisms.LaplaceMechanism, bdp.mechanisms.GaussianMechanism]
)
@pytest.mark.parametrize("bounding", ["truncated", "inflated"])
def test_a_range_with_one_end_is_one_whose_other_end_is_far(kind, bounding):
    def found(low, high, output):
        mechanism = kind(
            0.05, 0.01, n=100, neighbours="replace_one", bounds=(low, high), bounding=bounding
        )
        model = bdp.GaussianModel(prior=(0.0, 1.0), sd=1.0)
        return model.posterior(bdp.Release.of(mechanism, outputs=[output]))

    for open_ended, closed in (
        (found(0.0, math.inf, 0.25), found(0.0, 64.0, 0.25)),
        (found(-math.inf, 0.0, -0.25), found(-64.0, 0.0, -0.25)),
    ):
        assert open_ended.mean() == pytest.approx(closed.mean(), rel=1e-9)
        assert open_ended.interval(0.9) == pytest.approx(closed.interval(0.9), rel=1e-9)
