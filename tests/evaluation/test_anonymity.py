"""k, l and t against hand-computed cases, those of the paper among them, and definitions."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

# Table 3 of Li, Li and Venkatasubramanian (2007): salaries in thousands, three classes of three.
SALARIES = pd.DataFrame(
    {
        "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476*"] * 3,
        "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
        "disease": list("abc") + list("bdd") + list("eec"),
    }
)


def test_the_papers_example_of_salaries():
    """Its section 4: {3, 4, 5} is 0.375 from the whole, and {6, 8, 11} is 0.167."""
    found = bdp.evaluate.anonymity(SALARIES, quasi_identifiers=["zip"], sensitive=["salary"]).iloc[
        0
    ]
    assert (found["classes"], found["k"], found["l_distinct"]) == (3, 3, 3)
    assert found["l_entropy"] == pytest.approx(3)
    assert found["t"] == pytest.approx(0.375)
    assert found["copy"] == 0
    whole = SALARIES["salary"].rank().to_numpy()  # 1 to 9
    by_hand = [sum(abs(sum(whole[3:6] <= i) / 3 - i / 9) for i in range(1, 10)) / 8]
    assert by_hand == pytest.approx([1 / 6])
    kept = SALARIES.assign(zip=["a"] * 3 + ["b"] * 3 + ["a"] * 3)
    both = bdp.evaluate.anonymity(kept, quasi_identifiers=["zip"], sensitive=["salary"]).iloc[0]
    assert both["t"] == pytest.approx(1 / 6)  # the rest is only half as far


def test_categories_by_hand():
    """p = 1/9, 2/9, 2/9, 2/9, 2/9 of a to e; classes a b c, b d d and e e c."""
    found = bdp.evaluate.anonymity(SALARIES, quasi_identifiers=["zip"], sensitive=["disease"]).iloc[
        0
    ]
    assert found["sensitive"] == "disease"
    assert found["l_distinct"] == 2
    two_thirds = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    assert found["l_entropy"] == pytest.approx(math.exp(two_thirds))
    # b d d: (2/9 + |1/3 - 2/9| ...): over p are b by 1/9 and d by 4/9
    assert found["t"] == pytest.approx(5 / 9)


def test_numbers_as_categories():
    arguments = {"quasi_identifiers": ["zip"], "sensitive": ["salary"]}
    found = bdp.evaluate.anonymity(SALARIES, **arguments, categorical=["salary"]).iloc[0]
    assert found["t"] == pytest.approx(2 / 3)  # three of nine equally frequent values


def test_one_class_and_one_value():
    alike = SALARIES.assign(zip="x", disease="flu", salary=4)
    sensitive = ["disease", "salary"]
    found = bdp.evaluate.anonymity(alike, quasi_identifiers=["zip"], sensitive=sensitive)
    assert found["k"].tolist() == [9, 9]
    assert found["l_distinct"].tolist() == found["l_entropy"].tolist() == [1, 1]
    assert found["t"].tolist() == [0, 0]


def test_copies_and_no_sensitive_column():
    found = bdp.evaluate.anonymity([SALARIES, SALARIES.iloc[:7]], quasi_identifiers=["zip"])
    assert found["k"].tolist() == [3, 1]
    assert found["copy"].tolist() == [0, 1]
    assert found[["l_distinct", "l_entropy", "t"]].isna().all(axis=None)
    with bdp.reproducible(4):
        release = bdp.BetaBinomialSynthesizer(epsilon=1.0, copies=2).release([0] * 30 + [1] * 30)
    each = bdp.evaluate.anonymity(release, quasi_identifiers=[release.variable])
    counts = [f[release.variable].value_counts().min() for f in release.to_frames()]
    assert each["k"].tolist() == counts


def test_against_the_definitions():
    generator = np.random.default_rng(6)
    frame = pd.DataFrame(
        {
            "a": generator.integers(0, 3, 80),
            "b": generator.choice(["u", "v"], 80),
            "x": generator.integers(0, 6, 80) ** 2,
            "d": generator.choice(list("pqr"), 80),
        }
    )
    found = bdp.evaluate.anonymity(frame, quasi_identifiers=["a", "b"], sensitive=["x", "d"])
    classes = list(frame.groupby(["a", "b"]))
    assert (found["classes"] == len(classes)).all()
    assert (found["k"] == min(len(c) for _, c in classes)).all()
    for row, column in enumerate(["x", "d"]):
        values = sorted(frame[column].unique())
        p = np.array([(frame[column] == v).mean() for v in values])
        qs = [np.array([(c[column] == v).mean() for v in values]) for _, c in classes]
        assert found["l_distinct"][row] == min((q > 0).sum() for q in qs)
        entropies = [-sum(x * math.log(x) for x in q if x > 0) for q in qs]
        assert found["l_entropy"][row] == pytest.approx(math.exp(min(entropies)))
        ordered = [np.abs(np.cumsum(q - p)).sum() / (len(p) - 1) for q in qs]
        equal = [np.abs(q - p).sum() / 2 for q in qs]
        assert found["t"][row] == pytest.approx(max(ordered if column == "x" else equal))


@pytest.mark.parametrize(
    ("frame", "changes", "message"),
    [
        (SALARIES, {"quasi_identifiers": []}, "at least one quasi-identifier"),
        (SALARIES, {"quasi_identifiers": ["age"]}, "quasi_identifiers is"),
        (SALARIES, {"quasi_identifiers": "zip"}, "quasi_identifiers is 'zip'"),
        (SALARIES, {"sensitive": ["zip"]}, "no column in both"),
        (SALARIES, {"sensitive": ["age"]}, "sensitive is"),
        (SALARIES, {"categorical": ["age"]}, "categorical is"),
        (SALARIES.iloc[:0], {}, "no rows"),
        (SALARIES.assign(salary=math.nan), {}, "missing values"),
        (SALARIES.assign(salary=math.inf), {}, "aren't finite"),
        ([], {}, "released is a list"),
        (None, {}, "released is a NoneType"),
    ],
)
def test_refusals(frame, changes, message):
    arguments = {"quasi_identifiers": ["zip"], "sensitive": ["salary"], **changes}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.evaluate.anonymity(frame, **arguments)
