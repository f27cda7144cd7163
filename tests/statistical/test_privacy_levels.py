"""Coverage of 95% intervals at epsilon 0.1, 1 and 10, over 500 replicates of each exact model.

True parameters are drawn from the prior, so that coverage is 95% exactly, whatever the noise.
False alarm 1e-6 a test.
"""

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp

pytestmark = pytest.mark.slow

REPLACE = bdp.Neighbours.REPLACE_ONE
REPLICATES = 500


def binomial(epsilon, rng):
    p = rng.beta(1.0, 1.0)
    made = bdp.BetaBinomialSynthesizer(epsilon=epsilon, copies=2)
    release = made.release(bdp.Count(int(rng.binomial(200, p)), 200))
    return bdp.BinomialModel().posterior(release).cdf(p)


def normal(epsilon, rng):
    mu = rng.normal(0.0, 1.0)
    x = np.clip(rng.normal(mu, 1.0, 80), -12.0, 12.0)
    noise = bdp.mechanisms.LaplaceMechanism.calibrate(
        epsilon=epsilon, sensitivity=24 / 80, neighbours=REPLACE, n=80
    )
    release = bdp.publish(noise, float(x.mean()))
    return bdp.GaussianModel((0.0, 1.0), sd=1.0).posterior(release).cdf(mu)


def categories(epsilon, rng):
    theta = rng.dirichlet((1.0, 2.0, 0.5))
    x = rng.multinomial(60, theta)
    made = bdp.mechanisms.PerturbedHistogramMechanism.calibrate(
        epsilon=epsilon, cells=3, neighbours=REPLACE, n=60
    )
    release = bdp.publish(made, x.tolist())
    return bdp.MultinomialModel((1.0, 2.0, 0.5)).posterior(release, 1).cdf(theta[1])


def rates(epsilon, rng):
    rate = rng.gamma(3.0, 1 / 3.0, 2)
    noise = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
        epsilon=epsilon, sensitivity=1, dimension=2
    )
    release = bdp.publish(noise, rng.poisson(rate * (20.0, 60.0)).tolist())
    model = bdp.models.PoissonModel((3.0, 3.0), expected=(20.0, 60.0))
    fit = model.fit(release, draws=999, chains=1, seed=int(rng.integers(1 << 30)))
    below = (fit.posterior["rate"].to_numpy()[0, :, 1] < rate[1]).sum()
    return (below + rng.random()) / 1000


@pytest.mark.parametrize(
    "epsilon", [1.0, *(pytest.param(each, marks=pytest.mark.calibrate) for each in (0.1, 10.0))]
)
@pytest.mark.parametrize(
    "place",
    # The calibration of rates that is in every run, of 200 groups in one fit, is of this law too.
    [binomial, normal, categories, pytest.param(rates, marks=pytest.mark.calibrate)],
)
def test_intervals_cover_at_every_level(place, epsilon):
    rng = np.random.default_rng([len(place.__name__), int(10 * epsilon)])
    with bdp.reproducible(int(10 * epsilon)):
        places = np.array([place(epsilon, rng) for _ in range(REPLICATES)])
    covered = int(np.sum(np.abs(places - 0.5) <= 0.475))
    assert stats.binomtest(covered, REPLICATES, 0.95).pvalue > 1e-6
    assert stats.kstest(places, "uniform").pvalue > 1e-6
