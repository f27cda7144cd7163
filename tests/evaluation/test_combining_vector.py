"""Vector estimands: each component as it is alone, and the matrices as statsmodels has them."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from statsmodels.imputation import mice

import bayesdp as bdp
from bayesdp.evaluation.combining import RULES


def covariances(generator, copies, size):
    roots = generator.normal(size=(copies, size, size + 1))
    return roots @ roots.transpose(0, 2, 1)


@pytest.fixture
def analyses():
    generator = np.random.default_rng(8)
    return generator.normal(size=(6, 3)), covariances(generator, 6, 3)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", ["matrices", "variances"])
def test_one_component_is_the_scalar(rule, shape):
    q, v = np.array([0.30, 0.36, 0.33, 0.41]), np.array([0.0020, 0.0022, 0.0024, 0.0018])
    for scale in (1e-3, 1.0, 1e3):  # with reiter's variance negative, and positive
        alone = bdp.combine(q, scale * v, rule, size_ratio=0.7)
        variances = scale * (v[:, None, None] if shape == "matrices" else v[:, None])
        vector = bdp.combine(q[:, None], variances, rule, size_ratio=0.7)
        assert vector.estimate == pytest.approx([alone.estimate], rel=1e-14)
        assert vector.variance == pytest.approx([alone.variance], rel=1e-12)
        assert vector.df == pytest.approx([alone.df], rel=1e-12)
        if alone.variance > 0:
            for ends, end in zip(vector.interval(0.9), alone.interval(0.9), strict=True):
                assert ends == pytest.approx([end], rel=1e-12)
            if shape == "matrices":
                for proportional in (True, False):
                    test = vector.wald_test(0.2, proportional=proportional)
                    expected = alone.wald_test(0.2)
                    assert test.statistic == pytest.approx(expected.statistic, rel=1e-12)
                    assert test.df == pytest.approx(expected.df, rel=1e-12)
                    assert test.p_value == pytest.approx(expected.p_value, rel=1e-9)


@pytest.mark.slow
@given(
    npst.arrays(float, (4, 2), elements=st.floats(-9, 9)),
    npst.arrays(float, (4, 2), elements=st.floats(1e-6, 9)),
    st.sampled_from(list(RULES)),
)
def test_each_component_is_combined_as_alone(q, v, rule):
    vector = bdp.combine(q, v, rule, size_ratio=1.5)
    for j in range(2):
        alone = bdp.combine(q[:, j], v[:, j], rule, size_ratio=1.5)
        assert vector.estimate[j] == pytest.approx(alone.estimate, rel=1e-12, abs=1e-12)
        assert vector.variance[j] == pytest.approx(alone.variance, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "within", "between"),
    [("liu", 1, 1 / 6), ("rubin", 1, 7 / 6), ("reiter", -1, 7 / 6), ("raab", 0.5 + 1.5 / 6, 0)],
)
def test_the_covariance(analyses, rule, within, between):
    q, v = analyses
    combined = bdp.combine(q, v, rule, size_ratio=0.5)
    expected = within * v.mean(axis=0) + between * np.cov(q.T)
    assert combined.covariance == pytest.approx(expected, rel=1e-12)
    assert combined.variance == pytest.approx(np.diag(expected), rel=1e-12)
    assert combined.within == pytest.approx(v.mean(axis=0))
    assert combined.between == pytest.approx(np.cov(q.T))
    assert combined.rule == rule


def test_reiter_positive_keeps_the_matrix_positive(analyses):
    q, v = analyses
    far, near = (bdp.combine(s * q, v, "reiter_positive", size_ratio=2) for s in (30, 0.1))
    assert far.covariance == pytest.approx(bdp.combine(30 * q, v, "reiter").covariance)
    assert near.covariance == pytest.approx(2 * v.mean(axis=0))
    # As many components as copies: B has no full rank, and T is never positive.
    few = bdp.combine(1e3 * q[:3], v[:3], "reiter_positive")
    assert few.covariance == pytest.approx(v[:3].mean(axis=0))


def test_the_covariance_turns_with_contrasts(analyses):
    q, v = analyses
    contrast = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 1.0]])
    whole = bdp.combine(q, v)
    part = bdp.combine(q @ contrast.T, contrast @ v @ contrast.T)
    assert part.estimate == pytest.approx(contrast @ whole.estimate)
    assert part.covariance == pytest.approx(contrast @ whole.covariance @ contrast.T)


def test_statsmodels_combines_alike_by_rubins_rule():
    """Against MICE of statsmodels, on its own imputations."""
    generator = np.random.default_rng(4)
    data = pd.DataFrame(generator.normal(size=(80, 3)), columns=["y", "a", "b"])
    data["y"] += data["a"]
    data.loc[generator.random(80) < 0.3, "a"] = np.nan
    state = np.random.get_state()  # MICEData draws from numpy's global generator
    np.random.seed(1)
    imputer = mice.MICE("y ~ a + b", sm.OLS, mice.MICEData(data))
    theirs = imputer.fit(2, 6)
    np.random.set_state(state)
    fits = imputer.results_list
    ours = bdp.combine(
        np.array([f.params for f in fits]), [np.asarray(f.cov_params()) for f in fits], "rubin"
    )
    assert ours.estimate == pytest.approx(theirs.params, rel=1e-12)
    assert ours.covariance == pytest.approx(np.asarray(theirs.cov_params()), rel=1e-10)
    # Their fraction of missing information, (1 + 1/M) b / T, is sqrt((M - 1) / df).
    assert np.sqrt(5 / ours.df) == pytest.approx(theirs.frac_miss_info, rel=1e-10)


class TestNames:
    def test_come_from_a_frame_of_estimates(self):
        data = sm.add_constant(pd.DataFrame({"x": [1.0, 2, 3, 5], "z": [2.0, 1, 0, 1]}))
        fits = [
            sm.OLS(np.array(y), data).fit()
            for y in ([1.0, 2, 2, 4], [2.0, 2, 1, 5], [1.0, 1, 3, 3])
        ]
        combined = bdp.combine(
            pd.DataFrame([f.params for f in fits]), [f.cov_params() for f in fits]
        )
        assert combined.names == ("const", "x", "z")
        table = combined.to_frame(0.9)
        assert list(table.index) == ["const", "x", "z"]
        low, high = combined.interval(0.9)
        assert table.low.to_numpy() == pytest.approx(low)
        assert table.high.to_numpy() == pytest.approx(high)
        assert table.df.to_numpy() == pytest.approx(combined.df)

    def test_are_numbers_otherwise(self, analyses):
        assert bdp.combine(*analyses).names == ("0", "1", "2")

    def test_another_order_is_refused(self):
        q = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]})
        with pytest.raises(bdp.errors.InvalidInput, match="one order"):
            bdp.combine(q, q[["b", "a"]])
        matrix = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"])
        bdp.combine(q, [matrix, matrix])
        for other in (matrix[["b", "a"]], matrix.loc[["b", "a"]]):
            with pytest.raises(bdp.errors.InvalidInput, match="one order"):
                bdp.combine(q, [matrix, other])


class TestRefusals:
    def test_intervals_name_the_component(self, analyses):
        q, v = analyses
        combined = bdp.combine(0.01 * q, v, "reiter")
        assert np.all(combined.variance < 0)
        with pytest.raises(bdp.errors.InvalidInput, match=r"variance of '0'.*reiter_positive"):
            combined.interval()
        assert combined.to_frame().low.isna().all()
        with pytest.raises(bdp.errors.InvalidInput, match="level is 0"):
            combined.interval(0)

    @pytest.mark.parametrize("shape", [(6, 2), (6, 3, 2), (5, 3, 3), (6,), (3, 3)])
    def test_shapes(self, analyses, shape):
        with pytest.raises(bdp.errors.InvalidInput, match="match them"):
            bdp.combine(analyses[0], np.ones(shape))

    def test_matrices_for_scalars(self):
        with pytest.raises(bdp.errors.InvalidInput, match="match them"):
            bdp.combine([1.0, 2.0], np.ones((2, 2, 2)))

    def test_matrices(self, analyses):
        q, v = analyses
        bent = v.copy()
        bent[2, 0, 1] += 0.01
        with pytest.raises(bdp.errors.InvalidInput, match=r"variances\[2\] isn't symmetric"):
            bdp.combine(q, bent)
        indefinite = v.copy()
        indefinite[4] = [[1, 2, 0], [2, 1, 0], [0, 0, 1]]
        with pytest.raises(
            bdp.errors.InvalidInput, match=r"variances\[4\] isn't positive semidefinite"
        ):
            bdp.combine(q, indefinite)
        with pytest.raises(bdp.errors.InvalidInput, match="negative element"):
            bdp.combine(q, -v)
        unknown = v.copy()
        unknown[0, 0, 0] = math.nan
        with pytest.raises(bdp.errors.InvalidInput, match="variances must be"):
            bdp.combine(q, unknown)

    def test_rounding_is_no_asymmetry(self, analyses):
        q, v = analyses
        v = v * np.outer([1, 1e-6, 1e6], [1, 1e-6, 1e6])  # however different the units
        rounded = v * (1 + 1e-12 * np.random.default_rng(1).normal(size=v.shape))
        assert bdp.combine(q, rounded).covariance == pytest.approx(
            bdp.combine(q, v).covariance, rel=1e-9
        )

    def test_one_copy(self, analyses):
        q, v = analyses
        with pytest.raises(bdp.errors.InvalidInput, match="needs at least 2"):
            bdp.combine(q[:1], v[:1])
        assert bdp.combine(q[:1], v[:1], "raab").covariance == pytest.approx(3 * v[0])

    def test_wald_tests(self, analyses):
        q, v = analyses
        with pytest.raises(bdp.errors.InvalidInput, match="covariance matrix"):
            bdp.combine(q, np.abs(q)).wald_test()
        combined = bdp.combine(q, v)
        with pytest.raises(bdp.errors.InvalidInput, match="null has 2 elements"):
            combined.wald_test([0, 0])
        with pytest.raises(bdp.errors.InvalidInput, match="null must be"):
            combined.wald_test([0, 0, math.inf])
        with pytest.raises(bdp.errors.InvalidInput, match="below zero; use rule='reiter_positive'"):
            bdp.combine(0.1 * q, v, "reiter").wald_test()
        with pytest.raises(bdp.errors.InvalidInput, match="isn't positive definite"):
            bdp.combine(0.1 * q, v, "reiter").wald_test(proportional=False)
        double = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]])  # the third is a sum of the others
        with pytest.raises(bdp.errors.InvalidInput, match="depend on the others"):
            bdp.combine(q @ double.T, double @ v @ double.T).wald_test()
        # Where (1 + 1/M) B is just above V, T is known on next to no degrees of freedom.
        cloud = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])  # B = 4/3 I
        few = bdp.combine(cloud, np.stack([1.6 * np.eye(3)] * 4), "reiter")
        assert few.covariance == pytest.approx((5 / 3 - 1.6) * np.eye(3))
        with pytest.raises(bdp.errors.InvalidInput, match="degrees of freedom"):
            few.wald_test(proportional=False)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("moved", [1e-107, 1e-160])
def test_copies_that_hardly_differ_have_infinite_degrees_of_freedom(rule, moved):
    """Their limit, where the squared ratio of the variances is beyond floats."""
    q = np.array([[moved, 0.0], [0.0, 0.0]])
    both = bdp.combine(q, np.ones((2, 2)), rule=rule)
    alone = bdp.combine(q[:, 0], np.ones(2), rule=rule)
    assert both.df[0] == alone.df == np.inf


def test_lists_of_series_are_combined_by_their_labels():
    """Of fits whose rare labels differ, as many parameters were averaged by their places."""
    one = pd.Series({"Intercept": 1.0, "job[b]": 2.0})
    found = bdp.combine([one, one + 1], [one.abs() + 1] * 2, rule="rubin")
    assert found.names == ("Intercept", "job[b]")
    for other in (one[::-1], one.rename({"job[b]": "job[c]"}), one.to_numpy()):
        with pytest.raises(bdp.errors.InvalidInput, match="one with other labels, or in another"):
            bdp.combine([one, other], [[1.0, 1.0]] * 2, rule="rubin")
    with pytest.raises(bdp.errors.InvalidInput, match="one order"):
        bdp.combine([one, one + 1], [one[::-1] + 1] * 2, rule="rubin")
    numbers = bdp.combine([pd.Series([1.0, 2.0])] * 2, [[1.0, 1.0]] * 2, rule="rubin")
    assert numbers.names == ("0", "1")
