"""Simulation-based calibration of linear regressions from noisy moments.

Parameters, moments and noise are drawn from the model, and the truth's place in the posterior, a
probability, must be uniform; intervals then cover what they say. False alarm 1e-6 a test.
"""

import numpy as np
import pytest

from bayesdp.inference.regression.chain import sample_moments
from tests.conftest import require_pystan
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


@pytest.mark.filterwarnings("ignore:the chains of this fit")  # of one in hundreds
@pytest.mark.parametrize(
    ("cell", "engine"),
    [
        *(
            pytest.param(c, "hmc", marks=() if c in EVERY_RUN else pytest.mark.calibrate)
            for c in CELLS
        ),
        *(pytest.param(c, "stan", marks=pytest.mark.calibrate) for c in (*EVERY_RUN, "gaussian")),
    ],
)
def test_truths_are_at_uniform_places(cell, engine):
    if engine == "stan":
        require_pystan()
    n, scale, noise = CELLS[cell]
    rng = np.random.default_rng(len(cell))
    unknown = isinstance(n, range)
    made = mechanism(1, scale, None if unknown else n, noise)
    fitted = model(n=n if unknown else None)
    places: dict[str, list[float]] = {"slope": [], "sigma": [], "n": []}
    for i in range(120 if engine == "hmc" else 60):
        size = int(rng.integers(n[0], n[-1] + 1)) if unknown else n
        truth = simulated(rng, 1, size)
        numbers = truth["numbers"][0]
        release = released(made, np.append(float(size), numbers) if unknown else numbers, rng)
        drawn = (by_hmc if engine == "hmc" else by_stan)(fitted, release, i, rng)
        places["slope"].append(float(np.mean(drawn["beta"][..., 1] < truth["c"][0, 1])))
        places["sigma"].append(float(np.mean(drawn["sigma"] < truth["sigma"][0])))
        if unknown:  # a whole number, placed at random within its own probability
            below, same = np.mean(drawn["n"] < size), np.mean(drawn["n"] == size)
            places["n"].append(float(below + rng.random() * same))
    for each in places.values():
        if each:
            check(each)


def by_hmc(fitted, release, seed, rng):
    given = fitted.read(release)
    found = sample_moments(given.hidden, draws=300, chains=2, warmup=250, seed=seed)
    rows = found.rows * np.sqrt(found.n)[..., None, None]
    return {"n": found.n, **given.coefficients(found.n, found.mean, rows, rng)}


def by_stan(fitted, release, seed, rng):
    """PyMC's program has the same density (tests/inference/test_regression_programs.py)."""
    options = {"draws": 500, "chains": 1, "warmup": 300, "seed": seed}
    posterior = fitted.fit(release, engine="stan", **options).posterior
    return {name: posterior[name].to_numpy() for name in posterior}
