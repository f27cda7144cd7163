"""Warnings of numbers in a model that were computed from its records."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.engines.pymc.sampling import import_pymc

pm = import_pymc()

N = 57
RANDOM = np.random.default_rng(1)
X = RANDOM.normal(40, 10, N)
Y = X / 3 + RANDOM.normal(size=N)
HELD = "the model holds the {} of 'y', or a round multiple"
CENTRED = "'x' has mean 0, as if it had been centred at its own mean"


def regression(
    *, mean: float = 0.0, sd: float = 1.0, most: float = 5.0, x: Any = X, y: Any = Y, **options: Any
) -> Any:
    with pm.Model() as model:
        a, b = pm.Normal("a", mean, sd, **options), pm.Normal("b", 0, 1)
        sigma = pm.Uniform("sigma", 0, most)
        pm.Normal("y", a + b * pm.Data("x", x), sigma, observed=y)
    return model


def above(number: float) -> Any:
    return pm.distributions.transforms.Interval(number, None)


def centred_in_the_model() -> Any:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("b", 0, 1) * (X - X.mean()), 1, observed=Y)
    return model


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: regression(mean=Y.mean()), HELD.format("mean")),
        (lambda: regression(mean=float(np.median(Y))), HELD.format("median")),
        (lambda: regression(sd=2.5 * Y.std()), HELD.format("standard deviation")),
        (lambda: regression(sd=10 * Y.std(ddof=1)), HELD.format("standard deviation")),
        (lambda: regression(most=Y.max()), HELD.format("largest value")),
        (lambda: regression(transform=above(Y.min())), HELD.format("smallest value")),
        (lambda: regression(x=X - X.mean()), CENTRED),
        (lambda: regression(x=(X - X.mean()) / X.std()), CENTRED),
        (centred_in_the_model, "a column of records has mean 0"),
    ],
)
def test_a_number_that_was_computed_from_records_is_told(build: Callable[[], Any], message: str):
    with pytest.warns(UserWarning, match=rf"{message}.*what_goes_wrong\.md#numbers") as caught:
        bdp.censor(build(), epsilon=1.0)
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mean": 13.3, "sd": 10.0},
        {"x": np.linspace(-1, 1, N)},  # symmetric, by design
        {"x": np.where(np.arange(N) < 19, -1.0, 0.5)},  # a contrast
        {"y": np.append(Y[1:], 1e300)},  # whose standard deviation is beyond all floats
        {"mean": 1 / 3, "y": np.repeat([0.0, 1.0, 0.0], 19)},
    ],
)
def test_numbers_that_may_be_anyones_are_not_told(options: dict[str, Any]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bdp.censor(regression(**options), epsilon=1.0)


def test_a_release_tells_too():
    data = {"x": X - X.mean(), "y": Y}
    made = bdp.synthesizers.CensoredRegressionSynthesizer(
        epsilon=1.0,
        response="y",
        predictors=("x",),
        covariates={"x": [0.0]},
        size=1,
        engine="grid",
        grid_bounds={"intercept": (-9, 9), "slope_x": (-2, 2), "sigma": (0.1, 5)},
        grid_size=4,
    )
    with pytest.warns(UserWarning, match=CENTRED):
        made.release(data)
