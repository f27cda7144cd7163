"""Distances to the closest confidential records, beside those to a holdout."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

closest = bdp.evaluate.closest_records


def people(rng, n=300):
    return pd.DataFrame(
        {
            "age": rng.uniform(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "children": rng.integers(0, 5, n),
        }
    )


def test_by_hand():
    mine = pd.DataFrame({"x": [0.0, 10.0], "c": ["a", "b"]})
    held = pd.DataFrame({"x": [2.0, 8.0], "c": ["b", "a"]})
    made = pd.DataFrame({"x": [0.0, 7.0, 5.0, 2.0], "c": ["a", "a", "a", "z"]})
    found = closest(mine, made, held).iloc[0]
    # Distances times 2, with a range of 10: 0 to .3 + 0; .7 to .1; .5 to .3; 1.2 to 1.
    assert found["share"] == 0.25
    assert (found["identical"], found["identical_holdout"]) == (0.25, 0.0)
    assert found["standard_error"] == pytest.approx(np.sqrt(0.25 * 0.75 / 4))
    tied = closest(mine, pd.DataFrame({"x": [5.0], "c": ["z"]}), held.assign(x=[0.0, 10.0]))
    assert tied["share"].item() == 0.5


def test_copies_of_records_are_convicted_and_fresh_ones_are_not():
    rng = np.random.default_rng(5)
    mine, held, fresh = people(rng), people(rng), people(rng)
    noisy = mine.assign(age=mine["age"] + rng.normal(0, 0.01, 300))
    found = closest(mine, [mine, noisy, fresh], held)
    assert found["copy"].tolist() == [0, 1, 2]
    assert found["share"][0] == 1.0
    assert found["share"][1] > 0.95
    assert abs(found["share"][2] - 0.5) < 5.1 * found["standard_error"][2]
    np.testing.assert_array_equal(found["identical"], [1, 0, 0])


@pytest.mark.slow
@pytest.mark.calibrate
@pytest.mark.parametrize(("epsilon", "reached"), [(0.3, 0.25), (1.0, 0.94), (3.0, 2.9)])
def test_what_a_membership_attack_reaches_is_what_how_to_says(epsilon, reached):
    """By a million draws at the tables where most is given away; "How to" prints these numbers."""
    columns = {
        "smokes": {"type": "boolean"},
        "sex": {"type": "category", "labels": ["f", "m"]},
        "age": {"type": "integer", "bounds": (18, 77), "bins": 6},
    }
    synthesizer = bdp.TableSynthesizer(bdp.Schema(columns), epsilon=epsilon)
    found = bdp.audit(synthesizer.mechanism(None, epsilon))
    assert not found.convicted
    assert reached <= found.epsilon_lower <= epsilon
    page = Path(__file__).parents[2] / "notebooks" / "how_to.md"
    assert f"{reached:g}" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_whole_table_at_three_epsilons():
    """Tables drawn from the posterior are no closer to the records, at any of these."""
    rng = np.random.default_rng(7)
    schema = bdp.Schema(
        {
            "age": {"type": "real", "bounds": (18, 90), "bins": 8},
            "sex": {"type": "category", "labels": ["f", "m"]},
            "children": {"type": "integer", "bounds": (0, 4)},
        }
    )
    mine, held = people(rng), people(rng)
    for epsilon in (0.3, 1.0, 3.0):
        with bdp.reproducible(int(10 * epsilon)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = bdp.TableSynthesizer(schema, epsilon=epsilon).release(mine)
            fit = bdp.TableModel().fit(release, draws=60, warmup=40, tables=2, chains=1, seed=1)
        found = closest(mine, fit.synthetic(copies=2, seed=1), held, ranges={"age": 72.0})
        assert (np.abs(found["share"] - 0.5) < 5.1 * found["standard_error"]).all()


def test_blocks_and_columns(monkeypatch):
    rng = np.random.default_rng(2)
    mine, held, made = people(rng), people(rng), people(rng, 77)
    whole = closest(mine, made, held, columns=["children", "age"], categorical=["children"])
    monkeypatch.setattr("bayesdp.evaluation.closest_records._BLOCK", 1000)
    less = [frame[["age", "children"]] for frame in (mine, made, held)]
    pd.testing.assert_frame_equal(whole, closest(*less, categorical=["children"]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"holdout": lambda t: t[:-1]}, "holdout has 299 rows and confidential 300"),
        ({"holdout": lambda t: t.drop(columns="sex")}, r"released\[0\] has columns|holdout"),
        ({"released": lambda t: t.assign(age=np.nan)}, r"released\[0\] has missing values"),
        ({"ranges": lambda _: {"sex": 1.0}}, "ranges has 'sex'; it must have columns of numbers"),
        ({"ranges": lambda _: {"age": 0.0}}, r"ranges\['age'\] is 0.0; it must be positive"),
        ({"categorical": lambda _: ["weight"]}, "categorical is"),
    ],
)
def test_wrong_inputs(changed, message):
    rng = np.random.default_rng(3)
    given = {name: people(rng) for name in ("confidential", "released", "holdout")}
    given |= {name: change(given.get(name)) for name, change in changed.items()}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        closest(**given)
