"""Coverage of a skewed population's median by intervals from blocks' medians.

Blocks' estimates are only nearly normal, and their expectation only nearly the median, so that this
isn't simulation-based calibration: 95% intervals must cover in 90% of replicates or more, with a
false alarm of 1e-6. Each chain has a replicate of its own, as the law of all is computed at once.
"""

import dataclasses

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.engines.latent_quantiles import sample_quantiles

pytestmark = pytest.mark.slow
POPULATION = stats.gamma(3, scale=10)


@pytest.mark.parametrize(
    ("n", "blocks", "epsilon", "replicates", "draws"),
    [
        (900, 60, 3.0, 40, 40),
        pytest.param(1000, 100, 1.0, 200, 200, marks=pytest.mark.calibrate),
        pytest.param(5000, 250, 1.0, 200, 200, marks=pytest.mark.calibrate),
    ],
)
def test_intervals_cover_the_population_median(n, blocks, epsilon, replicates, draws):
    made = bdp.synthesizers.SubsampleAggregateSynthesizer("median", (0, 100), epsilon, blocks)
    rng, model, known = np.random.default_rng(1), bdp.models.QuantileModel(), []
    for i in range(replicates):
        with bdp.reproducible(i):
            release = made.release(POPULATION.rvs(n, random_state=rng))
        known.append(model.read(release)[0])
    outputs, logp = np.array([each.outputs[0] for each in known]), known[0].view.logp
    target = dataclasses.replace(known[0].target, law=lambda counts: logp(outputs, counts))
    kept = sample_quantiles(target, draws=draws, chains=replicates, warmup=30, seed=2)
    low, high = np.quantile(kept["location"], [0.025, 0.975], axis=1)
    covered = np.sum((low <= POPULATION.median()) & (POPULATION.median() <= high))
    assert covered >= stats.binom(replicates, 0.9).ppf(1e-6)
    assert np.median(high - low) < 12  # not the prior's
