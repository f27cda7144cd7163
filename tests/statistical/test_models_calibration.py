"""Simulation-based calibration of the normal and multinomial models, exactly and by Gibbs.

True parameters and data are drawn from the model, and the truth's place in its exact posterior, a
probability, must be uniform; intervals then cover what they say. False alarm 1e-6 a test.
"""

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp

FALSE_ALARM = 1e-6
REPLACE = bdp.Neighbours.REPLACE_ONE


def check(places) -> None:
    """Uniform, and with 95% intervals that cover in 95% of all cases."""
    places = np.array(places)
    assert stats.kstest(places, "uniform").pvalue > FALSE_ALARM
    covered = int(np.sum(np.abs(places - 0.5) <= 0.475))
    assert stats.binomtest(covered, places.size, 0.95).pvalue > FALSE_ALARM


NORMAL = {
    "laplace": lambda n: bdp.mechanisms.LaplaceMechanism(0.4, 0.1, REPLACE, n=n),
    "inflated": lambda n: bdp.mechanisms.GaussianMechanism(
        0.5, 0.1, REPLACE, bounds=(-1.0, 1.0), bounding="inflated", n=n
    ),
    "discrete": lambda n: bdp.mechanisms.DiscreteLaplaceMechanism(3.0, 2.0, REPLACE, n=n),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NORMAL)
def test_normal_means_from_noise(kind):
    rng, n, sd = np.random.default_rng(1), 15, 1.2
    mechanism = NORMAL[kind](n)
    model = bdp.GaussianModel((0.2, 0.8), sd=sd, statistic="sum" if mechanism.whole else "mean")
    places = []
    for i in range(300):
        mu = rng.normal(0.2, 0.8)
        x = rng.normal(mu, sd, n)
        statistic = np.floor(x.sum() + 0.5) if mechanism.whole else x.mean()
        with bdp.reproducible(i):
            release = bdp.publish(mechanism, statistic, copies=2)
        places.append(model.posterior(release).cdf(mu))
    check(places)


@pytest.mark.slow
@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
def test_normal_means_from_copies(bounding):
    rng, n, sd = np.random.default_rng(2), 60, 1.0
    family = bdp.families.Gaussian(bounds=(-9.0, 9.0), sd=sd)
    made = bdp.ModipsSynthesizer(family=family, epsilon=1.5, copies=2, bounding=bounding, size=30)
    model = bdp.GaussianModel((0.5, 1.0), sd=sd)
    places, naive = [], []
    for i in range(150):
        mu = rng.normal(0.5, 1.0)
        with bdp.reproducible(i):
            release = made.release(rng.normal(mu, sd, n))
        places.append(model.posterior(release).cdf(mu))
        naive.append(model.naive_posterior(release).cdf(mu))
    check(places)
    assert stats.kstest(naive, "uniform").pvalue < FALSE_ALARM  # the check has power


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["mean", *[pytest.param(name, marks=pytest.mark.slow) for name in ("sum", "copies")]]
)
def test_means_and_sds(kind):
    """Both unknown: from noisy moments, and from modips copies, whose bounds are far.

    In a quarter of the copies noise has moved the variance to 0.
    """
    rng, n, (m0, k, a, b) = np.random.default_rng(6), 20, (0.3, 2.0, 5.0, 4.0)
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, 2, n=n)
    if kind == "sum":
        noise = bdp.mechanisms.GaussianMechanism(8.0, 1.0, REPLACE, 2, n=n)
    family = bdp.families.Gaussian(bounds=(-12.0, 12.0))
    made = bdp.ModipsSynthesizer(family=family, epsilon=60.0, copies=2, size=15)
    model = bdp.GaussianModel((m0, k, a, b), statistic="sum" if kind == "sum" else "mean")
    means, sds = [], []
    for i in range(200 if kind == "sum" else 100):
        sigma = np.sqrt(b / rng.standard_gamma(a))
        mu = rng.normal(m0, sigma / np.sqrt(k))
        x = rng.normal(mu, sigma, n)
        moments = (x.sum(), (x**2).sum()) if kind == "sum" else (x.mean(), x.var(ddof=1))
        with bdp.reproducible(i):
            release = made.release(x) if kind == "copies" else bdp.publish(noise, moments, copies=2)
        posterior = model.posterior(release)
        means.append(posterior.cdf_mu(mu))
        sds.append(posterior.cdf_sigma(sigma))
    check(means)
    check(sds)


def table_release(kind, n):
    if kind == "histogram":
        return bdp.mechanisms.PerturbedHistogramMechanism(3.0, 4, REPLACE, n=n)
    if kind == "copies":
        return bdp.mechanisms.ConjugateMechanism(
            "categorical", "synthetic_one", n, (5.0,) * 4, size=n
        )
    return bdp.mechanisms.ModipsSBSMechanism(bdp.families.Categorical(4), n, (2.0,) * 4, n=n)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["histogram", "copies", pytest.param("modips", marks=pytest.mark.slow)]
)
def test_probabilities_from_tables(kind):
    """The modips copies by Gibbs sampling: the rank of the truth among thinned draws."""
    rng, alpha, n = np.random.default_rng(3), (0.8, 2.0, 1.0, 0.5), 25 if kind != "modips" else 100
    mechanism, model = table_release(kind, n), bdp.MultinomialModel(alpha)
    places = []
    for i in range(100 if kind == "modips" else 300):
        theta = rng.dirichlet(alpha)
        with bdp.reproducible(i):
            release = bdp.publish(mechanism, rng.multinomial(n, theta), copies=2, delta=1e-3)
        if kind == "modips":
            # Two chains: a place is off by some 0.04, and of 100 the test sees 0.27.
            idata = model.fit(release, draws=500, chains=2, warmup=200, seed=i)
            assert idata.attrs["engine"] == "gibbs"
            drawn = idata.posterior["theta"].to_numpy()[..., 1].ravel()
            places.append(np.mean(drawn < theta[1]))
        else:
            places.append(model.posterior(release, 1).cdf(theta[1]))
    check(places)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit")  # of one in hundreds
def test_probabilities_from_answers():
    rng, alpha, n = np.random.default_rng(4), (1.0, 2.0, 0.7), 40
    mechanism, model = (
        bdp.mechanisms.RandomizedResponseMechanism.kary(1.5, 3, n=n),
        bdp.MultinomialModel(alpha),
    )
    places = []
    for i in range(150):
        theta = rng.dirichlet(alpha)
        with bdp.reproducible(i):
            release = bdp.publish(mechanism, rng.choice(3, size=n, p=theta))
        idata = model.fit(release, engine="gibbs", draws=1000, seed=i, warmup=100)
        places.append(np.mean(idata.posterior["theta"].to_numpy()[..., 0] < theta[0]))
    check(places)
