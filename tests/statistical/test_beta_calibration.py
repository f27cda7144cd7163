"""Simulation-based calibration of the exchange algorithm, at censored copies of beta records.

The truth's place among the draws must be uniform. False alarm 1e-6 a test.
"""

import numpy as np
import pytest

import bayesdp as bdp
from tests.statistical.test_models_calibration import check
from tests.statistical.test_records_calibration import place

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the chains of this fit"),  # of one in hundreds
]
PRIOR = (2.0, 3.0, 4.0, 0.5)
FAR = 20  # records more or fewer, where their number is unknown


@pytest.mark.parametrize(
    ("n", "epsilon", "copies", "known", "replicates", "draws"),
    [
        (20, 6.0, 2, True, 40, 1000),
        *[
            pytest.param(*each, 200, 3000, marks=pytest.mark.calibrate)
            for each in [(50, 6.0, 2, True), (50, 3.0, 1, False), (200, 8.0, 1, True)]
        ],
    ],
)
def test_means_and_precisions_of_beta_records(n, epsilon, copies, known, replicates, draws):
    rng, (p, q, shape, rate) = np.random.default_rng(1), PRIOR
    sizes = range(n - FAR, n + FAR + 1)
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=epsilon, copies=copies, size=n)
    model = bdp.models.BetaModel(PRIOR, n=n if known else sizes)
    places: dict[str, list[float]] = {"mean": [], "precision": [], "n": []}
    for i in range(replicates):
        phi, lam = rng.beta(p, q), rng.gamma(shape, 1 / rate)
        count = n if known else int(rng.choice(sizes))
        x = rng.beta(lam * phi, lam * (1 - phi), count).clip(1e-300, 1 - 2.0**-53)
        with bdp.reproducible(i):
            release = made.release(x)
        idata = model.fit(release, draws=draws, chains=1, warmup=300, seed=i)
        truth = {"mean": phi, "precision": lam, "n": count}
        for name in idata.posterior.data_vars.keys() & truth.keys():
            places[name].append(place(idata, name, truth[name], rng))
    for each in filter(None, places.values()):
        check(each)
