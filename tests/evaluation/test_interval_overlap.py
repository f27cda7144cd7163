"""Overlap and coverage of intervals, by hand."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp


def value(table, measure, column=None, **where):
    rows = table[table["measure"] == measure]
    if column is not None:
        rows = rows[rows["column"] == column]
    for key, wanted in where.items():
        rows = rows[rows[key] == wanted]
    assert len(rows) == 1
    return rows["value"].iloc[0]


def intervals(low, high, estimate=None):
    middle = (np.array(low) + np.array(high)) / 2 if estimate is None else estimate
    return pd.DataFrame(
        {"estimate": middle, "low": low, "high": high}, index=["a", "b"][: len(low)]
    )


def test_overlap_by_hand():
    whole = intervals([0.0, 0.0], [2.0, 1.0])
    copies = [intervals([1.0, 2.0], [5.0, 4.0]), intervals([0.5, 0.0], [1.5, 1.0]).iloc[::-1]]
    found = bdp.evaluate.interval_overlap(whole, copies).rename(columns={"component": "column"})
    assert value(found, "interval_overlap", "a", copy=0) == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert value(found, "interval_overlap", "b", copy=0) == 0
    assert value(found, "interval_overlap_signed", "b", copy=0) == pytest.approx((-1 - 1 / 2) / 2)
    assert value(found, "interval_overlap", "a", copy=1) == pytest.approx((1 / 2 + 1) / 2)
    assert value(found, "interval_overlap", "b", copy=1) == 1
    assert value(found, "covered", "a", copy=0) == 1  # 1 is on the edge
    assert value(found, "coverage", "a") == 1
    assert value(found, "coverage", "b") == 0.5
    known = bdp.evaluate.interval_overlap(whole, copies, truth={"a": 1.4, "b": 3.0})
    known = known.rename(columns={"component": "column"})
    assert value(known, "coverage", "a") == 1
    assert value(known, "coverage", "b") == 0.5


@pytest.mark.parametrize(
    ("whole", "copies", "truth", "message"),
    [
        (intervals([0.0], [1.0]), [], None, "released is empty"),
        (intervals([0.0], [1.0]), 3, None, "released is empty"),
        (intervals([0.0], [1.0]), intervals([0.0, 0.0], [1.0, 1.0]), None, "has components"),
        (intervals([0.0], [0.0]), intervals([0.0], [1.0]), None, "low below high"),
        (intervals([0.0], [math.inf]), intervals([0.0], [1.0]), None, "finite"),
        (intervals([0.0], [1.0])[["low"]], intervals([0.0], [1.0]), None, "with columns"),
        (intervals([0.0], [1.0]).iloc[:0], intervals([0.0], [1.0]), None, "at least one"),
        (intervals([0.0], [1.0]).astype(str) + "x", intervals([0.0], [1.0]), None, "hold numbers"),
        (intervals([0.0], [1.0]), intervals([0.0], [1.0]), {"b": 1}, "truth must be a mapping"),
        (intervals([0.0], [1.0]), intervals([0.0], [1.0]), {"a": math.nan}, "finite numbers"),
        (intervals([0.0], [1.0]), intervals([0.0], [1.0]), {"a": "x"}, "finite numbers"),
        (intervals([0.0], [1.0]), intervals([0.0], [1.0]), [0.5], "truth must be a mapping"),
    ],
)
def test_intervals_are_checked(whole, copies, truth, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.evaluate.interval_overlap(whole, copies, truth=truth)
