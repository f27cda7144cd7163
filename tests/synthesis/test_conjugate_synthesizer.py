"""The conjugate synthesizer: the weakest prior that keeps the promise, and what it takes."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

Conjugate = bdp.synthesizers.ConjugateSynthesizer
RNG = np.random.default_rng(1)
VECTORS = pd.DataFrame(RNG.normal(size=(60, 2)).clip(-2, 2), columns=["y", "x"])
POSITIVE = RNG.gamma(1.0, 1.0, size=60).clip(0, 3)
KNOWN: dict[str, dict[str, Any]] = {
    "gaussian": {"R": 2.0, "sigma": 1.0},
    "multivariate_gaussian": {"R": (2.0, 3.0), "covariance": ((1.0, 0.5), (0.5, 2.0))},
    "gamma": {"R": 3.0, "shape": 1.5},
}
VECTOR = KNOWN["multivariate_gaussian"]
DATA: dict[str, Any] = {
    "gaussian": VECTORS["x"],
    "multivariate_gaussian": VECTORS,
    "gamma": POSITIVE,
}


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("method", ["parameter_draw", "synthetic_map"])
@pytest.mark.parametrize("family", KNOWN)
def test_all_copies_cost_what_was_asked_and_no_less(family, method, copies):
    made = Conjugate(family, 1.0, 1e-6, method=method, copies=copies, **KNOWN[family])
    with bdp.reproducible(1):
        release = made.release(DATA[family])
    cost = made.guarantee(60)
    assert release.copies == copies
    assert (cost.epsilon, cost.delta) == (pytest.approx(1.0, abs=1e-6), 1e-6)
    assert cost.epsilon <= 1.0
    mechanism: Any = release.mechanism
    assert mechanism.epsilon(1e-6, copies=copies) == cost.epsilon
    assert mechanism.size == (None if method == "parameter_draw" else 60)
    assert (mechanism.family, mechanism.method, mechanism.n) == (family, method, 60)


def test_vectors_are_taken_by_their_names_and_in_batches(tmp_path):
    known = {**KNOWN["multivariate_gaussian"], "R": (2.0, 2.0)}
    made = Conjugate(
        "multivariate_gaussian", 1.0, 1e-6, size=5, names=("x", "y"), method="synthetic_many",
        **known,
    )  # fmt: skip
    sums = made.statistic(made.tally(VECTORS))
    assert sums == pytest.approx(VECTORS[["x", "y"]].sum().to_numpy())
    assert made.statistic(made.tally(VECTORS[["x", "y"]])) == sums
    VECTORS.to_csv(tmp_path / "vectors.csv", index=False)
    scan = bdp.scan(tmp_path / "vectors.csv", ["y", "x"], rows=7)
    (tally,) = made.tallies(scan).values()
    assert made.statistic(tally) == sums
    with bdp.reproducible(2):
        release = made.release(scan)
    assert list(release.to_frames()[0].columns) == ["x", "y"]
    numbered = dataclasses.replace(made, names=None)
    assert numbered.statistic(numbered.tally(VECTORS)) == sums[::-1]
    with pytest.raises(bdp.errors.InvalidInput, match="other columns than"):
        made.release(VECTORS.rename(columns={"x": "z"}))


def test_groups_cost_as_one():
    by = np.repeat(["a", "b"], 30)
    made = Conjugate("gaussian", 1.0, 1e-6, **KNOWN["gaussian"])
    with bdp.reproducible(3):
        release = made.release(VECTORS["x"], by=by)
    assert [part.mechanism.n for part in release.parts] == [30, 30]
    assert made.guarantee({"a": 30, "b": 30}).epsilon <= 1.0


def test_a_pure_promise_where_there_is_one():
    made = Conjugate("gaussian", 1.0, copies=2, bounded=True, R=2.0, sigma=4.5)
    cost = made.guarantee(60)
    assert cost.delta == 0
    assert 1.0 - 1e-6 < cost.epsilon <= 1.0
    with pytest.raises(bdp.errors.InvalidInput, match="ask for a positive delta"):
        Conjugate("gaussian", 1.0, **KNOWN["gaussian"]).guarantee(60)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"family": "bernoulli"}, "family is 'bernoulli'"),
        ({"method": "parameter_map"}, "method is 'parameter_map'"),
        ({"method": "parameter_draw", "size": 3}, "releases no records"),
        ({"sigma": None}, "sigma is None"),
        ({"names": ("a",)}, "names is .* is of one column"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"family": "multivariate_gaussian"}, "covariance is None"),
        (
            {"family": "multivariate_gaussian", **VECTOR, "sigma": None, "names": ("a", "a")},
            "names is .* 2 different names",
        ),
    ],
)
def test_wrong_declarations_are_refused(wrong, message):
    given: dict[str, Any] = {"family": "gaussian", "epsilon": 1.0, **KNOWN["gaussian"], **wrong}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Conjugate(**given)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "data is empty"),
        (3.0, "a row for each"),
        (np.array(3.0), "a row for each"),
        ([[1.0, 2.0]], "dimensions"),
        ([9.0], "R"),
    ],
)
def test_wrong_records_are_refused(data, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Conjugate("gaussian", 1.0, 1e-6, **KNOWN["gaussian"]).release(data)
