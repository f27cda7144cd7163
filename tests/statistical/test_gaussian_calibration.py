"""Simulation-based calibration of NUTS, by PyMC and Stan, on normal records' means and sds.

Groups of a `GaussianModel` are independent, so that one fit of many is as many replicates: true
parameters are drawn from the prior, and their ranks among the draws must be uniform. The chance of
a false alarm is 1e-6 for each parameter.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from tests.conftest import require_pystan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning"),
]

FALSE_ALARM = 1e-6
REPLACE = bdp.Neighbours.REPLACE_ONE
N, SD, PRIOR = 12, 1.2, (0.2, 0.8)
UNKNOWN = (0.3, 2.0, 5.0, 4.0)
FITS = {"stan": 1, "pymc": 8}
"""Fits that 400 groups are spread over: PyMC's program has a term for each group, and compiles
long."""
RUNS = {
    "stan": {"draws": 198, "chains": 2, "warmup": 200},  # of which 99 are all but independent
    "pymc": {"draws": 300, "warmup": 300},
}


def made(kind: str, rng: np.random.Generator, groups: int) -> tuple[Any, bdp.Release, dict]:
    """Model, release of two outputs a group, and true parameters, each of shape (groups,)."""
    sd: Any = SD
    if kind == "moments":
        m0, k, a, b = UNKNOWN
        sd = np.sqrt(b / rng.standard_gamma(a, groups))
        mu = rng.normal(m0, sd / math.sqrt(k))
        noise: Any = bdp.mechanisms.LaplaceMechanism(0.4, 0.1, REPLACE, 2, n=N)
    else:
        mu = rng.normal(*PRIOR, groups)
        noise = {
            "laplace": bdp.mechanisms.LaplaceMechanism(0.4, 0.1, REPLACE, n=N),
            "inflated": bdp.mechanisms.GaussianMechanism(
                0.5, 0.1, REPLACE, bounds=(-0.5, 1.0), bounding="inflated", n=N
            ),
        }[kind]
    x = rng.normal(mu[:, None], np.reshape(sd, (-1, 1)), (groups, N))
    numbers: Any = x.mean(axis=1)
    if kind == "moments":
        numbers = np.stack([numbers, x.var(axis=1, ddof=1)], axis=1)
    outputs = {g: (noise, noise.release(each, 2)) for g, each in enumerate(numbers)}
    model = bdp.GaussianModel(UNKNOWN) if kind == "moments" else bdp.GaussianModel(PRIOR, sd=SD)
    truths = {"mu": mu, "sigma": sd} if kind == "moments" else {"mu": mu}
    return model, bdp.Release.of_groups(outputs), truths


def check_uniform(ranks: Any) -> None:
    """Ranks among 99 draws, of which there are 100, in 20 bins."""
    assert stats.chisquare(np.bincount(np.array(ranks) // 5, minlength=20)).pvalue > FALSE_ALARM


def thinned(draws: Any, count: int = 99) -> np.ndarray:
    """Some draws of all chains, far apart; shape (count, ...)."""
    every = draws.to_numpy()
    every = every.reshape(-1, *every.shape[2:])
    return every[np.linspace(0, len(every) - 1, count).astype(int)]


@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        ("inflated", "stan"),
        *(
            pytest.param(kind, engine, marks=pytest.mark.calibrate)
            for kind in ("laplace", "inflated", "moments")
            for engine in FITS
            if (kind, engine) != ("inflated", "stan")
        ),
    ],
)
def test_groups_are_calibrated(kind, engine):
    if engine == "stan":
        require_pystan()
    rng, ranks = np.random.default_rng(8), []
    for i in range(FITS[engine]):
        with bdp.reproducible(i):
            model, release, truths = made(kind, rng, 400 // FITS[engine])
        idata = model.fit(release, engine=engine, **RUNS[engine], seed=i)
        for name, truth in truths.items():
            ranks.append((name, (thinned(idata.posterior[name]) < truth).sum(axis=0)))
    for name in truths:
        check_uniform(np.concatenate([rank for each, rank in ranks if each == name]))


@pytest.mark.calibrate
@pytest.mark.parametrize("engine", ["stan", "pymc"])
@pytest.mark.parametrize("known", [True, False])
def test_a_population_of_groups_is_calibrated(known, engine):
    if engine == "stan":
        require_pystan()
    rng = np.random.default_rng(9)
    ranks: dict[str, list[int]] = {"mean": [], "spread": [], "mu": [], "sigma": []}
    model = bdp.models.HierarchicalGaussianModel(
        (0.0, 1.0), 1.0, sd=1.0 if known else None, variance=None if known else (5.0, 4.0)
    )
    noise = bdp.mechanisms.LaplaceMechanism(0.4, 0.1, REPLACE, None if known else 2, n=15)
    for i in range(200):
        sigma = 1.0 if known else math.sqrt(4.0 / rng.standard_gamma(5.0))
        truths = {"mean": rng.normal(), "spread": abs(rng.normal()), "sigma": sigma}
        mu = rng.normal(truths["mean"], truths["spread"], size=4)
        truths["mu"] = mu[0]
        x = rng.normal(mu[:, None], sigma, (4, 15))
        numbers: Any = x.mean(axis=1)
        if not known:
            numbers = np.stack([numbers, x.var(axis=1, ddof=1)], axis=1)
        with bdp.reproducible(i):
            outputs = {g: (noise, noise.release(each, 1)) for g, each in enumerate(numbers)}
        release = bdp.Release.of_groups(outputs)
        options = {"draws": 990, "chains": 1, "warmup": 500, "seed": i}
        posterior = model.fit(release, engine=engine, **options).posterior
        for name in posterior.data_vars:
            drawn = thinned(posterior[name]).reshape(99, -1)[:, 0]
            ranks[name].append(int((drawn < truths[name]).sum()))
    for name in [*model.variables]:
        check_uniform(ranks[name])
