"""Copies that another program published, read into releases."""

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.core.axis import Axis

ONES = bdp.mechanisms.BetaBinomialMechanism(n=6, size=4, prior=(2.0, 2.0))
SHARES = bdp.mechanisms.CensoredBetaMechanism((-1.0, 1.0), 3, bounds=(0.0, 10.0))
AXES = tuple(Axis(name, categories=labels) for name, labels in [("a", ("x", "y")), ("b", (1, 2))])
TABLE = bdp.mechanisms.DirichletMultinomialMechanism(9, 4, 4, 1.0, (), AXES)


@pytest.mark.parametrize("given", [list, np.array, pd.Series, lambda v: pd.DataFrame({"v": v})])
@pytest.mark.parametrize(
    ("mechanism", "records"),
    [(ONES, [0, 1, 1, 1]), (ONES, [True, False] * 2), (SHARES, [5.5, 1, 9])],
)
def test_one_column_is_read_in_any_form(given, mechanism, records):
    for frames, copies in [(given(records), 1), ([given(records), given(records[::-1])], 2)]:
        release = bdp.Release.of_copies(frames, mechanism)
        output = sum(records) if mechanism is ONES else tuple(sorted(map(float, records)))
        assert release.outputs == (output,) * copies
        assert release.origin == "elsewhere"


@pytest.mark.parametrize(
    ("kind", "column", "table"),
    [("polars", "Series", "DataFrame"), ("pyarrow", "array", "table")],
)
def test_copies_may_be_of_polars_or_arrow(kind, column, table):
    package = pytest.importorskip(kind)
    records = [0, 1, 1, 1]
    for one in (getattr(package, column)(records), getattr(package, table)({"ill": records})):
        for frames, copies in [(one, 1), ([one, one], 2)]:
            assert bdp.Release.of_copies(frames, ONES).outputs == (3,) * copies


def test_a_release_comes_back_from_its_copies():

    with bdp.reproducible(1):
        made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, size=5, copies=2)
        release = made.release(np.array([0.2, 0.3]))
    again = bdp.Release.of_copies(release.to_frames(), release.mechanism)
    assert again.fingerprint == release.fingerprint


def test_a_folder_has_a_file_for_each_copy(tmp_path):
    pd.DataFrame({"id": [7, 8, 9, 10], "ill": [0, 0, 1, 0]}).to_csv(tmp_path / "1.csv", index=False)
    pd.DataFrame({"id": [7, 8, 9, 10], "ill": [1, 1, 1, 0]}).to_parquet(tmp_path / "2.parquet")
    release = bdp.Release.of_copies(tmp_path, ONES, column="ill")
    assert (release.outputs, release.variable) == ((1, 3), "ill")


def test_columns_of_categories_are_counted():
    frame = pd.DataFrame({"b": [1, 2, 2, 2], "a": ["x", "y", "y", "x"]})
    assert bdp.Release.of_copies(frame, TABLE).outputs == ((1, 1, 0, 2),)


def test_groups_have_mechanisms_of_their_own():
    frame = pd.DataFrame({"region": ["n"] * 4 + ["s"] * 2, "ill": [0, 1, 1, 1, 0, 1]})
    small = bdp.mechanisms.BetaBinomialMechanism(n=3, size=2, prior=(2.0, 2.0))
    release = bdp.Release.of_copies([frame, frame[::-1]], {"n": ONES, "s": small}, by="region")
    assert release.groups == ("n", "s")
    assert (release["n"].outputs, release["s"].outputs) == ((3, 3), (1, 1))
    posterior = bdp.BinomialModel().posterior(release["s"])
    assert posterior.mean() == bdp.BinomialModel().posterior(bdp.Release.of(small, [1, 1])).mean()


GROUPED = pd.DataFrame({"g": [1] * 4 + [2] * 4, "v": [0, 1] * 4})


@pytest.mark.parametrize(
    ("frames", "mechanism", "options", "message"),
    [
        ([0, 1, 1], ONES, {}, r"frames: output has 3 records .* size = 4"),
        ([[0, 1, 1, 0], [0, 1, 2, 0]], ONES, {}, r"frames\[1\]: .* from 0 to 1"),
        ([0.5, 1, 1, 0], ONES, {}, "whole number"),
        ([0, 1, None, 1], ONES, {}, "whole number"),
        ([1.0, 2.0, 10.0], SHARES, {}, "frames: .*aren't allowed"),
        (GROUPED, ONES, {}, "column is None; .* say which"),
        (GROUPED, ONES, {"by": "h"}, "by is 'h'"),
        (GROUPED[:6], ONES, {"by": "g"}, r"group 2 of frames: output has 2 records"),
        ([GROUPED, GROUPED[:4]], ONES, {"by": "g"}, r"group 2 of frames\[1\] has no rows"),
        (GROUPED, {1: ONES}, {"by": "g"}, r"groups \[1\]"),
        (GROUPED.v[:4], {1: ONES}, {}, "by doesn't say"),
        (GROUPED.assign(g=[None] + [1.0] * 7), ONES, {"by": "g"}, "missing labels"),
        (GROUPED, TABLE, {}, r"the columns \['a', 'b'\], all of them"),
        (pd.DataFrame({"a": ["z"] * 4, "b": [1] * 4}), TABLE, {}, "frames: .*categories"),
        ([], ONES, {}, "frames is"),
        ("nowhere", ONES, {}, "frames is"),
        (7, ONES, {}, "frames is of type int"),
        (GROUPED[:0], ONES, {"by": "g"}, "frames has no rows"),
        ([[[0], [1, 0]]], ONES, {}, "2 dimensions"),
        (np.zeros((1, 2, 3)), ONES, {}, "2 dimensions"),
        ([0, 1], "beta", {}, "mechanism is 'beta'"),
        ([0, 1], type(ONES), {}, "mechanism is the class"),
        (GROUPED, ONES, {"by": ["g"]}, "by is a list"),
        (GROUPED.assign(g=[["n"]] * 8), ONES, {"by": "g"}, "column 'g' of frames holds lists"),
        (
            GROUPED.assign(g=[("n", ["m"])] * 8),
            ONES,
            {"by": "g"},
            "column 'g' of frames holds lists",
        ),
        ([3], bdp.mechanisms.DiscreteLaplaceMechanism(scale=2.0), {}, "bdp.Release.of"),
    ],
)
def test_what_is_wrong_is_said(frames, mechanism, options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.Release.of_copies(frames, mechanism, **options)
