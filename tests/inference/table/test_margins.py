"""Whole tables raked to the population's margins: laws by hand, coverage, and what is refused."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.inference.table.margins import margins_of, population_weights, raked_weights
from tests.inference.table.test_adversaries import posterior as posterior_of
from tests.statistical.test_table_calibration import measured

SCHEMA = bdp.Schema(
    {
        "sex": {"type": "category", "labels": ["f", "m"]},
        "age": {"type": "integer", "bounds": (18, 90), "bins": [18, 40, 90]},
        "smokes": {"type": "boolean"},
    }
)
ALL = [["sex", "age", "smokes"]]
SEX, AGE = {"f": 50, "m": 50}, {"[18, 40)": 30, "[40, 90]": 70}
BOTH = pd.DataFrame({"sex": list("ffmm"), "age": [*AGE, *AGE], "total": [10.0, 40, 20, 30]})
ODDS = np.outer([0.5 / 0.8, 0.5 / 0.2], [0.3 / 0.6, 0.7 / 0.4])
TRUE = float((np.outer([0.8, 0.2], [0.6, 0.4]) * ODDS * [[0.2, 0.4], [0.6, 0.8]]).sum())
"""The population's share of smokers; women are four fifths of the sample, and the young 0.6."""
poststratify = bdp.evaluate.poststratify


def posterior(records, tables=1):
    """What would be known if the table were released as it is."""
    return posterior_of([records] * tables, SCHEMA, ALL)


def sample(rng, n=200):
    """Too many women and, among all, young; smoking depends on both."""
    sex, age = rng.random(n) < 0.2, rng.random(n) < 0.4
    smokes = rng.random(n) < np.where(sex, 0.6, 0.2) + np.where(age, 0.2, 0.0)
    return np.stack([sex, age, smokes], axis=1).astype(np.uint16)


def test_weights_have_the_margins_and_keep_the_odds_ratio():
    records = sample(np.random.default_rng(1))
    margins = margins_of({"sex": SEX, "age": AGE}, SCHEMA, {}, [records])
    weights, _ = raked_weights(margins, records, np.ones(len(records)))
    mass = np.bincount(2 * records[:, 0] + records[:, 1], weights).reshape(2, 2)
    np.testing.assert_allclose(mass.sum(axis=1), [0.5, 0.5], atol=1e-9)
    np.testing.assert_allclose(mass.sum(axis=0), [0.3, 0.7], atol=1e-9)
    seen = np.bincount(2 * records[:, 0] + records[:, 1]).reshape(2, 2)
    odds = [t[0, 0] * t[1, 1] / t[0, 1] / t[1, 0] for t in (mass, seen)]
    assert odds[0] == pytest.approx(odds[1], rel=1e-6)


def test_mappings_in_a_list_are_what_they_are_by_themselves():
    fitted = posterior(sample(np.random.default_rng(6)), 3)
    both = {"sex": SEX, "age": AGE}
    for listed in ([{"sex": SEX}, {"age": AGE}], [{"sex": SEX}, pd.Series(AGE).rename_axis("age")]):
        found = [poststratify(fitted, totals).table("smokes", seed=1) for totals in (both, listed)]
        np.testing.assert_array_equal(found[0].draws, found[1].draws)


