"""Perturbed coefficients: the exact minimiser, how far a record moves it, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import optimize

import bayesdp as bdp
from bayesdp.mechanisms.families.moments import STEPS, totals_of
from bayesdp.mechanisms.regression import ridge
from bayesdp.mechanisms.regression.perturbed_coefficients_records import gathered

BOUNDS = {"a": (0.0, 2.0), "y": (-5.0, 5.0), "b": (10.0, 30.0)}


def made(penalty=3.0, n=40, **given) -> bdp.mechanisms.PerturbedCoefficientsMechanism:
    given = {"bounds": BOUNDS, "response": "y", "scale": 0.5, **given}
    return bdp.mechanisms.PerturbedCoefficientsMechanism(penalty=penalty, n=n, **given)


def of(mechanism, records):
    return gathered(mechanism.family, mechanism.loss, records, clip=False)


def coefficients(z, penalty):
    """Of records with z in [-1, 1], the response last."""
    x = np.column_stack([np.ones(len(z)), z[:, :-1]])
    return np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ z[:, -1])


@pytest.mark.parametrize("penalty", [1e-6, 0.3, 40.0])
def test_the_statistic_is_the_minimiser(penalty):
    rng = np.random.default_rng(1)
    z = np.rint(rng.uniform(-1, 1, (40, 3)) * STEPS) / STEPS
    table = pd.DataFrame({"a": 1 + z[:, 0], "b": 20 + 10 * z[:, 1], "y": 5 * z[:, 2], "c": "x"})
    mechanism = made(penalty)
    found = np.array(mechanism.statistic(of(mechanism, table)))
    assert mechanism.numbers == ("intercept", "a", "b")
    assert np.allclose(found, coefficients(z, penalty), rtol=1e-9, atol=1e-12)
    # Against a minimiser that knows nothing of normal equations.
    x = np.column_stack([np.ones(40), z[:, :2]])
    least = optimize.minimize(
        lambda w: np.sum((z[:, 2] - x @ w) ** 2) + penalty * w @ w, np.zeros(3), tol=1e-12
    )
    assert np.allclose(found, least.x, atol=1e-5)


def test_one_rounding_and_no_more():
    """Of nearly collinear columns, where floating point loses all digits."""
    u = np.array([[STEPS, STEPS - 1, 5], [STEPS - 1, STEPS, -7], [-STEPS, 1 - STEPS, 3]])
    x = [[Fraction(1), Fraction(int(r[0]), STEPS), Fraction(int(r[1]), STEPS)] for r in u]
    y = [Fraction(int(r[2]), STEPS) for r in u]
    found = ridge.minimiser(totals_of(u), 3, 3, 2, 2.0**-60)
    gradient = []
    for j in range(3):
        left = [
            t - sum(Fraction(w) * v for w, v in zip(found, r, strict=True))
            for r, t in zip(x, y, strict=True)
        ]
        pulled = sum(r[j] * e for r, e in zip(x, left, strict=True))
        gradient.append(float(pulled - Fraction(2) ** -60 * Fraction(found[j])))
    # A coefficient that is off by half a unit in its last place moves the gradient by so much.
    assert max(map(abs, gradient)) <= 9 * 2.0**-53 * max(map(abs, found))


@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("predictors", [1, 3])
@pytest.mark.parametrize("penalty", [0.01, 0.5, 3.0, 50.0])
def test_no_neighbours_are_further_apart(n, predictors, penalty):
    """A search by coordinates among records at the corners and within, from random starts."""
    rng = np.random.default_rng(4)
    most = ridge.sensitivity(n, predictors, penalty)
    longest, worst = ridge.longest(n, penalty), 0.0

    def apart(z):
        one, other = coefficients(z[:-1], penalty), coefficients(z[1:], penalty)
        assert np.linalg.norm(one) <= longest
        return np.linalg.norm(one - other)

    for start in range(4):
        z = rng.choice([-1.0, 1.0], (n + 1, predictors + 1)) if start % 2 else rng.uniform(
            -1, 1, (n + 1, predictors + 1)
        )  # fmt: skip
        here = apart(z)
        for _ in range(150):
            new = z.copy()
            row = rng.integers(n + 1) if rng.random() < 0.5 else rng.choice([0, n])
            new[row, rng.integers(predictors + 1)] = rng.choice([-1, 1, rng.uniform(-1, 1)])
            if (there := apart(new)) > here:
                z, here = new, there
        worst = max(worst, here)
    assert worst <= most
    if penalty >= n:
        assert worst >= most / 4  # and the bound isn't idle there


def test_one_record_attains_the_bound():
    """Of n = 1, where l >= R^2: the response at one end and at the other."""
    z = np.array([[1.0, 1.0], [1.0, -1.0]])
    one, other = coefficients(z[:1], 4.0), coefficients(z[1:], 4.0)
    apart = np.linalg.norm(one - other)
    assert math.isclose(apart, ridge.sensitivity(1, 1, 4.0), rel_tol=1e-9)


def test_the_promise_is_that_of_gaussian_noise():
    mechanism = bdp.mechanisms.PerturbedCoefficientsMechanism.calibrate(
        epsilon=1.0, delta=1e-6, bounds=BOUNDS, response="y", penalty=100.0, n=1000, copies=2
    )
    promise = mechanism.guarantee(copies=2, delta=1e-6)
    assert promise.epsilon <= 1.0
    assert promise.strength is bdp.Strength.PROVED
    assert promise.neighbours is bdp.Neighbours.REPLACE_ONE
    assert not any("caller" in each for each in promise.assumptions)
    assert any("bounds: others are refused" in each for each in promise.assumptions)
    continuous = math.sqrt(2) * mechanism.sensitivity / mechanism.scale
    assert math.isclose(promise.rho, continuous**2 / 2, rel_tol=1e-5)
    assert mechanism.delta(0.5) == mechanism.part.delta(0.5)
    assert mechanism.epsilon(1e-6) == mechanism.guarantee(delta=1e-6).epsilon
    with pytest.raises(bdp.errors.InvalidInput, match="'replace_one' alone"):
        mechanism.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE)
    with pytest.raises(bdp.errors.InvalidInput, match="'replace_one' alone"):
        mechanism.removal_guarantee()


def test_a_penalty_of_n_pays_less_than_published():
    """2 L / l with the gradient's largest norm on the ball that minimisers are in."""
    for n, p, share in ((100, 2, 0.1), (1000, 5, 1.0), (50, 1, 0.01)):
        penalty, radius = share * n, math.sqrt(p + 1)
        published = 2 * radius * (1 + radius * ridge.longest(n, penalty)) / penalty
        assert ridge.sensitivity(n, p, penalty) <= published


