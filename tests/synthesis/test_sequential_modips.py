"""SequentialModipsSynthesizer as it is declared: what it takes, refuses and writes down."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

Categorical, Numeric = bdp.synthesizers.CategoricalColumns, bdp.synthesizers.NumericColumns
STEPS = [
    Categorical({"sex": ("f", "m")}),
    Categorical({"smokes": (False, True)}, by=["sex"]),
    Numeric({"age": (18, 90), "pressure": (70, 250)}, by=["sex"]),
]


def people(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    age = np.clip(rng.normal(np.where(sex == "f", 45, 55), 12), 18, 90)
    pressure = np.clip(90 + 0.7 * age + rng.normal(0, 8, n), 70, 250)
    smokes = rng.random(n) < np.where(sex == "f", 0.2, 0.5)
    table = {"pressure": pressure, "name": "x", "smokes": smokes, "age": age, "sex": sex}
    return pd.DataFrame(table)


@pytest.mark.parametrize("public", [True, False])
def test_every_copy_is_a_whole_table(public, tmp_path):
    declared = bdp.synthesizers.SequentialModipsSynthesizer(
        STEPS, epsilon=30.0, copies=3, public_n=public, size=None if public else 5000
    )
    with bdp.reproducible(4):
        release = declared.release(people(4000))
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    for frame in release.to_frames():
        assert list(frame.columns) == ["sex", "smokes", "age", "pressure"]
        assert len(frame) == (4000 if public else 5000)
        assert frame["smokes"].dtype == bool
        groups = frame.groupby("sex")
        assert groups["smokes"].mean().to_dict() == pytest.approx({"f": 0.2, "m": 0.5}, abs=0.1)
        assert groups["age"].mean().to_dict() == pytest.approx({"f": 45, "m": 55}, abs=3)
        for _, group in groups:
            slope = np.polyfit(group["age"], group["pressure"], 1)[0]
            assert slope == pytest.approx(0.7, abs=0.3)


@pytest.mark.parametrize("public", [True, False])
def test_a_promise_is_known_before_the_data(public):
    declared = bdp.synthesizers.SequentialModipsSynthesizer(
        STEPS, epsilon=1.0, copies=4, public_n=public, size=30
    )
    release = declared.release(people(50))
    promise = declared.guarantee(50 if public else None)
    assert release.guarantee == promise
    assert promise.epsilon == pytest.approx(1.0, rel=1e-5)
    assert promise.epsilon <= 1.0
    assert promise.delta == 0
    assert promise.strength is bdp.Strength.PROVED
    relation = bdp.Neighbours.REPLACE_ONE if public else bdp.Neighbours.ADD_REMOVE
    assert promise.neighbours is relation
    assert (release.mechanism.n is None) != public
    with pytest.raises(bdp.errors.InvalidInput, match="give n where it is public"):
        declared.guarantee(None if public else 50)


def test_batches_give_the_same_bits():
    data, declared = people(3000), bdp.synthesizers.SequentialModipsSynthesizer(STEPS, copies=2)
    with bdp.reproducible(1):
        whole = declared.release(data)
    with bdp.reproducible(1):
        batches = (data[i:j] for i, j in ((0, 17), (17, 17), (17, 2000), (2000, 3000)))
        assert declared.release(batches) == whole


def test_numbers_out_of_bounds_are_moved_only_if_asked():
    data = people(50)
    data.loc[3, "age"] = 111.0
    with pytest.raises(bdp.errors.InvalidInput, match=r"column 'age'.*clip=True") as error:
        bdp.synthesizers.SequentialModipsSynthesizer(STEPS).release(data)
    assert "111" not in str(error.value)
    release = bdp.synthesizers.SequentialModipsSynthesizer(STEPS, clip=True).release(data)
    assert release.mechanism.clip
    assert not any("numbers are within" in note for note in release.guarantee.assumptions)


def budget(folder: Any, epsilon: float) -> Any:
    ledger = bdp.Ledger.open(f"sqlite:///{folder}/ledger.db")
    return ledger.create("survey", epsilon=epsilon, neighbours="replace_one")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (people(0), "empty"),
        (iter([]), "empty"),
        (people(4).drop(columns="sex"), r"no columns \['sex'\]"),
        (people(4).drop(columns="age"), r"no columns \['age'\]"),
        (people(4).assign(sex=["f", "m", "secret", "m"]), "outside its categories"),
        (people(4).assign(sex=["f", None, "m", "m"]), "missing"),
        (people(4).assign(age=[30.5, np.nan, 40, 50]), "missing"),
        (people(4).assign(age=[17.5, 20, 40, 50]), "column 'age' has values"),
        (np.zeros((4, 4)), "must be a DataFrame"),
        (pd.concat([people(4), people(4)[["sex"]]], axis=1), "or has them twice"),
    ],
)
def test_wrong_data_cost_nothing(data, message, tmp_path):
    ledger = budget(tmp_path, 3.0)
    with pytest.raises(bdp.errors.InvalidInput, match=message) as error:
        bdp.synthesizers.SequentialModipsSynthesizer(STEPS, copies=2).release(data, ledger=ledger)
    assert "secret" not in str(error.value)
    assert "17.5" not in str(error.value)
    assert ledger.spent().epsilon == 0


def test_a_release_is_paid_for_before_it_is_drawn(tmp_path):
    ledger = budget(tmp_path, 1.5)
    declared = bdp.synthesizers.SequentialModipsSynthesizer(STEPS, epsilon=1.0, copies=2)
    declared.release(people(40), ledger=ledger)
    assert ledger.spent().epsilon == pytest.approx(1.0, rel=1e-5)
    with pytest.raises(bdp.errors.BudgetExceeded):
        declared.release(people(40), ledger=ledger)


SEX = Categorical({"sex": ("f", "m")})
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"steps": []}, "must be a list of"),
    ({"steps": "sex"}, "must be a list of"),
    ({"steps": [bdp.families.Bernoulli()]}, "each must be a bdp.synthesizers.CategoricalColumns"),
    ({"steps": [SEX, SEX]}, "in one step, once"),
    ({"steps": [Numeric({"part": (0, 1)})]}, "none be called"),
    (
        {"steps": [Numeric({"x": (0, 1)}, by=["sex"]), SEX]},
        "aren't categorical columns of an earlier",
    ),
    ({"steps": [Numeric({"x": (0, 1)}, on=["y"])]}, "aren't numeric columns of an earlier"),
    ({"steps": [SEX, Numeric({"x": (0, 1)}, on=["sex"])]}, "aren't numeric columns of an earlier"),
    ({"steps": [Categorical({"x": tuple(range(2000)), "y": tuple(range(2000))})]}, "fewer labels"),
    ({"epsilon": 0}, "epsilon is 0"),
    ({"copies": 0}, "copies is 0"),
    ({"size": 0}, "size is 0"),
    ({"public_n": False}, "size is missing"),
    ({"public_n": 1}, "public_n is 1"),
    ({"weights": (0.5, 0.5)}, "weights has 2 numbers; give one for each step"),
    ({"weights": (0.5, 0.2, 0.1)}, "with sum 1"),
    ({"clip": "yes"}, "clip is 'yes'"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_wrong_declarations_are_named(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.synthesizers.SequentialModipsSynthesizer(**{"steps": STEPS, **wrong})


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Categorical({}), "must have names of columns"),
        (lambda: Categorical(["sex"]), "must have names of columns"),
        (lambda: Categorical({"sex": "fm"}), "categories of column 'sex'"),
        (lambda: Categorical({"sex": ("f", 1)}), "of one type"),
        (lambda: Categorical({"sex": ("f", "f")}), "different labels"),
        (lambda: Categorical({"sex": ("f", "m")}, by="age"), "by is 'age'"),
        (lambda: Categorical({"sex": ("f", "m")}, prior=0), "prior is 0"),
        (lambda: Numeric({"age": (90, 18)}), "column 'age': bounds is"),
        (lambda: Numeric({"age": (18, 90)}, by=["a", "a"]), "by is"),
        (lambda: Numeric({"age": (18, 90)}, prior=(0, 0, 1, 1)), "prior is"),
        (lambda: Numeric({"age": (18, 90)}, prior=((0,), 1, 1, 1)), "four numbers"),
        (
            lambda: bdp.mechanisms.SequentialModipsMechanism([SEX], 5, (1.0, 2.0), 9),
            "one number for each",
        ),
        (
            lambda: bdp.mechanisms.SequentialModipsMechanism([SEX], 5, (0.0,), 9),
            "scales has a value",
        ),
        (lambda: bdp.mechanisms.SequentialModipsMechanism([SEX], 5, (1.0,), 2**40), "at most"),
    ],
)
def test_wrong_steps_and_mechanisms_are_named(made, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made()
