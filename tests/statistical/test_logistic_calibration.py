"""Simulation-based calibration of logistic regressions, by every kind of release and engine.

True coefficients and records are drawn from the model, and the truth's place among its posterior
draws must be uniform. False alarm 1e-6 a test.
"""

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.regression.perturbed_coefficients_records import gathered
from tests.conftest import require_pystan
from tests.statistical.test_models_calibration import check

pytestmark = pytest.mark.slow

REPLACE = bdp.Neighbours.REPLACE_ONE
LABELS = {"a": (1, 2, 6), "b": ("u", "v"), "y": (0, 1)}
AXES = tuple(Axis(name, categories=labels) for name, labels in LABELS.items())
# The intercept, a and b[v], as the prior takes them, one row a combination of a and b.
A, B = np.repeat([-1.0, -0.6, 1.0], 2), np.tile([0.0, 1.0], 3)
COLUMNS = np.stack([np.ones(6), A, B], axis=1)
OWN = np.array([[1, -7 / 5, 0], [0, 2 / 5, 0], [0, 0, 1]])  # a is (a - 3.5) / 2.5 there
N, SD = 60, 1.2


def poisson_cells(x):
    return bdp.publish(bdp.mechanisms.PerturbedHistogramMechanism(2.0, 12, axes=AXES), x)


def cells(x):
    return bdp.publish(bdp.mechanisms.PerturbedHistogramMechanism(3.0, 12, REPLACE, N, AXES), x)


def marginals(x):
    pairs = (("a", "y"), ("b", "y"))
    made = bdp.mechanisms.NoisyMarginalsMechanism(2.0, AXES, pairs, "gaussian", REPLACE, N)
    return bdp.publish(made, made.statistic(x))


def copies(x):
    return bdp.publish(
        bdp.mechanisms.DirichletMultinomialMechanism(N, 80, 12, 4.0, (), AXES), x, copies=2
    )


def answers(x):
    return bdp.publish(
        bdp.mechanisms.RandomizedResponseMechanism.kary(2.5, 12, N), np.repeat(np.arange(12), x)
    )


def coefficients(x):
    bounds = {"a": (1, 6), "b": (0, 1), "y": (0, 1)}
    made = bdp.mechanisms.PerturbedCoefficientsMechanism(bounds, "y", 3.0, 0.3, N, loss="logistic")
    records = np.array([[a, b, y] for a in (1, 2, 6) for b in (0, 1) for y in (0, 1)])
    found = gathered(made.family, made.loss, np.repeat(records, x, axis=0), clip=False)
    return bdp.publish(made, made.statistic(found))


@pytest.mark.filterwarnings("ignore:the chains of this fit")  # of one in hundreds
@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        (poisson_cells, "auto"),
        (copies, "auto"),
        *(
            pytest.param(*each, marks=pytest.mark.calibrate)
            for each in (
                (cells, "auto"),
                (answers, "auto"),
                ("public", "auto"),
                (marginals, "auto"),
                (coefficients, "auto"),
                (poisson_cells, "stan"),
                (answers, "stan"),
                ("public", "pymc"),
            )
        ),
    ],
)
def test_coefficients(kind, engine):
    if engine == "stan":
        require_pystan()
    rng, places = np.random.default_rng(6), []
    options = {"draws": 150, "chains": 2, "warmup": 100, "thin": 2}
    if kind == coefficients:  # whose iterations cost more, and tell more
        options["thin"] = 1
    if engine != "auto":
        options = {"draws": 500, "chains": 1, "warmup": 300}
    categories = {answers: LABELS, coefficients: {"a": (1, 2, 6), "b": (0, 1)}}
    for i in range(40):
        u = rng.normal(0, SD, 3)
        p = 1 / (1 + np.exp(-COLUMNS @ u))
        frequent = np.exp(rng.normal(0, 0.8, 6))
        rates = np.stack([frequent * (1 - p), frequent * p], axis=1).ravel()
        with bdp.reproducible(i):
            if kind == "public":
                which = rng.integers(6, size=N)
                data = {"a": np.array([1, 2, 6])[which // 2], "b": np.array(["u", "v"])[which % 2]}
                y = (rng.random(N) < p[which]).astype(int)
                release = bdp.publish(
                    bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, N), y, copies=2
                )
            elif kind == poisson_cells:
                release = kind(rng.poisson(rates * np.exp(rng.normal(1.5, 0.5))))
            else:
                release = kind(rng.multinomial(N, rates / rates.sum()))
        made = bdp.LogisticRegressionModel(
            "y ~ a + b",
            (0.0, SD),
            spread=0.8,
            rate=(1.5, 0.5),
            data=data if kind == "public" else None,
            categories=categories.get(kind),
            factors=["b"] if kind == coefficients else [],
        )
        idata = made.fit(release, engine=engine, seed=i, **options)
        one = idata.posterior["beta"][..., i % 3].to_numpy()  # each coefficient in turn
        places.append(np.mean(one < (OWN @ u)[i % 3]))
    check(places)
