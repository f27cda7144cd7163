"""Measures of utility against hand-computed numbers, an oracle's fit and the law of chance."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation.compared_frames import category_codes
from bayesdp.evaluation.propensity import (
    design,
    ecdf_distances,
    propensities,
    propensity_measures,
)
from tests.evaluation.test_interval_overlap import intervals, value

CONFIDENTIAL = pd.DataFrame(
    {"x": [1.0, 2.0, 3.0, 4.0], "sex": ["f", "f", "m", "m"], "ill": [True, False, False, False]}
)
RELEASED = pd.DataFrame({"ill": [True, True], "sex": ["m", "f"], "x": [2.0, 5.0]})


def test_by_hand():
    found = bdp.evaluate.utility(CONFIDENTIAL, RELEASED, quantiles=[0.5, 1])
    assert list(found.columns) == ["measure", "column", "other", "level", "copy", "value"]
    # F = 1/4, 1/2, 3/4, 1 at 1, 2, 3, 4 and G = 0, 1/2, 1/2, 1/2: largest at 4, and F = G at 5.
    assert value(found, "ecdf_max", "x") == 0.5
    squares = [1 / 16, 0, 1 / 16, 1 / 4, 0, 0]  # 2 appears twice among the six
    assert value(found, "ecdf_mean_squared", "x") == pytest.approx(sum(squares) / 6)
    assert value(found, "quantile_difference", "x", level=0.5) == 3.5 - 2.5
    assert value(found, "quantile_difference", "x", level=1.0) == 5 - 4
    assert value(found, "marginal_tv", "sex") == 0
    assert value(found, "marginal_tv", "ill") == 0.75
    assert value(found, "marginal_tv", "x") == pytest.approx((3 / 4 + 1 / 4 + 1 / 2) / 2)
    # (f, True), (f, False), (m, True), (m, False): 1/4, 1/4, 0, 1/2 and 1/2, 0, 1/2, 0
    assert value(found, "pairwise_tv", "sex", other="ill") == 0.75


def test_equal_tables_are_not_told_apart():
    shuffled = CONFIDENTIAL.sample(frac=1, random_state=1)[["sex", "ill", "x"]]
    found = bdp.evaluate.utility(CONFIDENTIAL, [shuffled, shuffled])
    assert set(found["copy"]) == {0, 1}
    kept = found[~found["measure"].isin(["pmse_standardized"])]
    assert np.allclose(kept["value"], 0, atol=1e-12)
    assert value(found, "pmse_standardized", copy=0) == pytest.approx(-math.sqrt(3 / 2))


def test_ecdf_maximum_is_scipys():
    generator = np.random.default_rng(3)
    a, b = np.round(generator.normal(size=200), 1), np.round(generator.normal(0.3, 1, 150), 1)
    assert ecdf_distances(a, b)[0] == pytest.approx(stats.ks_2samp(a, b).statistic, abs=1e-12)


def test_numbers_are_cut_at_confidential_quantiles():
    whole = pd.DataFrame({"x": np.arange(100.0)})
    found = bdp.evaluate.utility(whole, whole + 50, bins=2)
    assert value(found, "marginal_tv", "x") == 0.5  # 50 of 100, and 100, are above the median
    few = bdp.evaluate.utility(whole % 3, (whole % 3).replace(2.0, 1.0), bins=3)
    assert value(few, "marginal_tv", "x") == pytest.approx(0.33)  # uncut: 34, 33 and 33 records


def test_propensities_are_statsmodels():
    generator = np.random.default_rng(11)
    groups = np.repeat([0.0, 1.0], [120, 80])
    x = generator.normal(size=200) * 1000 + 300 * groups
    labels = generator.choice(["a", "b", "c"], 200)
    frames = [pd.DataFrame({"x": x, "l": labels})[groups == g] for g in (0, 1)]
    codes = category_codes(frames, "l")
    predictors = design({"x": (x[:120], x[120:])}, {"l": tuple(codes)}, interactions=True)
    assert predictors.shape == (200, 6)
    fitted = propensities(predictors, groups)
    formula = sm.Logit.from_formula(
        "g ~ x * C(l)", pd.DataFrame({"g": groups, "x": x, "l": labels})
    )
    oracle = formula.fit(disp=0, method="newton", tol=1e-12)
    assert fitted == pytest.approx(oracle.predict(), abs=1e-7)
    found = propensity_measures(predictors, 120)
    pmse = np.mean((oracle.predict() - 0.4) ** 2)
    unit = 0.6**2 * 0.4 / 200
    assert found["pmse"] == pytest.approx(pmse)
    assert found["pmse_ratio"] == pytest.approx(pmse / (5 * unit))
    assert found["pmse_standardized"] == pytest.approx((pmse - 5 * unit) / (math.sqrt(10) * unit))
    assert found["pmse_ratio_independent"] == pytest.approx(pmse / (5 * 0.6 * 0.4 / 200))
    scores = stats.ks_2samp(fitted[:120], fitted[120:]).statistic
    assert found["propensity_ks"] == pytest.approx(scores)


def test_categories_alone_give_shares():
    """A saturated model's scores are the synthetic shares of the cells."""
    found = bdp.evaluate.utility(CONFIDENTIAL[["ill"]], RELEASED[["ill"]])
    p, c = 2 / 3, 1 / 3  # of three True two are synthetic; of three False none
    assert value(found, "pmse") == pytest.approx(((p - c) ** 2 + (0 - c) ** 2) / 2, abs=1e-6)
    assert value(found, "propensity_ks") == pytest.approx(0.75)


