"""Posteriors of whole tables: what a fit holds, and what is computed from its latent tables."""

import functools
import json
import math
import warnings

import arviz as az
import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import bayesdp as bdp
from bayesdp.engines.latent_records import ABSENT
from bayesdp.errors import InvalidInput
from bayesdp.inference.table.model import tables_kept
from bayesdp.inference.table.regression import Regression, prepared

SCHEMA = bdp.Schema(
    {
        "age": {"type": "integer", "bounds": (18, 90), "bins": [18, 30, 60, 90]},
        "smokes": {"type": "boolean", "missing": True},
        "school": {"type": "ordered", "labels": ["none", "some", "more"]},
        "sex": {"type": "category", "labels": ["f", "m"]},
    },
    zeros=[{"age": [18, 30], "school": "more"}],
)
NAMES = list(SCHEMA.columns)
PAIRS = [("age", "smokes"), ("age", "school"), ("smokes", "school"), ("smokes", "sex")]
pytestmark = pytest.mark.filterwarnings("ignore:the chains of this fit")  # few draws


def confidential(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 91, n)
    school = np.where(age < 30, rng.integers(0, 2, n), rng.integers(0, 3, n))
    smokes = pd.array(rng.random(n) < 0.2 + 0.2 * school, dtype="boolean")
    smokes[rng.random(n) < 0.1] = pd.NA
    return pd.DataFrame(
        {
            "age": age,
            "smokes": smokes,
            "school": pd.Categorical.from_codes(school, ["none", "some", "more"], ordered=True),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def released(noise: str = "gaussian", relation: str = "add_remove") -> bdp.Release:
    frame = confidential()
    made = bdp.mechanisms.NoisyTableMechanism.calibrate(
        epsilon=4.0,
        delta=1e-6 if noise == "gaussian" else 0.0,
        schema=SCHEMA,
        marginals=[PAIRS, [("age", "smokes", "school")]],
        noise=noise,
        neighbours=relation,
        n=len(frame) if relation == "replace_one" else None,
    )
    with bdp.reproducible(5):
        outputs = made.release(made.statistic_of(SCHEMA.coded(frame)))
    return bdp.Release.of(made, outputs, delta=1e-6 if noise == "gaussian" else 0.0)


@functools.cache
def fitted(noise: str = "gaussian", relation: str = "add_remove", rake: bool = True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bdp.TableModel(rake=rake).fit(
            released(noise, relation), draws=60, warmup=40, thin=1, tables=20, chains=2, seed=2
        )


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_what_a_fit_holds(noise, relation):
    idata = fitted(noise, relation, rake=False)
    assert isinstance(idata, az.InferenceData)
    assert json.loads(idata.attrs["concentration"]) == [0.001, 20.0]
    known = {"n"} if relation == "add_remove" else set()
    assert set(idata.posterior.data_vars) == {"share"} | known
    levels = idata.posterior["level"].to_numpy().tolist()
    assert levels[:3] == ["age[18, 30)", "age[30, 60)", "age[60, 90]"]
    assert levels[3:6] == ["smokes[False]", "smokes[True]", "smokes[missing]"]
    shares = idata.posterior["share"].to_numpy()
    np.testing.assert_allclose(shares.sum(axis=-1), len(NAMES))
    records = idata.tables["records"]
    assert records.dims == ("chain", "table", "record", "column")
    assert records.sizes["table"] == 20
    there = records.to_numpy() != ABSENT
    sizes = there.all(axis=-1).sum(axis=-1)
    if relation == "replace_one":
        assert np.all(sizes == 400)
    else:
        np.testing.assert_array_equal(sizes, idata.posterior["n"].to_numpy())
    assert idata.sample_stats.sizes["draw"] == 60
    assert np.all(np.isfinite(idata.sample_stats["lp"]))
    assert idata.attrs["family"] == "table"
    assert idata.attrs["verdict"]


def test_a_posterior_has_a_card_and_a_repr_of_one_line():
    idata = fitted(rake=False)
    assert repr(idata) == "<TablePosterior of 4 columns: 40 latent tables>"
    html = idata._repr_html_()
    assert "age, smokes, school, sex" in html
    assert html.startswith('<div class="bayesdp-card">')


def test_a_posterior_s_picture_has_a_column_s_shares():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert fitted(rake=False).plot(ax=ax, seed=1) is ax
    assert ax.get_ylabel() == "age"
    shares = fitted(rake=False).table("age", seed=1).interval()
    assert [text.get_text() for text in ax.get_yticklabels()] == list(shares.index)
    bars = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(bars[:3], shares[["lower", "upper"]])
    fitted(rake=False).plot(["smokes", "sex"], ax=Figure().subplots(), target="data")


def test_raked_tables_are_as_large_as_counts_say():
    for relation in ("add_remove", "replace_one"):
        raked = fitted("gaussian", relation).tables["records"].to_numpy()
        sizes = (raked[..., 0] != ABSENT).sum(axis=-1)
        assert np.all(np.abs(sizes - 400) < (1 if relation == "replace_one" else 100))


def test_raking_leaves_the_chain_as_it_is():
    one, other = fitted(), fitted(rake=False)
    assert one.sample_stats.equals(other.sample_stats)
    assert not one.tables.equals(other.tables)


def test_the_posterior_s_shares_are_those_of_a_table_of_one_column():
    idata = fitted(relation="replace_one")
    found = idata.table("age", target="data").interval() / 400
    share = idata.posterior["share"].to_numpy().reshape(40, -1)[:, :3]
    np.testing.assert_allclose(found["mean"], share.mean(axis=0))
    np.testing.assert_allclose(found["lower"], np.quantile(share, 0.025, axis=0))


def test_watched_counts_are_those_of_the_tables():
    idata = fitted(rake=False)
    records = idata.tables["records"].to_numpy()[1, -1]
    table = pd.DataFrame(records[records[:, 0] != ABSENT], columns=NAMES)
    last = idata.sample_stats["count"].to_numpy()[1, -1]
    cells = idata.sample_stats["cell"].to_numpy()
    for other, label in (("smokes", "smokes[True]"), ("school", "school[some]")):
        both = (table["age"] == 1) & (table[other] == 1)
        assert last[cells == f"age[30, 60):{label}"][0] == both.sum()


def test_chains_that_differ_in_an_estimate_are_told():
    """All records of one chain are moved to another school, as if it had begun elsewhere."""
    idata = fitted()
    records = idata.tables["records"].to_numpy().copy()
    place = NAMES.index("school")
    moved = records[0, ..., place]
    moved[moved == 1] = 2
    parted = bdp.models.TablePosterior.of(idata, records)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parted.table("sex", seed=1)
    for ask in (
        lambda: parted.table("school", seed=1),
        lambda: parted.estimate(lambda table: np.mean(table["school"] == "some"), draws=40, seed=1),
    ):
        with pytest.warns(UserWarning, match=r"chains differ in \d of \d numbers \(R-hat up to"):
            ask()


def test_no_latent_table_breaks_a_rule():
    records = fitted().tables["records"].to_numpy().reshape(-1, 4)
    records = records[records[:, 0] != ABSENT]
    assert not np.any((records[:, 0] == 0) & (records[:, 2] == 2))


def test_it_comes_back_from_a_file(tmp_path):
    idata = fitted()
    idata.to_netcdf(str(tmp_path / "posterior.nc"))
    again = bdp.models.TablePosterior.of(az.from_netcdf(str(tmp_path / "posterior.nc")))
    assert again.schema == SCHEMA
    assert again.measured == (*PAIRS, ("age", "smokes", "school"))
    one, other = (each.table(["age", "school"], seed=1).interval() for each in (idata, again))
    pd.testing.assert_frame_equal(one, other)


def test_copies_look_like_the_original():
    original, copies = confidential(), fitted().synthetic(5, seed=1)
    assert len(copies) == 5
    for copy in copies:
        assert list(copy.columns) == NAMES
        assert copy["age"].dtype == original["age"].dtype
        assert copy["smokes"].dtype == original["smokes"].dtype
        assert copy["school"].dtype == original["school"].dtype
        assert copy["sex"].cat.categories.tolist() == ["f", "m"]
        assert copy["smokes"].isna().any()
        SCHEMA.coded(copy)
    assert not copies[0].equals(copies[1])
    with pytest.raises(InvalidInput, match="copies is 41; there are 40 latent tables"):
        fitted().synthetic(41)


@pytest.mark.filterwarnings("ignore:no released marginal")
def test_a_table_of_the_data_counts_records_and_of_the_population_has_sampling_error():
    idata = fitted("gaussian", "replace_one")
    data = idata.table(["age", "school"], target="data", seed=1)
    assert np.all(data.draws.sum(axis=1) == 400)
    records = idata.tables["records"].to_numpy().reshape(-1, 400, 4)
    there = [np.sum((table[:, 0] == 1) & (table[:, 2] == 2)) for table in records]
    assert data.interval().loc[("[30, 60)", "more"), "mean"] == pytest.approx(np.mean(there))
    wide = idata.table("school", seed=1)
    narrow = idata.table("school", target="data").draws / 400
    np.testing.assert_allclose(wide.draws.sum(axis=1), 1)
    p = narrow.mean(axis=0)
    expected = np.sqrt(narrow.var(axis=0) + p * (1 - p) / 400)
    # 40 draws: the ratio of standard deviations is within 0.6 of 1 but once in a million.
    np.testing.assert_allclose(wide.draws.std(axis=0) / expected, 1, atol=0.6)
    assert np.all(data.interval()["naive_lower"] == data.interval()["naive_upper"])
    naive = wide.interval()
    assert np.all(naive["naive_upper"] > naive["naive_lower"])


def test_a_regression_is_that_of_each_table():
    idata = fitted("gaussian", "replace_one")
    asked = {"by": "tables", "target": "data", "draws": 40, "seed": 1}
    found = idata.regression("age ~ smokes + C(school)", **asked)
    codes = idata.tables["records"].to_numpy().reshape(-1, 400, 4)[7]
    smokes = np.where(codes[:, 1] == 2, np.nan, codes[:, 1])
    table = pd.DataFrame(
        {
            "age": np.array([23.5, 44.5, 75.0])[codes[:, 0]],
            "smokes": smokes,
            "school": np.array(["none", "some", "more"])[codes[:, 2]],
        }
    )
    formula = "age ~ smokes + C(school, levels=['none', 'some', 'more'])"
    expected = smf.ols(formula, table).fit().params
    np.testing.assert_allclose(found.draws[7], expected.to_numpy())
    assert list(found.names) == ["Intercept", "C(school)[T.some]", "C(school)[T.more]", "smokes"]


@pytest.mark.parametrize(
    "formula",
    [
        "age ~ I(smokes > 0.5)",
        "I(1 * (smokes > 0.5)) ~ age",
        "age ~ np.nan_to_num(smokes) + school",
        "age ~ standardize(smokes) + school",
    ],
)
def test_a_condition_leaves_out_records_without_a_value(formula):
    """Of a missing value patsy takes a comparison for false, as nobody who smokes."""
    idata = fitted("gaussian", "replace_one")
    asked = {"by": "tables", "target": "data", "draws": 40, "seed": 1}
    codes = idata.tables["records"].to_numpy().reshape(-1, 400, 4)[7]
    table = prepared(SCHEMA.columns, pd.DataFrame(codes.astype(int), columns=NAMES))
    complete = table[["age", "smokes", "school"]].dropna()
    assert 0 < len(complete) < 400
    expected = smf.ols(formula, complete).fit().params
    np.testing.assert_allclose(idata.regression(formula, **asked).draws[7], expected.to_numpy())


@pytest.mark.parametrize("formula", ["age ~ smokes", "age ~ C(smokes)", "age ~ bs(smokes, df=3)"])
def test_a_table_in_which_nobody_has_a_value_is_refused(formula):
    codes = pd.DataFrame({"age": [0, 1, 2], "smokes": [2, 2, 2]})
    columns = {name: SCHEMA.columns[name] for name in codes}
    with pytest.raises(InvalidInput, match="no record with a value of all that"):
        Regression(formula, "linear", columns).fit(codes)


def test_whether_a_value_is_missing_can_be_asked():
    idata = fitted("gaussian", "replace_one")
    formula = "I(1 * np.isnan(smokes)) ~ age"
    found = idata.regression(formula, target="data", draws=40, seed=1)
    codes = idata.tables["records"].to_numpy().reshape(-1, 400, 4)[7]
    table = prepared(SCHEMA.columns, pd.DataFrame(codes.astype(int), columns=NAMES))
    np.testing.assert_allclose(found.draws[7], smf.ols(formula, table).fit().params.to_numpy())


@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("smokes ~ age", "logit"),
        ("sex ~ smokes", "logit"),
        ("school ~ age", "ordinal"),
        ("Q('school') ~ age", "ordinal"),
        ('Q("sex") ~ smokes', "logit"),
        ("I(1 * (age > 40)) ~ smokes", "logit"),
        ("age ~ C(sex) + smokes", "poisson"),
    ],
)
def test_every_family_of_regressions(formula, family):
    idata = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = idata.regression(formula, family=family, draws=4, seed=1).interval(0.5)
    assert np.all(np.isfinite(found[["mean", "lower", "upper"]]))


@pytest.mark.filterwarnings("ignore:the chains differ in")
def test_a_relation_that_was_not_measured_is_said():
    with pytest.warns(UserWarning, match="no released marginal has age and sex together"):
        fitted().regression("age ~ C(sex)", draws=2, seed=1)
    with pytest.warns(UserWarning, match="school and sex together"):
        fitted().table(["school", "sex"], seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted().table(["age", "school"], seed=1)


def test_any_function_of_a_table():
    idata = fitted()
    found = idata.estimate(lambda frame: frame["age"].mean(), draws=10, seed=1)
    assert found.draws.shape == (10, 1)
    named = idata.estimate(lambda frame: {"a": 1.0, "b": len(frame)}, draws=3, target="data")
    assert list(named.names) == ["a", "b"]
    assert named.mean["a"] == 1.0
    series = idata.estimate(lambda f: f.groupby("sex", observed=False)["age"].mean(), draws=3)
    assert list(series.names) == ["f", "m"]
    again = idata.estimate(lambda frame: frame["age"].mean(), draws=10, seed=1)
    np.testing.assert_array_equal(found.draws, again.draws)
    assert "Estimates of population's 1 numbers, 10 draws" in repr(found)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda p: p.table(["age", "nothing"]),
            "columns has 'nothing'; it must be some of age, smokes",
        ),
        (lambda p: p.table([]), "columns has nothing"),
        (lambda p: p.table(["age", "age"]), "once each"),
        (lambda p: p.table("nothing"), "columns has 'nothing'; it must be some of age, smokes"),
        (lambda p: p.table(3), "columns has 3; it must be some of"),
        (lambda p: p.table([["age"]]), "columns has a list; it must be some of"),
        (lambda p: p.table(np.array([1, 2])), "columns has 1; it must be some of"),
        (lambda p: p.table("age", target="world"), "target is 'world'"),
        (lambda p: p.regression("age"), "formula is 'age'"),
        (lambda p: p.regression("age ~ smokes", family="probit"), "family is 'probit'"),
        (lambda p: p.regression("age ~ odd(smokes)"), "can't be fitted to a latent table"),
        (lambda p: p.regression("age ~ weight"), "its outcome and predictors must be"),
        (lambda p: p.regression("weight ~ height"), "its outcome and predictors must be"),
        (lambda p: p.regression("school ~ age", family="logit"), "a category of 3 labels"),
        (lambda p: p.regression("sex ~ smokes", family="ordinal"), "without an order"),
        (lambda p: p.regression("Q('school') ~ age", family="logit"), "a category of 3 labels"),
        (lambda p: p.regression("age ~ 0"), "'age ~ 0', which has no predictor; write 'outcome ~"),
        (lambda p: p.regression("age > 40 ~ smokes", family="logit"), r"as I\(1 \* \(age"),
        (lambda p: p.regression("age + smokes ~ school"), "outcome isn't one column of numbers"),
        (lambda p: p.estimate("mean"), "function is 'mean'; give one that takes a DataFrame"),
        (lambda p: p.estimate(lambda f: "much"), "that isn't finite numbers"),
        (lambda p: p.estimate(lambda f: np.nan), "that isn't finite numbers"),
        (lambda p: p.estimate(lambda f: np.arange(len(f))), "differ in how many they are"),
        (lambda p: p.table("age").interval(1.5), "level is 1.5"),
        (lambda p: bdp.models.TablePosterior.of(None), "is None; it must be a fit of a whole"),
        (lambda p: bdp.models.TablePosterior.of(of_binomial()), "is of the family 'binomial'"),
    ],
)
def test_wrong_questions_are_told_apart(ask, message):
    with pytest.raises(InvalidInput, match=message):
        ask(fitted())


