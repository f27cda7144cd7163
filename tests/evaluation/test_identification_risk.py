"""Identification risk on a table small enough for pencil and paper, and by its definition."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

# Known: town. Synthetic: income, within 10% of the true one.
WHOLE = pd.DataFrame({"town": list("aaabb"), "income": [100.0, 105.0, 200.0, 100.0, -50.0]})
COPY = pd.DataFrame({"town": list("aaabb"), "income": [104.0, 300.0, 190.0, -52.0, 100.0]})
# 1: rows 1 (104) in 90..110: c = 1, true.          2: row 1 in 94.5..115.5: c = 1, false.
# 3: row 3 (190) in 180..220: c = 1, true.          4: row 5 (100) in 90..110: c = 1, false.
# 5: row 4 (-52) in -55..-45: c = 1, false.
ARGUMENTS = {"known": ["town"], "synthetic": ["income"], "radius": 0.1}


def test_by_hand():
    found = bdp.evaluate.identification_risk(WHOLE, COPY, **ARGUMENTS)
    assert found.to_dict("records") == [
        {
            "copy": 0,
            "expected_match_risk": 2.0,
            "true_match_rate": 0.4,
            "false_match_rate": 0.6,
            "unique_matches": 5,
        }
    ]


def test_several_matches_share_the_risk():
    """Within 20%: record 1 matches row 1, 2 rows 1, and a copy left as it was matches both."""
    found = bdp.evaluate.identification_risk(WHOLE, [WHOLE, COPY], **{**ARGUMENTS, "radius": 0.2})
    # unchanged: 1 and 2 match both of their rows, 3, 4 and 5 their own alone
    assert found["expected_match_risk"].tolist() == [1 / 2 + 1 / 2 + 3, 2.0]
    assert found["true_match_rate"].tolist() == [0.6, 0.4]
    assert found["false_match_rate"].tolist() == [0.0, 0.6]
    assert found["unique_matches"].tolist() == [3, 5]
    records = bdp.evaluate.identification_risk(
        WHOLE, WHOLE, **{**ARGUMENTS, "radius": 0.2}, by_record=True
    )
    assert records["matches"].tolist() == [2, 2, 1, 1, 1]
    assert records["true"].all()
    assert records["risk"].tolist() == [0.5, 0.5, 1, 1, 1]


def test_radius_may_be_absolute_and_by_column_and_its_edge_matches():
    arguments = {**ARGUMENTS, "radius": {"income": 4.0}, "relative": False}
    found = bdp.evaluate.identification_risk(WHOLE, COPY, **arguments, by_record=True)
    assert found["matches"].tolist() == [1, 1, 0, 1, 1]
    assert found["true"].tolist() == [True, False, False, False, False]
    assert found["risk"].tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("true", "other", "radius", "relative"),
    [(0.7, 0.8, 0.1, False), (7.0, 7.7, 0.1, True), (-7.0, -7.7, 0.1, True), (1e6, 1e6, 0.0, True)],
)
def test_the_edge_of_a_radius_matches_however_floats_round(true, other, radius, relative):
    whole, copy = (pd.DataFrame({"income": [x]}) for x in (true, other))
    arguments = {"known": [], "synthetic": ["income"], "radius": radius, "relative": relative}
    assert bdp.evaluate.identification_risk(whole, copy, **arguments)[
        "unique_matches"
    ].tolist() == [1]
    further = copy + math.copysign(1e-9, true)
    assert bdp.evaluate.identification_risk(whole, further, **arguments)[
        "unique_matches"
    ].tolist() == [0]


def test_no_unique_match_has_no_false_match_rate():
    apart = COPY.assign(income=[1e6] * 5)
    found = bdp.evaluate.identification_risk(WHOLE, apart, **ARGUMENTS).iloc[0]
    assert found["expected_match_risk"] == found["true_match_rate"] == 0
    assert math.isnan(found["false_match_rate"])


def test_categories_alone():
    whole = pd.DataFrame({"sex": list("ffmm"), "code": [1, 2, 2, 2]})
    copy = pd.DataFrame({"sex": list("ffmm"), "code": [2, 2, 1, 2]})
    arguments = {"known": ["sex"], "synthetic": ["code"], "categorical": ["code"]}
    found = bdp.evaluate.identification_risk(whole, copy, **arguments, by_record=True)
    assert found["matches"].tolist() == [0, 2, 1, 1]
    assert found["true"].tolist() == [False, True, False, True]
    summary = bdp.evaluate.identification_risk(whole, copy, **arguments).iloc[0]
    assert summary["expected_match_risk"] == 1 / 2 + 0 + 1
    assert summary["true_match_rate"] == 0.25
    assert summary["false_match_rate"] == 0.5


def test_against_the_definition(monkeypatch):
    """All pairs one by one, in whole numbers; and the same in blocks."""
    generator = np.random.default_rng(8)

    def table():
        return pd.DataFrame(
            {
                "a": generator.integers(0, 3, 60),
                "b": generator.choice(["u", "v"], 60),
                "x": np.round(generator.normal(size=60), 1),
                "y": np.round(generator.normal(10, 3, 60)),
            }
        )

    whole, copy = table(), table()
    copy["b"] = whole["b"]
    options = {
        "known": ["b", "y"],
        "synthetic": ["a", "x"],
        "radius": {"x": 0.5, "y": 0.3},
        "categorical": ["a"],
        "by_record": True,
    }
    found = bdp.evaluate.identification_risk(whole, copy, **options)
    x, other = (np.rint(10 * frame.x).astype(int) for frame in (whole, copy))
    for i in range(60):
        matching = [
            j
            for j in range(60)
            if whole.a[i] == copy.a[j]
            and whole.b[i] == copy.b[j]
            and 2 * abs(x[i] - other[j]) <= abs(x[i])
            and 10 * abs(whole.y[i] - copy.y[j]) <= 3 * abs(whole.y[i])
        ]
        assert found["matches"][i] == len(matching)
        assert found["true"][i] == (i in matching)
    assert found["true"].any()
    monkeypatch.setattr("bayesdp.evaluation.identification_risk._CELLS", 40)
    pd.testing.assert_frame_equal(bdp.evaluate.identification_risk(whole, copy, **options), found)


def release():
    with bdp.reproducible(1):
        return bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1, 1])


@pytest.mark.parametrize(
    ("whole", "copy", "changes", "message"),
    [
        (WHOLE, release(), {}, "belong to no record"),
        (WHOLE, COPY.iloc[:3], {}, "number of rows"),
        (WHOLE.iloc[:0], COPY, {}, "no rows"),
        (WHOLE, COPY, {"known": ["age"]}, "known is"),
        (WHOLE, COPY, {"synthetic": []}, "at least one synthetic"),
        (WHOLE, COPY, {"known": ["income"]}, "none in both"),
        (WHOLE, COPY[["income"]], {}, r"released\[0\]"),
        (WHOLE, COPY, {"radius": None}, "radius is None"),
        (WHOLE, COPY, {"radius": -1}, "radius is -1"),
        (WHOLE, COPY, {"radius": math.nan}, "radius is nan"),
        (WHOLE, COPY, {"radius": {"town": 1}}, "radius is"),
        (WHOLE.assign(income=math.nan), COPY, {}, "missing values"),
        (WHOLE, COPY.assign(income=math.inf), {}, "aren't finite"),
        (WHOLE, COPY.assign(income="x"), {}, "numbers in some tables"),
    ],
)
def test_refusals(whole, copy, changes, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.evaluate.identification_risk(whole, copy, **{**ARGUMENTS, **changes})