def test_releasing(tmp_path):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.uniform(0, 2, 500), "b": rng.uniform(10, 30, 500)})
    table["y"] = 2 * table["a"] - 1 + rng.normal(0, 0.2, 500)
    declared = bdp.synthesizers.PerturbedCoefficientsSynthesizer(
        BOUNDS, "y", 50.0, epsilon=2.0, copies=3
    )
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    account = ledger.create("survey", epsilon=2.2, delta=4e-6, neighbours="replace_one")
    release = declared.release(table, ledger=account)
    with pytest.raises(bdp.errors.BudgetExceeded):
        declared.release(table, ledger=account)
    with bdp.reproducible(1), pytest.raises(bdp.errors.InvalidInput, match="seeded"):
        declared.release(table, ledger=account)
    assert release.copies == 3
    assert release.mechanism.n == 500
    assert release.guarantee == declared.guarantee(500)
    frame = release.to_frames()[0]
    assert frame["coefficient"].tolist() == ["intercept", "a", "b"]
    again = bdp.Release.load(release.save(tmp_path / "release"))
    assert again.outputs == release.outputs
    mechanism = release.mechanism
    exact = np.array(mechanism.statistic(of(mechanism, table)))
    with bdp.reproducible(1):
        drawn = np.array(mechanism.release(exact, 2000))
    gap = (drawn.mean(axis=0) - exact) / (mechanism.scale / math.sqrt(2000))
    assert np.all(np.abs(gap) < 5.1)  # false alarm 1e-6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"penalty": 0.0}, "penalty is 0.0"),
        ({"penalty": -1.0}, "penalty is -1.0"),
        ({"penalty": math.inf}, "penalty is inf"),
        ({"penalty": 1e-40}, "from 2\\^-100"),
        ({"response": "z"}, "response is 'z'"),
        ({"bounds": {"y": (0, 1)}}, "two columns or more"),
        ({"scale": 0.0}, "scale is 0.0"),
        ({"scale": math.nan}, "scale is nan"),
        ({"n": 0}, "n is 0"),
        ({"n": None}, "n is None"),
        ({"clip": 1}, "clip is 1"),
        ({"granularity": 0.3}, "granularity is 0.3"),
        ({"granularity": 2.0**-60, "scale": 2.0**-30, "penalty": 1e-12}, "steps of the lattice"),
    ],
)
def test_bad_parameters(given, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made(**given)


def test_bad_data():
    declared = bdp.synthesizers.PerturbedCoefficientsSynthesizer(BOUNDS, "y", 50.0)
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon"):
        bdp.synthesizers.PerturbedCoefficientsSynthesizer(BOUNDS, "y", 50.0, delta=0.0)
    with pytest.raises(bdp.errors.InvalidInput, match="empty"):
        declared.release(np.zeros((0, 3)))
    with pytest.raises(bdp.errors.InvalidInput, match=r"Table whose columns.*data.to_pandas\(\)"):
        declared.release(pa.table({"a": [1.0], "y": [0.0], "b": [12.0]}))
    with pytest.raises(bdp.errors.InvalidInput, match="bounds"):
        declared.release(np.array([[3.0, 0.0, 12.0]]))
    assert declared.release(np.array([[3.0, 0.0, 12.0]]), clip=True).mechanism.clip
    mechanism = made()
    with pytest.raises(bdp.errors.InvalidInput, match="is for another"):
        mechanism.statistic(of(mechanism, np.array([[1.0, 0.0, 12.0]])))
    with pytest.raises(bdp.errors.InvalidInput, match="shape"):
        mechanism.check_statistic((1.0, 2.0))
