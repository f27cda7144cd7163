"""The certified minimiser of a penalised logistic regression, and how far a record moves it."""

import math

import mpmath
import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.mechanisms.families.moments import STEPS
from bayesdp.mechanisms.regression import logistic_minimiser as logistic
from bayesdp.mechanisms.regression.perturbed_coefficients_records import gathered

BOUNDS = {"a": (0.0, 2.0), "ill": (0.0, 1.0), "b": (10.0, 30.0)}


def records(rng, n, p):
    x = np.rint(rng.uniform(-1, 1, (n, p)) * STEPS) / STEPS
    return np.column_stack([np.ones(n), x]), rng.choice([-1.0, 1.0], n)


def precise(x, y, penalty):
    """By Newton's method to the last digit of floats, from far and near."""
    w = np.zeros(x.shape[1])
    for _ in range(100):
        chance = special.expit(-y * (x @ w))
        slope = penalty * w - x.T @ (y * chance)
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + penalty * np.eye(w.size)
        step = np.linalg.solve(curvature, slope)
        w = w - step / max(1.0, np.linalg.norm(step))
    return w


@pytest.mark.parametrize("penalty", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("separable", [False, True])
def test_both_ways_get_as_near_as_they_promise(penalty, separable):
    x, y = records(np.random.default_rng(3), 50, 2)
    if separable:
        y = np.where(x[:, 1] > 0, 1.0, -1.0)
    limit, true = 2.0**-14 * math.sqrt(3) / penalty, precise(x, y, penalty)
    for found in (logistic.minimiser(x, y, penalty), logistic.descended(x, y, penalty)):
        assert np.linalg.norm(found - true) <= limit
        assert logistic.certified(x, y, np.array(found), penalty)
    rng = np.random.default_rng(1)
    for _ in range(20):  # and none that is further away is ever certified
        away = rng.normal(size=3)
        away *= limit * rng.uniform(1.001, 3) / np.linalg.norm(away)
        assert not logistic.certified(x, y, true + away, penalty)
    assert not logistic.certified(x, y, np.full(3, np.nan), penalty)


def test_gradient_descent_takes_over_where_newtons_method_fails(monkeypatch):
    x, y = records(np.random.default_rng(4), 30, 1)
    monkeypatch.setattr(logistic, "_newton", lambda *_: None)
    found = logistic.minimiser(x, y, 0.5)
    assert np.linalg.norm(found - precise(x, y, 0.5)) <= 2.0**-14 * math.sqrt(2) / 0.5


def test_the_bound_on_rounding_holds():
    """Against 60 digits."""
    rng, penalty = np.random.default_rng(5), 0.3
    x, y = records(rng, 40, 3)
    for size in (1e-3, 1.0, 50.0):
        w = rng.normal(0, size, 4)
        pull = -y * special.expit(-y * (x @ w))
        found = [math.fsum((pull * x[:, j]).tolist()) + penalty * w[j] for j in range(4)]
        with mpmath.workdps(60):
            far = [mpmath.mpf(v) for v in w]
            exact = [penalty * v - mpmath.mpf(h) for v, h in zip(far, found, strict=True)]
            for row, sign in zip(x.tolist(), y.tolist(), strict=True):
                along = mpmath.fsum(a * b for a, b in zip(row, far, strict=True))
                pulled = sign / (1 + mpmath.exp(sign * along))
                exact = [g - pulled * a for g, a in zip(exact, row, strict=True)]
            gap = float(mpmath.norm(exact))
        total, length = float(np.abs(w).sum()), float(np.linalg.norm(w))
        assert gap <= logistic._error(40, 4, penalty, total, length)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "predictors", "penalty"), [(1, 1, 0.5), (2, 2, 5.0), (12, 1, 2.0)])
