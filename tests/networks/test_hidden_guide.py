"""The mixture that far moves are proposed from: its density, its draws, bent points."""

import numpy as np
import pytest
from scipy import special, stats

from bayesdp.kernels.hidden.guide import log_mixture
from bayesdp.networks import Network, NormalPrior
from bayesdp.networks.hidden.guide import fit_mixture
from bayesdp.networks.hidden.sampling import sample_hidden
from tests.networks.hidden_oracles import flipped

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6


def bent(generator: np.random.Generator, size: int) -> np.ndarray:
    """Points along a parabola, a tenth as wide as it is long."""
    x = generator.normal(size=size)
    return np.column_stack([x, x**2 + 0.1 * generator.normal(size=size)])


def test_its_density_and_its_draws_are_of_one_law():
    rng = np.random.default_rng(1)
    mixture = fit_mixture(bent(rng, 2000), np.eye(2), rng)
    parts = [
        stats.multivariate_normal(mean, root @ root.T)
        for mean, root in zip(mixture.mean, mixture.root, strict=True)
    ]
    draws = mixture.draw(rng, 4000)
    theirs = special.logsumexp(
        [
            part.logpdf(draws[:50]) + np.log(w)
            for part, w in zip(parts, mixture.weight, strict=True)
        ],
        axis=0,
    )
    ours = np.array([log_mixture(theta, mixture) for theta in draws[:50]])
    np.testing.assert_allclose(ours - theirs, np.full(50, ours[0] - theirs[0]), atol=1e-9)
    u = sum(
        w * stats.norm.cdf(draws[:, 1], mean[1], np.linalg.norm(root[1]))
        for w, mean, root in zip(mixture.weight, mixture.mean, mixture.root, strict=True)
    )
    assert stats.kstest(u, "uniform").pvalue > FALSE_ALARM


def test_it_follows_bent_points():
    """Importance weights of the bent law: one normal of its mean and covariance has far worse."""
    rng = np.random.default_rng(2)
    points = bent(rng, 3000)
    mixture = fit_mixture(points, np.eye(2), rng)

    def efficiency(draws, log_density):
        log_law = stats.norm.logpdf(draws[:, 0])
        log_law += stats.norm.logpdf(draws[:, 1], draws[:, 0] ** 2, 0.1)
        weight = special.softmax(log_law - log_density)
        return 1 / (weight**2).sum() / len(draws)

    drawn = mixture.draw(rng, 4000)
    ours = efficiency(drawn, np.array([log_mixture(x, mixture) for x in drawn]))
    normal = stats.multivariate_normal(points.mean(axis=0), 1.2**2 * np.cov(points.T))
    drawn = normal.rvs(4000, random_state=rng)
    assert ours > 4 * efficiency(drawn, normal.logpdf(drawn))


@pytest.mark.parametrize("tune", [1, 2, 3])
@pytest.mark.parametrize("chains", [1, 2])
def test_the_shortest_warm_ups(tune, chains):
    network = Network(6, [(0, 1), (1, 2), (3, 5)])
    drawn = sample_hidden(
        "edges + gwesp(0.5)", network, flipped(network, 2.0), prior=NormalPrior(0, 1), draws=5,
        tune=tune, chains=chains, seed=1,
    )  # fmt: skip
    assert drawn.theta.shape == (chains, 5, 2)
    assert np.isfinite(drawn.theta).all()
