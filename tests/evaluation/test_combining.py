"""The combining rules against hand-computed numbers and their own definitions."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.evaluation.combining import RULES, proportions
from bayesdp.evaluation.combining_rules import half_widths, weights

Q = [0.30, 0.36, 0.33]  # mean 0.33, variance between 0.0009
V = [0.0020, 0.0022, 0.0024]  # mean 0.0022


@pytest.mark.parametrize(
    ("rule", "variance", "df"),
    [
        ("liu", 0.0022 + 0.0003, 2 * (1 + 0.0022 / 0.0003) ** 2),
        ("rubin", 0.0022 + 0.0012, 2 * (1 + 0.0022 / 0.0012) ** 2),
        ("reiter", 0.0012 - 0.0022, 2 * (1 - 0.0022 / 0.0012) ** 2),
        ("reiter_positive", 0.5 * 0.0022, 2 * (1 - 0.0022 / 0.0012) ** 2),
        ("raab", 0.0022 * (0.5 + 1.5 / 3), math.inf),
    ],
)
def test_by_hand(rule, variance, df):
    combined = bdp.combine(Q, V, rule=rule, size_ratio=0.5)
    assert combined.estimate == pytest.approx(0.33)
    assert combined.variance == pytest.approx(variance)
    assert combined.df == pytest.approx(df)
    assert combined.rule == rule


def test_liu_is_the_default_and_all_rules_are_tested():
    assert bdp.combine(Q, V).rule == "liu"
    assert list(RULES) == ["liu", "rubin", "reiter", "reiter_positive", "raab"]


def test_raab_is_one_plus_two_over_m_at_equal_sizes():
    """The form in which Liu (section 5.2) quotes it."""
    assert bdp.combine(Q, V, "raab").variance == pytest.approx((1 + 2 / 3) * 0.0022)


def test_intervals_are_student():
    combined = bdp.combine(Q, V)
    low, high = combined.interval(0.9)
    half = stats.t.ppf(0.95, combined.df) * math.sqrt(combined.variance)
    assert (low, high) == pytest.approx((0.33 - half, 0.33 + half))
    normal = bdp.combine(Q, V, "raab")
    assert np.diff(normal.interval(0.95)) == pytest.approx(
        2 * 1.959964 * math.sqrt(normal.variance), rel=1e-6
    )


@pytest.mark.parametrize(
    ("copies", "percent"), [(2, 87.1), (3, 92.1), (4, 93.5), (5, 94.1), (10, 94.8)]
)
def test_with_few_copies_intervals_cover_as_it_is_said(copies, percent):
    """Of normal estimates, at the worst ratio of b to v; the chances of b in 4,000 equal shares."""
    chance = (np.arange(4000) + 0.5) / 4000
    rule, level = weights("liu", copies, 1.0), []
    for ratio in np.geomspace(0.1, 1000, 200):
        b = ratio * stats.chi2.ppf(chance, copies - 1) / (copies - 1)
        v = np.ones_like(b)
        half = half_widths(rule.variance(v, b), rule.df(v, b), 0.95)
        level.append(np.mean(special.erf(half / math.sqrt(2 * (1 + ratio / copies)))))
    assert 100 * min(level) == pytest.approx(percent, abs=0.06)


def test_a_negative_variance_has_no_interval_but_a_way_out():
    with pytest.raises(bdp.errors.InvalidInput, match="reiter_positive"):
        bdp.combine(Q, V, "reiter").interval()
    low, high = bdp.combine(Q, V, "reiter_positive").interval()
    assert low < 0.33 < high


def test_no_degrees_of_freedom_is_no_information():
    """Where (1 + 1/M) b is just v, Reiter's degrees of freedom are nearly 0."""
    combined = bdp.combine([0.1, 0.3], [0.03, 0.03 + 1e-9], "reiter_positive")
    assert combined.df < 0.01
    assert combined.interval() == (-math.inf, math.inf)


def test_a_positive_reiter_variance_is_kept():
    spread = bdp.combine([0.1, 0.5], [0.01, 0.01], "reiter")
    assert spread.variance > 0
    assert bdp.combine([0.1, 0.5], [0.01, 0.01], "reiter_positive").variance == spread.variance


def test_equal_copies_have_infinite_degrees_of_freedom():
    for rule in ("liu", "rubin", "reiter_positive"):
        combined = bdp.combine([0.2, 0.2], [0.01, 0.01], rule)
        assert math.isinf(combined.df)
        assert all(map(math.isfinite, combined.interval()))


def test_proportions():
    q, v = proportions([25, 50], 100)
    assert q.tolist() == [0.25, 0.5]
    assert v == pytest.approx([0.001875, 0.0025])


def test_the_wald_test_is_the_squared_t_test():
    combined = bdp.combine(Q, V)
    test = combined.wald_test(0.25)
    t = (0.33 - 0.25) / math.sqrt(combined.variance)
    assert test.statistic == pytest.approx(t**2)
    assert test.df == (1, combined.df)
    assert test.p_value == pytest.approx(2 * stats.t.sf(t, combined.df))
    low, _ = combined.interval(0.95)
    assert combined.wald_test(low).p_value == pytest.approx(0.05, rel=1e-9)
    normal = bdp.combine(Q, V, "raab").wald_test(0.25)
    assert normal.df == (1, math.inf)
    assert normal.p_value == pytest.approx(stats.chi2.sf(normal.statistic, 1))


