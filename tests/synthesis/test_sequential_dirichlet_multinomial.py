"""SequentialDirichletMultinomialSynthesizer as it is declared: what it takes and refuses."""

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

Labels = bdp.synthesizers.CategoricalColumns
Synthesizer = bdp.synthesizers.SequentialDirichletMultinomialSynthesizer
STEPS = [
    Labels({"sex": ("f", "m"), "smokes": (False, True)}),
    Labels({"level": (3, 1, 2)}, by=["sex"]),
]


def people(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], n)
    smokes = rng.random(n) < np.where(sex == "f", 0.2, 0.5)
    return pd.DataFrame({"level": rng.choice([1, 2, 3], n), "smokes": smokes, "sex": sex, "x": 0.5})


@pytest.mark.parametrize("public", [True, False])
def test_every_copy_is_a_table_with_the_associations_of_its_steps(public, tmp_path):
    made = Synthesizer(
        STEPS, epsilon=60.0, copies=3, public_n=public, size=None if public else 5000
    )
    with bdp.reproducible(4):
        release = made.release(people(4000))
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    for frame in release.to_frames():
        assert list(frame.columns) == ["sex", "smokes", "level"]
        assert len(frame) == (4000 if public else 5000)
        shares = frame.groupby("sex")["smokes"].mean().to_dict()
        assert shares == pytest.approx({"f": 0.2, "m": 0.5}, abs=0.06)


@pytest.mark.parametrize("public", [True, False])
def test_a_promise_is_known_before_the_data(public):
    made = Synthesizer(STEPS, epsilon=1.0, copies=4, public_n=public, size=30)
    release = made.release(people(50))
    promise = made.guarantee(50 if public else None)
    assert release.guarantee == promise
    assert 1 - 1e-9 < promise.epsilon <= 1
    assert (promise.delta, promise.strength) == (0, bdp.Strength.PROVED)
    assert (release.mechanism.n is None) != public
    with pytest.raises(bdp.errors.InvalidInput, match="give n where it is public"):
        made.guarantee(None if public else 50)


def test_batches_give_the_same_bits():
    data = people(300)
    with bdp.reproducible(1):
        whole = Synthesizer(STEPS).release(data)
    with bdp.reproducible(1):
        assert Synthesizer(STEPS).release(iter([data[:17], data[17:]])) == whole


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (people(0), "empty"),
        (people(4).drop(columns="sex"), r"no columns \['sex'\]"),
        (people(4).assign(sex=["f", "m", "secret", "m"]), "outside its categories"),
        (people(4).assign(sex=["f", None, "m", "m"]), "missing"),
    ],
)
def test_wrong_data_cost_nothing(data, message, tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    budget = ledger.create("survey", epsilon=3.0, neighbours="replace_one")
    with pytest.raises(bdp.errors.InvalidInput, match=message) as error:
        Synthesizer(STEPS).release(data, ledger=budget)
    assert "secret" not in str(error.value)
    assert budget.spent().epsilon == 0


@pytest.mark.parametrize(
    ("steps", "fields", "message"),
    [
        ([bdp.synthesizers.NumericColumns({"x": (0, 1)})], {}, "SequentialModipsSynthesizer"),
        ([Labels({"a": (0, 1)}, prior=2.0)], {}, "leave prior out"),
        ([Labels({"a": (0, 1)}, by=["b"])], {}, "earlier step"),
        (STEPS, {"public_n": False}, "size is missing"),
        (STEPS, {"weights": [1.0]}, "one for each step"),
    ],
)
def test_what_cannot_be_declared_is_refused(steps, fields, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(steps, **fields)
