"""The sums over noisy means that the posterior from copies is made of."""

import numpy as np
import pytest
from scipy import special

from bayesdp.inference.gaussian.mean import log_sums


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
