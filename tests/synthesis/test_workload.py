"""Workloads: planned analyses, and the marginals that they need."""

import itertools
import tomllib

import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from bayesdp.evaluation.declarations import synthesizer_of
from bayesdp.synthesis.workload import marginals_of

NAMES = ["age", "sex", "school", "income"]
SCHEMA = bdp.Schema({name: {"type": "boolean"} for name in NAMES})


@pytest.mark.parametrize(
    ("workload", "marginals"),
    [
        (None, [*itertools.combinations(NAMES, 2)]),
        (["income ~ age + C(sex)"],
         [("age", "sex"), ("age", "income"), ("sex", "income"), ("school",)]),
        ([("sex", "age", "income")],
         [("age", "sex"), ("age", "income"), ("sex", "income"), ("age", "sex", "income"),
          ("school",)]),
        ([NAMES], [*itertools.combinations(NAMES, 2)]),
        ([("sex", "age"), "sex ~ age", ["age", "sex", "sex"]],
         [("age", "sex"), ("school",), ("income",)]),
        (["income ~ C(sex) * age"],
         [("age", "sex"), ("age", "income"), ("sex", "income"), ("age", "sex", "income"),
          ("school",)]),
        (["income ~ age:sex + school"],
         [*itertools.combinations(NAMES, 2), ("age", "sex", "school"), ("age", "sex", "income")]),
        (["income ~ age * sex * school"],
         [*itertools.combinations(NAMES, 2), *itertools.combinations(NAMES, 3)]),
        (["income ~ I(age > sex)", ["age", "sex"]],
         [("age", "sex"), ("age", "income"), ("sex", "income"), ("age", "sex", "income"),
          ("school",)]),
        ([["school"], "income ~ 1"], [("school",), ("income",), ("age",), ("sex",)]),
    ],
)  # fmt: skip
def test_what_is_related_is_measured_and_all_else_alone(workload, marginals):
    made = bdp.TableSynthesizer(SCHEMA, workload=workload)
    assert made.measured == tuple(marginals)
    assert made.mechanism(None, 1.0).rounds[0].scale == pytest.approx(len(marginals))


def test_a_workload_is_declared_in_toml():
    declared = tomllib.loads(
        "chosen = 2\npilot = 0.3\nworkload = ['income ~ age', ['sex', 'age', 'income']]\n"
        + "".join(f"[schema.columns.{name}]\ntype = 'boolean'\n" for name in NAMES)
    )
    made = synthesizer_of("table", declared)
    workload = ["income ~ age", ("sex", "age", "income")]
    other = bdp.TableSynthesizer(SCHEMA, chosen=2, pilot=0.3, workload=workload)
    assert made.mechanism(None, 1.0) == other.mechanism(None, 1.0)


def test_all_pairs_of_three_columns_are_no_triple():
    assert marginals_of(None, ["a", "b", "c"]) == (("a", "b"), ("a", "c"), ("b", "c"))
    assert marginals_of(None, ["a"]) == (("a",),)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workload": "income ~ age"}, "workload is 'income ~ age'; it must be a list"),
        ({"workload": []}, "workload is a list"),
        ({"workload": [3]}, "workload is a list"),
        ({"workload": ["age", "sex"]}, "workload's formula is 'age'"),
        ({"workload": ["income ~ weight"]}, "workload's formula is 'income ~ weight'"),
        ({"workload": ["income ~ age *"]}, "which statsmodels can't read"),
        ({"workload": ["income ~ age * sex"], "most_cells": 7}, "has 8 cells, and most_cells is 7"),
        ({"workload": [["age", "weight"]]}, "isn't of columns; the columns are age, sex"),
        ({"workload": [[]]}, "isn't of columns"),
        ({"workload": [["age", 3]]}, "isn't of columns"),
        ({"workload": [["age"]], "marginals": [["age"]]}, "both given"),
    ],
)
def test_wrong_workloads_are_named(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        bdp.TableSynthesizer(SCHEMA, **wrong)
