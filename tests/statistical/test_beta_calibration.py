"""Simulation-based calibration of the exchange algorithm, at censored copies of records in (0, 1).

The truth's place among the draws must be uniform. False alarm 1e-6 a test.
"""

import dataclasses

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from tests.statistical.test_models_calibration import check
from tests.statistical.test_records_calibration import place

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the chains of this fit"),  # of one in hundreds
]
FAR = 20  # records more or fewer, where their number is unknown


def beta_records(n: int, rng: np.random.Generator) -> tuple[dict[str, float], np.ndarray]:
    """Parameters from the prior, and records given them."""
    p, q, shape, rate = MODELS["beta"][0].prior
    phi, lam = rng.beta(p, q), rng.gamma(shape, 1 / rate)
    return {"mean": phi, "precision": lam}, rng.beta(lam * phi, lam * (1 - phi), n)


def logit_normal_records(n: int, rng: np.random.Generator) -> tuple[dict[str, float], np.ndarray]:
    m, k, a, b = MODELS["logit_normal"][0].prior
    sigma = np.sqrt(b / rng.gamma(a))
    mu = rng.normal(m, sigma / np.sqrt(k))
    return {"mu": mu, "sigma": sigma}, special.expit(rng.normal(mu, sigma, n))


MODELS = {
    "beta": (bdp.models.BetaModel((2.0, 3.0, 4.0, 0.5)), beta_records),
    "logit_normal": (bdp.models.LogitNormalModel((-0.5, 0.5, 4.0, 4.0)), logit_normal_records),
}


@pytest.mark.parametrize(
    ("family", "n", "epsilon", "copies", "known", "replicates", "draws"),
    [
        ("beta", 20, 6.0, 2, True, 40, 1000),
        ("logit_normal", 20, 6.0, 2, True, 25, 400),
        *[
            pytest.param(family, *each, 200, 3000, marks=pytest.mark.calibrate)
            for family in MODELS
            for each in [(50, 6.0, 2, True), (50, 3.0, 1, False), (200, 8.0, 1, True)]
        ],
    ],
)
def test_parameters_of_records_in_0_1(family, n, epsilon, copies, known, replicates, draws):
    rng, (model, records) = np.random.default_rng(1), MODELS[family]
    sizes = range(n - FAR, n + FAR + 1)
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=epsilon, copies=copies, size=n)
    model = dataclasses.replace(model, n=n if known else sizes)
    places: dict[str, list[float]] = {}
    for i in range(replicates):
        count = n if known else int(rng.choice(sizes))
        truth, x = records(count, rng)
        with bdp.reproducible(i):
            release = made.release(x.clip(1e-300, 1 - 2.0**-53))
        idata = model.fit(release, draws=draws, chains=1, warmup=300, seed=i)
        for name, value in truth.items():
            places.setdefault(name, []).append(place(idata, name, value, rng))
        if not known:
            places.setdefault("n", []).append(place(idata, "n", count, rng))
    for each in places.values():
        check(each)