def test_separated_tables_reach_the_bound():
    whole = pd.DataFrame({"x": [1.0, 2, 3, 4], "y": [4.0, 1, 3, 2]})
    found = bdp.evaluate.utility(whole, whole + 10)
    assert value(found, "pmse") == pytest.approx(0.25, abs=1e-4)
    assert value(found, "propensity_ks") == 1


def test_separated_tables_may_have_outliers():
    whole = pd.DataFrame({"x": [1.0, 2, 3, 1e6]})
    found = bdp.evaluate.utility(whole, -whole)
    assert value(found, "pmse") == pytest.approx(0.25, abs=1e-4)


def test_dependent_and_constant_columns_add_no_coefficient():
    generator = np.random.default_rng(5)
    whole = pd.DataFrame({"x": generator.normal(size=50)})
    copy = pd.DataFrame({"x": generator.normal(0.4, 1, size=60)})
    alone = bdp.evaluate.utility(whole, copy)
    more = bdp.evaluate.utility(
        *[t.assign(twice=2 * t["x"] + 1, one=1.0, word="same") for t in (whole, copy)]
    )
    for measure in ("pmse", "pmse_ratio", "pmse_standardized", "propensity_ks"):
        assert value(more, measure) == pytest.approx(value(alone, measure))
    constant = bdp.evaluate.utility(pd.DataFrame({"x": [1.0, 1.0]}), pd.DataFrame({"x": [1.0]}))
    assert value(constant, "pmse") == pytest.approx(0)
    assert math.isnan(value(constant, "pmse_ratio"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fitted", "measure"), [(True, "pmse_ratio"), (False, "pmse_ratio_independent")]
)
def test_chance_alone_gives_a_ratio_of_one(fitted, measure):
    """Copies from the fitted law, and independent samples of one law, each by their expectation.

    600 replicates at n = 1500 and n_syn = 750: within 5 standard errors (false alarms 6e-7), and
    0.5% for what the expectation leaves out, of order k / N.
    """
    generator = np.random.default_rng(17)
    ratios = []
    for _ in range(600):
        whole = generator.normal(size=(1500, 3))
        copy = generator.normal(size=(750, 3))
        if fitted:
            spread = np.linalg.cholesky(np.cov(whole.T))
            copy = whole.mean(axis=0) + copy @ spread.T
        columns = {j: (whole[:, j], copy[:, j]) for j in range(3)}
        ratios.append(propensity_measures(design(columns, {}, False), 1500)[measure])
    error = np.std(ratios, ddof=1) / math.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 1) < 5 * error + 0.005
    # and the one expectation isn't the other's: they differ by 1 - c = 2/3
    assert abs(np.mean(ratios) * 1.5 - 1) > 5 * error + 0.005


