"""Simulation-based calibration of linear regressions from copies drawn by noisy moments.

Parameters, records' moments, noise and copies are drawn from the model, and the truth's place in
the posterior, a probability, must be uniform. False alarm 1e-6 a test.
"""

import dataclasses

import arviz as az
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.inference.regression.copies_chain import sample_copies
from tests.inference.regression.test_copies import (
    mechanism,
    modips,
    moments,
    reading,
    released,
    released_modips,
)
from tests.inference.regression.test_linear_regression import PREDICTORS, PRIOR
from tests.statistical.test_models_calibration import check

pytestmark = pytest.mark.slow

N = 40
OTHER = (0.1, 2.0, 4.0, 0.2)
"""Prior of the column left out; the model's own has records far beyond any bounds."""
# Steps of columns, scale of the noise in units of sensitivities, records of a copy, copies, noise.
CELLS = {
    "much noise": ([["x0", "y"]], 8.0, 60, 2, "laplace"),
    "little noise": ([["x0", "y"]], 0.2, 60, 2, "laplace"),
    "gaussian": ([["x0", "y"]], 2.0, 30, 1, "gaussian"),
    "two steps, a column left out": ([["x0"], ["w", "y"]], 1.0, 40, 2, "laplace"),
    "a regression's own family": (None, 2.0, 40, 2, "laplace"),
}
EVERY_RUN = "little noise"


def records(rng, left_out):
    """Parameters from the prior, and records: the predictor, the response, a column left out."""
    m0, k, a, b = PRIOR
    m, r, nu, psi = PREDICTORS
    spread = psi / 2 / rng.standard_gamma(nu / 2)
    x = rng.normal(rng.normal(m, np.sqrt(spread / r)), np.sqrt(spread), N)
    sigma = np.sqrt(b / rng.standard_gamma(a))
    c = m0 + sigma * rng.standard_normal(2) / np.sqrt(k)
    table = np.column_stack([x, c[0] + c[1] * x + sigma * rng.standard_normal(N)])
    if left_out:
        m0, k, a, b = OTHER
        own = np.sqrt(b / rng.standard_gamma(a))
        slopes = m0 + own * rng.standard_normal(3) / np.sqrt(k)
        other = slopes[0] + table @ slopes[1:] + own * rng.standard_normal(N)
        table = np.column_stack([table, other])
    return c, sigma, table


def places(cell, replicates, seed=5, change=None):
    """Places of the truths, and how many of the copies' numbers were at a bound."""
    steps, scale, size, copies, noise = CELLS[cell]
    rng, clipped = np.random.default_rng(seed), 0
    if steps is None:
        columns = ["x0", "y"]
        made = modips(columns, scale, N, size, noise)
    else:
        columns = [name for step in steps for name in step]
        made = mechanism(steps, scale, N, size, noise)
    found = {"intercept": [], "slope": [], "sigma": []}
    for i in range(replicates):
        c, sigma, table = records(rng, "w" in columns)
        if steps is None:
            release = released_modips(made, moments(table), rng, copies)
        else:
            named = dict(zip(["x0", "y", "w"], table.T, strict=False))
            numbers = [
                moments(np.column_stack([named[name] for name in layout.measured]))
                for layout in made.layouts
            ]
            release = released(made, numbers, rng, copies)
        given = reading(release, predictors=["x0"])
        n, (frame, priors, _), *rest = given.problem
        problem = (n, (frame, priors, np.array(OTHER)), *rest)
        given = dataclasses.replace(given, problem=problem)
        if change is not None:
            given = change(given)
        chain = sample_copies(given, draws=300, chains=2, warmup=300, seed=i)
        rows = chain.rows * np.sqrt(chain.n)[..., None, None]
        drawn = given.coefficients(chain.n, chain.mean, rows, rng)
        found["intercept"].append(float(np.mean(drawn["beta"][..., 0] < c[0])))
        found["slope"].append(float(np.mean(drawn["beta"][..., 1] < c[1])))
        found["sigma"].append(float(np.mean(drawn["sigma"] < sigma)))
        clipped += given.clipped
    return found, clipped / (replicates * copies * size * len(columns))


@pytest.mark.parametrize(
    "cell",
    [pytest.param(c, marks=() if c == EVERY_RUN else pytest.mark.calibrate) for c in CELLS],
)
def test_truths_are_at_uniform_places(cell):
    found, clipped = places(cell, 60 if cell == EVERY_RUN else 200)
    assert clipped > 0.01
    for each in found.values():
        check(each)


@pytest.mark.calibrate
def test_five_columns_mix():
    """Noise on sums that is drawn with that on products leaves the intercept 40 effective draws."""
    rng, columns = np.random.default_rng(5), list("abcde")
    table = rng.normal(size=(2000, 5)) @ np.linalg.cholesky((np.eye(5) + 1) / 2).T * 0.3
    made = bdp.synthesizers.SequentialModipsSynthesizer(
        [bdp.synthesizers.NumericColumns(dict.fromkeys(columns, (-1, 1)))], epsilon=3.0, copies=3
    )
    with bdp.reproducible(1):
        release = made.release(pd.DataFrame(table.clip(-1, 1), columns=columns))
    fitted = bdp.models.LinearRegressionModel("e").fit(release, seed=1)
    assert min(float(each.min()) for each in az.ess(fitted).values()) > 1000