def of_binomial():
    made = bdp.mechanisms.BetaBinomialMechanism(9, 9, (1.0, 1.0))
    return bdp.BinomialModel().fit(bdp.Release.of(made, [3]), draws=10)


def test_wrong_releases_and_options_are_refused():
    count = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(9, 9, (1.0, 1.0)), [3])
    with pytest.raises(InvalidInput, match="doesn't measure a table by a schema"):
        bdp.TableModel().fit(count)
    with pytest.raises(InvalidInput, match="classes is 0"):
        bdp.TableModel(classes=0)
    with pytest.raises(InvalidInput, match="rake is 'no'"):
        bdp.TableModel(rake="no")
    for wrong in ((0, 1), (2, 1), (1, 2e6), (1,), 1.0, (1, "2"), (True, 2), (1, math.nan)):
        with pytest.raises(InvalidInput, match=r"concentration is .*from 1e-06 to 1e\+06, such as"):
            bdp.TableModel(concentration=wrong)
    assert bdp.TableModel(concentration=[1, 2]).concentration == (1.0, 2.0)
    with pytest.raises(InvalidInput, match="tables is 0"):
        bdp.TableModel().fit(released(), tables=0)
    other = bdp.Schema({"age": {"type": "boolean"}, "sex": {"type": "boolean"}})
    made = bdp.mechanisms.NoisyTableMechanism.calibrate(
        epsilon=1.0, schema=other, marginals=[[("age", "sex")]], noise="laplace"
    )
    with pytest.raises(InvalidInput, match="different schemas"):
        bdp.TableModel().fit([released(), bdp.Release.of(made, [(1, 2, 3, 4)])])