def test_a_release_is_compared_copy_by_copy():
    data = pd.DataFrame({"vote": [0] * 60 + [1] * 40})
    with bdp.reproducible(3):
        release = bdp.BetaBinomialSynthesizer(epsilon=1.0, copies=3).release(data["vote"])
    frames = [f.rename(columns={release.variable: "vote"}) for f in release.to_frames()]
    renamed = data.rename(columns={"vote": release.variable})
    found = bdp.evaluate.utility(renamed, release, categorical=[release.variable])
    pd.testing.assert_frame_equal(
        found.assign(column=found["column"].replace(release.variable, "vote")),
        bdp.evaluate.utility(data, frames, categorical=["vote"]),
    )
    shares = [frame["vote"].mean() for frame in frames]
    distances = found[found["measure"] == "marginal_tv"]["value"]
    assert list(distances) == pytest.approx([abs(share - 0.4) for share in shares])


def test_an_analysis_is_compared_in_the_same_call():
    def mean(frame):
        half = 1.96 * frame["x"].std() / math.sqrt(len(frame))
        return intervals([frame["x"].mean() - half], [frame["x"].mean() + half])

    found = bdp.evaluate.utility(CONFIDENTIAL, [RELEASED, CONFIDENTIAL], analysis=mean)
    assert value(found, "interval_overlap", "a", copy=1) == pytest.approx(1)
    assert value(found, "coverage", "a") == 1
    assert found.columns.tolist() == ["measure", "column", "other", "level", "copy", "value"]


def test_plot():
    generator = np.random.default_rng(2)
    frames = [
        pd.DataFrame({"x": generator.normal(size=40), "l": generator.choice(["u", "v"], 40)})
        for _ in range(3)
    ]
    table = bdp.evaluate.utility(
        frames[0],
        frames[1:],
        analysis=lambda f: intervals([f["x"].mean() - 1], [f["x"].mean() + 1]),
    )
    figure = bdp.evaluate.plot_utility(table)
    assert [axes.get_title("left") for axes in figure.axes[:4]] == [
        "columns",
        "pairs: total variation",
        "pMSE ratio",
        "intervals",
    ]
    drawn = figure.axes[2].lines[0].get_ydata()
    assert list(drawn) == list(table[table["measure"] == "pmse_ratio"]["value"])
    figure.canvas.draw()
    one = bdp.evaluate.plot_utility(bdp.evaluate.utility(frames[0][["x"]], frames[1][["x"]]))
    assert len(one.axes) == 2
    with pytest.raises(bdp.errors.InvalidInput, match=r"bdp\.evaluate\.utility returns"):
        bdp.evaluate.plot_utility(frames[0])
    with pytest.raises(bdp.errors.InvalidInput, match="marginal_tv"):
        bdp.evaluate.plot_utility(table[table["measure"] == "pmse"])


SECRET = pd.DataFrame({"x": [918273.0, 645546.0], "l": ["secretive", "hidden"]})