def test_no_neighbours_are_further_apart(n, predictors, penalty):
    rng, worst = np.random.default_rng(6), 0.0

    def apart(x, y):
        one, other = (precise(x[s], y[s], penalty) for s in (slice(0, n), slice(1, n + 1)))
        assert np.linalg.norm(one) <= logistic.longest(n, predictors, penalty)
        return np.linalg.norm(one - other)

    for _ in range(3):
        x, y = records(rng, n + 1, predictors)
        here = apart(x, y)
        for _ in range(60):
            new, sign = x.copy(), y.copy()
            row = rng.choice([0, n, rng.integers(n + 1)])
            new[row, rng.integers(1, predictors + 1)] = rng.choice([-1, 1, rng.uniform(-1, 1)])
            sign[row] = rng.choice([-1, 1])
            if (there := apart(new, sign)) > here:
                x, y, here = new, sign, there
        worst = max(worst, here)
    most = logistic.sensitivity(predictors, penalty)
    assert most / 20 <= worst <= most


def test_what_is_released_is_the_certified_coefficients():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (300, 2))
    ill = (rng.random(300) < special.expit(1 + x[:, 0])).astype(float)
    table = np.column_stack([1 + x[:, 0], ill, 20 + 10 * x[:, 1]])
    declared = bdp.synthesizers.PerturbedCoefficientsSynthesizer(
        BOUNDS, "ill", 30.0, epsilon=2.0, loss="logistic"
    )
    made = declared.release(table).mechanism
    assert made.numbers == ("intercept", "a", "b")
    assert made.sensitivity == logistic.sensitivity(2, 30.0)
    found = gathered(made.family, "logistic", iter([table[:100], table[100:]]), clip=False)
    exact = precise(np.column_stack([np.ones(300), x]), 2 * ill - 1, 30.0)
    assert np.allclose(made.statistic(found), exact, atol=1e-4)
    promise = made.guarantee(delta=1e-6)
    assert promise.strength is bdp.Strength.PROVED
    assert promise.epsilon <= 2.0
    assert promise.source == "bayesdp.mechanisms.regression.logistic_minimiser"
    linear = (
        bdp.synthesizers.PerturbedCoefficientsSynthesizer(BOUNDS, "ill", 30.0)
        .release(table)
        .mechanism
    )
    with pytest.raises(bdp.errors.InvalidInput, match="is for another"):
        linear.statistic(found)


def test_what_is_refused_is_so_without_the_data_or_record_by_record():
    declared = bdp.synthesizers.PerturbedCoefficientsSynthesizer(
        BOUNDS, "ill", 30.0, loss="logistic"
    )
    with pytest.raises(bdp.errors.InvalidInput, match="isn't at one of its bounds"):
        declared.release(np.array([[1.0, 0.5, 20.0]]))
    with pytest.raises(bdp.errors.InvalidInput, match="empty"):
        declared.release(np.zeros((0, 3)))
    with pytest.raises(bdp.errors.InvalidInput, match="loss is 'hinge'"):
        bdp.synthesizers.PerturbedCoefficientsSynthesizer(BOUNDS, "ill", 30.0, loss="hinge")
    with pytest.raises(bdp.errors.InvalidInput, match="rounding errors might hide"):
        logistic.check_reachable(10**6, 2, 1e-3)
    for n in (1, 10**3, 10**7):
        for share in (0.1, 1.0, 1e6):
            logistic.check_reachable(n, 5, share * n)


def test_a_penalty_may_be_declared_that_is_enough_for_few_records():
    rng = np.random.default_rng(1)
    table = np.column_stack([rng.uniform(0, 1, 3000), rng.integers(0, 2, 3000)])
    declared = bdp.synthesizers.PerturbedCoefficientsSynthesizer(
        {"age": (0, 1), "ill": (0, 1)}, "ill", 2.0**-10, loss="logistic"
    )
    assert declared.release(table[:30]).mechanism.n == 30
    with pytest.raises(bdp.errors.InvalidInput, match="and n = 3000: rounding errors"):
        declared.release(table)
    assert declared.guarantee(30).epsilon <= 1.0
