"""Simulation-based calibration of the chains of `QuantileModel`.

The truth's place among the draws must be uniform. False alarm 1e-6 a test. Each chain has a
replicate of its own, as the law of all is computed at once.
"""

import dataclasses

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.engines.latent_quantiles import sample_quantiles
from tests.statistical.test_models_calibration import check

pytestmark = pytest.mark.slow
Model = bdp.models.QuantileModel
PRIOR = (40.0, 15.0, 9.0, 0.5)


@pytest.mark.parametrize(
    ("n", "fields", "replicates", "draws"),
    [
        (range(20, 41), {"epsilon": 1.0}, 40, 40),
        *[
            pytest.param(*each, 200, 150, marks=pytest.mark.calibrate)
            for each in [
                (range(50, 51), {"epsilon": 0.3}),
                (range(300, 501), {"epsilon": 1.0}),
                (range(500, 501), {"epsilon": 5.0, "probabilities": (0.5,)}),
                (range(500, 501), {"epsilon": 3.0, "choice": "permute_and_flip"}),
            ]
        ],
    ],
)
def test_locations_and_scales(n, fields, replicates, draws):
    made = bdp.synthesizers.QuantileSynthesizer(bounds=(0, 80), bins=20, **fields)
    places, _ = calibrated(made, Model(prior=PRIOR, n=n), n, replicates, draws)
    for each in places.values():
        check(each)


@pytest.mark.parametrize(
    ("n", "fields", "replicates", "draws"),
    [
        (60, {"epsilon": 2.0, "delta": 0.01}, 40, 40),
        *[
            pytest.param(*each, 200, 150, marks=pytest.mark.calibrate)
            for each in [
                (60, {"epsilon": 4.0, "delta": 1e-3}),
                (400, {"epsilon": 1.0}),
                (400, {"epsilon": 4.0, "probabilities": (0.25, 0.5, 0.75)}),
                (400, {"epsilon": 8.0, "bins": 400, "proposal": 1}),
            ]
        ],
    ],
)
def test_what_is_refused_tells_as_much_as_it_does(n, fields, replicates, draws):
    """Propose-test-release, where some tests are passed and some are not.

    Places are uniform given the outputs, too: among replicates where all is refused, and the rest.
    A law without the test, or with a threshold twice as high, has p-values below 1e-6.
    """
    fields = {"bounds": (0, 80), "bins": 80, "proposal": 2, **fields}
    made, model = bdp.synthesizers.ProposeTestReleaseSynthesizer(**fields), Model(prior=PRIOR)
    places, outputs = calibrated(made, model, range(n, n + 1), replicates, draws)
    refused = np.all(outputs == -1, axis=1)
    assert 0.05 < np.mean(refused) < 0.95
    for each in places.values():
        check(each)
        check(each[refused])
        check(each[~refused])


@pytest.mark.parametrize(
    ("n", "fields", "replicates", "draws"),
    [
        (60, {"epsilon": 3.0, "delta": 0.03, "trim": 0.25, "proposal": 20}, 40, 40),
        *[
            pytest.param(*each, 200, 150, marks=pytest.mark.calibrate)
            for each in [
                (60, {"epsilon": 3.0, "delta": 0.03, "trim": 0.25, "proposal": 20}),
                (400, {"epsilon": 0.8, "delta": 1e-4}),
                (400, {"epsilon": 3.0}),
                (400, {"epsilon": 8.0, "bins": 800, "proposal": 320, "trim": 0.2}),
            ]
        ],
    ],
)
def test_trimmed_means(n, fields, replicates, draws):
    """Given the outputs, too: among replicates where all is refused, and the rest.

    A law without the test, or with a threshold twice as high, has p-values of the scale below 1e-6.
    """
    fields = {"bounds": (0, 80), "bins": 80, "proposal": 32, **fields}
    made, model = bdp.synthesizers.TrimmedMeanSynthesizer(**fields), Model(prior=PRIOR)
    places, outputs = calibrated(made, model, range(n, n + 1), replicates, draws)
    refused = outputs == -1
    assert 0.05 < np.mean(refused) < 0.95
    for each in places.values():
        check(each)
        check(each[refused])
        check(each[~refused])


def calibrated(made, model, n, replicates, draws):
    """The truth's places among the draws, of each parameter, and the outputs."""
    rng, (m, s, c, d) = np.random.default_rng(1), PRIOR
    location, log_scale = rng.normal(m, s, replicates), rng.normal(np.log(c), d, replicates)
    sizes, known = rng.choice(n, replicates), []
    for i, (mu, h, size) in enumerate(zip(location, log_scale, sizes, strict=True)):
        with bdp.reproducible(i):
            known.append(model.read(made.release(rng.normal(mu, np.exp(h), size)))[0])
    outputs, logp = np.array([each.outputs[0] for each in known]), known[0].view.logp
    target = dataclasses.replace(known[0].target, law=lambda counts: logp(outputs, counts))
    kept = sample_quantiles(target, draws=draws, chains=replicates, warmup=30, seed=2)
    truths = {"location": location, "log_scale": log_scale, "n": sizes}
    places = {}
    for name, values in truths.items():
        drawn, truth = kept[name], values[:, None]
        ties = (drawn == truth).mean(axis=1) * rng.random(replicates)
        if len(n) > 1 or name != "n":
            places[name] = (drawn < truth).mean(axis=1) + ties
    return places, outputs