@pytest.mark.parametrize(
    ("confidential", "released", "options", "message"),
    [
        (SECRET.to_numpy(), SECRET, {}, "confidential is a ndarray"),
        (SECRET.iloc[:0], SECRET, {}, "confidential has no rows"),
        (SECRET, SECRET.iloc[:0], {}, r"released\[0\] has no rows"),
        (SECRET, [], {}, "released is a list"),
        (SECRET, [SECRET, 3], {}, "released is a list"),
        (SECRET, 3, {}, "released is a int"),
        (SECRET, SECRET.rename(columns={"x": "y"}), {}, r"released\[0\] has 'y', 'l', and"),
        (SECRET, SECRET[["x"]], {"columns": ["x", "l"]}, r"different column of released\[0\]"),
        (SECRET, SECRET, {"columns": ["z"]}, "columns is"),
        (SECRET, SECRET, {"columns": "x"}, "columns is 'x'"),
        (SECRET, SECRET, {"columns": []}, "columns is empty"),
        (SECRET, SECRET, {"categorical": ["z"]}, "categorical is"),
        (SECRET, SECRET, {"quantiles": [1.5]}, "quantiles is"),
        (SECRET, SECRET, {"quantiles": 2}, "quantiles is"),
        (SECRET, SECRET, {"bins": 0}, "bins is 0"),
        (SECRET, SECRET, {"interactions": "all"}, "interactions is 'all'"),
        (SECRET, SECRET, {"analysis": 3}, "analysis is a int"),
        (SECRET, SECRET, {"analysis": lambda f: f}, "of what analysis returned, confidential must"),
        (SECRET.assign(x=[918273, math.nan]), SECRET, {}, r"missing values in \['x'\]"),
        (SECRET.assign(l=["secretive", None]), SECRET, {}, r"missing values in \['l'\]"),
        (SECRET.assign(x=[918273, math.inf]), SECRET, {}, "aren't finite"),
        (SECRET, SECRET.assign(x=["a", "b"]), {}, "numbers in some tables"),
        (SECRET, SECRET.assign(x=["a", "b"]), {"categorical": ["x"]}, "never equal"),
        (SECRET.assign(x=pd.Timestamp("2020-01-01")), SECRET, {}, "is of type datetime"),
        (
            SECRET.assign(l=[["secretive"], ["b"]]),
            SECRET.assign(l=[["a"], ["b"]]),
            {},
            "to strings",
        ),
        (pd.concat([SECRET, SECRET], axis=1), SECRET, {}, "two columns of one name"),
        (
            pd.DataFrame({"l": [f"secretive{i}" for i in range(1500)]}),
            SECRET[["l"]],
            {},
            "more than 1000 coefficients",
        ),
    ],
)
def test_refusals_show_no_record(confidential, released, options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message) as caught:
        bdp.evaluate.utility(confidential, released, **options)
    text = str(caught.value)
    assert not any(secret in text for secret in ("918273", "645546", "secretive", "hidden"))
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("mechanism", "output", "way"),
    [
        (
            bdp.mechanisms.PerturbedHistogramMechanism(1.0, 2),
            (3, 4),
            "PerturbedHistogramSynthesizer.records",
        ),
        (bdp.mechanisms.LaplaceMechanism(1.0, 1.0), 3.5, "DataFrames of records"),
        (
            bdp.mechanisms.DirichletMultinomialMechanism(5, 5, 2, 1.0),
            (3, 2),
            "MultinomialSynthesizer.records",
        ),
        (
            bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 5, (1, 1)),
            0.5,
            "of records",
        ),
    ],
)
def test_released_numbers_are_not_taken_for_records(mechanism, output, way):
    release = bdp.Release.of(mechanism, [output])
    with pytest.raises(bdp.errors.InvalidInput, match=way):
        bdp.evaluate.utility(pd.DataFrame({"value": [3.0, 4.0]}), release)
    with pytest.raises(bdp.errors.InvalidInput, match="no records"):
        bdp.evaluate.anonymity(release, quasi_identifiers=["value"])


def test_whole_table_of_synthetic_counts_by_its_records():
    table = pd.DataFrame({"sex": ["f", "m", "m", "f"] * 5, "job": ["x", "y", "x", "x"] * 5})
    columns = {"sex": ["f", "m"], "job": ["x", "y"]}
    with bdp.reproducible(1):
        made = bdp.synthesizers.DirichletMultinomialSynthesizer(4.0, copies=2, categories=columns)
        release = made.release(table)
    records = made.records(release)
    counts = release.to_frames()[1].set_index(["sex", "job"])["count"] / len(records[1])
    truth = table.value_counts(normalize=True).reindex(counts.index, fill_value=0.0)
    found = bdp.evaluate.utility(table, records)
    by_hand = (counts - truth).abs().sum() / 2
    assert value(found, "pairwise_tv", "sex", other="job", copy=1) == pytest.approx(by_hand)