def test_wald_tests_that_cannot_be():
    with pytest.raises(bdp.errors.InvalidInput, match="reiter_positive"):
        bdp.combine(Q, V, "reiter").wald_test()
    with pytest.raises(bdp.errors.InvalidInput, match="variance is 0"):
        bdp.combine([0.2, 0.2], [0, 0]).wald_test()
    with pytest.raises(bdp.errors.InvalidInput, match="null is nan; it must be a finite number"):
        bdp.combine(Q, V).wald_test(math.nan)
    nothing_known = bdp.combine([0.1, 0.3], [0.03, 0.03 + 1e-9], "reiter_positive")
    assert nothing_known.wald_test(5).p_value == 1


class TestCombineAll:
    def test_rows_are_the_rules(self):
        table = bdp.evaluate.combine_all(Q, V, size_ratio=0.5, level=0.9)
        assert list(table.index) == list(RULES)
        assert list(table.columns) == ["estimate", "variance", "df", "low", "high", "note"]
        for rule in RULES:
            combined, row = bdp.combine(Q, V, rule, size_ratio=0.5), table.loc[rule]
            assert (row.estimate, row.variance, row.df) == pytest.approx(
                (combined.estimate, combined.variance, combined.df), rel=1e-12
            )
            if rule == "reiter":
                assert row.note == "negative variance"
                assert math.isnan(row.low)
                assert math.isnan(row.high)
            else:
                assert row.note == ""
                assert (row.low, row.high) == pytest.approx(combined.interval(0.9), rel=1e-12)

    def test_one_copy(self):
        table = bdp.evaluate.combine_all([0.2], [0.01])
        assert table.loc["raab", "variance"] == pytest.approx(0.03)
        others = table.drop("raab")
        assert set(others.note) == {"needs two copies"}
        assert others.drop(columns="note").isna().all(axis=None)

    def test_vectors_have_a_row_per_component(self):
        q = pd.DataFrame({"age": Q, "sex": [1.0, 2.0, 4.0]})
        table = bdp.evaluate.combine_all(q, pd.DataFrame({"age": V, "sex": V}))
        assert table.index.names == ["rule", "component"]
        assert table.xs("age", level="component").equals(bdp.evaluate.combine_all(Q, V))
        assert table.loc[("liu", "sex"), "estimate"] == pytest.approx(7 / 3)

    def test_bad_input_is_named(self):
        with pytest.raises(bdp.errors.InvalidInput, match="level is 1"):
            bdp.evaluate.combine_all(Q, V, level=1)
        with pytest.raises(bdp.errors.InvalidInput, match="size_ratio is 0"):
            bdp.evaluate.combine_all(Q, V, size_ratio=0)
        with pytest.raises(bdp.errors.InvalidInput, match="match them"):
            bdp.evaluate.combine_all(Q, V[:2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Q, V, "fisher"), "rule is 'fisher'"),
        ((Q, V, ["liu"]), "rule is a list"),
        ((np.array(["0.3", 0.4], dtype=object), V[:2]), "estimates must be .* finite numbers"),
        ((Q, V[:2]), "match them"),
        (([0.2], [0.01]), "needs at least 2"),
        (([], []), "estimates must be"),
        (([0.1, math.nan], [1, 1]), "estimates must be"),
        (([0.1, 0.2], [1, math.inf]), "variances must be"),
        (([0.1, 0.2], [1, -1]), "negative"),
        (([[0.1, 0.2]], [[1, 1]]), "needs at least 2"),
        (([[[0.1, 0.2]]], [[[1, 1]]]), "estimates must be"),
        ((["a", "b"], [1, 1]), "estimates must be"),
        ((["0.1", "0.2"], [1, 1]), "estimates must be"),
        ((np.ma.array([0.1, 9.0], mask=[0, 1]), [1, 1]), "none of them masked"),
        (([[0.1, 0.2], [0.3]], [1, 1]), "estimates must be"),
        ((0.3, 0.1), "estimates must be"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.combine(*arguments)


def test_bad_size_ratio():
    with pytest.raises(bdp.errors.InvalidInput, match="size_ratio is 0"):
        bdp.combine(Q, V, "raab", size_ratio=0)


def test_one_copy_is_enough_for_raab():
    assert bdp.combine([0.2], [0.01], "raab").variance == pytest.approx(0.03)


def test_an_interval_of_no_width_is_noted():
    """Proportions of 0 of 100 in all copies have no variance, within or between."""
    none, some = (bdp.evaluate.combine_all(q, [0.0, 0.0]) for q in ([0.0, 0.0], [0.0, 0.1]))
    assert set(none["note"]) == {"no variance: an interval of no width"}
    assert [name for name in some.index if some.loc[name, "note"]] == ["raab"]
