"""Nearness to confidential records and to others: by hand, by definition, of records published."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

closest_records = bdp.evaluate.closest_records


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.uniform(18, 90, n), "job": rng.choice(list("abc"), n)})


def test_nearer_farther_and_tied_records_count_one_none_and_half():
    """The range of age is 40: a year is 1/40 as far as another job."""
    own = pd.DataFrame({"age": [20, 60, 30], "job": ["a", "b", "c"]})
    other = pd.DataFrame({"age": [40, 50, 30], "job": ["a", "b", "c"]})
    near, far = [21, "a"], [51, "b"]
    both, by_job = [30, "c"], [41, "c"]  # the last: 11 years from another with its job
    tied = [30, "a"]  # 10 years from one of each, and one job from one of each
    made = [near, far, both, by_job, tied]
    copies = [pd.DataFrame([row], columns=["age", "job"]) for row in made]
    found = closest_records(own, copies, other, seed=1)
    assert found["share"].tolist() == [1, 0, 0.5, 0.5, 0.5]
    assert found["copy"].tolist() == [0, 1, 2, 3, 4]
    whole = pd.concat(copies)[["job", "age"]]  # columns in another order
    assert closest_records(own, whole, other)["share"].item() == pytest.approx(2.5 / 5)


def test_numbers_that_are_categories_are_equal_or_not():
    own, other = pd.DataFrame({"code": [1, 9]}), pd.DataFrame({"code": [3, 7]})
    copy = pd.DataFrame({"code": [2.0, 2.0, 1.0]})
    assert closest_records(own, copy, other)["share"].item() == 0.5 + 0.5 / 3
    found = closest_records(own, copy, other, categorical=["code"])["share"].item()
    assert found == pytest.approx((0.5 + 0.5 + 1) / 3)
    by_number = closest_records(own, copy.assign(code=[1.9, 2.1, 2.2]), other)["share"].item()
    assert by_number == pytest.approx(1 / 3)


def test_whole_numbers_as_near_as_others_are_tied_whatever_floats_make_of_them():
    """By exact fractions: a year in either direction is the same 1/71 of the range."""
    rng = np.random.default_rng(7)
    own, other, copy = (
        pd.DataFrame({"age": rng.integers(18, 90, 60), "kids": rng.integers(0, 4, 60)})
        for _ in range(3)
    )
    both = pd.concat([own, other])
    ranges = [int(np.ptp(both[name])) for name in both]
    shares = []
    for record in copy.to_numpy():
        nearest = [
            min(
                sum(
                    Fraction(abs(int(a) - int(b)), r)
                    for a, b, r in zip(record, row, ranges, strict=True)
                )
                for row in table.to_numpy()
            )
            for table in (own, other)
        ]
        shares.append(0.5 + 0.5 * ((nearest[0] < nearest[1]) - (nearest[0] > nearest[1])))
    found = closest_records(own, copy, other, seed=1)["share"].item()
    assert found == pytest.approx(np.mean(shares), abs=1e-12)


def test_the_error_is_that_of_all_divisions_into_halves():
    pool, copy = people(6, 1), people(20, 2)
    shares = []
    for half in itertools.combinations(range(6), 3):
        own = pool.iloc[list(half)]
        shares.append(closest_records(own, copy, pool.drop(own.index))["share"].item())
    exact = np.sqrt(np.mean((np.array(shares) - 0.5) ** 2))
    assert np.mean(shares) == pytest.approx(0.5, abs=1e-12)
    error = closest_records(pool[:3], copy, pool[3:], relabellings=20_000, seed=3)["error"].item()
    assert error == pytest.approx(exact, rel=0.03)  # 6 standard errors, about


def test_records_published_verbatim_are_convicted_and_others_are_not(monkeypatch):
    """A false alarm has probability below 1e-6: the share is within 5 errors of a half."""
    own, other, fresh = people(300, 4), people(300, 5), people(300, 6)
    some = pd.concat([own[:150], fresh[:150]])  # half of the copy is records
    found = closest_records(own, [own, some, fresh], other, seed=1)
    beyond = (found["share"] - 0.5) / found["error"]
    assert found["share"][0] == 1
    assert beyond[0] > 10
    assert beyond[1] > 5
    assert abs(beyond[2]) < 5
    monkeypatch.setattr("bayesdp.evaluation.closest_records._BLOCK", 7000)  # 11 records at once
    assert found.equals(closest_records(own, [own, some, fresh], other, seed=1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"holdout": people(9, 1)}, "holdout has other columns than confidential, or another"),
        ({"holdout": people(10, 1)[["age"]]}, "holdout has other columns"),
        ({"holdout": 3}, "holdout is a int"),
        ({"released": people(10, 1)[["age"]]}, r"released\[0\] has 'age'"),
        ({"released": people(10, 1).assign(age=None)}, r"released\[0\] has missing values"),
        ({"holdout": people(10, 1).assign(job=None)}, "holdout has missing values"),
        ({"confidential": people(10, 1).assign(job=None)}, "confidential has missing values"),
        ({"categorical": ["x"]}, "categorical is"),
        ({"relabellings": 1}, "relabellings is 1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_what_cannot_be_compared_is_named(wrong, message):
    good = {"released": people(10, 1), "confidential": people(10, 2), "holdout": people(10, 3)}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        closest_records(**{**good, **wrong})
