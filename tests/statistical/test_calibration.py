"""Simulation-based calibration: the true p ranks uniformly among its posterior draws.

One release of many groups, each with its own p from the prior, is many replicates in a
single fit (Talts et al. 2018). Chi-square on the ranks, false alarm 1e-6 a test.
"""

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from tests.conftest import require_pystan

KEPT = 99  # draws per replicate, so that ranks are 0..99
BINS = 20
FALSE_ALARM = 1e-6


def simulate(model: bdp.BinomialModel, replicates: int, seed: int, **synthesizer):
    """True proportions from the prior, and a release of data from each."""
    rng = np.random.default_rng(seed)
    p = rng.beta(*model.prior, size=replicates)
    x = rng.binomial(30, p)
    counts = {i: bdp.Count(int(x[i]), 30) for i in range(replicates)}
    with bdp.reproducible(seed):
        return p, bdp.BetaBinomialSynthesizer(**synthesizer).release(counts)


def ranks(idata, truth: np.ndarray) -> np.ndarray:
    draws = idata.posterior["p"].to_numpy().reshape(-1, truth.size)
    thin = draws[:: draws.shape[0] // KEPT][:KEPT]
    assert len(thin) == KEPT
    return (thin < truth).sum(axis=0)


def check_uniform(observed: np.ndarray) -> None:
    counts = np.bincount(observed * BINS // (KEPT + 1), minlength=BINS)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "epsilon", "copies"),
    [
        ((0.5, 3.0), 2.0, 5),
        *(
            pytest.param(*each, marks=pytest.mark.calibrate)
            for each in (((1.0, 1.0), 2.0, 5), ((0.5, 3.0), 0.5, 1), ((1.0, 1.0), 0.5, 1))
        ),
    ],
)
def test_exact_engine(prior, epsilon, copies):
    model = bdp.BinomialModel(prior=prior)
    truth, release = simulate(model, 2000, seed=17, epsilon=epsilon, copies=copies)
    check_uniform(ranks(model.fit(release, draws=KEPT, chains=1, seed=3), truth))


def test_the_check_convicts_the_naive_posterior():
    """The same test sees that the posterior which believes the copies is wrong."""
    model = bdp.BinomialModel()
    truth, release = simulate(model, 500, seed=17, epsilon=2.0, copies=5)
    observed = ranks(model.fit_naive(release, draws=KEPT, chains=1, seed=3), truth)
    counts = np.bincount(observed * BINS // (KEPT + 1), minlength=BINS)
    assert stats.chisquare(counts).pvalue < FALSE_ALARM


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # of 400, by chance
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_nuts_engines(engine):
    if engine == "stan":
        require_pystan()
    model = bdp.BinomialModel(prior=(1.0, 2.0))
    truth, release = simulate(model, 400, seed=23, epsilon=3.0, copies=2)
    idata = model.fit(release, engine=engine, draws=2 * KEPT, chains=2, warmup=200, seed=5)
    assert not idata.sample_stats["diverging"].any()
    check_uniform(ranks(idata, truth))


@pytest.mark.slow
def test_n_unknown_is_calibrated_too():
    """n from its prior as well; the exact cdf at the truth is uniform."""
    rng = np.random.default_rng(4)
    model = bdp.BinomialModel(n=range(10, 31))
    pit = []
    for i in range(400):
        p, n = rng.beta(1, 1), int(rng.integers(10, 31))
        data = bdp.Count(int(rng.binomial(n, p)), n)
        synthesizer = bdp.BetaBinomialSynthesizer(3.0, copies=2, size=20, public_n=False)
        with bdp.reproducible(i):
            pit.append(model.posterior(synthesizer.release(data)).cdf(p))
    assert stats.kstest(pit, "uniform").pvalue > FALSE_ALARM
