"""Simulation-based calibration of linear regressions from noisy moments.

Parameters, moments and noise are drawn from the model, and the truth's place in the posterior, a
probability, must be uniform; intervals then cover what they say. False alarm 1e-6 a test.
"""

import numpy as np
import pytest

from bayesdp.inference.regression.chain import sample_moments
from tests.inference.regression.test_linear_regression import mechanism, model, released, simulated
from tests.statistical.test_models_calibration import check

pytestmark = pytest.mark.slow

# n, or the range that it is drawn from; and the noise, the L1 norm of a replacement over epsilon.
CELLS = {
    "epsilon 0.1": (40, 53.0, "laplace"),
    "epsilon 1": (40, 5.3, "laplace"),
    "epsilon 10": (40, 0.53, "laplace"),
    "gaussian": (40, 4.0, "gaussian"),
    "n unknown, epsilon 0.1": (range(20, 60), 60.0, "laplace"),
    "n unknown, epsilon 1": (range(20, 60), 6.0, "laplace"),
    "n unknown, gaussian": (range(20, 60), 4.0, "gaussian"),
}


EVERY_RUN = ("epsilon 1", "n unknown, epsilon 1")


@pytest.mark.parametrize(
    "cell",
    [pytest.param(c, marks=() if c in EVERY_RUN else pytest.mark.calibrate) for c in CELLS],
)
def test_truths_are_at_uniform_places(cell):
    n, scale, noise = CELLS[cell]
    rng = np.random.default_rng(len(cell))
    unknown = isinstance(n, range)
    made = mechanism(1, scale, None if unknown else n, noise)
    sizes = n if unknown else None
    places: dict[str, list[float]] = {"slope": [], "sigma": [], "n": []}
    for i in range(120):
        size = int(rng.integers(n[0], n[-1] + 1)) if unknown else n
        truth = simulated(rng, 1, size)
        numbers = truth["numbers"][0]
        release = released(made, np.append(float(size), numbers) if unknown else numbers, rng)
        given = model(n=sizes).read(release)
        found = sample_moments(given.hidden, draws=300, chains=2, warmup=250, seed=i)
        rows = found.rows * np.sqrt(found.n)[..., None, None]
        drawn = given.coefficients(found.n, found.mean, rows, rng)
        places["slope"].append(float(np.mean(drawn["beta"][..., 1] < truth["c"][0, 1])))
        places["sigma"].append(float(np.mean(drawn["sigma"] < truth["sigma"][0])))
        if unknown:  # a whole number, placed at random within its own probability
            below, same = np.mean(found.n < size), np.mean(found.n == size)
            places["n"].append(float(below + rng.random() * same))
    for each in places.values():
        if each:
            check(each)