@pytest.mark.parametrize("way", ["table", "estimate"])
def test_one_margin_is_a_poststratification(way):
    """Shares within a stratum are Dirichlet, by Rubin's bootstrap; 5 standard errors."""
    records, draws = sample(np.random.default_rng(2)), 600
    found = poststratify(posterior(records, draws), {"sex": SEX})
    if way == "table":
        drawn = found.table(["smokes"], seed=1).draws[:, 1]
    else:
        drawn = found.estimate(lambda f: f["smokes"].mean(), draws=draws // 6, seed=1).draws[:, 0]
    each = [records[records[:, 0] == k][:, 2] for k in (0, 1)]
    mean = sum(0.5 * one.mean() for one in each)
    variance = sum(0.25 * one.mean() * (1 - one.mean()) / (one.size + 1) for one in each)
    error = np.sqrt(variance / drawn.size)
    assert abs(drawn.mean() - mean) < 5 * error
    ratio, few = drawn.var(ddof=1) / variance, np.sqrt(2 / drawn.size)
    assert 1 - 5 * few < ratio < 1.02 + 5 * few


def test_a_known_margin_has_no_error_and_others_answer_for_the_population(tmp_path):
    raked = poststratify(posterior(sample(np.random.default_rng(3)), 12), [BOTH])
    shown = raked.table(["sex", "age"], seed=1)
    np.testing.assert_allclose(shown.draws, np.tile([0.1, 0.4, 0.2, 0.3], (12, 1)), atol=1e-6)
    np.testing.assert_allclose(shown.naive, shown.draws, atol=1e-6)
    (copy,) = raked.synthetic(1, seed=1)
    assert len(copy) == 200
    assert abs((copy["sex"] == "f").sum() - 100) <= 2
    naive = raked.table("smokes", seed=1).naive
    assert naive.std(axis=0).min() > 0.01  # sampling error
    slope = raked.regression("smokes ~ sex", draws=5, seed=1)
    assert list(slope.names) == ["Intercept", "sex[T.m]"]
    data = posterior(sample(np.random.default_rng(3)), 2)
    np.testing.assert_array_equal(
        raked.table("sex", target="data").draws[0], data.table("sex", target="data").draws[0]
    )
    assert "raked to 1 margin" in repr(raked)
    assert "raked to" in raked._repr_html_()
    raked.to_netcdf(str(tmp_path / "p.nc"))
    again = bdp.models.TablePosterior.of(az.from_netcdf(str(tmp_path / "p.nc")))
    np.testing.assert_array_equal(
        again.table("smokes", seed=1).draws, raked.table("smokes", seed=1).draws
    )
    with pytest.raises(bdp.errors.InvalidInput, match="raked to margins already"):
        poststratify(again, [BOTH])


def test_a_cell_without_members_counts_for_nothing():
    raked = poststratify(posterior(sample(np.random.default_rng(4)), 3), {"sex": {"f": 1, "m": 0}})
    np.testing.assert_allclose(raked.table("sex", seed=1).draws, [[1, 0]] * 3)


def test_a_column_may_be_called_total():
    schema = bdp.Schema({"total": {"type": "boolean"}, "old": {"type": "boolean"}})
    records = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.uint16)
    fitted = posterior_of([records] * 3, schema, [["total", "old"]])
    raked = poststratify(fitted, {"total": {True: 3, False: 1}})
    np.testing.assert_allclose(raked.table("total", seed=1).draws, [[0.25, 0.75]] * 3)


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        ({"sex": {"f": 1}}, "no total for sex 'm'"),
        ({"sex": {"f": 1, "m": -2}}, "totals has -2"),
        ({"sex": {"f": 1, "x": 2, "m": 1}}, "has sex 'x', which the posterior hasn't"),
        ({"sex": 3}, "totals has 3 for 'sex'"),
        ({("sex", "age"): SEX}, "labels for 'sex', 'age' that don't name a cell of each"),
        ({"sect": SEX}, "some of the columns sex, age, smokes"),
        ({"sex": SEX, "age": {"[18, 40)": 1, "[40, 90]": 2}}, "add up to 100, 3"),
        ([BOTH, pd.Series({"f": 60.0, "m": 40}).rename_axis("sex")], "contradict one another"),
        ([BOTH, BOTH], "two margins of the same columns"),
        (pd.concat([BOTH, BOTH]), "more than one total for sex 'f'"),
        (pd.Series(SEX), "whose index has no names"),
        (pd.Series({("f", "f"): 1}).rename_axis(["sex", "sex"]), "or one twice"),
        ([], "totals is empty"),
        ({}, "totals is empty"),
        ([3], "totals is an int"),
        ([SEX], "totals has 50 for 'f'; give the totals of its labels"),
        ([{"sex": SEX}, {"sex": SEX}], "two margins of the same columns"),
    ],
)
def test_margins_that_no_population_has_are_refused(totals, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        poststratify(posterior(sample(np.random.default_rng(5))), totals)


def test_members_whom_no_record_stands_for_are_refused():
    records = sample(np.random.default_rng(6))
    women = posterior(records[records[:, 0] == 0])
    with pytest.raises(bdp.errors.InvalidInput, match="with sex 'm', and a latent table has no"):
        poststratify(women, {"sex": SEX})
    apart = records[(records[:, 0] == records[:, 1])]  # all women are young, and no man is
    with pytest.raises(bdp.errors.InvalidInput, match="that no weights of a latent table's"):
        poststratify(posterior(apart), {"sex": SEX, "age": AGE})
    with pytest.raises(bdp.errors.InvalidInput, match="by is 'sex', which is for groups"):
        poststratify(women, {"sex": {"f": 1, "m": 0}}, by="sex")


def test_a_column_with_private_cut_points_is_raked_by_its_intervals():
    pooled = posterior(sample(np.random.default_rng(7)))
    pooled.attrs["pools"] = '{"age": [0, 1]}'
    with pytest.raises(bdp.errors.InvalidInput, match=r"give posterior\.pooled"):
        poststratify(pooled, {"age": AGE})


@pytest.mark.slow
def test_raked_intervals_cover_and_naive_ones_do_not():
    """Both sex and age are over-represented, by a product of odds; false alarms below 1e-6.

    The population's share of smokers is known by the law of the sample given sex and age.
    """
    rng, replicates, draws = np.random.default_rng(8), 100, 40
    covered = np.zeros((replicates, 2))
    margins = margins_of({"sex": SEX, "age": AGE}, SCHEMA, {}, [])
    for k in range(replicates):
        records = sample(rng)
        smokes, drawn = records[:, 2], range(draws)
        raked = [population_weights(margins, records, rng)[0] @ smokes for _ in drawn]
        naive = [smokes[rng.integers(0, 200, 200)].mean() for _ in drawn]
        for place, each in enumerate((raked, naive)):
            covered[k, place] = abs(np.mean(each) - TRUE) < 1.96 * np.std(each, ddof=1)
    right, naive = covered.sum(axis=0)
    assert stats.binom.cdf(right, replicates, 0.93) > 1e-6  # of 40 draws and 200 records
    assert naive < 0.5 * replicates


@pytest.mark.calibrate
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # few draws
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_raked_intervals_of_releases_cover(epsilon):
    """60 releases of 1,000 records each: whether the population's share of smokers is covered."""
    rng, replicates, covered = np.random.default_rng(9), 60, []
    for seed in range(replicates):
        codes = pd.DataFrame(sample(rng, 1000).astype(int), columns=[*SCHEMA.columns])
        release = measured(SCHEMA, codes, epsilon, "laplace", seed)
        run = {"draws": 100, "warmup": 100, "chains": 2, "thin": 1, "tables": 100, "seed": seed}
        whole = bdp.TableModel().fit(release, **run)
        raked = poststratify(whole, {"sex": SEX, "age": AGE})
        ends = [each.table("smokes", seed=seed).interval().iloc[1] for each in (raked, whole)]
        covered.append([each["lower"] <= TRUE <= each["upper"] for each in ends])
    right, naive = np.sum(covered, axis=0)
    assert stats.binom.cdf(right, replicates, 0.93) > 1e-6
    assert naive < 0.5 * replicates
