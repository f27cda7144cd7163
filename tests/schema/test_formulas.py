"""Columns in formulas: what is found, and that nothing unknown is passed over."""

import pytest

from bayesdp.errors import InvalidInput
from bayesdp.schema.formulas import columns_of

KNOWN = ["income", "age", "sex", "years at school", "school"]


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("income ~ age + C(sex)", ["income", "age", "sex"]),
        ("np.log(income) ~ age * sex + I(age**2)", ["income", "age", "sex"]),
        ("income ~ Q('years at school') - 1", ["income", "years at school"]),
        ("income ~ bs(age, df=4, include_intercept=True)", ["income", "age"]),
        ("income ~ C(school, Treatment(reference='none')) + C(sex, Sum)",
         ["income", "school", "sex"]),
        ("income ~ C(school, levels=['sex', 'age'])", ["income", "school"]),
        ("income ~ 1", ["income"]),
        ("I(income > 3) ~ scale(age)", ["income", "age"]),
    ],
)  # fmt: skip
def test_columns_are_found(formula, found):
    assert columns_of(formula, KNOWN) == found


def test_a_column_with_a_function_s_name_is_no_function():
    assert columns_of("C ~ C(I) + I(age > 3) + Q('Q')", ["C", "I", "Q", "age"]) == [
        "C",
        "I",
        "age",
        "Q",
    ]
    assert columns_of("age ~ C(sex)", ["C", "age", "sex"]) == ["age", "sex"]


@pytest.mark.parametrize(
    "formula",
    ["income ~ weight", "weight ~ age", "income ~ age + C(weight)", "income ~ Q('no')", " ~ age",
     "1 ~ age", "income ~ (", "income", "income ~ age ~ sex", "", 3, None],
)  # fmt: skip
def test_what_is_unknown_is_refused(formula):
    with pytest.raises(InvalidInput, match="workload is"):
        columns_of(formula, KNOWN, name="workload")