def test_several_releases_of_the_same_records_tell_more():
    one, both = released("laplace"), [released("laplace"), released("gaussian")]
    model = bdp.TableModel()
    assert len(model.read(both).noisy) == 2 * len(model.read(one).noisy)


@pytest.mark.filterwarnings("ignore:.*of the spread of")
def test_too_few_classes_for_what_was_released_are_doubted():
    """Columns that copy one another, and a single class, in which all are independent."""
    schema = bdp.Schema({name: {"type": "integer", "bounds": (0, 5)} for name in "ab"})
    value = np.repeat(np.arange(6), 200)
    made = bdp.mechanisms.NoisyTableMechanism.calibrate(
        epsilon=1.0, schema=schema, marginals=[[("a", "b")]], noise="laplace"
    )
    with bdp.reproducible(1):
        statistic = made.statistic_of(pd.DataFrame({"a": value, "b": value}))
        release = bdp.Release.of(made, made.release(statistic))
    run = {"draws": 50, "chains": 2, "warmup": 50, "thin": 1, "seed": 1}
    with pytest.warns(UserWarning, match="1 classes don't follow what was released"):
        bdp.TableModel(classes=1).fit(release, **run)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        good = bdp.TableModel(classes=12).fit(release, **run)
    assert not any("don't follow" in str(each.message) for each in heard)
    assert "don't follow" not in good.attrs["verdict"]


def test_tables_of_many_records_take_no_more_than_memory_has():
    """A million records of 30 columns; of few records all are kept."""
    assert tables_kept(3_000, 4, 6, chains=4) == 200
    assert tables_kept(48_842, 14, 91, chains=4) == 134
    kept = tables_kept(10**6, 30, 435, chains=4)
    assert 4 * kept * 10**6 * 30 * 2 <= 2**31 < 4 * (kept + 1) * 10**6 * 30 * 2
    assert tables_kept(10**8, 30, 435, chains=4) == 4
