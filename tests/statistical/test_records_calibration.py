"""Simulation-based calibration of data augmentation: one by one and counted, n known and unknown.

The truth's place among the draws must be uniform. False alarm 1e-6 a test.
"""

import numba
import numpy as np
import pytest

import bayesdp as bdp
from tests.inference import record_functions as f
from tests.statistical.test_models_calibration import check

REPLACE = bdp.Neighbours.REPLACE_ONE
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the chains of this fit"),  # of one in hundreds
]


@numba.njit
def clamped(record, out):
    out[0] = min(max(record[0], -1.5), 1.5)


def place(idata, name, truth, rng):
    """Of the truth among the draws, ties broken at random."""
    drawn = idata.posterior[name].to_numpy()
    drawn = drawn[..., 0] if drawn.ndim > 2 else drawn
    return np.mean(drawn < truth) + rng.random() * np.mean(drawn == truth)


def test_normal_means_and_numbers_of_records():
    """Clamped sums with Laplace noise, n unknown, by reversible jump; mean and n."""
    rng, sizes = np.random.default_rng(1), range(8, 21)
    mechanism = bdp.mechanisms.LaplaceMechanism(2.0, 1.5)
    model = bdp.models.RecordModel(
        {"mu": ()}, f.normal_start, f.normal_given, clamped, f.normal, n=sizes
    )
    of_mean, of_n = [], []
    for i in range(120):
        mu, n = rng.normal(), int(rng.choice(sizes))
        total = np.clip(rng.normal(mu, 1.0, n), -1.5, 1.5).sum()
        with bdp.reproducible(i):
            release = bdp.publish(mechanism, total)
        idata = model.fit(release, draws=4000, chains=2, warmup=200, seed=i)
        of_mean.append(place(idata, "mu", mu, rng))
        of_n.append(place(idata, "n", n, rng))
    check(of_mean)
    check(of_n)


def test_categories_counted():
    """Noisy cells set to 0 where negative, n unknown: theta and n."""
    rng, sizes = np.random.default_rng(2), range(10, 41)
    mechanism = bdp.mechanisms.PerturbedHistogramMechanism(1.5, 3)
    model = bdp.models.RecordModel(
        {"theta": (3,)},
        f.start,
        f.counts_given,
        f.one_of_three,
        support=np.arange(3),
        probabilities=f.chances,
        n=sizes,
    )
    of_theta, of_n = [], []
    for i in range(100):
        theta, n = rng.dirichlet(np.ones(3)), int(rng.choice(sizes))
        with bdp.reproducible(i):
            release = bdp.publish(mechanism, rng.multinomial(n, theta), copies=2)
        idata = model.fit(release, draws=1000, chains=2, warmup=100, seed=i)
        of_theta.append(place(idata, "theta", theta[0], rng))
        of_n.append(place(idata, "n", n, rng))
    check(of_theta)
    check(of_n)


def test_answers_one_by_one():
    rng, n = np.random.default_rng(3), 30
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.kary(1.5, 3, n=n)
    model = bdp.models.RecordModel(
        {"theta": (3,)}, f.start, f.categories_given, f.itself, f.category
    )
    places = []
    for i in range(100):
        theta = rng.dirichlet(np.ones(3))
        with bdp.reproducible(i):
            release = bdp.publish(mechanism, rng.choice(3, size=n, p=theta))
        idata = model.fit(release, draws=3000, chains=2, warmup=100, seed=i)
        places.append(place(idata, "theta", theta[0], rng))
    check(places)
