"""What synthetic counts tell of confidential ones, against counting cell by cell."""

import itertools

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp


def test_every_cell_is_counted():
    rng = np.random.default_rng(3)
    tables = [
        pd.DataFrame(
            {"a": rng.choice(list("xyz"), n, p=[0.7, 0.2, 0.1]), "b": rng.integers(0, 5, n)}
        )
        for n in (60, 55, 61)
    ]
    found = bdp.evaluate.cell_risk(tables[0], tables[1:], columns=["b", "a"])
    pairs = [
        (((copy["a"] == a) & (copy["b"] == b)).sum(), ((true["a"] == a) & (true["b"] == b)).sum())
        for true, copy in zip([tables[0]] * 2, tables[1:], strict=True)
        for a, b in itertools.product("xyz", range(5))
    ]
    assert found["cells"].sum() == 30
    assert found["synthetic"].tolist() == sorted({s for s, _ in pairs})
    for row in found.itertuples():
        true = np.array([t for s, t in pairs if s == row.synthetic])
        assert row.cells == len(true)
        assert row.same == pytest.approx(np.mean(true == row.synthetic))
        for name, q in (("low", 0.05), ("median", 0.5), ("high", 0.95)):
            assert getattr(row, name) == np.quantile(true, q, method="inverted_cdf")


def test_cells_that_are_empty_in_both_are_not_listed_one_by_one():
    """Twelve columns of ten labels each: 10^12 cells, of which some dozen have a row."""
    labels = {f"c{k}": range(10) for k in range(12)}
    true = pd.DataFrame(labels)
    copy = pd.concat([true, pd.DataFrame({name: [k % 10] for k, name in enumerate(labels)})])
    found = bdp.evaluate.cell_risk(true, copy, columns=list(labels)).set_index("synthetic")
    assert found.loc[0, "cells"] == 10**12 - 11
    assert found.loc[0, "same"] == 1
    assert found.loc[1, ["cells", "low", "high"]].tolist() == [11, 0, 1]
    assert found.loc[1, "same"] == pytest.approx(10 / 11)


@pytest.mark.parametrize(
    ("change", "columns", "message"),
    [
        ({}, [], "columns is empty"),
        ({}, ["a", "a"], "each must be a different column"),
        ({}, ["c"], "each must be a different column of confidential"),
        ({}, "a", "give a list of names"),
        ({"a": [None, "y"]}, ["a"], r"released\[0\] has missing values in \['a'\]"),
        ({"a": [1, 2]}, ["a"], "convert them to one type"),
    ],
)
def test_what_is_refused(change, columns, message):
    true = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    with pytest.raises(bdp.errors.InvalidInput, match=message) as refused:
        bdp.evaluate.cell_risk(true, true.assign(**change), columns=columns)
    assert "'x'" not in str(refused.value)
