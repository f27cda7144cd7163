"""Simulation-based calibration of the gamma model, whose posterior is exact, bounds included.

True rates and records are drawn from the model, and the truth's place in its posterior, a
probability, must be uniform; intervals then cover what they say. False alarm 1e-6 a test.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6
REPLACE = bdp.Neighbours.REPLACE_ONE
N, PRIOR = 30, (4.0, 4.0)
COPIES: dict[str, dict[str, Any]] = {
    "moved": {"bounds": (0.0, 1.2), "clip": True},
    "moved, gaussian": {"bounds": (0.0, 1.2), "clip": True, "noise": "gaussian", "delta": 1e-5},
    "moved, truncated": {"bounds": (0.0, 2.0), "clip": True, "bounding": "truncated"},
    "refused": {"bounds": (0.0, 4.0)},
    "refused, above 0": {"bounds": (0.001, 4.0)},
    "far bounds": {"bounds": (0.0, 60.0), "shape": 2.5},
    "small copies": {"bounds": (0.0, 1.0), "clip": True, "copies": 5, "size": 7},
}
SUMS: dict[str, dict[str, Any]] = {
    "sum": {"mechanism": bdp.mechanisms.LaplaceMechanism(8.0, 8.0, REPLACE, n=N)},
    "sum of moved": {
        "mechanism": bdp.mechanisms.GaussianMechanism(
            4.0, 1.0, REPLACE, n=N, bounds=(0, N), bounding="inflated"
        ),
        "bounds": (0.0, 1.0),
    },
    "whole sum": {"mechanism": bdp.mechanisms.DiscreteLaplaceMechanism(6.0, 9.0, REPLACE, n=N)},
}


def check(places: list[float]) -> None:
    """Uniform, and with 95% intervals that cover in 95% of all cases."""
    assert stats.kstest(places, "uniform").pvalue > FALSE_ALARM
    covered = int(np.sum(np.abs(np.array(places) - 0.5) <= 0.475))
    assert stats.binomtest(covered, len(places), 0.95).pvalue > FALSE_ALARM


def drawn(rng: np.random.Generator, shape: float, bounds: Any, refused: bool) -> Any:
    """A rate and its records; of such as would be refused, others are drawn in their place."""
    while True:
        rate = rng.gamma(PRIOR[0]) / PRIOR[1]
        x = rng.gamma(shape, 1 / rate, N)
        if not refused or (x.min() >= bounds[0] and x.max() <= bounds[1]):
            return rate, x


@pytest.mark.parametrize(
    "kind",
    ["moved", *(pytest.param(k, marks=pytest.mark.calibrate) for k in COPIES if k != "moved")],
)
def test_rates_from_copies(kind):
    given = {"copies": 2, "epsilon": 2.0, "shape": 1.0, **COPIES[kind]}
    bounds, shape = given.pop("bounds"), given.pop("shape")
    made = bdp.ModipsSynthesizer(bdp.families.Gamma(bounds, shape), **given)
    model, rng = bdp.models.GammaModel(PRIOR, shape), np.random.default_rng(3)
    places, naive = [], []
    for i in range(200):
        rate, x = drawn(rng, shape, bounds, refused=not made.clip)
        with bdp.reproducible(i):
            release = made.release(x)
        places.append(float(model.posterior(release).cdf(rate)))
        naive.append(float(model.naive_posterior(release).cdf(rate)))
    check(places)
    if kind == "moved":  # the check has power
        assert stats.kstest(naive, "uniform").pvalue < FALSE_ALARM


@pytest.mark.parametrize(
    "kind",
    [
        "sum of moved",
        *(pytest.param(k, marks=pytest.mark.calibrate) for k in SUMS if " of" not in k),
    ],
)
def test_rates_from_noisy_sums(kind):
    mechanism, bounds = SUMS[kind]["mechanism"], SUMS[kind].get("bounds")
    model, rng = bdp.models.GammaModel(PRIOR, bounds=bounds), np.random.default_rng(4)
    free, places, naive = bdp.models.GammaModel(PRIOR), [], []
    for i in range(200):
        rate, x = drawn(rng, 1.0, bounds, refused=False)
        total: Any = (x if bounds is None else np.clip(x, *bounds)).sum()
        total = np.floor(total + 0.5).astype(int) if mechanism.whole else total
        with bdp.reproducible(i):
            release = bdp.publish(mechanism, total, copies=2, delta=1e-5)
        places.append(float(model.posterior(release).cdf(rate)))
        naive.append(float(free.posterior(release).cdf(rate)))
    check(places)
    if bounds is not None:  # a model of free records is convicted
        assert stats.kstest(naive, "uniform").pvalue < FALSE_ALARM


@pytest.mark.parametrize(
    ("method", "R", "shape"),
    [
        ("synthetic_one", 4.0, 1.0),
        *(
            pytest.param(method, *rest, marks=pytest.mark.calibrate)
            for method in ("parameter_draw", "synthetic_map", "synthetic_many")
            for rest in ((4.0, 1.0), (60.0, 2.5))
        ),
    ],
)
def test_rates_from_conjugate_releases(method, R, shape):
    size = 20 if method.startswith("synthetic") else None
    made = bdp.mechanisms.ConjugateMechanism(
        "gamma", method, N, (12.0, 40.0), size=size, R=R, shape=shape
    )
    model, rng = bdp.models.GammaModel(PRIOR, shape), np.random.default_rng(5)
    places, naive = [], []
    for i in range(200):
        rate, x = drawn(rng, shape, (0.0, R), refused=True)
        with bdp.reproducible(i):
            release = bdp.Release.of(made, made.release(made.statistic(x), 2), delta=0.5)
        places.append(float(model.posterior(release).cdf(rate)))
        naive.append(float(model.naive_posterior(release).cdf(rate)))
    check(places)
    assert stats.kstest(naive, "uniform").pvalue < FALSE_ALARM
