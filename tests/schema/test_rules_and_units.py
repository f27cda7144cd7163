"""Structural zeros by enumeration, persons with several records, and synthesizers of tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from tests.schema.example import CUTS, schema

InvalidInput = bdp.errors.InvalidInput
SMALL = {
    "age": {"type": "integer", "bounds": (0, 2), "missing": True},
    "region": {
        "type": "category",
        "labels": ["n", "s", "i"],
        "hierarchy": {"main": ["n", "s"]},
        "missing": True,
    },
    "married": {"type": "boolean"},
    "score": {"type": "real", "bounds": (0, 3), "bins": [0, 1, 2, 3]},
}
NAMES = list(SMALL)
MEANT = {
    "age": {0: {0}, 2: {2}, (0, 1): {0}, (0, 2): {0, 1, 2}, (2, 2): {2}, "missing": {3}},
    "region": {"n": {0}, "main": {0, 1}, ("i", "missing"): {2, 3}, ("main", "i"): {0, 1, 2}},
    "married": {True: {1}, False: {0}},
    "score": {(0, 1): {0}, (1.0, 3.0): {1, 2}, (0, 3): {0, 1, 2}},
}
"""What a rule may name of each column, and the codes that it means."""
RULE = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9), min_size=1).map(
    lambda rule: {name: list(MEANT[name])[k % len(MEANT[name])] for name, k in rule.items()}
)


@settings(max_examples=60)
@given(st.lists(RULE, max_size=6))
def test_rules_exclude_what_they_say(rules):
    sizes = [4, 4, 2, 3]
    codes = pd.DataFrame(list(itertools.product(*map(range, sizes))), columns=NAMES)
    meant = [
        any(all(row[name] in MEANT[name][given] for name, given in rule.items()) for rule in rules)
        for row in codes.to_dict("records")
    ]
    if all(meant):
        with pytest.raises(InvalidInput, match=r"it leaves no cell|exclude every record"):
            bdp.Schema(SMALL, zeros=rules)
    else:
        assert bdp.Schema(SMALL, zeros=rules).impossible(codes).tolist() == meant


def table(counts, rng):
    """Records of persons: some that many, in any order."""
    ids = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return pd.DataFrame({"id": ids, "smokes": rng.random(ids.size) < 0.5, "row": range(ids.size)})


@settings(max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(0, 2**32))
def test_one_person_changes_no_others_records_and_at_most_most(counts, seed):
    made = bdp.Schema({"smokes": {"type": "boolean"}}, unit={"person": "id", "most": 2})
    rng = np.random.default_rng(seed)
    frame = table(counts, rng)
    kept = made.limited(frame)
    assert kept.row.is_monotonic_increasing
    assert kept.groupby("id").size().to_dict() == {
        person: min(count, 2) for person, count in enumerate(counts) if count
    }
    assert kept.equals(frame.groupby("id", sort=False).head(2))
    person = int(rng.integers(len(counts)))
    without = made.limited(frame[frame.id != person])
    assert without.equals(kept[kept.id != person])
    assert len(kept) - len(without) <= 2
    others = pd.DataFrame({"id": person, "smokes": True, "row": range(3)})
    mixed = pd.concat([others, frame[frame.id != person]]).sample(frac=1, random_state=seed)
    again = made.limited(mixed.sort_values("row", kind="stable"))
    assert again[again.id != person].equals(kept[kept.id != person])
    assert (again.id == person).sum() == 2


def test_ids_are_there_and_not_missing():
    made = bdp.Schema({"smokes": {"type": "boolean"}}, unit={"person": "id", "most": 1})
    frame = pd.DataFrame({"id": ["a", None], "smokes": [True, False]})
    with pytest.raises(InvalidInput, match="column 'id' has missing values; give every record"):
        made.limited(frame)
    for wrong in (frame[["smokes"]], frame.set_axis(["id", "id"], axis=1)):
        with pytest.raises(InvalidInput, match="frame has no single column 'id'"):
            made.limited(wrong)
    with pytest.raises(InvalidInput, match="frame is a dict; it must be a DataFrame"):
        made.limited({"id": [1]})
    whole = frame.assign(id=pd.Categorical(["a", "a"], categories=["b", "a"]))
    assert len(made.limited(whole)) == 1
    assert bdp.Schema({"smokes": {"type": "boolean"}}).limited(frame) is frame


def test_a_coded_table_is_released_and_decoded(tmp_path):
    """By a synthesizer of tables, which has no record where the schema says there is none."""
    made = schema(tmp_path).with_cuts(CUTS)
    made = bdp.Schema(
        {name: made.columns[name] for name in ("age", "smokes", "region", "income")},
        zeros=made.zeros,
    )
    rng = np.random.default_rng(4)
    codes = pd.DataFrame({name: rng.integers(0, k, 5000) for name, k in made.cells.items()})
    codes = codes[~made.impossible(codes)]
    frame = made.decoded(codes, rng)
    synthesizer = bdp.synthesizers.LogLinearSynthesizer(
        5.0,
        [("age", "smokes"), ("age", "region"), ("income",)],
        categories={axis.name: axis.categories for axis in made.axes},
        zeros=made.impossible,
    )
    release = synthesizer.release(made.coded(frame))
    copies = pd.DataFrame(synthesizer.records(release, 2000, seed=1)[0])
    assert len(copies) == 2000
    assert not made.impossible(copies).any()
    synthetic = made.decoded(copies, rng)
    assert synthetic.dtypes.equals(frame.dtypes)
    assert list(synthetic.columns) == list(frame.columns)
    assert synthetic.age.isna().any()
