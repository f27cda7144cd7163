"""Simulation-based calibration of the log-linear model, by every engine and kind of release.

True effects and tables are drawn from the model, and the truth's place among its posterior draws
must be uniform. False alarm 1e-6 a test.
"""

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis
from tests.conftest import require_pystan
from tests.statistical.test_models_calibration import check

pytestmark = pytest.mark.slow

REPLACE = bdp.Neighbours.REPLACE_ONE
AXES = (Axis("a", categories=("x", "y")), Axis("b", categories=(0, 1)))
# 1 and -1 for the first and the second category, in the order of the cells.
COLUMNS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])

OPTIONS = {"draws": 250, "chains": 2, "warmup": 150, "thin": 3}


def cells(n):
    if n is None:
        return bdp.mechanisms.DiscreteLaplaceMechanism(1.5, dimension=4)
    return bdp.mechanisms.DiscreteLaplaceMechanism(1.5, 2.0, REPLACE, 4, n=n)


def marginals(n):
    relation = bdp.Neighbours.ADD_REMOVE if n is None else REPLACE
    return bdp.mechanisms.NoisyMarginalsMechanism(
        1.5, AXES, (("a",), ("a", "b")), "gaussian", relation, n
    )


@pytest.mark.filterwarnings("ignore:the chains of this fit")  # of one in hundreds
@pytest.mark.parametrize(
    ("kind", "n", "engine", "prior"),
    [
        (cells, None, "hmc", 0.7),
        (marginals, 25, "gibbs", None),
        pytest.param(cells, 25, "gibbs", 0.7, marks=pytest.mark.calibrate),
        pytest.param(cells, None, "gibbs", None, marks=pytest.mark.calibrate),
        pytest.param(cells, None, "hmc", None, marks=pytest.mark.calibrate),
        pytest.param(marginals, None, "gibbs", 0.7, marks=pytest.mark.calibrate),
        pytest.param(cells, None, "stan", None, marks=pytest.mark.calibrate),
    ],
)
def test_effects(kind, n, engine, prior):
    if engine == "stan":
        require_pystan()
    by_stan = {"draws": 500, "chains": 1, "warmup": 300}
    options = by_stan if engine == "stan" else OPTIONS
    rng, mechanism = np.random.default_rng(5), kind(n)
    named = {axis.name: axis.categories for axis in AXES} if kind is cells else None
    model = bdp.models.LogLinearModel("a*b", prior, intercept=(1.5, 0.5), categories=named)
    places = []
    for i in range(60 if engine == "stan" else 100):
        tau = np.abs(rng.normal(0, 1, 3)) if prior is None else np.full(3, prior)
        beta = rng.normal(0, tau)
        rates = np.exp(COLUMNS @ beta + rng.normal(1.5, 0.5))
        x = rng.poisson(rates) if n is None else rng.multinomial(n, rates / rates.sum())
        statistic = mechanism.statistic(x) if kind is marginals else x
        with bdp.reproducible(i):
            drawn = mechanism.release(statistic, 2)
        release = bdp.Release.of(mechanism, [tuple(z.tolist()) for z in drawn])
        idata = model.fit(release, engine=engine, seed=i, cells=False, **options)
        assert idata.attrs["engine"] == engine
        one = idata.posterior["beta"][..., -1 - i % 3].to_numpy()  # each effect in turn
        places.append(np.mean(one < beta[-1 - i % 3]))
        if prior is None:
            spread = idata.posterior["tau"][..., i % 3].to_numpy()
            places.append(np.mean(spread < tau[i % 3]))
    if prior is None:
        check(places[1::2])
        places = places[::2]
    check(places)
